//! The location of the key that encrypts shared outputs: the setting `store.key`.

use forebay_store::{MasterKey, OpenError};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Maximum bytes that are read of a key.
const MOST: u64 = 4096;

/// The location of a key. The key is read when the shared store is opened, and not before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KeySource {
    File(PathBuf),
    Variable(String),
    Command(String),
}

impl KeySource {
    /// Reads the setting; `None` if nothing is to be encrypted.
    pub(super) fn parse(setting: &str) -> Result<Option<KeySource>, OpenError> {
        let source = match setting.split_once(':') {
            _ if setting.is_empty() => return Ok(None),
            Some((_, "")) => None,
            Some(("file", path)) => Some(KeySource::File(PathBuf::from(path))),
            Some(("env", name)) => Some(KeySource::Variable(name.to_owned())),
            Some(("command", command)) => Some(KeySource::Command(command.to_owned())),
            _ => None,
        };
        // What is wrong may be the key itself, so it is not repeated.
        let expected = "store.key must be file:PATH, env:NAME or command:COMMAND; the key itself does not belong into a setting";
        source.map(Some).ok_or_else(|| OpenError::Address(expected.to_owned()))
    }

    /// Reads the key.
    pub(super) fn read(&self) -> Result<MasterKey, OpenError> {
        let cannot =
            |why: String| OpenError::Address(format!("cannot read the key of shared outputs: {why}"));
        let text = match self {
            KeySource::File(path) => {
                let shown = path.display();
                let file = File::open(path).map_err(|error| cannot(format!("{shown}: {error}")))?;
                let found = file.metadata().map_err(|error| cannot(format!("{shown}: {error}")))?;
                if found.is_dir() {
                    return Err(cannot(format!("{shown} is a folder")));
                }
                if found.mode() & 0o077 != 0 {
                    return Err(cannot(format!("others can read {shown}; run `chmod 600 {shown}`")));
                }
                let mut text = String::new();
                file.take(MOST)
                    .read_to_string(&mut text)
                    .map_err(|error| cannot(format!("{shown}: {error}")))?;
                text
            }
            KeySource::Variable(name) => {
                std::env::var(name).map_err(|_| cannot(format!("the variable {name} is not set")))?
            }
            KeySource::Command(command) => {
                let printed = Command::new("sh").arg("-c").arg(command).stdin(Stdio::null()).output();
                let printed = printed.map_err(|error| cannot(format!("sh: {error}")))?;
                if !printed.status.success() {
                    return Err(cannot(format!("its command failed ({})", printed.status)));
                }
                String::from_utf8_lossy(&printed.stdout).into_owned()
            }
        };
        MasterKey::parse(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_in_a_file_a_variable_or_the_output_of_a_command() {
        let table = [
            ("", Ok(None)),
            ("file:/a/b", Ok(Some(KeySource::File("/a/b".into())))),
            ("env:KEY", Ok(Some(KeySource::Variable("KEY".to_owned())))),
            ("command:pass show a:b", Ok(Some(KeySource::Command("pass show a:b".to_owned())))),
            ("file:", Err(())),
            ("0123456789", Err(())),
            ("vault:hush", Err(())),
        ];
        for (setting, expected) in table {
            let parsed = KeySource::parse(setting);
            if let Err(error) = &parsed {
                let error = error.to_string();
                assert!(error.contains("file:PATH") && !error.contains("hush"), "{error}");
            }
            assert_eq!(parsed.map_err(drop), expected, "{setting}");
        }
    }

    #[test]
    fn a_key_that_others_can_read_or_that_is_none_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let source = KeySource::File(path.clone());
        assert!(source.read().unwrap_err().to_string().contains("No such file"));
        let is_folder = KeySource::File(folder.path().to_owned()).read().unwrap_err().to_string();
        assert!(is_folder.contains("is a folder") && !is_folder.contains("chmod"), "{is_folder}");
        std::fs::write(&path, "ab".repeat(32)).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(source.read().unwrap_err().to_string().contains("chmod 600"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(source.read().is_ok());
        std::fs::write(&path, "hush").unwrap();
        let error = source.read().unwrap_err().to_string();
        assert!(error.contains("64 hexadecimal digits") && !error.contains("hush"), "{error}");
        let printed = KeySource::Command(format!("echo {}", "0f".repeat(32)));
        assert!(printed.read().is_ok());
        let failed = KeySource::Command("echo hush; exit 3".to_owned()).read().unwrap_err().to_string();
        assert!(failed.contains("exit status: 3") && !failed.contains("hush"), "{failed}");
        let unset = KeySource::Variable("FOREBAY_NO_SUCH_VARIABLE".to_owned()).read().unwrap_err();
        assert!(unset.to_string().contains("FOREBAY_NO_SUCH_VARIABLE"), "{unset}");
    }
}
