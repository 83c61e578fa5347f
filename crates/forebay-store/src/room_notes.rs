//! Changes of the tokens in use that were made while the shared store was unreachable. A file keeps them until they
//! are sent.

use crate::rooms::{Change, Step};
use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Seek, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::PathBuf,
};

/// The file of one session: a line of JSON for each change, in order.
#[derive(Clone, Debug)]
pub(crate) struct RoomNotes {
    path: PathBuf,
}

impl RoomNotes {
    pub(crate) fn at(path: PathBuf) -> RoomNotes {
        RoomNotes { path }
    }

    /// Adds a change. A change that sets the tokens in use replaces all earlier ones.
    pub(crate) fn add(&self, change: &Change) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        self.rewrite(true, |mut changes| {
            if matches!(change.step, Step::Set(_)) {
                changes.clear();
            }
            changes.push(change.clone());
            changes
        })
    }

    /// The changes, oldest first.
    pub(crate) fn changes(&self) -> io::Result<Vec<Change>> {
        match fs::read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            read => Ok(parse(&read?)),
        }
    }

    /// Removes changes that the shared store has made.
    pub(crate) fn remove(&self, gone: &[Change]) -> io::Result<()> {
        self.rewrite(false, |mut changes| {
            changes.retain(|change| gone.iter().all(|gone| gone.mark != change.mark));
            changes
        })
    }

    /// Rewrites the file under its lock. An empty file is removed.
    fn rewrite(&self, make: bool, change: impl FnOnce(Vec<Change>) -> Vec<Change>) -> io::Result<()> {
        let Some(mut file) = self.locked(make)? else { return Ok(()) };
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let changes = change(parse(&text));
        if changes.is_empty() {
            return fs::remove_file(&self.path);
        }
        let mut lines = Vec::new();
        for change in &changes {
            serde_json::to_writer(&mut lines, change)?;
            lines.push(b'\n');
        }
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(&lines)
    }

    /// The locked file; `None` if it does not exist and `make` is false.
    fn locked(&self, make: bool) -> io::Result<Option<File>> {
        loop {
            let opened = OpenOptions::new().read(true).write(true).create(make).mode(0o600).open(&self.path);
            let file = match opened {
                Err(error) if error.kind() == io::ErrorKind::NotFound && !make => return Ok(None),
                opened => opened?,
            };
            file.lock()?;
            // The previous holder of the lock may have removed it.
            let is_there = fs::metadata(&self.path).is_ok_and(|now| {
                file.metadata().is_ok_and(|file| (file.dev(), file.ino()) == (now.dev(), now.ino()))
            });
            if is_there {
                return Ok(Some(file));
            }
        }
    }
}

/// The changes in a file. An unfinished line of a killed process is skipped.
fn parse(text: &[u8]) -> Vec<Change> {
    text.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay::InUse;

    fn reserve(mark: &str, tokens: u64) -> Change {
        Change { mark: mark.to_owned(), step: Step::Reserve { tokens, most: 100, force: false } }
    }

    #[test]
    fn changes_stay_until_they_are_removed_and_a_count_replaces_those_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let notes = RoomNotes::at(folder.path().join("rooms/s"));
        assert_eq!(notes.changes().unwrap(), []);
        notes.remove(&[reserve("a", 1)]).unwrap();
        for mark in ["a", "b"] {
            notes.add(&reserve(mark, 1)).unwrap();
        }
        assert_eq!(notes.changes().unwrap(), [reserve("a", 1), reserve("b", 1)]);
        let set = Change { mark: "c".to_owned(), step: Step::Set(InUse { reported: 7, given: 0 }) };
        notes.add(&set).unwrap();
        notes.add(&reserve("d", 2)).unwrap();
        assert_eq!(notes.changes().unwrap(), [set.clone(), reserve("d", 2)]);
        notes.remove(&[set]).unwrap();
        assert_eq!(notes.changes().unwrap(), [reserve("d", 2)]);
        notes.remove(&[reserve("d", 2)]).unwrap();
        assert_eq!(fs::read_dir(folder.path().join("rooms")).unwrap().count(), 0);
    }

    #[test]
    fn an_unfinished_line_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let notes = RoomNotes::at(path.clone());
        notes.add(&reserve("a", 1)).unwrap();
        let whole = fs::read(&path).unwrap();
        fs::write(&path, [&whole[..], br#"{"mark":"b","tok"#].concat()).unwrap();
        notes.add(&reserve("c", 1)).unwrap();
        assert_eq!(notes.changes().unwrap(), [reserve("a", 1), reserve("c", 1)]);
    }

    #[test]
    fn no_change_of_many_writers_is_lost_while_others_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let notes = RoomNotes::at(folder.path().join("s"));
        let taken = std::thread::scope(|scope| {
            for writer in 0..4 {
                let notes = &notes;
                scope.spawn(move || {
                    for number in 0..50 {
                        notes.add(&reserve(&format!("{writer}.{number}"), 1)).unwrap();
                    }
                });
            }
            let taker = scope.spawn(|| {
                let mut taken = Vec::new();
                while taken.len() < 200 {
                    let changes = notes.changes().unwrap();
                    notes.remove(&changes).unwrap();
                    taken.extend(changes.into_iter().map(|change| change.mark));
                    taken.sort();
                    taken.dedup();
                }
                taken
            });
            taker.join().unwrap()
        });
        assert_eq!((taken.len(), notes.changes().unwrap().len()), (200, 0));
    }
}
