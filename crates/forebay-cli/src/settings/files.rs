//! Settings files: which project files count, and how files are read.

use rustix::fs::OFlags;
use std::{
    env,
    fs::{self, File, OpenOptions},
    io::Read,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// Maximum bytes of a settings file: a hundred times what any has, and little enough to read for every command.
const LARGEST: u64 = 1024 * 1024;

/// A `forebay.toml` in this folder or above it.
pub(super) enum ProjectFile {
    Counts(PathBuf),
    /// It does not count, for this reason.
    Ignored(PathBuf, String),
}

/// Project files from this folder upwards. At most one is used: the nearest that is trusted.
pub(super) fn project_files() -> Vec<ProjectFile> {
    let Ok(here) = env::current_dir() else { return Vec::new() };
    let top = here.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
    let home = env::home_dir().filter(|home| home.is_absolute());
    // The current folder has its real name, and the home folder may be behind a link.
    let real_home = home.as_ref().and_then(|home| home.canonicalize().ok());
    let bounds: Vec<&Path> = [top, home.as_deref(), real_home.as_deref()].into_iter().flatten().collect();
    let mut files = Vec::new();
    for folder in here.ancestors() {
        let path = folder.join("forebay.toml");
        let Ok(found) = path.symlink_metadata() else { continue };
        let inside = bounds.iter().any(|bound| folder.starts_with(bound));
        match why_ignored(inside, found.uid()) {
            Some(why) => files.push(ProjectFile::Ignored(path, why)),
            None => {
                files.push(ProjectFile::Counts(path));
                break;
            }
        }
    }
    files
}

/// Why a project file is ignored. A file in a shared folder above belongs to no project, and a file of another user
/// must not be followed.
fn why_ignored(inside: bool, owner: u32) -> Option<String> {
    let us = rustix::process::geteuid().as_raw();
    if !inside {
        Some("it lies neither in your home folder nor in this repository".to_owned())
    } else if owner != us && owner != 0 {
        Some(format!("it belongs to user {owner}, and you are user {us}"))
    } else {
        None
    }
}

/// The text of a settings file: a regular file of at most [`LARGEST`] bytes. A link is followed only where `links` says
/// so: in a repository it could lead to any file of the user.
pub(crate) fn read_bounded(path: &Path, links: bool) -> Result<String, String> {
    let flags = if links { OFlags::empty() } else { OFlags::NOFOLLOW };
    // To open a pipe that nobody writes to must not wait.
    let flags = flags.union(OFlags::NONBLOCK).bits();
    if !links && fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
        return Err("it is a link, and a project's settings are a file".to_owned());
    }
    let file: File = OpenOptions::new()
        .read(true)
        .custom_flags(flags as i32)
        .open(path)
        .map_err(|error| error.to_string())?;
    let found = file.metadata().map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!("it has more than {LARGEST} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_file_counts_if_it_is_near_and_belongs_to_the_user_or_to_root() {
        let us = rustix::process::geteuid().as_raw();
        let table = [
            (true, us, None),
            (true, 0, None),
            (true, us + 1, Some("it belongs to user")),
            (false, us, Some("it lies neither")),
        ];
        for (inside, owner, expected) in table {
            let why = why_ignored(inside, owner);
            match expected {
                Some(start) => assert!(why.as_ref().is_some_and(|why| why.starts_with(start)), "{why:?}"),
                None => assert_eq!(why, None),
            }
        }
    }
}
