//! The token of a server that only this machine can reach. It keeps other users of the machine out.
//!
//! It is in a file under the root that only its owner can read, so that `forebay serve token` and scripts of the same
//! user find it. The server reads the file for every request: a new token is valid immediately, and the old one no longer.

use crate::error::{Error, Result};
use crate::random::random;
use rustix::fs::OFlags;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The name of the file. No session has such a name.
const NAME: &str = ".serve-token";

/// Maximum bytes read of the file; a token has 67.
const MAX_FILE_BYTES: u64 = 1024;

/// Fewest characters of a token that the user wrote into the file: 128 bits in hexadecimal.
const MIN_TOKEN_CHARACTERS: usize = 32;

/// Makes a token of 256 random bits.
pub fn fresh_token() -> Result<String> {
    let random = [random()?, random()?].concat();
    Ok(format!("fb_{}", random.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
}

/// The file that holds the token of a root.
#[derive(Clone, Debug)]
pub struct LocalToken {
    file: PathBuf,
}

impl LocalToken {
    /// The token file of a root. Opens nothing.
    pub fn of(root: &Path) -> LocalToken {
        LocalToken { file: root.join(NAME) }
    }

    /// The path of the file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Returns the token, and makes one if there is none.
    pub fn get(&self) -> Result<String> {
        for _ in 0..2 {
            match self.read() {
                Ok(token) => return Ok(token),
                Err(error) if error.kind() == io::ErrorKind::NotFound => self.write(Existing::Keep)?,
                Err(source) => return Err(self.unreadable(source)),
            };
        }
        self.read().map_err(|source| self.unreadable(source))
    }

    /// Replaces the token by a new one.
    pub fn rotate(&self) -> Result<String> {
        self.write(Existing::Replace)
    }

    /// Returns the token as the file has it now.
    pub(crate) fn read(&self) -> io::Result<String> {
        // A link or a pipe that somebody else put there is not opened.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
        let file = OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(&self.file)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.uid() != rustix::process::getuid().as_raw() {
            return Err(io::Error::other("it is not a file of this user"));
        }
        if metadata.mode() & 0o077 != 0 {
            return Err(io::Error::other("other users can read it, so the token is no secret"));
        }
        let mut token = String::new();
        file.take(MAX_FILE_BYTES).read_to_string(&mut token)?;
        let token = token.trim();
        if token.len() < MIN_TOKEN_CHARACTERS || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(io::Error::other("its content is not a token"));
        }
        Ok(token.to_owned())
    }

    /// Writes a new token, and returns it.
    fn write(&self, existing: Existing) -> Result<String> {
        let token = fresh_token()?;
        let written = || -> io::Result<()> {
            let folder = self.file.parent().unwrap_or(Path::new("."));
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            // Such a file has the mode 0600 from the beginning.
            let mut file = tempfile::Builder::new().prefix(NAME).tempfile_in(folder)?;
            file.write_all(format!("{token}\n").as_bytes())?;
            match existing {
                Existing::Replace => file.persist(&self.file).map(drop).map_err(|error| error.error),
                Existing::Keep => match file.persist_noclobber(&self.file) {
                    Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
                    _ => Ok(()),
                },
            }
        };
        written().map_err(|source| Error::UnwritableToken { file: self.file.clone(), source })?;
        Ok(token)
    }

    fn unreadable(&self, source: io::Error) -> Error {
        Error::UnreadableToken { file: self.file.clone(), source }
    }
}

/// Whether a token that is already in the file stays.
#[derive(Clone, Copy)]
enum Existing {
    Keep,
    Replace,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn only_its_owner_can_read_a_token_and_it_stays_until_it_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let token = LocalToken::of(&folder.path().join("root"));
        let first = token.get().unwrap();
        assert_eq!((first.len(), token.get().unwrap()), (67, first.clone()));
        assert_eq!(fs::metadata(token.file()).unwrap().mode() & 0o777, 0o600);
        let second = token.rotate().unwrap();
        assert_ne!(first, second);
        assert_eq!(token.get().unwrap(), second);
        assert_eq!(fs::read_dir(folder.path().join("root")).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn a_file_that_others_can_read_or_have_made_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let token = LocalToken::of(folder.path());
        let good = format!("fb_{}", "0".repeat(64));
        let made = |text: &str, mode| {
            let _ = fs::remove_file(token.file());
            fs::write(token.file(), text).unwrap();
            fs::set_permissions(token.file(), fs::Permissions::from_mode(mode)).unwrap();
        };
        let table: &[(&str, u32, Option<&str>)] = &[
            (&good, 0o600, None),
            (&good, 0o400, None),
            (&good, 0o644, Some("other users can read it")),
            (&good, 0o640, Some("other users can read it")),
            ("", 0o600, Some("not a token")),
            ("short", 0o600, Some("not a token")),
            (&format!("{good} {good}"), 0o600, Some("not a token")),
        ];
        for (text, mode, wrong) in table {
            made(text, *mode);
            match (token.get(), wrong) {
                (Ok(read), None) => assert_eq!(read, good),
                (Err(error), Some(wrong)) => assert!(error.to_string().contains(wrong), "{error}"),
                (got, _) => panic!("{text} {mode:o}: {got:?}"),
            }
        }
        made(&good, 0o600);
        let elsewhere = folder.path().join("elsewhere");
        fs::rename(token.file(), &elsewhere).unwrap();
        symlink(&elsewhere, token.file()).unwrap();
        assert!(token.get().is_err(), "a link is not followed");
        // A new file replaces the link, and the target of the link is untouched.
        token.rotate().unwrap();
        assert!(fs::symlink_metadata(token.file()).unwrap().is_file());
        assert_eq!(fs::read_to_string(elsewhere).unwrap(), good);
    }
}
