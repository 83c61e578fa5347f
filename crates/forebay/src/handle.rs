//! Names: sessions, outputs, and the handle that joins the two.
//!
//! Names become folders and files, and they reach us from models. So a name is checked once, when text
//! becomes a [`Session`] or a [`Handle`], and what has such a type cannot lead out of its session.

use crate::error::{Error, NameKind, Result};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// No name is longer: room for any id a host uses, and for the endings that a store adds to it.
const LONGEST: usize = 128;

/// A prefix of an id must have this many characters to be looked up.
pub const SHORTEST_PREFIX: usize = 6;

/// One conversation: the scope of every handle.
///
/// A session's name is made of letters, digits, `.`, `_` and `-`, and starts with a letter, a digit or `_`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Session(String);

impl Session {
    /// The session of any name: characters that a session cannot have are replaced, and a short hash
    /// keeps names apart that would become the same.
    pub fn safe(name: &str) -> Session {
        Session(safe_name(name, "session", |c| c == '.'))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Session {
    type Err = Error;

    fn from_str(name: &str) -> Result<Session> {
        if is_name(name, |c| c == '.') {
            Ok(Session(name.to_owned()))
        } else {
            Err(Error::BadName { kind: NameKind::Session, name: shown(name) })
        }
    }
}

impl TryFrom<String> for Session {
    type Error = Error;

    fn try_from(name: String) -> Result<Session> {
        name.parse()
    }
}

impl From<Session> for String {
    fn from(session: Session) -> String {
        session.0
    }
}

impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Names one output: `<session>/<id>`.
///
/// ```
/// let handle: forebay::Handle = "build-17/toolu_01A09q90qw".parse()?;
/// assert_eq!(handle.id(), "toolu_01A09q90qw");
/// assert!("build-17/../other".parse::<forebay::Handle>().is_err());
/// # Ok::<(), forebay::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Handle {
    session: Session,
    id: String,
}

impl Handle {
    /// The handle of an output of `session`. The id is made of letters, digits, `_` and `-`.
    pub fn new(session: Session, id: &str) -> Result<Handle> {
        if is_name(id, |_| false) {
            Ok(Handle { session, id: id.to_owned() })
        } else {
            Err(Error::BadName { kind: NameKind::Output, name: shown(id) })
        }
    }

    /// The session it belongs to.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The id of the output inside its session.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The handle as views print it: a [fresh id](fresh_id) is cut to a prefix that still names it.
    pub fn short(&self) -> String {
        let id = if is_fresh(&self.id) { &self.id[..SHOWN] } else { &self.id };
        format!("{}/{id}", self.session)
    }
}

impl FromStr for Handle {
    type Err = Error;

    fn from_str(text: &str) -> Result<Handle> {
        match text.split_once('/') {
            Some((session, id)) => Handle::new(session.parse()?, id),
            None => Err(Error::BadName { kind: NameKind::Handle, name: shown(text) }),
        }
    }
}

impl TryFrom<String> for Handle {
    type Error = Error;

    fn try_from(text: String) -> Result<Handle> {
        text.parse()
    }
}

impl From<Handle> for String {
    fn from(handle: Handle) -> String {
        handle.to_string()
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.session, self.id)
    }
}

/// Digits and letters without i, l, o and u, which are easily taken for others.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// The characters of 128 bits; one more checks them.
const FRESH: usize = 26;

/// Forty bits of an id: among a hundred thousand outputs of one session, the chance that a new one shares
/// its prefix with another is one in ten million, and then the answer names both.
const SHOWN: usize = 8;

/// An id that no other output has, from 128 random bits.
pub fn fresh_id(random: [u8; 16]) -> String {
    let bits = u128::from_be_bytes(random);
    let mut id: String =
        (0..FRESH).rev().map(|i| char::from(ALPHABET[(bits >> (i * 5)) as usize % 32])).collect();
    id.push(check_character(id.as_bytes()));
    id
}

/// Tells an id of ours from one of the same shape that a host gave: only ours is random from its first character on,
/// so only ours may be cut.
fn is_fresh(id: &str) -> bool {
    id.len() == FRESH + 1
        && id.bytes().all(|byte| ALPHABET.contains(&byte))
        && id.ends_with(check_character(&id.as_bytes()[..FRESH]))
}

fn check_character(id: &[u8]) -> char {
    let sum = id.iter().fold(7u32, |sum, &byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
    char::from(ALPHABET[(sum >> 7) as usize % 32])
}

/// Eight characters that tell names apart which would otherwise become the same.
pub fn fingerprint(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..8].to_owned()
}

/// The id of an output named after its call: the call's own id where it can be a file's name.
pub(crate) fn safe_id(call_id: &str) -> String {
    safe_name(call_id, "call", |_| false)
}

fn allowed(c: char, also: impl Fn(char) -> bool) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-') || also(c)
}

fn is_name(name: &str, also: impl Fn(char) -> bool + Copy) -> bool {
    name.len() <= LONGEST
        && name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && name.chars().all(|c| allowed(c, also))
}

fn safe_name(name: &str, fallback: &str, also: impl Fn(char) -> bool + Copy) -> String {
    if is_name(name, also) {
        return name.to_owned();
    }
    let kept: String = name.chars().map(|c| if allowed(c, also) { c } else { '-' }).collect();
    let kept: String = kept.trim_start_matches(['-', '.']).chars().take(LONGEST / 2).collect();
    format!("{}-{}", if kept.is_empty() { fallback } else { &kept }, fingerprint(name.as_bytes()))
}

/// A name as an error repeats it: cut, and without characters that would act on a terminal.
pub(crate) fn shown(name: &str) -> String {
    let start: String = name.chars().take(60).collect();
    let mut text = crate::printable(&start).replace('\n', "\\n");
    if name.chars().nth(60).is_some() {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_that_could_lead_elsewhere_are_refused() {
        let long = "x".repeat(129);
        let names =
            ["", "..", ".", ".x", "a/b", "a/../b", "/etc/passwd", "a b", "a\0b", "a\nb", "-x", "é", &long];
        for name in names {
            assert!(name.parse::<Session>().is_err(), "{name:?}");
            assert!(format!("s/{name}").parse::<Handle>().is_err(), "{name:?}");
        }
        assert!("s/a.b".parse::<Handle>().is_err(), "an id has no dot: endings are the store's");
        assert!("no-slash".parse::<Handle>().is_err());
    }

    #[test]
    fn an_error_does_not_repeat_a_huge_or_hostile_name() {
        let text = "\x1b[31m".repeat(2_000).parse::<Session>().unwrap_err().to_string();
        assert!(text.len() < 600 && !text.contains('\x1b'), "{text}");
    }

    #[test]
    fn different_names_stay_different_when_made_safe() {
        assert_eq!(safe_id("toolu_01AbC"), "toolu_01AbC");
        assert_ne!(safe_id("a/b"), safe_id("a b"));
        assert_ne!(Session::safe(".."), Session::safe("."));
    }

    #[test]
    fn a_fresh_id_is_shown_by_its_prefix_and_a_given_one_whole() {
        let fresh = fresh_id([7; 16]);
        assert_eq!(fresh.len(), 27);
        let short = Handle::new(Session::safe("s"), &fresh).unwrap().short();
        assert_eq!(short, format!("s/{}", &fresh[..8]));
        for given in ["toolu_01AbC", "01h455vb4pex5vsknk084sn02q", "01h455vb4pex5vsknk084sn02q0"] {
            assert_eq!(Handle::new(Session::safe("s"), given).unwrap().short(), format!("s/{given}"));
        }
    }

    proptest! {
        #[test]
        fn a_parsed_handle_is_inside_its_session(text in "[a-z./\\\\_-]{0,4}/[a-z./\\\\_-]{0,4}|\\PC{0,40}") {
            let leads_out = text.matches('/').count() != 1 || text.contains("/.") || text.starts_with(['.', '/']);
            let parsed = text.parse::<Handle>();
            prop_assert!(!(leads_out && parsed.is_ok()));
            prop_assert!(parsed.is_err() || parsed.unwrap().to_string() == text);
        }

        #[test]
        fn any_name_can_be_made_safe(name in "\\PC*") {
            prop_assert!(Session::safe(&name).as_str().parse::<Session>().is_ok());
            prop_assert!(Handle::new(Session::safe("s"), &safe_id(&name)).is_ok());
        }
    }
}
