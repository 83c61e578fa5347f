//! A root that is ours: the file that marks it, and what proves it where that file is missing.
//!
//! A root may be set to any folder by mistake. So sweeps work only in a root that is marked, and of that they touch
//! only what has a form that only we write.

use crate::store::disk::files::{self, names_in};
use crate::store::disk::open::OPEN;
use crate::store::disk::run_folder::{self, is_run_name};
use crate::store::disk::{DiskStore, EVENTS, FOLDERS, META, STATE, STATE_LOCK};
use crate::store::rooms::InUse;
use crate::{Handle, Session};
use serde::{Deserialize, de::IgnoredAny};
use std::{io, io::Read, path::Path};

/// The file that marks a root as ours.
pub(crate) const MARKER: &str = ".forebay-root";

/// The file with the key of the tags in masks of secrets, in hexadecimal.
pub(crate) const KEY: &str = ".forebay-key";

/// Text of the marker before the version of the layout.
const SAYS: &str = "forebay root ";
const VERSION: u32 = 1;

impl DiskStore {
    /// Makes the folder of a session, and marks the root as ours.
    pub(crate) fn make_session(&self, session: &Session) -> io::Result<()> {
        files::make_folder(&self.root().join(session.as_str()))?;
        self.mark();
        Ok(())
    }

    /// Marks the root as Forebay's. Outputs are stored even if this fails; a sweep then creates the mark.
    pub(crate) fn mark(&self) {
        let path = self.root().join(MARKER);
        if files::stat(&path).is_none() {
            let _ = files::claim(&path, format!("{SAYS}{VERSION}\n").as_bytes());
        }
        let path = self.root().join(KEY);
        if let Some(key) = self.key.get().filter(|_| files::stat(&path).is_none()) {
            let _ = files::claim(&path, format!("{}\n", blake3::Hash::from_bytes(*key).to_hex()).as_bytes());
        }
    }

    /// The key of the tags in masks of secrets. Without one, `fresh` becomes the key; it is written with the first output.
    pub fn secret_key(&self, fresh: [u8; 32]) -> [u8; 32] {
        let known = || blake3::Hash::from_hex(files::whole(&self.root().join(KEY)).ok()?.trim_ascii()).ok();
        *self.key.get_or_init(|| known().map_or(fresh, |key| *key.as_bytes()))
    }

    /// Whether the root is Forebay's and may be swept. A root of an earlier version without a mark is marked if it
    /// contains files that only Forebay writes; with `look` nothing is written.
    pub(crate) fn is_ours(&self, look: bool) -> bool {
        match files::whole(&self.root().join(MARKER)) {
            Ok(text) => is_known(&text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let ours = self.holds_ours();
                if ours && !look {
                    self.mark();
                }
                ours
            }
            Err(_) => false,
        }
    }

    /// Whether the root holds something that only we write: a record, or the folder of a run.
    fn holds_ours(&self) -> bool {
        let root = self.root();
        if run_folder::is_run_folder(root)
            && root.file_name().and_then(|name| name.to_str()).is_some_and(is_run_name)
        {
            return true;
        }
        names_in(root).unwrap_or_default().iter().any(|name| {
            let folder = root.join(name);
            let is_run = || is_run_name(name) && run_folder::is_run_folder(&folder);
            name.parse::<Session>().is_ok() && files::is_folder(&folder) && (is_run() || has_record(&folder))
        })
    }
}

/// Whether a marker is of a version that we know.
fn is_known(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let version = text.strip_prefix(SAYS).and_then(|rest| rest.trim_end().parse::<u32>().ok());
    version.is_some_and(|version| version <= VERSION)
}

/// Whether the folder of a session has a record of ours.
fn has_record(folder: &Path) -> bool {
    FOLDERS.map(|name| folder.join(name)).iter().filter(|inner| files::is_folder(inner)).any(|inner| {
        let names = names_in(inner).unwrap_or_default();
        names.iter().any(|name| name.strip_suffix(META).is_some_and(|id| is_record(&inner.join(name), id)))
    })
}

/// Whether a file is the record of an output with this id, of whatever version.
pub(crate) fn is_record(path: &Path, id: &str) -> bool {
    #[derive(Deserialize)]
    struct Named {
        #[serde(rename = "version")]
        _version: u32,
        handle: Handle,
        #[serde(rename = "call")]
        _call: IgnoredAny,
    }
    let named = files::whole(path).ok().and_then(|text| serde_json::from_slice::<Named>(&text).ok());
    named.is_some_and(|named| named.handle.id() == id)
}

/// Whether a session's folder contains only files that Forebay writes. Outputs are not examined.
pub(crate) fn is_our_session(folder: &Path) -> bool {
    let Ok(names) = names_in(folder) else { return false };
    let is_empty = |path: &Path| files::stat(path).is_some_and(|data| data.is_file() && data.len() == 0);
    let ours = |name: &String| {
        let path = folder.join(name);
        match name.as_str() {
            EVENTS => is_empty(&path) || begins_with(&path, br#"{"event":""#),
            STATE => files::whole(&path).is_ok_and(|text| serde_json::from_slice::<InUse>(&text).is_ok()),
            STATE_LOCK | OPEN => is_empty(&path),
            name if FOLDERS.contains(&name) => files::is_folder(&path),
            name => {
                files::is_temporary(name) && files::stat(&path).is_some_and(|data| files::is_private(&data))
            }
        }
    };
    // Empty folders prove nothing.
    names.iter().all(ours) && names.iter().any(|name| [EVENTS, STATE, OPEN].contains(&name.as_str()))
}

fn begins_with(path: &Path, wanted: &[u8]) -> bool {
    let mut start = vec![0; wanted.len()];
    files::read(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok()) && start == wanted
}
