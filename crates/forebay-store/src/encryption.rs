//! Encryption of content before it leaves this machine.
//!
//! Each session has a key of its own. The database holds it encrypted with the master key, which only the machines have, so
//! a session becomes unreadable when its key is removed. What is encrypted is bound to its place: rows that somebody
//! exchanges in the database cannot be decrypted.

use crate::backend::Backend;
use crate::error::OpenError;
use crate::failure::Failure;
use crate::key::Key;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_postgres::types::Type;

/// Bytes of a key.
const KEY: usize = 32;

/// Bytes of a nonce, which comes first in everything that is encrypted, and of the tag at its end.
const NONCE: usize = 12;
const TAG: usize = 16;

/// Bytes that encryption adds.
pub(crate) const OVERHEAD: u64 = (NONCE + TAG) as u64;

/// Maximum sessions whose keys stay in memory. A server of many sessions asks the database again for others.
const REMEMBERED: usize = 1024;

/// The key that encrypts the keys of sessions.
#[derive(Clone)]
pub struct MasterKey([u8; KEY]);

impl MasterKey {
    /// Reads a key: 64 hexadecimal digits, as `openssl rand -hex 32` prints them.
    pub fn parse(text: &str) -> Result<MasterKey, OpenError> {
        let digits = text.trim().as_bytes();
        let mut key = [0; KEY];
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        for (byte, pair) in key.iter_mut().zip(digits.chunks(2)) {
            let value = match pair {
                [high, low] => digit(*high).zip(digit(*low)).map(|(high, low)| high << 4 | low),
                _ => None,
            };
            *byte = value.ok_or_else(not_a_key)?;
        }
        if digits.len() == 2 * KEY { Ok(MasterKey(key)) } else { Err(not_a_key()) }
    }
}

fn not_a_key() -> OpenError {
    let why = "store.key does not lead to a key: 64 hexadecimal digits are expected; `openssl rand -hex 32` makes one";
    OpenError::Address(why.to_owned())
}

impl std::fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MasterKey")
    }
}

/// What an encrypted value is bound to: its kind and its place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Context<'a> {
    /// The record of the output with this id.
    Record(&'a str),
    /// A part of the output with this id: its number, and the offset.
    Part(&'a str, i32, u64),
    /// Bytes of this content, from an offset on.
    Bytes(&'a str, u64),
    /// A compressed frame of this content, from an offset on.
    Frame(&'a str, u64),
    /// An event of the session.
    Event,
    /// The key of a session: tenant, session and id of the key.
    Key(&'a str, &'a str, &'a str),
}

impl Context<'_> {
    /// Bytes that differ for any two contexts.
    fn bytes(self) -> Vec<u8> {
        let (kind, names, numbers): (u8, &[&str], [u64; 2]) = match self {
            Context::Record(id) => (0, &[id], [0; 2]),
            Context::Part(id, part, at) => (1, &[id], [u64::from(part.unsigned_abs()), at]),
            Context::Bytes(content, at) => (2, &[content], [at, 0]),
            Context::Frame(content, at) => (3, &[content], [at, 0]),
            Context::Event => (4, &[], [0; 2]),
            Context::Key(tenant, session, id) => (5, &[tenant, session, id], [0; 2]),
        };
        let mut bytes = vec![kind];
        for name in names {
            bytes.extend((name.len() as u64).to_le_bytes());
            bytes.extend(name.as_bytes());
        }
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        bytes
    }
}

/// Encrypts and decrypts with one key.
///
/// The nonce is a keyed hash of context and bytes, so a request that is sent twice writes the same bytes, and
/// nonces need no random source. Equal bytes of one context can be seen to be equal.
struct Sealer {
    key: LessSafeKey,
    nonces: [u8; KEY],
}

impl Sealer {
    fn new(key: &[u8; KEY], context: &str) -> Result<Sealer, Failure> {
        let derived = blake3::derive_key(&format!("forebay shared store, {context}, encryption"), key);
        let unbound = UnboundKey::new(&AES_256_GCM, &derived)
            .map_err(|_| Failure::Refused("the key cannot be used".to_owned()))?;
        let nonces = blake3::derive_key(&format!("forebay shared store, {context}, nonces"), key);
        Ok(Sealer { key: LessSafeKey::new(unbound), nonces })
    }

    fn seal(&self, context: Context<'_>, plain: &[u8]) -> Result<Vec<u8>, Failure> {
        let context = context.bytes();
        let mut hash = blake3::Hasher::new_keyed(&self.nonces);
        hash.update(&(context.len() as u64).to_le_bytes()).update(&context).update(plain);
        let mut nonce = [0; NONCE];
        hash.finalize_xof().fill(&mut nonce);
        let mut sealed = Vec::with_capacity(NONCE + plain.len() + TAG);
        sealed.extend(nonce);
        sealed.extend(plain);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = self.key.seal_in_place_separate_tag(nonce, Aad::from(context), &mut sealed[NONCE..]);
        let tag = tag.map_err(|_| Failure::Refused("it is too long to be encrypted".to_owned()))?;
        sealed.extend(tag.as_ref());
        Ok(sealed)
    }

    fn open(&self, context: Context<'_>, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, rest) = sealed.split_first_chunk::<NONCE>()?;
        let mut plain = rest.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let length = self.key.open_in_place(nonce, Aad::from(context.bytes()), &mut plain).ok()?.len();
        plain.truncate(length);
        Some(plain)
    }
}

/// The key of a session.
struct SessionKey {
    id: String,
    sealer: Sealer,
    /// Hides hashes of contents, which name objects: a hash tells whether a known text is there.
    names: [u8; KEY],
}

impl SessionKey {
    fn new(id: &str, key: &[u8; KEY]) -> Result<SessionKey, Failure> {
        let names = blake3::derive_key("forebay shared store, session, names", key);
        Ok(SessionKey { id: id.to_owned(), sealer: Sealer::new(key, "session")?, names })
    }
}

/// What encrypts the content of an output: the key of its session, or nothing.
#[derive(Clone)]
pub(crate) struct Cipher(Option<Arc<SessionKey>>);

impl std::fmt::Debug for Cipher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Cipher").field(&self.key_id()).finish()
    }
}

impl Cipher {
    /// Encrypts nothing.
    pub(crate) const NONE: Cipher = Cipher(None);

    /// The id of the key; empty if nothing is encrypted.
    pub(crate) fn key_id(&self) -> &str {
        self.0.as_ref().map_or("", |key| &key.id)
    }

    pub(crate) fn encrypts(&self) -> bool {
        self.0.is_some()
    }

    /// Bytes that encryption adds to each row or frame.
    pub(crate) fn overhead(&self) -> u64 {
        if self.encrypts() { OVERHEAD } else { 0 }
    }

    /// Bytes as the servers get them.
    pub(crate) fn seal(&self, context: Context<'_>, plain: &[u8]) -> Result<Vec<u8>, Failure> {
        match &self.0 {
            Some(key) => key.sealer.seal(context, plain),
            None => Ok(plain.to_vec()),
        }
    }

    /// Bytes that the servers gave.
    pub(crate) fn open(&self, context: Context<'_>, sealed: Vec<u8>) -> Result<Vec<u8>, Failure> {
        match &self.0 {
            Some(key) => key.sealer.open(context, &sealed).ok_or_else(|| {
                Failure::Damaged("what is stored cannot be decrypted: it was changed".to_owned())
            }),
            None => Ok(sealed),
        }
    }

    /// A text as the database gets it.
    pub(crate) fn seal_text(&self, context: Context<'_>, plain: &str) -> Result<String, Failure> {
        if !self.encrypts() {
            return Ok(plain.to_owned());
        }
        Ok(STANDARD.encode(self.seal(context, plain.as_bytes())?))
    }

    /// A text that the database gave.
    pub(crate) fn open_text(&self, context: Context<'_>, sealed: String) -> Result<String, Failure> {
        if !self.encrypts() {
            return Ok(sealed);
        }
        let damaged =
            |why: String| Failure::Damaged(format!("a text that is stored cannot be decrypted: {why}"));
        let bytes = STANDARD.decode(sealed).map_err(|error| damaged(error.to_string()))?;
        String::from_utf8(self.open(context, bytes)?).map_err(|error| damaged(error.to_string()))
    }

    /// The name by which servers know the bytes with a hash.
    pub(crate) fn name(&self, hash: &str) -> String {
        match &self.0 {
            Some(key) if !hash.is_empty() => {
                blake3::keyed_hash(&key.names, hash.as_bytes()).to_hex().to_string()
            }
            _ => hash.to_owned(),
        }
    }
}

/// The keys of sessions, as far as this process has needed them.
pub(crate) struct Keys {
    master: Option<Sealer>,
    /// Guards the keys by tenant and session.
    known: Mutex<BTreeMap<(String, String), Arc<SessionKey>>>,
}

impl Keys {
    pub(crate) fn new(master: Option<&MasterKey>) -> Result<Keys, Failure> {
        let master = master.map(|key| Sealer::new(&key.0, "master")).transpose()?;
        Ok(Keys { master, known: Mutex::default() })
    }

    /// The key of a session for what is new in it. Makes one if a master key is set and the session has none.
    pub(crate) async fn for_new(&self, backend: &Backend, key: &Key) -> Result<Cipher, Failure> {
        let Some(master) = &self.master else { return Ok(Cipher::NONE) };
        if let Some(known) = self.known(key, None) {
            return Ok(Cipher(Some(known)));
        }
        let found = match find(backend, key).await? {
            Some(found) => found,
            None => {
                make(backend, master, key).await?;
                find(backend, key).await?.ok_or_else(key_removed)?
            }
        };
        self.remember(master, key, &found)
    }

    /// The key by which something in a session was encrypted.
    pub(crate) async fn of(&self, backend: &Backend, key: &Key, id: &str) -> Result<Cipher, Failure> {
        if id.is_empty() {
            return Ok(Cipher::NONE);
        }
        let Some(master) = &self.master else {
            return Err(Failure::Damaged("it is encrypted, and no key is set; set store.key".to_owned()));
        };
        if let Some(known) = self.known(key, Some(id)) {
            return Ok(Cipher(Some(known)));
        }
        match find(backend, key).await? {
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
    pub(crate) async fn check(&self, backend: &Backend) -> Result<(), Failure> {
        const SQL: &str = "SELECT session, key, encrypted FROM forebay_keys WHERE tenant = $1 LIMIT 1";
        let tenant = backend.tenant.as_str();
        let row = backend.database.query_opt(SQL, &[(&tenant, Type::TEXT)]).await?;
        let (Some(row), Some(master)) = (row, &self.master) else { return Ok(()) };
        let (tenant, session, id) = (tenant.to_owned(), row.try_get(0)?, String::new());
        let found = Wrapped { id: row.try_get(1)?, encrypted: row.try_get(2)? };
        unwrap(master, &Key { tenant, session, id }, &found).map(drop)
    }

    fn known(&self, key: &Key, id: Option<&str>) -> Option<Arc<SessionKey>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.get(&(key.tenant.clone(), key.session.clone()))?;
        id.is_none_or(|id| id == found.id).then(|| found.clone())
    }

    fn remember(&self, master: &Sealer, key: &Key, found: &Wrapped) -> Result<Cipher, Failure> {
        let opened = Arc::new(unwrap(master, key, found)?);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert((key.tenant.clone(), key.session.clone()), opened.clone());
        Ok(Cipher(Some(opened)))
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

async fn find(backend: &Backend, key: &Key) -> Result<Option<Wrapped>, Failure> {
    const SQL: &str = "SELECT key, encrypted FROM forebay_keys WHERE tenant = $1 AND session = $2";
    let row = backend.database.query_opt(SQL, &key.session_params(&[])).await?;
    row.map(|row| Ok(Wrapped { id: row.try_get(0)?, encrypted: row.try_get(1)? })).transpose()
}

/// Makes the key of a session, unless another process is faster.
async fn make(backend: &Backend, master: &Sealer, key: &Key) -> Result<(), Failure> {
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
    backend.database.execute(SQL, &params).await.map(drop)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn cipher(secret: u8) -> Cipher {
        Cipher(Some(Arc::new(SessionKey::new("k", &[secret; KEY]).unwrap())))
    }

    #[test]
    fn a_master_key_is_64_hexadecimal_digits_and_is_not_shown() {
        let digits = "0123456789abcdefABCDEF0123456789".repeat(2);
        let key = MasterKey::parse(&format!("{digits}\n")).unwrap();
        assert_eq!(key.0[..4], [0x01, 0x23, 0x45, 0x67]);
        assert_eq!(format!("{key:?}"), "MasterKey");
        for bad in ["", "0", &digits[1..], &digits.replace('0', "g"), &format!("{digits}0"), &"é".repeat(32)]
        {
            let error = MasterKey::parse(bad).unwrap_err().to_string();
            assert!(error.contains("openssl rand -hex 32"), "{error}");
        }
    }

    #[test]
    fn what_is_encrypted_opens_at_its_place_with_its_key_alone() {
        let contexts = [
            Context::Record("a"),
            Context::Record("b"),
            Context::Part("a", 1, 0),
            Context::Part("a", 2, 0),
            Context::Part("a", 1, 1),
            Context::Bytes("a", 0),
            Context::Bytes("a", 1),
            Context::Frame("a", 0),
            Context::Event,
            Context::Key("a", "b", "c"),
            Context::Key("ab", "", "c"),
        ];
        let (key, other) = (cipher(1), cipher(2));
        for plain in [&b""[..], b"x", &[7; 5_000]] {
            for (at, context) in contexts.into_iter().enumerate() {
                let sealed = key.seal(context, plain).unwrap();
                assert_eq!(sealed, key.seal(context, plain).unwrap(), "a second try writes the same");
                assert_eq!(sealed.len() as u64, plain.len() as u64 + key.overhead());
                assert!(other.open(context, sealed.clone()).is_err());
                for (number, elsewhere) in contexts.into_iter().enumerate() {
                    let opened = key.open(elsewhere, sealed.clone());
                    assert_eq!(opened.is_ok(), at == number, "{context:?} {elsewhere:?}");
                }
                for byte in [0, sealed.len() / 2, sealed.len() - 1] {
                    let mut changed = sealed.clone();
                    changed[byte] ^= 1;
                    assert!(key.open(context, changed).is_err());
                }
                assert!(key.open(context, sealed[..sealed.len() - 1].to_vec()).is_err());
            }
        }
        let text = key.seal_text(Context::Record("a"), "täxt").unwrap();
        assert_eq!(key.open_text(Context::Record("a"), text.clone()).unwrap(), "täxt");
        assert!(key.open_text(Context::Record("a"), "no base64!".to_owned()).is_err());
        assert!(!text.contains('t') || text != "täxt");
    }

    #[test]
    fn without_a_key_everything_stays_as_it_is() {
        let clear = Cipher::NONE;
        assert_eq!(clear.seal(Context::Event, b"x").unwrap(), b"x");
        assert_eq!(clear.open(Context::Event, b"x".to_vec()).unwrap(), b"x");
        assert_eq!(clear.seal_text(Context::Event, "x").unwrap(), "x");
        assert_eq!((clear.name("hash"), clear.key_id(), clear.overhead()), ("hash".to_owned(), "", 0));
        let sealed = cipher(1);
        assert_ne!(sealed.name("hash"), cipher(2).name("hash"));
        assert_eq!((sealed.name(""), sealed.key_id()), (String::new(), "k"));
    }
}
