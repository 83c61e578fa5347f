//! The header of a sealed file: for each way to open it, the wrapped key of the file; then a hash of these lines.

use crate::Error;
use crate::keys::{FileKey, Key, Lock};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use ring::hmac;
use std::io::{ErrorKind, Read, Write};

const FIRST_LINE: &str = "age-encryption.org/v1";

/// Maximum bytes of a header: a file may be sealed for thousands of keys.
const MAX_HEADER: usize = 1024 * 1024;

/// Characters per line of a body. A shorter line is the last.
const COLUMNS: usize = 64;

/// Returns whether a file that begins with these bytes is sealed.
#[must_use]
pub fn is_sealed(start: &[u8]) -> bool {
    start.starts_with(FIRST_LINE.as_bytes())
}

/// A way to open a file.
pub(crate) struct Stanza {
    /// Its kind, then what the kind needs.
    words: Vec<String>,
    pub(crate) body: Vec<u8>,
}

impl Stanza {
    pub(crate) fn new(words: &[&str], body: Vec<u8>) -> Stanza {
        Stanza { words: words.iter().map(ToString::to_string).collect(), body }
    }

    pub(crate) fn kind(&self) -> &str {
        &self.words[0]
    }

    pub(crate) fn arguments(&self) -> &[String] {
        &self.words[1..]
    }

    fn write(&self, text: &mut String) {
        text.push_str(&format!("-> {}\n", self.words.join(" ")));
        let body = STANDARD_NO_PAD.encode(&self.body);
        let (mut rest, mut is_last) = (body.as_str(), false);
        while !is_last {
            let (line, after) = rest.split_at(rest.len().min(COLUMNS));
            text.push_str(line);
            text.push('\n');
            (rest, is_last) = (after, line.len() < COLUMNS);
        }
    }
}

/// Writes the header of a file that is sealed with a lock.
pub(crate) fn write(out: &mut dyn Write, lock: &Lock, key: &FileKey) -> Result<(), Error> {
    write_stanzas(out, &key.wrapped(lock)?, key)
}

fn write_stanzas(out: &mut dyn Write, stanzas: &[Stanza], key: &FileKey) -> Result<(), Error> {
    let mut text = format!("{FIRST_LINE}\n");
    for stanza in stanzas {
        stanza.write(&mut text);
    }
    text.push_str("---");
    let hash = hmac::sign(&hash_key(key), text.as_bytes());
    text.push_str(&format!(" {}\n", STANDARD_NO_PAD.encode(hash)));
    Ok(out.write_all(text.as_bytes())?)
}

fn hash_key(key: &FileKey) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, &key.derived(&[], "header"))
}

/// Reads the header of a file, and unwraps the key of the file. The source is then at the first byte after the header.
pub(crate) fn read(source: &mut dyn Read, key: &Key) -> Result<FileKey, Error> {
    let mut lines = Lines { source, read: Vec::new() };
    match lines.next() {
        Ok(line) if line == FIRST_LINE => {}
        Err(Error::Io(error)) => return Err(Error::Io(error)),
        _ => return Err(Error::NotSealed),
    }
    let mut stanzas = Vec::new();
    let hash = loop {
        let line = lines.next()?;
        if let Some(hash) = line.strip_prefix("--- ") {
            break hash.to_owned();
        }
        let words = line.strip_prefix("-> ").ok_or(Error::Header("a line is not one of a header"))?;
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        if words.iter().any(|word| word.is_empty() || !word.bytes().all(|byte| byte.is_ascii_graphic())) {
            return Err(Error::Header("a line is not one of a header"));
        }
        stanzas.push(Stanza { words, body: lines.body()? });
    };
    let hash = STANDARD_NO_PAD.decode(&hash).map_err(|_| Error::Header("its hash is not base64"))?;
    let hashed = lines.read.iter().rposition(|byte| *byte == b' ').unwrap_or(0);
    let key = FileKey::unwrap(&stanzas, key)?;
    hmac::verify(&hash_key(&key), &lines.read[..hashed], &hash)
        .map_err(|_| Error::Header("its hash does not fit"))?;
    Ok(key)
}

/// The lines of a header. It reads no byte after them.
struct Lines<'a> {
    source: &'a mut dyn Read,
    read: Vec<u8>,
}

impl Lines<'_> {
    fn next(&mut self) -> Result<String, Error> {
        let start = self.read.len();
        let mut byte = [0];
        loop {
            match self.source.read_exact(&mut byte) {
                Ok(()) => self.read.push(byte[0]),
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    return Err(Error::Header("it ends too early"));
                }
                Err(error) => return Err(error.into()),
            }
            if byte[0] == b'\n' {
                let line = &self.read[start..self.read.len() - 1];
                return String::from_utf8(line.to_vec()).map_err(|_| Error::Header("it is not text"));
            }
            if self.read.len() > MAX_HEADER {
                return Err(Error::Header("it is too long"));
            }
        }
    }

    /// The body of a stanza: lines of base64, of which the last is shorter than the others and may be empty.
    fn body(&mut self) -> Result<Vec<u8>, Error> {
        let mut body = String::new();
        loop {
            let line = self.next()?;
            body.push_str(&line);
            if line.len() < COLUMNS {
                break;
            }
            if line.len() > COLUMNS {
                return Err(Error::Header("a line is too long"));
            }
        }
        STANDARD_NO_PAD.decode(&body).map_err(|_| Error::Header("a wrapped key is not base64"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Identity;

    /// Small, so that the tests are fast.
    const WORK: u8 = 4;

    fn header(stanzas: &[Stanza], key: &FileKey) -> Vec<u8> {
        let mut text = Vec::new();
        write_stanzas(&mut text, stanzas, key).unwrap();
        text
    }

    fn error(text: &[u8], key: &Key) -> String {
        match read(&mut &*text, key) {
            Ok(_) => "opened".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_passphrase_opens_what_it_sealed_and_no_other_does() {
        let key = FileKey::generate().unwrap();
        let text = header(&[key.wrapped_with("correct horse", WORK).unwrap()], &key);
        let passphrase = |text: &str| Key::Passphrase(text.to_owned());
        let identity = || Key::Identities(vec![Identity::generate().unwrap()]);
        assert_eq!(error(&text, &passphrase("correct horse")), "opened");
        assert_eq!(error(&text, &passphrase("correct hors")), "the passphrase is wrong");
        assert_eq!(error(&text, &identity()), "it is sealed with a passphrase");
    }

    #[test]
    fn each_of_many_keys_opens_a_file_and_unknown_stanzas_are_passed_over() {
        let identities: Vec<Identity> = (0..3).map(|_| Identity::generate().unwrap()).collect();
        let key = FileKey::generate().unwrap();
        let lock = Lock::Recipients(identities.iter().map(Identity::recipient).collect());
        let mut stanzas = key.wrapped(&lock).unwrap();
        stanzas.insert(1, Stanza::new(&["future", "words"], vec![7; 96]));
        stanzas.insert(0, Stanza::new(&["empty-grease"], Vec::new()));
        let text = header(&stanzas, &key);
        for identity in &identities {
            assert_eq!(error(&text, &Key::Identities(vec![identity.clone()])), "opened");
        }
        let other = Key::Identities(vec![Identity::generate().unwrap()]);
        assert_eq!(error(&text, &other), "it is not sealed for this key");
        assert_eq!(
            error(&text, &Key::Passphrase("any".to_owned())),
            "it is sealed for a key, not with a passphrase"
        );
    }

    #[test]
    fn a_faulty_header_is_refused_with_its_reason() {
        let key = FileKey::generate().unwrap();
        let identity = Identity::generate().unwrap();
        let good = key.wrapped(&Lock::Recipients(vec![identity.recipient()])).unwrap();
        let text = String::from_utf8(header(&good, &key)).unwrap();
        let with = |from: &str, to: &str| text.replacen(from, to, 1).into_bytes();
        let passphrase = |work: &str| {
            let mut stanza = key.wrapped_with("p", WORK).unwrap();
            stanza.words[2] = work.to_owned();
            header(&[stanza], &key)
        };
        let mut two = vec![key.wrapped_with("p", WORK).unwrap()];
        two.extend(key.wrapped(&Lock::Recipients(vec![identity.recipient()])).unwrap());
        let shares = Stanza::new(&["X25519", &STANDARD_NO_PAD.encode([0; 32])], vec![0; 32]);
        let identities = Key::Identities(vec![identity]);
        let any = Key::Passphrase("p".to_owned());
        for (text, key, expected) in [
            (with("age-", "agf-"), &identities, "it is not a file in the age format"),
            (
                text.as_bytes()[..text.len() - 1].to_vec(),
                &identities,
                "its header is damaged: it ends too early",
            ),
            (Vec::new(), &identities, "it is not a file in the age format"),
            (with("-> X", "=> X"), &identities, "its header is damaged: a line is not one of a header"),
            (
                with("X25519 ", "X25519  "),
                &identities,
                "its header is damaged: a line is not one of a header",
            ),
            (
                with("X25519 ", "X25519 and "),
                &identities,
                "its header is damaged: a key has another number of parts",
            ),
            (
                with("X25519 ", "X25519 A"),
                &identities,
                "its header is damaged: a key's share is not 32 bytes",
            ),
            (with("--- ", "-> more\n\n--- "), &identities, "its header is damaged: its hash does not fit"),
            (
                header(&[shares], &key_of_tests()),
                &identities,
                "its header is damaged: a key's share is of low order",
            ),
            (
                header(&two, &key_of_tests()),
                &any,
                "its header is damaged: a passphrase must be the only way to open a file",
            ),
            (passphrase("23"), &any, "its passphrase is stretched 2^23 times; at most 2^22 is accepted"),
            (
                passphrase("04"),
                &any,
                "its header is damaged: the work of the passphrase is not a number below 64",
            ),
            (
                passphrase("99"),
                &any,
                "its header is damaged: the work of the passphrase is not a number below 64",
            ),
        ] {
            assert_eq!(error(&text, key), expected, "{}", String::from_utf8_lossy(&text));
        }
        let endless = [text.as_bytes(), "-> a".as_bytes(), &vec![b'a'; 2 * MAX_HEADER]].concat();
        let endless = [&endless[..text.find("---").unwrap()], &endless[text.len()..]].concat();
        assert_eq!(error(&endless, &identities), "its header is damaged: it is too long");
    }

    fn key_of_tests() -> FileKey {
        FileKey::generate().unwrap()
    }
}
