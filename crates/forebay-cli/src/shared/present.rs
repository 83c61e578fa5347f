//! The shared store in a build with the feature `shared`.

use crate::error::CliError;
use crate::launch::this_binary;
use crate::shared::master_key::KeySource;
use crate::shared::{Ack, MirrorMode, Served, StoreSettings, WithShared};
use forebay::store::disk::Observer;
use forebay::store::retention::{Gone, Rules};
use forebay::{DiskStore, Handle, Session, Store};
use forebay_server::{OnTheWay, SharedTenant};
use forebay_store::{
    BucketAddress, DatabaseAddress, Environment, Mirror, MirrorFolder, OpenError, Options, Origin,
    ReadThrough, SharedStore, Sharing,
};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Variables that pass the addresses to the mirror in the background.
const DATABASE: &str = "FOREBAY_STORE_DATABASE";
const BLOBS: &str = "FOREBAY_STORE_BLOBS";

/// Time without new outputs after which the mirror in the background ends. An agent's next command usually comes
/// sooner.
const IDLE: &str = "15s";

/// Minimum time between two checks of one process whether a mirror is running.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Pause between two attempts to share an output that a caller waits for.
const PAUSE: Duration = Duration::from_millis(50);

/// Last check of a process whether a mirror is running.
#[derive(Default)]
struct Looked {
    at: Option<Instant>,
    /// Mirror that this process started last.
    mirror: Option<Child>,
}

/// A configured shared store.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    settings: StoreSettings,
    options: Options,
    key: Option<KeySource>,
}

impl Shared {
    /// Reads the addresses; `None` if outputs stay on this machine. `is_in_file` says whether a setting comes from a file.
    pub(crate) fn new(
        settings: &StoreSettings,
        is_in_file: impl Fn(&str) -> bool,
    ) -> Result<Option<Shared>, OpenError> {
        let origin = |key: &str| if is_in_file(key) { Origin::File } else { Origin::Process };
        if settings.database.is_empty() {
            if settings.blobs.is_empty() {
                return Ok(None);
            }
            let alone = "store.blobs is set, and store.database is not; a bucket alone has no order";
            return Err(OpenError::Address(alone.to_owned()));
        }
        let environment = Environment::of_process();
        let database = DatabaseAddress::parse(&settings.database, origin("database"), &environment)?;
        let mut options = Options::new(database);
        if !settings.blobs.is_empty() {
            options.bucket = Some(BucketAddress::parse(&settings.blobs, origin("blobs"), &environment)?);
        }
        options.tenant = settings.tenant.parse().map_err(|_| {
            let tenant = &settings.tenant;
            OpenError::Address(format!(
                "store.tenant: {tenant:?} is no name; use letters, digits, '_', '-' and '.'"
            ))
        })?;
        let key = KeySource::parse(&settings.key)?;
        Ok(Some(Shared { settings: settings.clone(), options, key }))
    }

    /// Opens the shared store.
    pub(crate) fn open(&self) -> Result<SharedStore, OpenError> {
        let mut options = self.options.clone();
        options.key = self.key.as_ref().map(KeySource::read).transpose()?;
        SharedStore::open(options)
    }

    /// The same settings for another tenant.
    fn for_tenant(&self, tenant: Option<&Session>) -> Shared {
        let mut shared = self.clone();
        if let Some(tenant) = tenant {
            shared.settings.tenant = tenant.as_str().to_owned();
            shared.options.tenant = tenant.clone();
        }
        shared
    }

    /// Removes outputs from the shared store: by rules, or a whole session. Returns the removed outputs, or those
    /// that would be removed.
    pub(crate) fn clean(
        &self,
        rules: &Rules,
        session: Option<&Session>,
        everything: bool,
        dry_run: bool,
    ) -> Result<Vec<Gone>, CliError> {
        let store = self.open().map_err(|error| CliError::not_there(error.to_string()))?;
        Ok(match session {
            Some(session) if everything => store.remove_session(session, dry_run)?,
            _ => store.remove_by_rules(rules, session, dry_run)?,
        })
    }

    /// Opens the shared store for a server.
    pub(crate) fn serve(&self) -> Result<Served, CliError> {
        let opened = Arc::new(self.open().map_err(|error| CliError::not_there(error.to_string()))?);
        let (shared, checked) = (self.clone(), opened.clone());
        Ok(Served {
            open: Box::new(move |tenant, disk| shared.served(&opened, tenant, disk)),
            on_the_way: |root| {
                let folder = MirrorFolder::of(root);
                OnTheWay {
                    sessions: folder.sessions().map_or(0, |sessions| sessions.len() as u64),
                    lag_seconds: folder.lag().unwrap_or_default().as_secs_f64(),
                    failures: folder.fared().failures,
                }
            },
            check: Box::new(move || checked.check().map_err(|error| error.to_string())),
        })
    }

    /// The store of a server's tenant over a folder of this machine. `opened` is the shared store of any tenant.
    fn served(
        &self,
        opened: &SharedStore,
        tenant: Option<&Session>,
        disk: &DiskStore,
    ) -> forebay_server::Result<SharedTenant> {
        if tenant == Some(&self.options.tenant) {
            return Err(forebay_server::Error::TakenTenant(self.options.tenant.clone()));
        }
        let shared = self.for_tenant(tenant);
        let tended = Arc::new(opened.for_tenant(shared.options.tenant.clone()));
        let forgetting = tended.clone();
        Ok(SharedTenant {
            store: shared.serving(opened, disk),
            tend: Box::new(move |rules| {
                tended.remove_by_rules(rules, None, false)?;
                tended.catch_up().map(drop)
            }),
            forget: Box::new(move |session| forgetting.remove_notes(session)),
        })
    }

    /// The store in which requests are answered.
    fn serving(self, opened: &SharedStore, disk: &DiskStore) -> Box<dyn Store> {
        match self.settings.ack {
            Ack::Shared => Box::new(opened.for_tenant(self.options.tenant)),
            Ack::Local => {
                let root = disk.root();
                let observed =
                    DiskStore::new(root).without_paths().observed(Some(self.observer(root.to_owned())));
                Box::new(self.reading(Box::new(observed), root))
            }
        }
    }

    /// Checks that the database and the bucket answer.
    pub(crate) fn check(&self) -> Result<(), CliError> {
        let store = self.open().map_err(|error| CliError::not_there(error.to_string()))?;
        Ok(store.check()?)
    }

    /// Address of the database, without a password.
    pub(crate) fn place(&self) -> String {
        match &self.options.bucket {
            Some(bucket) => format!("{} and {bucket}", self.options.database),
            None => self.options.database.to_string(),
        }
    }

    /// A local store, with the shared store behind it.
    pub(crate) fn behind(&self, local: Box<dyn Store>, root: &Path) -> WithShared {
        let store = Arc::new(self.reading(local, root));
        let asked = store.clone();
        WithShared { store, problem: Box::new(move || asked.problem()) }
    }

    fn reading(&self, local: Box<dyn Store>, root: &Path) -> ReadThrough {
        let shared = self.clone();
        let open = Box::new(move || shared.open());
        let origin = MirrorFolder::of(root).origin().ok();
        ReadThrough::new(local, root, open, self.settings.cache_bytes, origin)
    }

    /// A listener that notes what is to be shared, and starts a mirror in the background.
    pub(crate) fn observer(&self, root: PathBuf) -> Observer {
        let (shared, folder) = (self.clone(), MirrorFolder::of(&root));
        let looked: Mutex<Looked> = Mutex::default();
        Arc::new(move |session, _| {
            // On an error the command continues; `mirror flush` compares everything later.
            if folder.note(session).is_err() || shared.settings.mirror == MirrorMode::Off {
                return;
            }
            let mut looked = looked.lock().unwrap_or_else(PoisonError::into_inner);
            if looked.at.is_none_or(|at| at.elapsed() >= LOOK_EVERY) {
                looked.at = Some(Instant::now());
                if !folder.is_served() {
                    // Waits for a mirror that has ended, so that it does not stay a zombie process.
                    let _ = looked.mirror.as_mut().map(Child::try_wait);
                    looked.mirror = shared.start_mirror(&root).ok();
                }
            }
        })
    }

    /// Starts a mirror that ends when there is nothing to share.
    fn start_mirror(&self, root: &Path) -> std::io::Result<Child> {
        let mut mirror = Command::new(this_binary()?);
        mirror
            .arg0("forebay")
            .args(["mirror", "run", "--idle", IDLE])
            .arg("--root")
            .arg(root)
            .current_dir(root);
        // An address may contain a password. Arguments would show it to every user of this machine.
        mirror.env(DATABASE, &self.settings.database).env(BLOBS, &self.settings.blobs);
        mirror
            .env("FOREBAY_STORE_TENANT", &self.settings.tenant)
            .env("FOREBAY_STORE_KEY", &self.settings.key);
        // Its path may be relative to the folder of the command.
        mirror.env_remove("FOREBAY_AGENT");
        mirror.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // Ctrl-C must reach only the command.
        mirror.process_group(0);
        mirror.spawn()
    }

    /// Shares all outputs of a session that is to be removed from this machine.
    pub(crate) fn share_session(
        &self,
        local: &DiskStore,
        session: &Session,
        patience: Duration,
    ) -> Result<(), CliError> {
        let begun = Instant::now();
        let late = |why: String| {
            CliError::not_there(format!("session {session} is not wholly shared, and stays here: {why}"))
                .hint("`forebay mirror flush` tries again; `forebay mirror status` lists what is not shared")
        };
        if local.ids(session, "")?.is_empty() {
            return Ok(());
        }
        let store = self.open().map_err(|error| late(error.to_string()))?;
        let mut mirror = Mirror::new(local, &store, origin(local.root())?);
        loop {
            let why = match mirror.session(session) {
                Ok(left) if left.outputs == 0 => return Ok(()),
                Ok(left) => format!("{} of its outputs are not shared", left.outputs),
                Err(error) => error.to_string(),
            };
            if begun.elapsed() >= patience {
                return Err(late(why));
            }
            thread::sleep(PAUSE);
        }
    }

    /// Waits until an output is shared; returns its handle in the shared store. Retries until `patience` is over if
    /// the shared store is unreachable.
    pub(crate) fn wait(
        &self,
        local: &DiskStore,
        handle: &Handle,
        patience: Duration,
    ) -> Result<Handle, CliError> {
        let begun = Instant::now();
        let late = |why: String| {
            let seconds = patience.as_secs_f64();
            CliError::not_there(format!(
                "{handle} is kept here, and was not shared within {seconds} s: {why}"
            ))
            .hint("`forebay mirror flush` tries again; `forebay mirror status` lists what is not shared")
        };
        let store = loop {
            match self.open() {
                Ok(store) => break store,
                Err(error) if begun.elapsed() >= patience || !error.may_pass() => {
                    return Err(late(error.to_string()));
                }
                Err(_) => thread::sleep(PAUSE),
            }
        };
        let mut mirror = Mirror::new(local, &store, origin(local.root())?);
        loop {
            let why = match mirror.share(handle) {
                Ok(Sharing::Done(handle)) => return Ok(handle),
                Ok(Sharing::UnderWay) if begun.elapsed() < patience => continue,
                Ok(Sharing::UnderWay) => "the copy is not finished".to_owned(),
                Ok(Sharing::Elsewhere) => "another process is copying it".to_owned(),
                Err(error) => error.to_string(),
            };
            if begun.elapsed() >= patience {
                return Err(late(why));
            }
            thread::sleep(PAUSE);
        }
    }
}

/// Name of a root among all mirrored ones.
pub(crate) fn origin(root: &Path) -> Result<String, CliError> {
    MirrorFolder::of(root).origin().map_err(|error| {
        CliError::not_there(format!("cannot write below {}: {error}", root.join(".mirror").display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::{Ack, MirrorMode};

    #[test]
    fn a_password_in_a_file_and_a_bucket_alone_are_refused() {
        let settings = |database: &str, blobs: &str| StoreSettings {
            database: database.to_owned(),
            blobs: blobs.to_owned(),
            key: String::new(),
            tenant: "t".to_owned(),
            cache_bytes: 0,
            mirror: MirrorMode::Off,
            ack: Ack::Shared,
        };
        let table = [
            (settings("", ""), Origin::File, Ok(false)),
            (settings("postgres://u@localhost/d", ""), Origin::File, Ok(true)),
            (settings("postgres://u:hush@localhost/d", ""), Origin::Process, Ok(true)),
            (settings("postgres://u:hush@localhost/d", ""), Origin::File, Err("PGPASSWORD")),
            (settings("mysql://h/d", ""), Origin::File, Err("postgres://")),
            (settings("", "s3://b"), Origin::File, Err("store.database")),
            (settings("postgres://localhost/d", "ftp://b"), Origin::File, Err("s3://")),
            (
                StoreSettings { key: "hush".to_owned(), ..settings("postgres://localhost/d", "") },
                Origin::File,
                Err("file:PATH"),
            ),
            (
                StoreSettings { tenant: "a/b".to_owned(), ..settings("postgres://localhost/d", "") },
                Origin::File,
                Err("tenant"),
            ),
        ];
        for (settings, origin, expected) in table {
            let shared = Shared::new(&settings, |_| origin == Origin::File);
            match (shared, expected) {
                (Ok(shared), Ok(is_set)) => assert_eq!(shared.is_some(), is_set, "{settings:?}"),
                (Err(error), Err(part)) => {
                    let error = error.to_string();
                    assert!(error.contains(part) && !error.contains("hush"), "{error}");
                }
                (shared, _) => panic!("{settings:?}: {shared:?}"),
            }
        }
    }
}
