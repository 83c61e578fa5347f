//! Lines that tell a reader nothing.

use crate::formats::Role;
use crate::formats::matcher::Matcher;
use std::sync::LazyLock;

/// Whether a line tells a reader nothing.
pub(crate) fn is_noise(line: &[u8]) -> bool {
    static NOISE: LazyLock<Matcher> = LazyLock::new(|| Matcher::of(&[Role::Noise]));
    let line = line.trim_ascii();
    !line.is_empty() && NOISE.is_match(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_same_in_every_report_is_noise() {
        for (line, expected) in [
            ("=>0x0c0e7fff94e0: fd fd fd fa fa fa fa fa[fd]fd fd fd fd fd fd fd", true),
            ("  Heap left redzone:       fa", true),
            ("\t... 12 more", true),
            ("....", true),
            ("0x60700000a740 is located 0 bytes inside of 68-byte region", false),
            ("0x1: the first", false),
            ("elapsed: 12", false),
            ("", false),
        ] {
            assert_eq!(is_noise(line.as_bytes()), expected, "{line}");
        }
    }
}
