//! Encryption of content before it leaves this machine.
//!
//! Each session has a key of its own, of which `session_keys` knows. What is encrypted is bound to its place: rows that somebody
//! exchanges in the database cannot be decrypted.

use crate::error::OpenError;
use crate::failure::Failure;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use std::sync::Arc;

/// Bytes of a key.
pub(crate) const KEY: usize = 32;

/// Bytes of a nonce, which comes first in everything that is encrypted, and of the tag at its end.
const NONCE: usize = 12;
const TAG: usize = 16;

/// Bytes that encryption adds.
pub(crate) const OVERHEAD: u64 = (NONCE + TAG) as u64;

/// The key that encrypts the keys of sessions.
#[derive(Clone)]
pub struct MasterKey([u8; KEY]);

impl MasterKey {
    /// Reads a key: 64 hexadecimal digits, as `openssl rand -hex 32` prints them.
    pub fn parse(text: &str) -> Result<MasterKey, OpenError> {
        let digits = text.trim().as_bytes();
        let mut key = [0; KEY];
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        for (byte, pair) in key.iter_mut().zip(digits.chunks(2)) {
            let value = match pair {
                [high, low] => digit(*high).zip(digit(*low)).map(|(high, low)| high << 4 | low),
                _ => None,
            };
            *byte = value.ok_or_else(not_a_key)?;
        }
        if digits.len() == 2 * KEY { Ok(MasterKey(key)) } else { Err(not_a_key()) }
    }
}

fn not_a_key() -> OpenError {
    let why = "store.key does not lead to a key: 64 hexadecimal digits are expected; `openssl rand -hex 32` makes one";
    OpenError::Address(why.to_owned())
}

impl std::fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MasterKey")
    }
}

/// The kind and the place of an encrypted value, to which it is bound.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Context<'a> {
    /// The record of the output with this id.
    Record(&'a str),
    /// A part of the output with this id: its number, and the offset.
    Part(&'a str, i32, u64),
    /// Bytes of this content, from an offset on.
    Bytes(&'a str, u64),
    /// A compressed frame of this content, from an offset on.
    Frame(&'a str, u64),
    /// An event of the session.
    Event,
    /// The key of a session: tenant, session and id of the key.
    Key(&'a str, &'a str, &'a str),
}

impl Context<'_> {
    /// Bytes that differ for any two contexts.
    fn bytes(self) -> Vec<u8> {
        let (kind, names, numbers): (u8, &[&str], [u64; 2]) = match self {
            Context::Record(id) => (0, &[id], [0; 2]),
            Context::Part(id, part, at) => (1, &[id], [u64::from(part.unsigned_abs()), at]),
            Context::Bytes(content, at) => (2, &[content], [at, 0]),
            Context::Frame(content, at) => (3, &[content], [at, 0]),
            Context::Event => (4, &[], [0; 2]),
            Context::Key(tenant, session, id) => (5, &[tenant, session, id], [0; 2]),
        };
        let mut bytes = vec![kind];
        for name in names {
            bytes.extend((name.len() as u64).to_le_bytes());
            bytes.extend(name.as_bytes());
        }
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        bytes
    }
}

/// Encrypts and decrypts with one key.
///
/// The nonce is a keyed hash of context and bytes, so a request that is sent twice writes the same bytes, and
/// nonces need no random source. Equal bytes of one context can be seen to be equal.
pub(crate) struct Sealer {
    key: LessSafeKey,
    nonces: [u8; KEY],
}

impl Sealer {
    /// Encrypts keys of sessions.
    pub(crate) fn of_master(key: &MasterKey) -> Result<Sealer, Failure> {
        Sealer::new(&key.0, "master")
    }

    fn new(key: &[u8; KEY], context: &str) -> Result<Sealer, Failure> {
        let derived = blake3::derive_key(&format!("forebay shared store, {context}, encryption"), key);
        let unbound = UnboundKey::new(&AES_256_GCM, &derived)
            .map_err(|_| Failure::Refused("the key cannot be used".to_owned()))?;
        let nonces = blake3::derive_key(&format!("forebay shared store, {context}, nonces"), key);
        Ok(Sealer { key: LessSafeKey::new(unbound), nonces })
    }

    pub(crate) fn seal(&self, context: Context<'_>, plain: &[u8]) -> Result<Vec<u8>, Failure> {
        let context = context.bytes();
        let mut hash = blake3::Hasher::new_keyed(&self.nonces);
        hash.update(&(context.len() as u64).to_le_bytes()).update(&context).update(plain);
        let mut nonce = [0; NONCE];
        hash.finalize_xof().fill(&mut nonce);
        let mut sealed = Vec::with_capacity(NONCE + plain.len() + TAG);
        sealed.extend(nonce);
        sealed.extend(plain);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = self.key.seal_in_place_separate_tag(nonce, Aad::from(context), &mut sealed[NONCE..]);
        let tag = tag.map_err(|_| Failure::Refused("it is too long to be encrypted".to_owned()))?;
        sealed.extend(tag.as_ref());
        Ok(sealed)
    }

    pub(crate) fn open(&self, context: Context<'_>, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, rest) = sealed.split_first_chunk::<NONCE>()?;
        let mut plain = rest.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let length = self.key.open_in_place(nonce, Aad::from(context.bytes()), &mut plain).ok()?.len();
        plain.truncate(length);
        Some(plain)
    }
}

/// The key of a session.
pub(crate) struct SessionKey {
    id: String,
    sealer: Sealer,
    /// Hides hashes of contents, which name objects: a hash tells whether a known text is there.
    names: [u8; KEY],
}

impl SessionKey {
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn new(id: &str, key: &[u8; KEY]) -> Result<SessionKey, Failure> {
        let names = blake3::derive_key("forebay shared store, session, names", key);
        Ok(SessionKey { id: id.to_owned(), sealer: Sealer::new(key, "session")?, names })
    }
}

/// The name of bytes, and what encrypts them.
#[derive(Clone, Copy)]
pub(crate) struct Content<'a> {
    pub(crate) cipher: &'a Cipher,
    pub(crate) name: &'a str,
}

/// Encrypts the content of an output with the key of its session, or leaves it as it is.
#[derive(Clone)]
pub(crate) struct Cipher(Option<Arc<SessionKey>>);

impl std::fmt::Debug for Cipher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Cipher").field(&self.key_id()).finish()
    }
}

impl Cipher {
    /// Encrypts nothing.
    pub(crate) const NONE: Cipher = Cipher(None);

    pub(crate) fn of(key: Arc<SessionKey>) -> Cipher {
        Cipher(Some(key))
    }

    /// The id of the key; empty if nothing is encrypted.
    pub(crate) fn key_id(&self) -> &str {
        self.0.as_ref().map_or("", |key| &key.id)
    }

    pub(crate) fn encrypts(&self) -> bool {
        self.0.is_some()
    }

    /// Bytes that encryption adds to each row or frame.
    pub(crate) fn overhead(&self) -> u64 {
        if self.encrypts() { OVERHEAD } else { 0 }
    }

    /// Bytes as the servers get them.
    pub(crate) fn seal(&self, context: Context<'_>, plain: &[u8]) -> Result<Vec<u8>, Failure> {
        match &self.0 {
            Some(key) => key.sealer.seal(context, plain),
            None => Ok(plain.to_vec()),
        }
    }

    /// Bytes that the servers gave.
    pub(crate) fn open(&self, context: Context<'_>, sealed: Vec<u8>) -> Result<Vec<u8>, Failure> {
        match &self.0 {
            Some(key) => key.sealer.open(context, &sealed).ok_or_else(|| {
                Failure::Damaged("what is stored cannot be decrypted: it was changed".to_owned())
            }),
            None => Ok(sealed),
        }
    }

    /// A text as the database gets it.
    pub(crate) fn seal_text(&self, context: Context<'_>, plain: &str) -> Result<String, Failure> {
        if !self.encrypts() {
            return Ok(plain.to_owned());
        }
        Ok(STANDARD.encode(self.seal(context, plain.as_bytes())?))
    }

    /// A text that the database gave.
    pub(crate) fn open_text(&self, context: Context<'_>, sealed: String) -> Result<String, Failure> {
        if !self.encrypts() {
            return Ok(sealed);
        }
        let damaged =
            |why: String| Failure::Damaged(format!("a text that is stored cannot be decrypted: {why}"));
        let bytes = STANDARD.decode(sealed).map_err(|error| damaged(error.to_string()))?;
        String::from_utf8(self.open(context, bytes)?).map_err(|error| damaged(error.to_string()))
    }

    /// The name by which servers know the bytes with a hash.
    pub(crate) fn name(&self, hash: &str) -> String {
        match &self.0 {
            Some(key) if !hash.is_empty() => {
                blake3::keyed_hash(&key.names, hash.as_bytes()).to_hex().to_string()
            }
            _ => hash.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cipher(secret: u8) -> Cipher {
        Cipher(Some(Arc::new(SessionKey::new("k", &[secret; KEY]).unwrap())))
    }

    #[test]
    fn a_master_key_is_64_hexadecimal_digits_and_is_not_shown() {
        let digits = "0123456789abcdefABCDEF0123456789".repeat(2);
        let key = MasterKey::parse(&format!("{digits}\n")).unwrap();
        assert_eq!(key.0[..4], [0x01, 0x23, 0x45, 0x67]);
        assert_eq!(format!("{key:?}"), "MasterKey");
        for bad in ["", "0", &digits[1..], &digits.replace('0', "g"), &format!("{digits}0"), &"é".repeat(32)]
        {
            let error = MasterKey::parse(bad).unwrap_err().to_string();
            assert!(error.contains("openssl rand -hex 32"), "{error}");
        }
    }

    #[test]
    fn what_is_encrypted_opens_at_its_place_with_its_key_alone() {
        let contexts = [
            Context::Record("a"),
            Context::Record("b"),
            Context::Part("a", 1, 0),
            Context::Part("a", 2, 0),
            Context::Part("a", 1, 1),
            Context::Bytes("a", 0),
            Context::Bytes("a", 1),
            Context::Frame("a", 0),
            Context::Event,
            Context::Key("a", "b", "c"),
            Context::Key("ab", "", "c"),
        ];
        let (key, other) = (cipher(1), cipher(2));
        for plain in [&b""[..], b"x", &[7; 5_000]] {
            for (at, context) in contexts.into_iter().enumerate() {
                let sealed = key.seal(context, plain).unwrap();
                assert_eq!(sealed, key.seal(context, plain).unwrap(), "a second try writes the same");
                assert_eq!(sealed.len() as u64, plain.len() as u64 + key.overhead());
                assert!(other.open(context, sealed.clone()).is_err());
                for (number, elsewhere) in contexts.into_iter().enumerate() {
                    let opened = key.open(elsewhere, sealed.clone());
                    assert_eq!(opened.is_ok(), at == number, "{context:?} {elsewhere:?}");
                }
                for byte in [0, sealed.len() / 2, sealed.len() - 1] {
                    let mut changed = sealed.clone();
                    changed[byte] ^= 1;
                    assert!(key.open(context, changed).is_err());
                }
                assert!(key.open(context, sealed[..sealed.len() - 1].to_vec()).is_err());
            }
        }
        let text = key.seal_text(Context::Record("a"), "täxt").unwrap();
        assert_eq!(key.open_text(Context::Record("a"), text.clone()).unwrap(), "täxt");
        assert!(key.open_text(Context::Record("a"), "no base64!".to_owned()).is_err());
        assert!(!text.contains('t') || text != "täxt");
    }

    #[test]
    fn without_a_key_everything_stays_as_it_is() {
        let clear = Cipher::NONE;
        assert_eq!(clear.seal(Context::Event, b"x").unwrap(), b"x");
        assert_eq!(clear.open(Context::Event, b"x".to_vec()).unwrap(), b"x");
        assert_eq!(clear.seal_text(Context::Event, "x").unwrap(), "x");
        assert_eq!((clear.name("hash"), clear.key_id(), clear.overhead()), ("hash".to_owned(), "", 0));
        let sealed = cipher(1);
        assert_ne!(sealed.name("hash"), cipher(2).name("hash"));
        assert_eq!((sealed.name(""), sealed.key_id()), (String::new(), "k"));
    }
}
