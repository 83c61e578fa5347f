//! The keys of sessions. The database holds each of them encrypted with the master key, which only the machines have, so a
//! session becomes unreadable when its key is removed.

use crate::database::Database;
use crate::encryption::{Cipher, Context, KEY, MasterKey, Sealer, SessionKey};
use crate::failure::Failure;
use crate::key::Key;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_postgres::types::Type;

/// Maximum sessions whose keys stay in memory. A server of many sessions asks the database again for others.
const REMEMBERED: usize = 1024;

/// The keys of sessions, as far as this process has needed them.
pub(crate) struct Keys {
    master: Option<Sealer>,
    /// Guards the keys by tenant and session.
    known: Mutex<BTreeMap<(String, String), Arc<SessionKey>>>,
}

impl Keys {
    pub(crate) fn new(master: Option<&MasterKey>) -> Result<Keys, Failure> {
        let master = master.map(Sealer::of_master).transpose()?;
        Ok(Keys { master, known: Mutex::default() })
    }

    /// The key of a session for what is new in it. Makes one if a master key is set and the session has none.
    pub(crate) async fn for_new(&self, database: &Database, key: &Key) -> Result<Cipher, Failure> {
        let Some(master) = &self.master else { return Ok(Cipher::NONE) };
        if let Some(known) = self.known(key, None) {
            return Ok(Cipher::of(known));
        }
        let found = match find(database, key).await? {
            Some(found) => found,
            None => {
                make(database, master, key).await?;
                find(database, key).await?.ok_or_else(key_removed)?
            }
        };
        self.remember(master, key, &found)
    }

    /// The key by which something in a session was encrypted.
    pub(crate) async fn of(&self, database: &Database, key: &Key, id: &str) -> Result<Cipher, Failure> {
        if id.is_empty() {
            return Ok(Cipher::NONE);
        }
        let Some(master) = &self.master else {
            return Err(Failure::Damaged("it is encrypted, and no key is set; set store.key".to_owned()));
        };
        if let Some(known) = self.known(key, Some(id)) {
            return Ok(Cipher::of(known));
        }
        match find(database, key).await? {
            Some(found) if found.id == id => self.remember(master, key, &found),
            _ => Err(Failure::Damaged("it is encrypted, and the key of its session was removed".to_owned())),
        }
    }

    /// The failure of a request that was to write with a cipher which is not that of the session. A key that was removed
    /// is forgotten, so that another try makes a new one.
    pub(crate) fn no_key(&self, key: &Key, cipher: &Cipher) -> Failure {
        if !cipher.encrypts() {
            return Failure::Refused("the session is encrypted, and no key is set; set store.key".to_owned());
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(&(key.tenant.clone(), key.session.clone()));
        key_removed()
    }

    /// Fails if the master key is another one than the key that any session of the tenant was encrypted with.
    pub(crate) async fn check(&self, database: &Database, tenant: &str) -> Result<(), Failure> {
        const SQL: &str = "SELECT session, key, encrypted FROM forebay_keys WHERE tenant = $1 LIMIT 1";
        let row = database.query_opt(SQL, &[(&tenant, Type::TEXT)]).await?;
        let (Some(row), Some(master)) = (row, &self.master) else { return Ok(()) };
        let (tenant, session, id) = (tenant.to_owned(), row.try_get(0)?, String::new());
        let found = Wrapped { id: row.try_get(1)?, encrypted: row.try_get(2)? };
        unwrap(master, &Key { tenant, session, id }, &found).map(drop)
    }

    fn known(&self, key: &Key, id: Option<&str>) -> Option<Arc<SessionKey>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.get(&(key.tenant.clone(), key.session.clone()))?;
        id.is_none_or(|id| id == found.id()).then(|| found.clone())
    }

    fn remember(&self, master: &Sealer, key: &Key, found: &Wrapped) -> Result<Cipher, Failure> {
        let opened = Arc::new(unwrap(master, key, found)?);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert((key.tenant.clone(), key.session.clone()), opened.clone());
        Ok(Cipher::of(opened))
    }
}

/// The failure of a request for which a session's key was removed; another try makes a new key.
fn key_removed() -> Failure {
    Failure::Conflict("the key of the session was removed".to_owned())
}

/// The key of a session as the database has it.
struct Wrapped {
    id: String,
    encrypted: Vec<u8>,
}

async fn find(database: &Database, key: &Key) -> Result<Option<Wrapped>, Failure> {
    const SQL: &str = "SELECT key, encrypted FROM forebay_keys WHERE tenant = $1 AND session = $2";
    let row = database.query_opt(SQL, &key.session_params(&[])).await?;
    row.map(|row| Ok(Wrapped { id: row.try_get(0)?, encrypted: row.try_get(1)? })).transpose()
}

/// Makes the key of a session, unless another process is faster.
async fn make(database: &Database, master: &Sealer, key: &Key) -> Result<(), Failure> {
    const SQL: &str = "INSERT INTO forebay_keys (tenant, session, key, encrypted) VALUES ($1, $2, $3, $4) \
        ON CONFLICT DO NOTHING";
    let (mut id, mut secret) = ([0; 16], [0; KEY]);
    let fill = |bytes: &mut [u8]| {
        getrandom::fill(bytes).map_err(|error| Failure::Refused(format!("no random bytes: {error}")))
    };
    fill(&mut id)?;
    fill(&mut secret)?;
    let id = forebay::fresh_id(id);
    let encrypted = master.seal(Context::Key(&key.tenant, &key.session, &id), &secret)?;
    let params = key.session_params(&[(&id, Type::TEXT), (&encrypted, Type::BYTEA)]);
    database.execute(SQL, &params).await.map(drop)
}

fn unwrap(master: &Sealer, key: &Key, found: &Wrapped) -> Result<SessionKey, Failure> {
    let context = Context::Key(&key.tenant, &key.session, &found.id);
    let secret = master.open(context, &found.encrypted);
    match secret.and_then(|secret| <[u8; KEY]>::try_from(secret).ok()) {
        Some(secret) => SessionKey::new(&found.id, &secret),
        None => Err(Failure::Damaged(format!(
            "the session {} was encrypted with another key than store.key leads to",
            key.session
        ))),
    }
}
