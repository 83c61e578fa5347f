//! Templates: what lines have in common that differ only in their numbers.

use memchr::memmem;

/// Minimum hexadecimal digits of an id.
const ID: usize = 4;

/// Classes of the bytes of words.
const DIGIT: u8 = 1;
const HEX: u8 = 2;
const OTHER: u8 = 4;

/// Class of each byte; 0 for a byte that is not part of a word.
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        classes[byte] = match byte as u8 {
            b'0'..=b'9' => DIGIT,
            b'a'..=b'f' | b'A'..=b'F' => HEX,
            b'g'..=b'z' | b'G'..=b'Z' => OTHER,
            _ => 0,
        };
        byte += 1;
    }
    classes
};

/// Part of a line, as it counts for its template.
enum Part<'a> {
    /// Word without a digit, and the text that begins with it.
    Word(&'a [u8], &'a [u8]),
    /// Number, or hexadecimal id.
    Id,
    /// Word with digits in it.
    Mixed(&'a [u8]),
    /// Anything else.
    Mark(u8),
}

/// Iterates over the parts of a line.
struct Parts<'a>(&'a [u8]);

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    #[inline]
    fn next(&mut self) -> Option<Part<'a>> {
        let text = self.0;
        let mut classes = 0;
        let mut is_word = |byte: &u8| {
            let class = CLASSES[usize::from(*byte)];
            classes |= class;
            class != 0
        };
        let length = text.iter().take_while(|byte| is_word(byte)).count();
        let (word, behind) = text.split_at(length);
        self.0 = behind;
        if length == 0 {
            let (&mark, behind) = text.split_first()?;
            self.0 = behind;
            Some(Part::Mark(mark))
        } else if classes & DIGIT == 0 {
            Some(Part::Word(word, text))
        } else if classes & OTHER == 0 && length >= ID || is_address(word) {
            Some(Part::Id)
        } else {
            Some(Part::Mixed(word))
        }
    }
}

/// Whether a word is an address: `0xc00003a6b8`.
fn is_address(word: &[u8]) -> bool {
    word.strip_prefix(b"0x").is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

/// Adds a word with digits, each number as one `number`.
fn numbers_as(number: u8, word: &[u8]) -> impl Iterator<Item = u8> {
    let mut in_number = false;
    word.iter().filter_map(move |&byte| {
        let goes_on = in_number && byte.is_ascii_digit();
        in_number = byte.is_ascii_digit();
        (!goes_on).then_some(if in_number { number } else { byte })
    })
}

/// Returns the template of a line, as a hash: lines that differ only in numbers and ids have the same.
pub(crate) fn template(line: &[u8]) -> u64 {
    let mut hash = Hash::new();
    for part in Parts(line) {
        match part {
            Part::Word(word, text) => hash.word(word, text),
            Part::Id => hash.take(u64::from(b'0')),
            Part::Mixed(word) => numbers_as(b'0', word).for_each(|byte| hash.take(u64::from(byte))),
            Part::Mark(mark) => hash.take(u64::from(mark)),
        }
    }
    hash.0
}

/// Returns the template of a line as text, with `#` for numbers and ids. Numbers joined by a mark are one, like an address.
pub(crate) fn pattern(line: &str) -> String {
    let mut pattern: Vec<u8> = Vec::new();
    for part in Parts(line.as_bytes()) {
        match part {
            Part::Word(word, _) => pattern.extend_from_slice(word),
            Part::Id => pattern.push(b'#'),
            Part::Mixed(word) => pattern.extend(numbers_as(b'#', word)),
            Part::Mark(mark) => pattern.push(mark),
        }
        if let [.., b'#', b'.' | b':' | b',' | b'-' | b'/', b'#'] = pattern[..] {
            pattern.truncate(pattern.len() - 2);
        }
    }
    String::from_utf8_lossy(&pattern).into_owned()
}

/// Returns a hash that lines share which differ only in numbers and paths. A path with the name of a test does not count as one.
pub(crate) fn without_paths(line: &[u8]) -> u64 {
    let of_word = |word: &[u8]| {
        if word.contains(&b'/') && memmem::find(word, b"::").is_none() { 1 } else { template(word) }
    };
    let mut hash = Hash::new();
    for word in line.split(u8::is_ascii_whitespace) {
        hash.take(of_word(word));
    }
    hash.0
}

/// Returns the hash of a line.
pub(crate) fn hash(line: &[u8]) -> u64 {
    let mut hash = Hash::new();
    hash.word(line, line);
    hash.0
}

/// Hash of what was added, in order.
struct Hash(u64);

impl Hash {
    fn new() -> Hash {
        Hash(1)
    }

    fn take(&mut self, what: u64) {
        self.0 = (self.0.rotate_left(23) ^ what).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    /// Adds a word, the beginning of `text`: eight bytes at once, and the number of the last ones.
    fn word(&mut self, word: &[u8], text: &[u8]) {
        let (eights, last) = word.as_chunks::<8>();
        eights.iter().for_each(|eight| self.take(u64::from_le_bytes(*eight)));
        if last.is_empty() {
            return;
        }
        let bits = 8 * last.len();
        let packed = match text[eights.len() * 8..].first_chunk::<8>() {
            Some(eight) => u64::from_le_bytes(*eight) & ((1 << bits) - 1),
            None => last.iter().rev().fold(0, |packed, &byte| packed << 8 | u64::from(byte)),
        };
        self.take(packed | (last.len() as u64) << bits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_said_without_its_numbers() {
        for (line, expected) in [
            ("GET /items/77 200 in 3.25 ms", "GET /items/# # in # ms"),
            ("10.251.73.220:50010 is added to blk_-712 é2", "# is added to blk_-# é#"),
            ("id=91b7584a2265b1f5 of a1 and decade", "id=# of a# and decade"),
            ("main.f(0xc00003a6b8, 0x1, 0xyz)", "main.f(#, #, #xyz)"),
            ("", ""),
        ] {
            assert_eq!(pattern(line), expected);
        }
    }

    #[test]
    fn ids_are_numbers_and_words_are_not() {
        let same = ["request id=91b7584a2265b1f5 of a1", "request id=1e2feb89 of a22", "request id=7 of a3"];
        assert!(same.iter().all(|line| template(line.as_bytes()) == template(same[0].as_bytes())));
        for other in [
            "request id=decade of a1",
            "request id=91b7584z of a1",
            "request id=7 of b1",
            "request id= of a1",
        ] {
            assert_ne!(template(other.as_bytes()), template(same[0].as_bytes()), "{other}");
        }
    }

    #[test]
    fn a_word_is_the_same_wherever_its_line_ends() {
        // Words are added eight bytes at once if there are so many.
        for word in ["a", "cache", "cleared", "container", "representation"] {
            let mut alone = Hash::new();
            alone.word(word.as_bytes(), word.as_bytes());
            let mut before = Hash::new();
            before.word(word.as_bytes(), format!("{word} and what follows").as_bytes());
            assert_eq!(alone.0, before.0, "{word}");
        }
    }
}
