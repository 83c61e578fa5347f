//! Files of other programs that Forebay changes. Each change is shown as a diff and made completely or not at all; a
//! copy of the original file is kept beside it.

use crate::error::CliError;
use crate::print;
use similar::TextDiff;
use std::env;
use std::fs::{self, DirBuilder, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The file of the program `forebay` on the path, if it is this program.
fn on_path() -> Option<PathBuf> {
    let own = env::current_exe().and_then(fs::canonicalize).ok()?;
    let path = env::var_os("PATH")?;
    let found = env::split_paths(&path).map(|folder| folder.join("forebay")).find(|found| found.is_file())?;
    (fs::canonicalize(&found).ok()? == own).then_some(found)
}

/// The command that starts this program: its name if that is on the path, otherwise its file.
pub(crate) fn program() -> Result<String, CliError> {
    match on_path() {
        Some(_) => Ok("forebay".to_owned()),
        None => Ok(env::current_exe()?.display().to_string()),
    }
}

/// The file that starts this program: the one on the path, which an upgrade replaces, otherwise the one that runs.
pub(crate) fn program_file() -> Result<PathBuf, CliError> {
    match on_path().filter(|found| found.is_absolute()) {
        Some(found) => Ok(found),
        None => Ok(env::current_exe()?),
    }
}

/// Whether a program is this one: by its name, or because it is the same file.
pub(crate) fn is_us(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    let same = |found: &Path| {
        let own = env::current_exe().and_then(fs::canonicalize);
        own.is_ok_and(|own| fs::canonicalize(found).is_ok_and(|found| found == own))
    };
    name.starts_with("forebay")
        || if name == program {
            env::var_os("PATH")
                .is_some_and(|path| env::split_paths(&path).any(|folder| same(&folder.join(program))))
        } else {
            same(Path::new(program))
        }
}

/// Backups of the original file. None is ever overwritten: each may be the only copy of its text.
pub(crate) struct Copies {
    /// Existing backups, the oldest first.
    pub(crate) there: Vec<PathBuf>,
    /// The name of the next backup.
    free: PathBuf,
}

impl Copies {
    pub(crate) fn of(file: &Path) -> Copies {
        let named = |number: u32| {
            let mut name = file.as_os_str().to_owned();
            name.push(".before-forebay");
            if number > 1 {
                name.push(format!("-{number}"));
            }
            PathBuf::from(name)
        };
        let there: Vec<PathBuf> =
            (1..).map(named).take_while(|copy| copy.symlink_metadata().is_ok()).collect();
        let free = named(u32::try_from(there.len()).unwrap_or(u32::MAX) + 1);
        Copies { there, free }
    }

    /// Their text, the newest first.
    pub(crate) fn texts(&self) -> impl Iterator<Item = String> {
        self.there.iter().rev().filter_map(|copy| fs::read_to_string(copy).ok())
    }

    /// Removes the copies that have this text, which the file has again, and names the others.
    pub(crate) fn remove_like(&self, text: &str) {
        for copy in &self.there {
            if fs::read_to_string(copy).is_ok_and(|before| before == text) {
                let _ = fs::remove_file(copy);
            } else {
                print::err(&format!(
                    "forebay: {} differs from what there is now, and stays\n",
                    copy.display()
                ));
            }
        }
    }
}

/// The change of a file as a unified diff.
pub(crate) fn diff(file: &Path, before: &str, after: &str) -> String {
    let name = file.display().to_string();
    TextDiff::from_lines(before, after).unified_diff().header(&name, &name).to_string()
}

/// Replaces the text of a file that exists, and with `with_copy` keeps a copy of the old text, unless there is one.
pub(crate) fn replace(
    file: &Path,
    before: &str,
    after: &str,
    with_copy: Option<&Copies>,
) -> Result<(), CliError> {
    let cannot = |error| failed(file, error);
    let real = fs::canonicalize(file).map_err(cannot)?;
    let old = fs::metadata(&real).map_err(cannot)?;
    if let Some(copies) = with_copy.filter(|copies| !copies.texts().any(|copy| copy == before)) {
        // Of a file that belongs to somebody else the copy may be ours: no more people can read it.
        let copy = beside(&copies.free, before, &old).map_err(cannot)?;
        let _ = own_like(copy.path(), &old);
        copy.persist(&copies.free).map_err(|error| cannot(error.error))?;
    }
    // A reader must never see half of it: written beside, then renamed. Where the new file cannot have the owner of the
    // old one, the old one is written over.
    let new = beside(&real, after, &old).map_err(cannot)?;
    match own_like(new.path(), &old) {
        Ok(()) => drop(new.persist(&real).map_err(|error| cannot(error.error))?),
        Err(_) => fs::write(&real, after).map_err(cannot)?,
    }
    Ok(())
}

/// Creates a file, with the folders above it. Only its owner can read it, since such files may contain keys.
pub(crate) fn create(file: &Path, text: &str, is_program: bool) -> Result<(), CliError> {
    let cannot = |error| failed(file, error);
    let folder = folder_of(file);
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(cannot)?;
    let mut new = NamedTempFile::new_in(folder).map_err(cannot)?;
    new.write_all(text.as_bytes()).map_err(cannot)?;
    new.as_file().sync_all().map_err(cannot)?;
    fs::set_permissions(new.path(), fs::Permissions::from_mode(if is_program { 0o700 } else { 0o600 }))
        .map_err(cannot)?;
    new.persist_noclobber(file).map_err(|error| cannot(error.error))?;
    Ok(())
}

/// Removes a file, and the folders above it that this leaves empty, up to `top`, which stays.
pub(crate) fn remove(file: &Path, top: &Path) -> Result<(), CliError> {
    fs::remove_file(file).map_err(|error| failed(file, error))?;
    for folder in file.ancestors().skip(1).take_while(|folder| *folder != top && folder.starts_with(top)) {
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
    Ok(())
}

fn failed(file: &Path, error: io::Error) -> CliError {
    CliError::from(io::Error::new(error.kind(), format!("{}: {error}", file.display())))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A new file in the folder of `path`. Its text may be secret, so it gets the permissions of the old file.
fn beside(path: &Path, text: &str, old: &Metadata) -> io::Result<NamedTempFile> {
    let mut new = NamedTempFile::new_in(folder_of(path))?;
    new.write_all(text.as_bytes())?;
    new.as_file().sync_all()?;
    fs::set_permissions(new.path(), old.permissions())?;
    Ok(new)
}

/// Gives a file the owner, the group and the mode of another.
fn own_like(path: &Path, other: &Metadata) -> io::Result<()> {
    let own = fs::metadata(path)?;
    if (own.uid(), own.gid()) != (other.uid(), other.gid()) {
        chown(path, Some(other.uid()), Some(other.gid()))?;
        // Changing the owner clears some bits of the mode.
        fs::set_permissions(path, other.permissions())?;
    }
    Ok(())
}
