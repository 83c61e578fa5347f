//! Lines that sum up what a text tells: `0 upgraded, 157 newly installed, 0 to remove and 5 not upgraded.`

use crate::digest::READ;
use crate::{Output, Result};

/// More of them sum up parts, and none of them the whole.
const FEW: usize = 3;

/// A longer line is a sentence.
const LONG: usize = 160;

/// Where the lines are that sum up, if they are few.
pub(crate) fn of(output: &Output) -> Result<Vec<u64>> {
    if output.len() > READ {
        return Ok(Vec::new());
    }
    let bytes = output.read(0..output.len())?;
    let mut places = Vec::new();
    let mut at = 0;
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        if sums_up(line) {
            places.push(at);
        }
        if places.len() > FEW {
            return Ok(Vec::new());
        }
        at += line.len() as u64;
    }
    Ok(places)
}

/// Whether a line is nothing but counts of something, two of them at least, in words.
fn sums_up(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    if line.len() > LONG || !line.first().is_some_and(u8::is_ascii_digit) {
        return false;
    }
    let counts = |part: &[u8]| {
        let part = part.trim_ascii_start();
        let digits = part.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let is_word = |word: &[u8]| word.len() > 1 && word.iter().all(u8::is_ascii_lowercase);
        let word = part[digits..].strip_prefix(b" ").unwrap_or_default();
        digits > 0 && is_word(word.split(|byte| !byte.is_ascii_alphanumeric()).next().unwrap_or_default())
    };
    let parts: Vec<&[u8]> = line.split(|&byte| byte == b',').collect();
    parts.len() > 1 && parts.iter().all(|part| counts(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;

    #[test]
    fn lines_that_sum_up_are_nothing_but_counts() {
        let table = [
            ("0 upgraded, 157 newly installed, 0 to remove and 5 not upgraded.", true),
            (" 3 files changed, 90 insertions(+), 23 deletions(-)", true),
            ("9656 files, 187970308 bytes uncompressed, 117465003 bytes compressed:  37.5%", true),
            ("12 apples", false),
            ("1,2,3", false),
            ("10 000, 20 000", false),
            ("5 days later, the ship arrived", false),
            ("Lisbon, 3 days, 4 nights", false),
            ("2024 GBP, 17 EUR", false),
        ];
        for (line, expected) in table {
            assert_eq!(sums_up(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn many_of_them_sum_up_no_whole() {
        let commit = "what was done\n 2 files changed, 1 insertion(+)\n";
        assert_eq!(of(&output_of(commit.as_bytes())).unwrap(), [14]);
        assert!(of(&output_of(commit.repeat(4).as_bytes())).unwrap().is_empty());
    }
}
