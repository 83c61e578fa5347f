//! Keys and passphrases, and how the key of a file is wrapped for them.

use crate::header::Stanza;
use crate::{Error, bech32};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::rand::{SecureRandom, SystemRandom};
use std::fmt;
use std::str::FromStr;
use x25519_dalek::{PublicKey, StaticSecret};

/// Bytes of the key of a file.
const FILE_KEY: usize = 16;

/// Bytes of the salt of a passphrase.
const SALT: usize = 16;

/// Binary logarithm of how often a new passphrase is stretched: a second and 256 MiB on a small machine.
const WORK: u8 = 18;

/// The most that is accepted when a file is opened, as in the `age` command.
pub(crate) const MAX_WORK: u8 = 22;

const X25519: &str = "X25519";
const X25519_LABEL: &str = "age-encryption.org/v1/X25519";
const SCRYPT: &str = "scrypt";
const SCRYPT_LABEL: &str = "age-encryption.org/v1/scrypt";

const RECIPIENT_PREFIX: &str = "age";
const IDENTITY_PREFIX: &str = "age-secret-key-";

/// A public key that files are sealed for, written as `age1…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipient(PublicKey);

impl FromStr for Recipient {
    type Err = Error;

    fn from_str(text: &str) -> Result<Recipient, Error> {
        let bytes = bech32::decode(RECIPIENT_PREFIX, text).ok_or(Error::NoRecipient)?;
        Ok(Recipient(PublicKey::from(bytes)))
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&bech32::encode(RECIPIENT_PREFIX, self.0.as_bytes()))
    }
}

/// A secret key, which opens the files that are sealed for its recipient. Written as `AGE-SECRET-KEY-1…`.
#[derive(Clone)]
pub struct Identity(StaticSecret);

impl Identity {
    /// Makes a new key.
    pub fn generate() -> Result<Identity, Error> {
        Ok(Identity(StaticSecret::from(random::<32>()?)))
    }

    /// The public key that belongs to this one.
    #[must_use]
    pub fn recipient(&self) -> Recipient {
        Recipient(PublicKey::from(&self.0))
    }

    /// The text of the key, as `age-keygen` writes it into a file.
    #[must_use]
    pub fn to_text(&self) -> String {
        bech32::encode(IDENTITY_PREFIX, self.0.as_bytes()).to_ascii_uppercase()
    }

    /// Reads the keys of a file: one in each line, among comments that begin with `#` and empty lines.
    ///
    /// # Errors
    /// Returns the number of the first line that is something else.
    pub fn parse_file(text: &str) -> Result<Vec<Identity>, usize> {
        let lines = text.lines().map(str::trim).enumerate();
        let keys = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        keys.map(|(at, line)| line.parse().map_err(|_| at + 1)).collect()
    }
}

impl FromStr for Identity {
    type Err = Error;

    fn from_str(text: &str) -> Result<Identity, Error> {
        if text.bytes().any(|byte| byte.is_ascii_lowercase()) {
            return Err(Error::NoIdentity);
        }
        let bytes = bech32::decode(IDENTITY_PREFIX, &text.to_ascii_lowercase()).ok_or(Error::NoIdentity)?;
        Ok(Identity(StaticSecret::from(bytes)))
    }
}

impl fmt::Debug for Identity {
    /// Shows the public key only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity of {}", self.recipient())
    }
}

/// The keys or the passphrase that a file is sealed with.
#[derive(Clone)]
pub enum Lock {
    /// The holder of any of these keys can open it. There must be at least one.
    Recipients(Vec<Recipient>),
    /// Whoever knows the passphrase can open it.
    Passphrase(String),
}

/// The keys or the passphrase that a file is opened with.
#[derive(Clone)]
pub enum Key {
    /// Secret keys, of which one fits.
    Identities(Vec<Identity>),
    /// A passphrase.
    Passphrase(String),
}

/// The key that the contents of one file are encrypted with.
pub(crate) struct FileKey([u8; FILE_KEY]);

impl FileKey {
    pub(crate) fn generate() -> Result<FileKey, Error> {
        random().map(FileKey)
    }

    /// Derives a key for a purpose.
    pub(crate) fn derived(&self, salt: &[u8], purpose: &str) -> [u8; 32] {
        derived(&self.0, salt, purpose)
    }

    /// Wraps the key for each holder of a lock.
    pub(crate) fn wrapped(&self, lock: &Lock) -> Result<Vec<Stanza>, Error> {
        match lock {
            Lock::Recipients(recipients) => recipients.iter().map(|to| self.wrapped_for(to)).collect(),
            Lock::Passphrase(passphrase) => Ok(vec![self.wrapped_with(passphrase, WORK)?]),
        }
    }

    fn wrapped_for(&self, recipient: &Recipient) -> Result<Stanza, Error> {
        let secret = StaticSecret::from(random::<32>()?);
        let share = PublicKey::from(&secret);
        let shared = secret.diffie_hellman(&recipient.0);
        if !shared.was_contributory() {
            return Err(Error::NoRecipient);
        }
        let key = shared_key(shared.as_bytes(), &share, &recipient.0);
        Ok(Stanza::new(&[X25519, &STANDARD_NO_PAD.encode(share.as_bytes())], sealed(key, &self.0)))
    }

    pub(crate) fn wrapped_with(&self, passphrase: &str, work: u8) -> Result<Stanza, Error> {
        let salt = random::<SALT>()?;
        let key = stretched(passphrase, &salt, work)?;
        let arguments = [SCRYPT, &STANDARD_NO_PAD.encode(salt), &work.to_string()];
        Ok(Stanza::new(&arguments, sealed(key, &self.0)))
    }

    /// Unwraps the key of a file.
    pub(crate) fn unwrap(stanzas: &[Stanza], key: &Key) -> Result<FileKey, Error> {
        let passphrase_stanza = stanzas.iter().find(|stanza| stanza.kind() == SCRYPT);
        if passphrase_stanza.is_some() && stanzas.len() > 1 {
            return Err(Error::Header("a passphrase must be the only way to open a file"));
        }
        match (key, passphrase_stanza) {
            (Key::Identities(_), Some(_)) => Err(Error::NeedsPassphrase),
            (Key::Passphrase(_), None) => Err(Error::NeedsIdentity),
            (Key::Passphrase(passphrase), Some(stanza)) => unwrapped_with(passphrase, stanza),
            (Key::Identities(identities), None) => {
                for stanza in stanzas.iter().filter(|stanza| stanza.kind() == X25519) {
                    for identity in identities {
                        if let Some(key) = unwrapped_by(identity, stanza)? {
                            return Ok(key);
                        }
                    }
                }
                Err(Error::WrongKey)
            }
        }
    }
}

/// The key in a stanza, if the stanza is for this identity.
fn unwrapped_by(identity: &Identity, stanza: &Stanza) -> Result<Option<FileKey>, Error> {
    let [share] = stanza.arguments() else { return Err(Error::Header("a key has another number of parts")) };
    let share: [u8; 32] = decoded(share).ok_or(Error::Header("a key's share is not 32 bytes"))?;
    let share = PublicKey::from(share);
    let shared = identity.0.diffie_hellman(&share);
    if !shared.was_contributory() {
        return Err(Error::Header("a key's share is of low order"));
    }
    let key = shared_key(shared.as_bytes(), &share, &identity.recipient().0);
    opened(key, &stanza.body)
}

fn unwrapped_with(passphrase: &str, stanza: &Stanza) -> Result<FileKey, Error> {
    let [salt, work] = stanza.arguments() else {
        return Err(Error::Header("the passphrase has another number of parts"));
    };
    let salt: [u8; SALT] = decoded(salt).ok_or(Error::Header("the salt is not 16 bytes"))?;
    let is_number =
        !work.is_empty() && !work.starts_with('0') && work.bytes().all(|byte| byte.is_ascii_digit());
    let number = work.parse::<u8>().ok().filter(|work| is_number && *work < 64);
    let work = number.ok_or(Error::Header("the work of the passphrase is not a number below 64"))?;
    if work > MAX_WORK {
        return Err(Error::TooMuchWork(work));
    }
    check_length(&stanza.body)?;
    opened(stretched(passphrase, &salt, work)?, &stanza.body)?.ok_or(Error::WrongPassphrase)
}

/// Decodes an argument of a known length.
fn decoded<const LENGTH: usize>(text: &str) -> Option<[u8; LENGTH]> {
    STANDARD_NO_PAD.decode(text).ok()?.try_into().ok()
}

fn shared_key(shared: &[u8; 32], share: &PublicKey, recipient: &PublicKey) -> [u8; 32] {
    derived(shared, &[share.as_bytes().as_slice(), recipient.as_bytes()].concat(), X25519_LABEL)
}

fn stretched(passphrase: &str, salt: &[u8], work: u8) -> Result<[u8; 32], Error> {
    let params = scrypt::Params::new(work, 8, 1, 32).map_err(|_| Error::TooMuchWork(work))?;
    let salt = [SCRYPT_LABEL.as_bytes(), salt].concat();
    let mut key = [0; 32];
    scrypt::scrypt(passphrase.as_bytes(), &salt, &params, &mut key).map_err(|_| Error::TooMuchWork(work))?;
    Ok(key)
}

/// Length of the keys that are derived.
struct KeyLength;

impl KeyType for KeyLength {
    fn len(&self) -> usize {
        32
    }
}

fn derived(secret: &[u8], salt: &[u8], purpose: &str) -> [u8; 32] {
    let mut key = [0; 32];
    let purpose = [purpose.as_bytes()];
    let extracted = Salt::new(HKDF_SHA256, salt).extract(secret);
    let filled = extracted.expand(&purpose, KeyLength).and_then(|made| made.fill(&mut key));
    debug_assert!(filled.is_ok(), "32 bytes are within what can be derived");
    key
}

/// A cipher for one key.
pub(crate) fn cipher(key: [u8; 32]) -> LessSafeKey {
    match UnboundKey::new(&CHACHA20_POLY1305, &key) {
        Ok(key) => LessSafeKey::new(key),
        Err(_) => unreachable!("the key has the length of the cipher's keys"),
    }
}

/// Encrypts the key of a file. Each wrapping key is used once, so the nonce is zero.
fn sealed(key: [u8; 32], file_key: &[u8; FILE_KEY]) -> Vec<u8> {
    let mut body = file_key.to_vec();
    let nonce = Nonce::assume_unique_for_key([0; 12]);
    let sealed = cipher(key).seal_in_place_append_tag(nonce, Aad::empty(), &mut body);
    debug_assert!(sealed.is_ok(), "a short text can be sealed");
    body
}

/// Refuses a wrapped key of a wrong length. Checked first, since deriving a key from a passphrase takes long.
fn check_length(body: &[u8]) -> Result<(), Error> {
    if body.len() == FILE_KEY + CHACHA20_POLY1305.tag_len() {
        return Ok(());
    }
    Err(Error::Header("a wrapped key is not 32 bytes"))
}

/// Decrypts the key of a file; `None` if it was encrypted with another key.
fn opened(key: [u8; 32], body: &[u8]) -> Result<Option<FileKey>, Error> {
    check_length(body)?;
    let mut body = body.to_vec();
    let nonce = Nonce::assume_unique_for_key([0; 12]);
    let opened = cipher(key).open_in_place(nonce, Aad::empty(), &mut body);
    Ok(opened.ok().and_then(|key| (&*key).try_into().ok()).map(FileKey))
}

pub(crate) fn random<const LENGTH: usize>() -> Result<[u8; LENGTH], Error> {
    let mut bytes = [0; LENGTH];
    SystemRandom::new().fill(&mut bytes)?;
    Ok(bytes)
}
