//! The scanner, which runs all searches over a text.

use crate::allow::Allowlist;
use crate::assignment;
use crate::candidate::{Candidate, Source, join};
use crate::filter::{Action, Anchor, for_each_keyword};
use crate::mask::{Unmasked, mask, mask_end, mask_range};
use crate::needles::Needles;
use crate::place::{command, cookie, kubernetes, pem, pgpass, scheme, url};
use crate::randomness::is_random;
use crate::rules::{self, RULES};
use crate::secret::{Fingerprint, Kind, Secret, Tag};
use crate::user::{UserRules, is_name};
use crate::values::Values;
use crate::window::window;
use std::borrow::Cow;
use std::ops::Range;

/// A value that is known to be secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedValue {
    /// Name that a mask shows, such as that of an environment variable.
    pub name: String,
    /// The value. Values with fewer than 8 bytes are not searched for.
    pub value: Vec<u8>,
}

/// Finds secrets in texts. Creating a scanner is cheap: a pattern is compiled when its keyword is first found.
#[derive(Clone, Debug)]
pub struct Scanner {
    key: [u8; 32],
    values: Vec<NamedValue>,
    forms: Values,
    rules: Vec<UserRules>,
    allowed: Allowlist,
}

/// Minimum bytes of a value whose other occurrences in the text are masked too.
const MIN_REPEATED: usize = 12;

/// Maximum bytes of a value whose other occurrences are masked too.
const MAX_REPEATED: usize = 512;

/// Maximum repeated searches of a masked text. Only a text made for this purpose needs so many.
const MAX_SEARCHES: usize = 16;

impl Scanner {
    /// A scanner with the built-in rules. `key` is the key of the hashes in tags and fingerprints.
    pub fn new(key: [u8; 32]) -> Scanner {
        Scanner {
            key,
            values: Vec::new(),
            forms: Values::new(&[]),
            rules: Vec::new(),
            allowed: Allowlist::default(),
        }
    }

    /// Adds known values, which are found in every form in which tools print them.
    #[must_use]
    pub fn with_values(mut self, values: impl IntoIterator<Item = NamedValue>) -> Scanner {
        self.values.extend(values);
        let bytes: Vec<Vec<u8>> = self.values.iter().map(|named| named.value.clone()).collect();
        self.forms = Values::new(&bytes);
        self
    }

    /// Adds rules of a user.
    #[must_use]
    pub fn with_rules(mut self, rules: UserRules) -> Scanner {
        self.rules.push(rules);
        self
    }

    /// Excludes the values of a list.
    #[must_use]
    pub fn with_allowed(mut self, allowed: Allowlist) -> Scanner {
        self.allowed = allowed;
        self
    }

    /// Returns the secrets in a text, in order and without overlaps. The masked text has no secrets.
    pub fn scan(&self, text: &[u8]) -> Vec<Secret> {
        let mut secrets = self.search(text);
        // A mask may end a longer word, so that the text before or after it now looks like a secret.
        for _ in 0..MAX_SEARCHES {
            if secrets.is_empty() {
                break;
            }
            let further = self.search(&mask(text, &secrets));
            if further.is_empty() {
                break;
            }
            let unmasked = Unmasked::new(&secrets);
            secrets.extend(further.into_iter().map(|secret| unmasked.secret(secret)));
            secrets.sort_by_key(|secret| secret.range().start);
        }
        secrets
    }

    fn search(&self, text: &[u8]) -> Vec<Secret> {
        let mut search = Search { text, candidates: Vec::new(), masks: Vec::new(), name_end: 0 };
        for_each_keyword(text, |at, keyword| {
            for action in keyword.actions {
                search.act(at, *action);
            }
        });
        let Search { mut candidates, masks, .. } = search;
        candidates.extend(self.forms.find(text).into_iter().map(|known| {
            let NamedValue { name, value } = &self.values[known.value];
            let name = if is_name(name) { Cow::Owned(name.clone()) } else { Cow::Borrowed("known value") };
            let kind = Kind { service: None, name };
            Candidate { pieces: known.pieces, kind, source: Source::Value, value: Some(value.clone()) }
        }));
        for rules in &self.rules {
            rules.find(text, |range, kind| {
                candidates.push(Candidate::new(range, kind.clone(), Source::UserRule));
            });
        }
        // Existing masks are not masked again.
        let is_masked = |candidate: &Candidate| {
            let next = masks.partition_point(|mask| mask.end <= candidate.start());
            masks.get(next).is_some_and(|mask| mask.start < candidate.end())
        };
        candidates.retain(|candidate| !is_masked(candidate) && !self.allows(text, candidate));
        let mut joined = join(candidates);
        let mut repeated = repeated(text, &joined);
        repeated.retain(|candidate| !is_masked(candidate));
        if !repeated.is_empty() {
            joined.extend(repeated);
            joined = join(joined);
        }
        joined.into_iter().map(|candidate| self.secret(text, candidate)).collect()
    }

    /// Returns the text with a mask for each secret.
    pub fn masked<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        mask(text, &self.scan(text))
    }

    /// Returns part of a text with a mask for each secret. A secret that is partly in the range gets its whole mask.
    ///
    /// Only the [`window`] around the range is scanned.
    ///
    /// # Panics
    ///
    /// If the range is not in the text.
    pub fn masked_range<'a>(&self, text: &'a [u8], range: Range<usize>) -> Cow<'a, [u8]> {
        let window = window(text.len(), range.clone());
        let around = &text[window.clone()];
        mask_range(around, &self.scan(around), range.start - window.start..range.end - window.start)
    }

    /// Fingerprint of a value, for an [`Allowlist`].
    pub fn fingerprint(&self, value: &[u8]) -> Fingerprint {
        fingerprint_of(blake3::keyed_hash(&self.key, value).as_bytes())
    }

    fn allows(&self, text: &[u8], candidate: &Candidate) -> bool {
        let value = candidate.value(text);
        self.allowed.has(&value, || self.fingerprint(&value))
    }

    fn secret(&self, text: &[u8], candidate: Candidate) -> Secret {
        let hash = *blake3::keyed_hash(&self.key, &candidate.value(text)).as_bytes();
        let written = candidate.pieces.iter().flat_map(|piece| &text[piece.clone()]);
        let characters = written.filter(|byte| **byte & 0xC0 != 0x80).count();
        Secret {
            pieces: candidate.pieces,
            kind: candidate.kind,
            tag: Tag::of(&hash),
            fingerprint: fingerprint_of(&hash),
            characters,
        }
    }
}

fn fingerprint_of(hash: &[u8; 32]) -> Fingerprint {
    Fingerprint(std::array::from_fn(|at| hash[16 + at]))
}

/// One pass over a text.
struct Search<'a> {
    text: &'a [u8],
    candidates: Vec<Candidate>,
    /// Existing masks.
    masks: Vec<Range<usize>>,
    /// End of the last name that was checked.
    name_end: usize,
}

impl Search<'_> {
    fn act(&mut self, at: usize, action: Action) {
        match action {
            Action::Rule(number) => self.rule(at, number),
            Action::Anchor(anchor) => self.anchor(at, anchor),
        }
    }

    fn add(&mut self, range: Range<usize>, name: &'static str, source: Source) {
        self.candidates.push(Candidate::new(range, Kind::of(name), source));
    }

    fn rule(&mut self, at: usize, number: u16) {
        if let Some(range) = rules::find(self.text, at, number) {
            let rule = &RULES[usize::from(number)];
            let kind = Kind { service: Some(Cow::Borrowed(rule.service)), name: Cow::Borrowed(rule.name) };
            self.candidates.push(Candidate::new(range, kind, Source::Form));
        }
    }

    fn anchor(&mut self, at: usize, anchor: Anchor) {
        let text = self.text;
        match anchor {
            Anchor::Name | Anchor::Service => self.name(at),
            Anchor::Cookie => {
                for range in cookie::find(text, at) {
                    self.add(range, "cookie", Source::Place);
                }
            }
            Anchor::Scheme => {
                if let Some(found) = scheme::find(text, at) {
                    self.add(found.range, found.name, Source::Place);
                }
            }
            Anchor::Url => {
                if let Some(range) = url::find(text, at) {
                    self.add(range, "password", Source::Place);
                }
            }
            Anchor::Pem => {
                if let Some(pieces) = pem::find(text, at) {
                    let kind = Kind::of("private key");
                    let value = Some(pem::key(text, &pieces));
                    self.candidates.push(Candidate { pieces, kind, source: Source::Block, value });
                }
            }
            Anchor::Kubernetes => {
                for value in kubernetes::find(text, at) {
                    let mut candidate =
                        Candidate::new(value.range, Kind::of("kubernetes secret"), Source::Place);
                    candidate.value = value.decoded;
                    self.candidates.push(candidate);
                }
            }
            Anchor::Command => {
                if let Some(range) = command::find(text, at) {
                    self.add(range, "password", Source::Place);
                }
            }
            Anchor::PgPass => {
                if let Some(range) = pgpass::find(text, at) {
                    self.add(range, "password", Source::Place);
                }
            }
            Anchor::Mask => self.masks.extend(mask_end(text, at).map(|end| at..end)),
        }
    }

    fn name(&mut self, at: usize) {
        if at < self.name_end {
            return;
        }
        let answer = assignment::find(self.text, at);
        self.name_end = answer.name_end;
        if let Some(named) = answer.named {
            let kind = Kind { service: named.service.map(Cow::Owned), name: Cow::Borrowed(named.label) };
            self.candidates.push(Candidate::new(named.range, kind, Source::Name));
        }
    }
}

/// Finds other occurrences of the values that were found, such as those that `set -x` prints.
fn repeated(text: &[u8], found: &[Candidate]) -> Vec<Candidate> {
    let mut values: Vec<Repeated<'_>> = Vec::new();
    for candidate in found {
        if let [piece] = &*candidate.pieces {
            let value = &text[piece.clone()];
            if (MIN_REPEATED..=MAX_REPEATED).contains(&value.len()) && is_random(value) {
                values.push(Repeated { value, candidate });
            }
        }
    }
    values.sort_by_key(|repeated| repeated.value);
    values.dedup_by_key(|repeated| repeated.value);
    let needles = Needles::new(values.iter().map(|repeated| repeated.value.to_vec()));
    let mut candidates = Vec::new();
    needles.find(text, |at, number| {
        let Repeated { value, candidate } = values[number];
        let mut other = Candidate::new(at..at + value.len(), candidate.kind.clone(), Source::Repeated);
        other.value.clone_from(&candidate.value);
        candidates.push(other);
    });
    candidates
}

/// A value that was found, whose other occurrences are searched for.
#[derive(Clone, Copy)]
struct Repeated<'a> {
    value: &'a [u8],
    candidate: &'a Candidate,
}
