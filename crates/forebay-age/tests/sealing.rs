//! Sealing and opening: every length and position, and every kind of damage.

#![expect(clippy::unwrap_used, reason = "a test that cannot seal fails")]

use forebay_age::{Error, Identity, Key, Lock, Reader, Writer, is_sealed};
use proptest::prelude::*;
use std::io::{Cursor, Read, Seek, SeekFrom, Write};

const BLOCK: usize = 64 * 1024;

fn sealed(contents: &[u8], identity: &Identity) -> Vec<u8> {
    let lock = Lock::Recipients(vec![identity.recipient()]);
    let mut writer = Writer::new(Vec::new(), &lock).unwrap();
    writer.write_all(contents).unwrap();
    writer.finish().unwrap()
}

fn open(sealed: &[u8], identity: &Identity) -> Result<Reader<Cursor<Vec<u8>>>, Error> {
    Reader::open(Cursor::new(sealed.to_vec()), &Key::Identities(vec![identity.clone()]))
}

fn contents(sealed: &[u8], identity: &Identity) -> Result<Vec<u8>, Error> {
    let mut contents = Vec::new();
    open(sealed, identity)?.read_to_end(&mut contents)?;
    Ok(contents)
}

fn text(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

#[test]
fn contents_of_every_length_come_back() {
    let identity = Identity::generate().unwrap();
    for length in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 3 * BLOCK + 17] {
        let sealed = sealed(&text(length), &identity);
        assert!(is_sealed(&sealed));
        assert!(contents(&sealed, &identity).unwrap() == text(length), "{length} bytes");
        assert_eq!(open(&sealed, &identity).unwrap().length(), length as u64);
    }
}

#[test]
fn a_passphrase_opens_what_was_sealed_with_it() {
    let key = "a long passphrase".to_owned();
    let mut writer = Writer::new(Vec::new(), &Lock::Passphrase(key.clone())).unwrap();
    writer.write_all(b"contents").unwrap();
    let sealed = writer.finish().unwrap();
    let mut found = String::new();
    Reader::open(Cursor::new(sealed), &Key::Passphrase(key)).unwrap().read_to_string(&mut found).unwrap();
    assert_eq!(found, "contents");
}

#[test]
fn a_file_that_is_cut_anywhere_is_refused() {
    let identity = Identity::generate().unwrap();
    let whole = sealed(&text(2 * BLOCK + 100), &identity);
    let contents_at = whole.len() - (2 * (BLOCK + 16) + 116);
    let cuts = [0, 1, 30, contents_at - 1, contents_at, contents_at + 10, contents_at + BLOCK + 16];
    for cut in cuts.into_iter().chain([contents_at + 2 * (BLOCK + 16), whole.len() - 1]) {
        let error = open(&whole[..cut], &identity).map(|_| ()).unwrap_err().to_string();
        let expected = if cut < 22 {
            // The first line is not whole.
            "it is not a file in the age format"
        } else if cut < contents_at {
            "its header is damaged: it ends too early"
        } else {
            "the sealed file is damaged or cut off at its end"
        };
        assert_eq!(error, expected, "after {cut} bytes");
    }
    let longer = [&whole[..], b"more"].concat();
    assert!(open(&longer, &identity).is_err());
}

#[test]
fn blocks_cannot_change_their_places() {
    let identity = Identity::generate().unwrap();
    let mut swapped = sealed(&text(3 * BLOCK), &identity);
    let first = swapped.len() - 3 * (BLOCK + 16);
    let (left, right) = swapped[first..].split_at_mut(BLOCK + 16);
    left.swap_with_slice(&mut right[..BLOCK + 16]);
    let error = contents(&swapped, &identity).unwrap_err();
    assert_eq!(error.to_string(), "the sealed file is damaged");
}

#[test]
fn a_key_file_may_have_comments_and_its_faulty_line_is_named() {
    let (one, two) = (Identity::generate().unwrap(), Identity::generate().unwrap());
    let text = format!("# public key: {}\n{}\n\n  {}\r\n", one.recipient(), one.to_text(), two.to_text());
    let keys = Identity::parse_file(&text).unwrap();
    assert_eq!(keys.iter().map(Identity::to_text).collect::<Vec<_>>(), [one.to_text(), two.to_text()]);
    assert_eq!(Identity::parse_file(&format!("{}\nssh-ed25519 AAAA\n", one.to_text())).unwrap_err(), 2);
}

#[test]
fn keys_have_the_texts_that_other_tools_give_them() {
    // A pair that `age-keygen` printed.
    let identity = include_str!("pair.txt").lines().nth(1).unwrap().parse::<Identity>().unwrap();
    let recipient = include_str!("pair.txt").lines().next().unwrap().strip_prefix("# public key: ").unwrap();
    assert_eq!(identity.recipient().to_string(), recipient);
    assert_eq!(format!("{identity:?}"), format!("Identity of {recipient}"));
    assert!(recipient.parse::<forebay_age::Recipient>().is_ok());
    for wrong in ["", "age1", "age1qqqq", &recipient[..61], &recipient.to_uppercase(), &identity.to_text()] {
        assert!(wrong.parse::<forebay_age::Recipient>().is_err(), "{wrong}");
    }
    for wrong in ["", recipient, &identity.to_text().to_lowercase()] {
        assert!(wrong.parse::<Identity>().is_err(), "{wrong}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn every_range_can_be_read(length in 0..3 * BLOCK, start in 0..3 * BLOCK, wanted in 0..2 * BLOCK) {
        let identity = Identity::generate().unwrap();
        let text = text(length);
        let sealed = sealed(&text, &identity);
        let mut reader = open(&sealed, &identity).unwrap();
        reader.seek(SeekFrom::Start(start as u64)).unwrap();
        let mut found = Vec::new();
        reader.take(wanted as u64).read_to_end(&mut found).unwrap();
        let expected = &text[start.min(length)..(start + wanted).min(length)];
        prop_assert!(found == expected);
    }

    #[test]
    fn a_changed_byte_is_always_found(at in 0..2 * BLOCK + 300, bit in 0..8u8) {
        let identity = Identity::generate().unwrap();
        let mut sealed = sealed(&text(2 * BLOCK), &identity);
        let at = at % sealed.len();
        sealed[at] ^= 1 << bit;
        prop_assert!(contents(&sealed, &identity).is_err());
    }
}
