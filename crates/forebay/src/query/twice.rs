//! Values that occur twice where nearly all others occur once: the same id in two records.

use std::collections::{HashMap, hash_map::Entry};
use std::hash::{DefaultHasher, Hasher};

/// Of more values none is remembered, and of fewer none is odd.
const MOST: usize = 20_000;
const LEAST: usize = 20;

/// More than so many are no oversight.
const FEW: usize = 3;

/// In an output no more fields than these are looked at.
pub(crate) const FIELDS: usize = 4;

/// Whether a field is called as those are that tell records apart.
pub(crate) fn tells_apart(name: &[u8]) -> bool {
    let name = name.trim_ascii();
    let small = name.to_ascii_lowercase();
    [&b"id"[..], b"uuid", b"key", b"email", b"sku"].contains(&&small[..])
        || name.ends_with(b"Id")
        || [&b"_id"[..], b"-id", b" id", b"_key", b"uuid"].iter().any(|ending| small.ends_with(ending))
}

/// The values of a field, each with where it is first.
#[derive(Clone, Debug)]
pub(crate) struct Twice<P> {
    /// `None` once they do not tell records apart, or are too many.
    seen: Option<HashMap<u64, P>>,
    /// Where those are that came again, first and then.
    again: Vec<[P; 2]>,
}

impl<P> Default for Twice<P> {
    fn default() -> Twice<P> {
        Twice { seen: Some(HashMap::new()), again: Vec::new() }
    }
}

impl<P: Copy> Twice<P> {
    pub(crate) fn take(&mut self, value: &[u8], place: impl FnOnce() -> P) {
        if self.seen.is_some() {
            let mut hasher = DefaultHasher::new();
            hasher.write(value);
            self.add(hasher.finish(), place());
        }
    }

    fn add(&mut self, value: u64, place: P) {
        let Some(seen) = &mut self.seen else { return };
        match seen.entry(value) {
            Entry::Occupied(first) => self.again.push([*first.get(), place]),
            Entry::Vacant(new) => {
                new.insert(place);
            }
        }
        if self.again.len() > FEW || seen.len() > MOST {
            self.seen = None;
        }
    }

    /// Takes in what is known of further values.
    pub(crate) fn join(&mut self, more: Twice<P>) {
        self.again.extend(more.again);
        match more.seen {
            Some(seen) => seen.into_iter().for_each(|(value, place)| self.add(value, place)),
            None => self.seen = None,
        }
    }

    /// Where values are that occur twice, both times.
    pub(crate) fn places(&self) -> &[[P; 2]] {
        match &self.seen {
            Some(seen) if seen.len() >= LEAST => &self.again,
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_occurs_twice_among_many_that_do_not_is_found() {
        let table = [
            (vec![(30, 7)], vec![[7, 30]]),
            (vec![(30, 7), (35, 8)], vec![[7, 30], [8, 35]]),
            // Four are no oversight.
            (vec![(30, 7), (35, 8), (36, 9), (37, 1)], vec![]),
            (vec![], vec![]),
        ];
        for (again, expected) in table {
            let value =
                |at: u32| again.iter().find(|(place, _)| *place == at).map_or(at, |(_, value)| *value);
            let mut all = Twice::default();
            (0..40).for_each(|at| all.take(&value(at).to_le_bytes(), || at));
            assert_eq!(all.places(), expected, "{again:?}");
            let (mut first, mut second) = (Twice::default(), Twice::default());
            (0..20).for_each(|at| first.take(&value(at).to_le_bytes(), || at));
            (20..40).for_each(|at| second.take(&value(at).to_le_bytes(), || at));
            first.join(second);
            let mut joined = first.places().to_vec();
            joined.sort_unstable();
            assert_eq!(joined, expected, "joined: {again:?}");
        }
    }

    #[test]
    fn fields_that_tell_records_apart_are_known_by_their_names() {
        for name in ["id", "ID", "user_id", "orderId", "UUID", "email", "order id"] {
            assert!(tells_apart(name.as_bytes()), "{name}");
        }
        for name in ["paid", "valid", "name", "price", "keys", "", "grid"] {
            assert!(!tells_apart(name.as_bytes()), "{name}");
        }
    }
}
