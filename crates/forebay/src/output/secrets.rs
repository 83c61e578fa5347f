//! Secrets in an output, and its bytes as they are shown: with a mask in place of each.

use crate::masking::{self, CONTEXT, Mask, Secrets};
use crate::{Output, Result};
use serde::Serialize;
use std::borrow::Cow;
use std::ops::Range;

/// A secret that an output has, without its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FoundSecret {
    /// Line in which it begins, counted from 1.
    pub line: u64,
    /// Bytes of the output that it has.
    pub bytes: Range<u64>,
    /// Kind of secret, such as `github token`.
    pub kind: String,
    /// Tag in its mask, the same for equal values.
    pub tag: String,
    /// Fingerprint of its value, for the setting `secrets.allow`.
    pub fingerprint: String,
}

/// Bytes that are searched at once.
const BLOCK: u64 = 1024 * 1024;

/// Maximum bytes that are shown of the lines of a secret.
const MAX_REVEALED: u64 = 16 * 1024;

impl Output {
    /// What happens to its secrets.
    pub(crate) fn secrets(&self) -> Secrets {
        self.masking().mode(&self.record().call)
    }

    /// Masks of the secrets that are at least partly in a range.
    pub(crate) fn masks_in(&self, range: Range<u64>) -> Result<Vec<Mask>> {
        let Some(scanner) = self.masking().scanner().filter(|_| self.secrets() == Secrets::Mask) else {
            return Ok(Vec::new());
        };
        let around = range.start.saturating_sub(CONTEXT)..(range.end + CONTEXT).min(self.len());
        let mut masks = masking::masks(scanner, &self.read(around.clone())?, around.start);
        masks.retain(|mask| mask.range.start < range.end && mask.range.end > range.start);
        Ok(masks)
    }

    /// Masks of all of its secrets, if it is to be masked.
    pub(crate) fn all_masks(&self) -> Result<Vec<Mask>> {
        let mut masks = Vec::new();
        if self.secrets() == Secrets::Mask {
            self.each_block_of_secrets(|offset, secrets| {
                masks.extend(secrets.iter().flat_map(|secret| masking::masks_of(secret, offset)));
                Ok(true)
            })?;
        }
        Ok(masking::joined(masks))
    }

    /// Bytes of a range as they are shown: with masks in place of secrets.
    pub fn shown(&self, range: Range<u64>) -> Result<Vec<u8>> {
        Ok(masking::masked(&self.read(range.clone())?, range.start, &self.masks_in(range)?))
    }

    /// A text about it as it is shown: with masks in place of secrets.
    pub(crate) fn shown_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.secrets() == Secrets::Mask { self.masking().masked(text) } else { text.into() }
    }

    /// Whether it has secrets that its mode does not let pass in silence.
    pub(crate) fn has_secrets(&self) -> Result<bool> {
        let mut found = false;
        if self.secrets() != Secrets::Off {
            self.each_block_of_secrets(|_, secrets| {
                found = !secrets.is_empty();
                Ok(!found)
            })?;
        }
        Ok(found)
    }

    /// All of its secrets, whatever its mode.
    pub fn found_secrets(&self) -> Result<Vec<FoundSecret>> {
        let mut found = Vec::new();
        self.each_block_of_secrets(|offset, secrets| {
            for secret in secrets {
                let range = secret.range();
                let bytes = offset + range.start as u64..offset + range.end as u64;
                found.push(FoundSecret {
                    line: self.newlines_before(bytes.start)? + 1,
                    bytes,
                    kind: secret.kind.to_string(),
                    tag: secret.tag.to_string(),
                    fingerprint: secret.fingerprint.to_string(),
                });
            }
            Ok(true)
        })?;
        Ok(found)
    }

    /// The lines of a secret, unmasked, for a person. Of long lines it is the part around the beginning of the secret.
    pub fn revealed(&self, secret: &FoundSecret) -> Result<String> {
        let (start, end) = (self.line_start(secret.line - 1)?, self.line_start(secret.line)?);
        let start = start.max(secret.bytes.start.saturating_sub(MAX_REVEALED / 2));
        let lines = self.read(start..end.max(secret.bytes.end).min(start + MAX_REVEALED))?;
        Ok(String::from_utf8_lossy(&lines).trim_end().to_owned())
    }

    /// Passes the secrets of each block to `take`, with the offset of the searched bytes, until it returns false.
    fn each_block_of_secrets(
        &self,
        mut take: impl FnMut(u64, Vec<forebay_secrets::Secret>) -> Result<bool>,
    ) -> Result<()> {
        let Some(scanner) = self.masking().scanner() else { return Ok(()) };
        for start in (0..self.len()).step_by(BLOCK as usize) {
            let end = (start + BLOCK).min(self.len());
            let offset = start.saturating_sub(CONTEXT);
            let mut secrets = scanner.scan(&self.read(offset..(end + CONTEXT).min(self.len()))?);
            secrets.retain(|secret| (start..end).contains(&(offset + secret.range().start as u64)));
            if !take(offset, secrets)? {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::store::memory::output_of;
    use crate::{Budget, Grep, Masking, Output, Query, Secrets, Settings, excerpt, preview};
    use forebay_secrets::Scanner;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// A value that looks like a key and was made up here.
    fn key() -> String {
        format!("ghp_{}", "Zq7Xw2Lk9Vb4Nm1Rt6Yp3Hs8Jd5Gf0CaEuPo").chars().take(40).collect()
    }

    fn secret_line() -> String {
        format!("DB_PASSWORD={}\n", "kV9$wq27LmZx-4tR")
    }

    fn masking(mode: Secrets) -> Masking {
        Masking::new(Scanner::new([3; 32]), mode, BTreeMap::new())
    }

    fn masked(text: &str) -> Output {
        output_of(text.as_bytes()).masked_by(&masking(Secrets::Mask))
    }

    const BUDGET: Budget = Budget { tokens: 2_000, bytes: 16_000, lines: None };

    #[test]
    fn no_query_shows_a_byte_of_a_secret() {
        let secret = "kV9$wq27LmZx-4tR";
        let text = format!("first\n{}last\n", secret_line());
        let output = masked(&text);
        assert_eq!(output.found_secrets().unwrap().len(), 1, "the line is a secret");
        let start = text.find(secret).unwrap() as u64;
        let mut queries = vec![
            Query::Lines(vec![1..=3]),
            Query::Tail(2),
            Query::Head(2),
            Query::Ask("password".to_owned()),
            Query::Grep(Grep::new("PASSWORD")),
            Query::Grep(Grep { context: 2, ..Grep::new("first") }),
            Query::Grep(Grep { wanted: crate::query::Selection::OtherLines, ..Grep::new("first") }),
        ];
        for pattern in [".", "k", "[A-Za-z0-9$-]", "kV9", "^.*Zx", secret] {
            queries
                .push(Query::Grep(Grep { wanted: crate::query::Selection::Matches, ..Grep::new(pattern) }));
        }
        for from in start..start + secret.len() as u64 {
            queries.push(Query::Bytes(vec![from..from + 1]));
            queries.push(Query::Bytes(vec![from..from + 5]));
        }
        for query in queries {
            let Ok(found) = excerpt(&output, &query, BUDGET) else { continue };
            let shown = String::from_utf8(found.text).unwrap();
            for part in secret.as_bytes().windows(4).map(|part| std::str::from_utf8(part).unwrap()) {
                assert!(!shown.contains(part), "{query:?} shows {part}: {shown}");
            }
            let form = crate::forms::excerpt(
                &output,
                &excerpt(&output, &query, BUDGET).unwrap(),
                &crate::Surface::default(),
            );
            assert!(!form.unwrap().to_string().contains(&secret[..4]), "{query:?}");
        }
    }

    #[test]
    fn a_small_output_passes_but_for_its_secrets_and_says_so() {
        let text = format!("first\n{}last\n", secret_line());
        let settings = |mode| Settings { masking: masking(mode), ..Settings::default() };
        let reply =
            |mode| preview(&output_of(text.as_bytes()), &settings(mode), crate::Room::Unknown).unwrap();
        let folded = reply(Secrets::Mask).folded.unwrap();
        let shown = String::from_utf8(folded.text.clone()).unwrap();
        let mask = &shown[shown.find("[secret: ").unwrap()..shown.find("]\n").unwrap() + 1];
        assert_eq!(shown, format!("first\nDB_PASSWORD={mask}\nlast\n[1 secret masked]\n"));
        assert!(crate::verify(&folded.view, &output_of(text.as_bytes())).unwrap().is_empty());
        let warned = String::from_utf8(reply(Secrets::Warn).folded.unwrap().text).unwrap();
        assert_eq!(warned, format!("{text}[1 secret shown]\n"));
        assert!(reply(Secrets::Off).folded.is_none());
        let clean = output_of(b"nothing to hide\n");
        assert!(preview(&clean, &settings(Secrets::Mask), crate::Room::Unknown).unwrap().folded.is_none());
    }

    #[test]
    fn a_view_counts_its_masks_in_its_first_line_and_is_proved() {
        let filler: String = (0..20_000).map(|number| format!("step {number} is done\n")).collect();
        let text =
            format!("{filler}error: cannot log in\n{}{}token: {}\n", secret_line(), secret_line(), key());
        let settings = Settings { masking: masking(Secrets::Mask), ..Settings::default() };
        let output = output_of(text.as_bytes());
        let folded = preview(&output, &settings, crate::Room::Unknown).unwrap().folded.unwrap();
        let shown = String::from_utf8(folded.text).unwrap();
        let first = shown.lines().next().unwrap();
        let count = shown.matches("[secret: ").count();
        assert!(count >= 2 && first.contains(&format!("{count} secrets masked]")), "{shown}");
        assert!(!shown.contains("kV9$") && settings.digest.budget.holds(shown.as_bytes()));
        assert!(crate::verify(&folded.view, &output).unwrap().is_empty());
        let stored = serde_json::to_string(&folded.view).unwrap();
        assert!(!stored.contains("kV9$"));
        let again: crate::View = serde_json::from_str(&stored).unwrap();
        assert_eq!(String::from_utf8(again.print(&output).unwrap()).unwrap(), shown);
    }

    proptest! {
        #[test]
        fn no_cut_of_an_output_shows_a_part_of_a_secret(from in 0usize..80, length in 0usize..80) {
            let text = format!("a: 1\n{}b: 2\n{}c: 3\n", secret_line(), secret_line());
            let output = masked(&text);
            let (from, to) = (from.min(text.len()), (from + length).min(text.len()));
            let shown = output.shown(from as u64..to as u64).unwrap();
            let shown = String::from_utf8(shown).unwrap();
            for part in ["kV", "V9", "9$", "wq", "q2", "27", "7L", "Lm", "mZ", "Zx", "x-", "-4", "4t", "tR"] {
                prop_assert!(!shown.replace(|_: char| false, "").split("[secret: ").enumerate().any(|(number, text)| {
                    let text = if number == 0 { text } else { text.split_once(']').map_or("", |(_, rest)| rest) };
                    text.contains(part)
                }), "{part} in {shown}");
            }
        }
    }
}
