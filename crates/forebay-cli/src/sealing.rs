//! Sealing and opening of archives: keys and passphrases from options, files and the terminal.

use crate::error::CliError;
use crate::print;
use crate::stop;
use forebay_age::{Error, Identity, Key, Lock, Reader, is_sealed};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The word for a lock that is a passphrase.
const PASSPHRASE: &str = "passphrase";

/// Maximum bytes of a file of keys, and of a passphrase.
const MAX_KEYS: u64 = 1024 * 1024;

/// Options that say what an archive is sealed with.
#[derive(Debug, clap::Args)]
pub(crate) struct SealWith {
    /// Encrypt for an age recipient, `age1…`; repeat it for more. The word `passphrase` asks for a passphrase instead
    #[arg(long, value_name = "TO")]
    encrypt: Vec<String>,
    /// Encrypt with the passphrase in the first line of a file
    #[arg(long, value_name = "FILE", conflicts_with = "encrypt")]
    passphrase_file: Option<PathBuf>,
}

impl SealWith {
    /// The lock of an archive; `None` if it is not to be encrypted.
    pub(crate) fn lock(&self) -> Result<Option<Lock>, CliError> {
        if let Some(file) = &self.passphrase_file {
            return Ok(Some(Lock::Passphrase(passphrase_of(file)?)));
        }
        match &self.encrypt[..] {
            [] => Ok(None),
            [word] if word == PASSPHRASE => new_passphrase().map(|typed| Some(Lock::Passphrase(typed))),
            words if words.iter().any(|word| word == PASSPHRASE) => {
                let why = "an archive is encrypted for recipients or with a passphrase, not both";
                Err(CliError::usage(why))
            }
            words => {
                let recipients = words.iter().map(|word| {
                    word.parse().map_err(|error: Error| {
                        let hint = "`age-keygen -o key.txt` makes a key and prints its recipient";
                        CliError::usage(format!("--encrypt {word}: {error}")).hint(hint)
                    })
                });
                Ok(Some(Lock::Recipients(recipients.collect::<Result<_, _>>()?)))
            }
        }
    }
}

/// Options that say what a sealed archive is opened with.
#[derive(Debug, clap::Args)]
pub(crate) struct OpenWith {
    /// Decrypt with the key in a file, as `age-keygen` writes it; repeat it for more keys
    #[arg(long, value_name = "FILE")]
    identity: Vec<PathBuf>,
    /// Decrypt with the passphrase in the first line of a file
    #[arg(long, value_name = "FILE", conflicts_with = "identity")]
    passphrase_file: Option<PathBuf>,
}

/// A file that can be read twice.
pub(crate) trait ReadTwice: Read + Seek {}

impl<T: Read + Seek> ReadTwice for T {}

impl OpenWith {
    /// The archive in a file, decrypted if it is sealed.
    pub(crate) fn open(&self, mut file: impl Read + Seek + 'static) -> Result<Box<dyn ReadTwice>, CliError> {
        let mut start = Vec::new();
        (&mut file).take(64).read_to_end(&mut start)?;
        file.rewind()?;
        if !is_sealed(&start) {
            if self.identity.is_empty() && self.passphrase_file.is_none() {
                return Ok(Box::new(file));
            }
            let hint = "import it without --identity and --passphrase-file";
            return Err(CliError::not_there("the archive is not encrypted").hint(hint));
        }
        let reader = match self.key()? {
            Some(key) => Reader::open(file, &key),
            // No key fits. The error says what is needed.
            None => match Reader::open(&mut file, &Key::Identities(Vec::new())) {
                Err(Error::NeedsPassphrase) if is_attended() => {
                    file.rewind()?;
                    Reader::open(file, &Key::Passphrase(typed("Passphrase of the archive: ")?))
                }
                Err(error) => return Err(cannot_open(&error)),
                Ok(_) => return Err(CliError::not_there("the archive has no recipients")),
            },
        };
        Ok(Box::new(reader.map_err(|error| cannot_open(&error))?))
    }

    fn key(&self) -> Result<Option<Key>, CliError> {
        if let Some(file) = &self.passphrase_file {
            return Ok(Some(Key::Passphrase(passphrase_of(file)?)));
        }
        let mut identities = Vec::new();
        for path in &self.identity {
            let text = read(path)?;
            let keys = Identity::parse_file(&text).map_err(|line| {
                let what = format!("{}:{line}: it is not an identity", path.display());
                CliError::usage(what).hint("a line with a key begins with AGE-SECRET-KEY-1")
            })?;
            if keys.is_empty() {
                return Err(CliError::usage(format!("{} has no key", path.display())));
            }
            identities.extend(keys);
        }
        Ok((!identities.is_empty()).then_some(Key::Identities(identities)))
    }
}

fn cannot_open(error: &Error) -> CliError {
    let cannot = CliError::not_there(format!("cannot decrypt the archive: {error}"));
    match error {
        Error::NeedsPassphrase => cannot.hint("give it with --passphrase-file FILE"),
        Error::NeedsIdentity | Error::WrongKey => cannot.hint("give the key with --identity FILE"),
        _ => cannot,
    }
}

fn read(path: &Path) -> Result<String, CliError> {
    let cannot = |error: io::Error| CliError::not_there(format!("cannot read {}: {error}", path.display()));
    let mut text = String::new();
    fs::File::open(path).map_err(cannot)?.take(MAX_KEYS).read_to_string(&mut text).map_err(cannot)?;
    Ok(text)
}

/// The passphrase in the first line of a file.
fn passphrase_of(path: &Path) -> Result<String, CliError> {
    let text = read(path)?;
    match text.lines().next() {
        Some(line) if !line.is_empty() => Ok(line.to_owned()),
        _ => Err(CliError::usage(format!("{} has no passphrase in its first line", path.display()))),
    }
}

/// A passphrase that a person types twice.
fn new_passphrase() -> Result<String, CliError> {
    if !is_attended() {
        return Err(CliError::usage("there is no terminal to ask for a passphrase")
            .hint("give it with --passphrase-file FILE"));
    }
    let first = typed("Passphrase for the archive: ")?;
    if first.is_empty() {
        return Err(CliError::usage("the passphrase is empty"));
    }
    if typed("The same again: ")? != first {
        return Err(CliError::usage("the passphrases differ"));
    }
    Ok(first)
}

/// Whether a person can answer a prompt.
fn is_attended() -> bool {
    terminal().is_ok()
}

fn terminal() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open("/dev/tty")
}

/// A line that a person types, not shown.
fn typed(prompt: &str) -> Result<String, CliError> {
    let hidden = Hidden::on(terminal()?)?;
    let signalled = Arc::new(AtomicBool::new(false));
    stop::flag(&signalled)?;
    print::err(prompt);
    let pause = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    let line = loop {
        if signalled.load(Ordering::Relaxed) {
            print::err("\n");
            return Err(CliError::interrupted());
        }
        let mut waiting = [PollFd::new(&hidden.terminal, PollFlags::IN)];
        match poll(&mut waiting, Some(&pause)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => {
                let mut line = String::new();
                BufReader::new(&hidden.terminal).take(MAX_KEYS).read_line(&mut line)?;
                break line;
            }
            Err(error) => return Err(io::Error::from(error).into()),
        }
    };
    print::err("\n");
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// A terminal that does not show what is typed, until this is dropped.
struct Hidden {
    terminal: File,
    before: Termios,
}

impl Hidden {
    fn on(terminal: File) -> io::Result<Hidden> {
        let before = tcgetattr(&terminal)?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&terminal, OptionalActions::Flush, &hidden)?;
        Ok(Hidden { terminal, before })
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}
