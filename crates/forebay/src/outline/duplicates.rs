//! Duplicates: values that occur twice where nearly all others occur once, such as the same id in two records.

use std::collections::{HashMap, hash_map::Entry};
use std::hash::{DefaultHasher, Hasher};

/// Maximum values that are remembered, and minimum values of which a duplicate is odd.
const MOST: usize = 20_000;
const LEAST: usize = 20;

/// Maximum duplicates: more are no mistake.
const FEW: usize = 3;

/// Maximum fields of an output that are checked.
pub(crate) const FIELDS: usize = 4;

/// Whether a field has the name of a record's own identifier. A name that only ends like that can refer to another record.
pub(crate) fn tells_apart(name: &[u8]) -> bool {
    const NAMES: &[&str] = &["id", "_id", "uuid", "guid", "key", "email", "sku"];
    NAMES.iter().any(|known| name.trim_ascii().eq_ignore_ascii_case(known.as_bytes()))
}

/// Whether a value stands for no value.
fn is_nothing(value: &[u8]) -> bool {
    const NOTHING: &[&str] = &["", "\"\"", "0", "-", "null", "none", "n/a", "nan"];
    NOTHING.iter().any(|nothing| value.trim_ascii().eq_ignore_ascii_case(nothing.as_bytes()))
}

/// Values of a field, with their places.
#[derive(Clone, Debug)]
pub(crate) struct Twice<P> {
    /// First place of each value by its hash, and whether it was repeated. `None` once the values do not identify
    /// records, or are too many.
    seen: Option<HashMap<u64, (P, bool)>>,
    /// First and second place of each duplicate.
    again: Vec<[P; 2]>,
}

impl<P> Default for Twice<P> {
    fn default() -> Twice<P> {
        Twice { seen: Some(HashMap::new()), again: Vec::new() }
    }
}

impl<P: Copy> Twice<P> {
    pub(crate) fn take(&mut self, value: &[u8], place: impl FnOnce() -> P) {
        if self.seen.is_some() && !is_nothing(value) {
            let mut hasher = DefaultHasher::new();
            hasher.write(value);
            self.add(hasher.finish(), place());
        }
    }

    fn add(&mut self, value: u64, place: P) {
        let Some(seen) = &mut self.seen else { return };
        let is_third = match seen.entry(value) {
            Entry::Occupied(mut known) => {
                let (first, came_again) = known.get_mut();
                self.again.push([*first, place]);
                std::mem::replace(came_again, true)
            }
            Entry::Vacant(new) => {
                new.insert((place, false));
                false
            }
        };
        if is_third || self.again.len() > FEW || seen.len() > MOST {
            self.seen = None;
        }
    }

    /// Adds the values of another part of the output.
    pub(crate) fn join(&mut self, more: Twice<P>) {
        self.again.extend(more.again);
        let Some(seen) = more.seen else {
            self.seen = None;
            return;
        };
        for (value, (place, came_again)) in seen {
            let known = self.seen.as_ref().and_then(|seen| seen.get(&value));
            match (known, came_again) {
                // Once in one part and twice in the other.
                (Some(_), true) => self.seen = None,
                (None, true) => {
                    self.seen.iter_mut().for_each(|seen| {
                        seen.insert(value, (place, true));
                    });
                }
                (_, false) => self.add(value, place),
            }
        }
        if self.again.len() > FEW {
            self.seen = None;
        }
    }

    /// Returns both places of each duplicate.
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
            // A value that occurs three times does not identify a record.
            (vec![(30, 7), (35, 7)], vec![]),
            (vec![(10, 7), (35, 7)], vec![]),
            (vec![(30, 7), (31, 7)], vec![]),
            // Four duplicates are no mistake.
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
    fn what_stands_where_there_is_no_value_is_none() {
        for nothing in ["\"\"", "N/A", "-", "0"] {
            let mut ids = Twice::default();
            let value = |at: u32| if at % 20 == 7 { nothing.to_owned() } else { (at + 1).to_string() };
            (0..40).for_each(|at: u32| ids.take(value(at).as_bytes(), || at));
            assert!(ids.places().is_empty(), "{nothing}");
        }
    }

    #[test]
    fn fields_that_tell_records_apart_are_known_by_their_names() {
        for name in ["id", "ID", "_id", "UUID", "email", " sku "] {
            assert!(tells_apart(name.as_bytes()), "{name}");
        }
        for name in ["paid", "valid", "name", "price", "keys", "", "grid", "parent_id", "customer_id"] {
            assert!(!tells_apart(name.as_bytes()), "{name}");
        }
    }
}
