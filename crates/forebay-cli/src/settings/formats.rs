//! Format files of the user: what Forebay is taught about tools.

use super::files::read_bounded;
use super::{Origin, Problem, folder};
use forebay::Formats;
use forebay::formats::{self, UserFormat};
use std::path::{Path, PathBuf};

/// Maximum number of files: a few times the built-in ones. Every output is searched for the lines of all of them.
const MAX_FILES: usize = 100;

/// The folder of the user's format files, whether it exists or not.
pub(crate) fn format_folder() -> Option<PathBuf> {
    folder("XDG_CONFIG_HOME", ".config").map(|config| config.join("forebay/formats"))
}

/// Reads one file, or returns what is wrong with it.
pub(crate) fn read_format(path: &Path) -> Result<UserFormat, Vec<formats::Problem>> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let text = read_bounded(path, true).map_err(|message| vec![formats::Problem { line: 1, message }])?;
    UserFormat::parse(&name, &text)
}

/// The built-in formats and those of the user. A file with an error is skipped.
pub(super) fn formats(problems: &mut Vec<Problem>) -> Formats {
    let entries = format_folder().and_then(|folder| folder.read_dir().ok()).into_iter().flatten();
    let is_format = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "toml");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_format).collect();
    paths.sort();
    if let Some(path) = paths.get(MAX_FILES) {
        let message = format!("{}: more than {MAX_FILES} format files; join some of them", path.display());
        problems.push(Problem::new(Origin::User, message));
        paths.truncate(MAX_FILES);
    }
    let mut read = Vec::new();
    for path in paths {
        match read_format(&path) {
            Ok(format) => read.push(format),
            Err(wrong) => problems.extend(wrong.into_iter().map(|formats::Problem { line, message }| {
                Problem::new(Origin::User, format!("{}:{line}: {message}", path.display()))
            })),
        }
    }
    Formats::with(read)
}
