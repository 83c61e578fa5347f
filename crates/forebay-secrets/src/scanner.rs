//! The scanner: all searches over one text.

use crate::assignment;
use crate::candidate::{Candidate, Source, join};
use crate::encoding::base64;
use crate::filter::{Action, Anchor, for_each_keyword};
use crate::mask::{mask, mask_end};
use crate::place::{command, cookie, kubernetes, pem, pgpass, scheme, url};
use crate::randomness::is_random;
use crate::rules::{self, RULES};
use crate::secret::{Fingerprint, Kind, Secret, Tag};
use std::borrow::Cow;
use std::ops::Range;

/// Finds secrets in texts.
#[derive(Debug)]
pub struct Scanner {
    key: [u8; 32],
}

/// Minimum bytes of a value whose other occurrences in the text are masked too.
const MIN_REPEATED: usize = 12;

impl Scanner {
    /// A scanner with the built-in rules. Tags are hashes with `key`.
    pub fn new(key: [u8; 32]) -> Scanner {
        Scanner { key }
    }

    /// The secrets in a text, in order, none of which overlap.
    pub fn scan(&self, text: &[u8]) -> Vec<Secret> {
        let mut search = Search { text, candidates: Vec::new(), masks: Vec::new(), name_end: 0 };
        for_each_keyword(text, |at, keyword| {
            for action in keyword.actions {
                search.act(at, *action);
            }
        });
        let Search { candidates, masks, .. } = search;
        let unmasked = |candidate: &Candidate| {
            masks.iter().all(|mask| candidate.end() <= mask.start || candidate.start() >= mask.end)
        };
        let candidates: Vec<Candidate> = candidates.into_iter().filter(unmasked).collect();
        let mut joined = join(candidates);
        let repeated = repeated(text, &joined);
        if !repeated.is_empty() {
            joined.extend(repeated.into_iter().filter(unmasked));
            joined = join(joined);
        }
        joined.into_iter().map(|candidate| self.secret(text, candidate)).collect()
    }

    /// The text with a mask for each secret.
    pub fn masked<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        mask(text, &self.scan(text))
    }

    fn secret(&self, text: &[u8], candidate: Candidate) -> Secret {
        let written: Vec<u8> =
            candidate.pieces.iter().flat_map(|piece| &text[piece.clone()]).copied().collect();
        let characters = written.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        let hash = *blake3::keyed_hash(&self.key, candidate.value.as_deref().unwrap_or(&written)).as_bytes();
        let mut fingerprint = [0; 16];
        fingerprint.copy_from_slice(&hash[16..]);
        Secret {
            pieces: candidate.pieces,
            kind: candidate.kind,
            tag: Tag::of(&hash),
            fingerprint: Fingerprint(fingerprint),
            characters,
        }
    }
}

/// One pass over a text.
struct Search<'a> {
    text: &'a [u8],
    candidates: Vec<Candidate>,
    /// Secrets that are masked already.
    masks: Vec<Range<usize>>,
    /// End of the last name that was looked at.
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
            let service = (!rule.service.is_empty()).then(|| Cow::Borrowed(rule.service));
            let kind = Kind { service, name: Cow::Borrowed(rule.name) };
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
                    self.candidates.push(Candidate { pieces, kind, source: Source::Place, value: None });
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

/// Other occurrences of the values that were found.
fn repeated(text: &[u8], found: &[Candidate]) -> Vec<Candidate> {
    let mut values: Vec<(&[u8], &Candidate)> = Vec::new();
    for candidate in found {
        if let [piece] = &*candidate.pieces {
            let value = &text[piece.clone()];
            if (MIN_REPEATED..=512).contains(&value.len()) && is_random(value) {
                values.push((value, candidate));
            }
        }
    }
    values.sort_by_key(|(value, _)| *value);
    values.dedup_by_key(|(value, _)| *value);
    if values.is_empty() {
        return Vec::new();
    }
    let mut candidates = Vec::new();
    for (value, of) in values {
        for at in memchr::memmem::find_iter(text, value) {
            let mut candidate = Candidate::new(at..at + value.len(), of.kind.clone(), Source::Repeated);
            candidate.value.clone_from(&of.value);
            candidates.push(candidate);
        }
    }
    candidates
}

#[expect(dead_code)]
fn decoded(value: &[u8]) -> Option<Vec<u8>> {
    base64(value)
}
