//! Retention: the decision which outputs are removed, from their weights alone.
//!
//! Outputs in use always stay, and their bytes count. If the disk would have too little free space even without all other
//! outputs, none is removed for that rule.

use crate::settings::Retention;
use crate::{Handle, Timestamp};
use std::{fmt, time::Duration};

/// Size and age of an output, as far as its store knows them without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weight {
    /// Handle of the output.
    pub handle: Handle,
    /// Bytes of all its parts; shared bytes are divided among the outputs that share them.
    pub bytes: u64,
    /// Time when its record was last written.
    pub time: Timestamp,
    /// Whether it must stay because it grows or is open.
    pub in_use: bool,
}

/// Rules of retention. A rule that is `None` is off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Maximum age of an output.
    pub max_age: Option<Duration>,
    /// Maximum bytes of all outputs together; beyond it the oldest are removed.
    pub max_bytes: Option<u64>,
    /// Minimum free bytes of the disk; below it the oldest are removed.
    pub min_free: Option<u64>,
}

/// One day.
const DAY: u64 = 24 * 60 * 60;

impl From<&Retention> for Rules {
    fn from(settings: &Retention) -> Rules {
        let set = |number: u64| Some(number).filter(|&number| number > 0);
        Rules {
            max_age: set(settings.max_age_days).map(|days| Duration::from_secs(days.saturating_mul(DAY))),
            max_bytes: set(settings.max_bytes),
            min_free: set(settings.min_free_bytes),
        }
    }
}

/// The rule that removes an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// It is older than the maximum age.
    Age(Duration),
    /// All outputs together have more bytes than this.
    Bytes(u64),
    /// The disk has fewer free bytes than this.
    Free(u64),
    /// Its session is removed as a whole.
    Session,
}

impl Cause {
    /// One word for it.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Age(_) => "age",
            Cause::Bytes(_) => "bytes",
            Cause::Free(_) => "free",
            Cause::Session => "session",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Age(age) => write!(f, "older than {}", span(age.as_secs())),
            Cause::Bytes(bytes) => {
                write!(f, "all outputs have more than {} bytes", crate::text::count::grouped(*bytes))
            }
            Cause::Free(bytes) => {
                write!(f, "less than {} bytes are free", crate::text::count::grouped(*bytes))
            }
            Cause::Session => f.write_str("its session was removed"),
        }
    }
}

/// A time in the largest unit that holds it without a rest.
fn span(seconds: u64) -> String {
    let units = [("day", DAY), ("hour", 3_600), ("minute", 60), ("second", 1)];
    let (name, unit) =
        units.into_iter().find(|(_, unit)| seconds.is_multiple_of(*unit)).unwrap_or(("second", 1));
    crate::text::count::count(name, seconds / unit)
}

/// The rule about free space, if it would still be broken after everything removable is gone. Then other files fill
/// the disk. `free` is as for [`decide`].
pub fn out_of_reach(weights: &[Weight], rules: &Rules, free: Option<u64>) -> Option<Cause> {
    let movable = weights.iter().filter(|weight| !weight.in_use);
    let most_free = movable.fold(free?, |sum, weight| sum.saturating_add(weight.bytes));
    rules.min_free.filter(|&least| most_free < least).map(Cause::Free)
}

/// Selects the outputs to remove, each once with its cause, oldest first. `free` is the free bytes of the disk, if known.
pub fn decide(weights: &[Weight], rules: &Rules, now: Timestamp, free: Option<u64>) -> Vec<(Handle, Cause)> {
    let mut oldest_first: Vec<&Weight> = weights.iter().collect();
    oldest_first.sort_by_key(|weight| (weight.time, &weight.handle));
    let mut total = weights.iter().fold(0, |sum: u64, weight| sum.saturating_add(weight.bytes));
    let mut free = free.unwrap_or(u64::MAX);
    let reachable = out_of_reach(weights, rules, Some(free)).is_none();
    let rules = Rules { min_free: rules.min_free.filter(|_| reachable), ..*rules };
    let mut going = Vec::new();
    for weight in oldest_first {
        // A clock that was set back makes outputs of the future: they are young.
        let age = Duration::try_from(now.duration_since(weight.time)).unwrap_or_default();
        let cause = match rules {
            _ if weight.in_use => None,
            Rules { max_age: Some(most), .. } if age > most => Some(Cause::Age(most)),
            // Removing an output without bytes frees nothing.
            _ if weight.bytes == 0 => None,
            Rules { max_bytes: Some(most), .. } if total > most => Some(Cause::Bytes(most)),
            Rules { min_free: Some(least), .. } if free < least => Some(Cause::Free(least)),
            _ => None,
        };
        if let Some(cause) = cause {
            total = total.saturating_sub(weight.bytes);
            free = free.saturating_add(weight.bytes);
            going.push((weight.handle.clone(), cause));
        }
    }
    going
}

/// A removed output.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gone {
    /// Its handle.
    pub handle: Handle,
    /// Bytes that this freed.
    pub bytes: u64,
    /// The rule that removed it.
    pub cause: Cause,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Session;
    use proptest::prelude::*;

    fn weight(id: &str, bytes: u64, second: i64) -> Weight {
        Weight {
            handle: Handle::new(Session::safe("s"), id).unwrap(),
            bytes,
            time: Timestamp::from_second(second).unwrap(),
            in_use: false,
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn said(going: &[(Handle, Cause)]) -> String {
        let words: Vec<String> =
            going.iter().map(|(handle, cause)| format!("{} {}", handle.id(), cause.name())).collect();
        words.join(", ")
    }

    #[test]
    fn the_oldest_go_first_and_no_more_than_must() {
        let weights = [weight("c", 30, 300), weight("a", 10, 100), weight("b", 20, 200), weight("n", 0, 150)];
        let age = |seconds| Rules { max_age: Some(Duration::from_secs(seconds)), ..Rules::default() };
        let bytes = |most| Rules { max_bytes: Some(most), ..Rules::default() };
        let least = |least| Rules { min_free: Some(least), ..Rules::default() };
        let all = Rules { max_bytes: Some(50), min_free: Some(130), ..age(220) };
        let table = [
            (Rules::default(), Some(0), ""),
            (age(400), None, ""),
            (age(300), None, ""),
            (age(299), None, "a age"),
            (age(200), None, "a age, n age"),
            (bytes(60), None, ""),
            (bytes(59), None, "a bytes"),
            (bytes(30), None, "a bytes, b bytes"),
            (bytes(1), None, "a bytes, b bytes, c bytes"),
            (least(100), Some(100), ""),
            (least(101), Some(100), "a free"),
            (least(111), Some(100), "a free, b free"),
            (least(160), Some(100), "a free, b free, c free"),
            // Out of reach: to remove all of them would not help.
            (least(161), Some(100), ""),
            (Rules { min_free: Some(161), ..bytes(30) }, Some(100), "a bytes, b bytes"),
            (least(1_000), None, ""),
            // Bytes freed for one rule count for the others.
            (all, Some(100), "a age, n age, b free"),
        ];
        for (rules, free, expected) in table {
            assert_eq!(said(&decide(&weights, &rules, at(400), free)), expected, "{rules:?}, {free:?}");
        }
    }

    #[test]
    fn an_output_in_use_stays_and_the_next_is_removed() {
        let mut weights = [weight("a", 10, 100), weight("b", 20, 200), weight("c", 30, 300)];
        weights[0].in_use = true;
        let rules = |most| Rules { max_bytes: Some(most), ..Rules::default() };
        assert_eq!(said(&decide(&weights, &rules(45), at(400), None)), "b bytes");
        assert_eq!(said(&decide(&weights, &rules(10), at(400), None)), "b bytes, c bytes");
        let free = |least| Rules { min_free: Some(least), ..Rules::default() };
        for (least, expected) in [(50, "b free, c free"), (51, "")] {
            assert_eq!(said(&decide(&weights, &free(least), at(400), Some(0))), expected, "{least}");
            let out = out_of_reach(&weights, &free(least), Some(0));
            assert_eq!(out, expected.is_empty().then_some(Cause::Free(least)));
        }
    }

    #[test]
    fn zero_switches_a_rule_off() {
        let off =
            Retention { mode: crate::settings::Keep::Keep, max_age_days: 0, max_bytes: 0, min_free_bytes: 0 };
        assert_eq!(Rules::from(&off), Rules::default());
        let on = Retention { max_age_days: 2, max_bytes: 3, min_free_bytes: 4, ..off };
        let rules = Rules::from(&on);
        assert_eq!(rules.max_age, Some(Duration::from_secs(2 * DAY)));
        assert_eq!((rules.max_bytes, rules.min_free), (Some(3), Some(4)));
    }

    #[test]
    fn causes_are_printed_in_plain_units() {
        let table = [
            (Cause::Age(Duration::from_secs(30 * DAY)), "older than 30 days"),
            (Cause::Age(Duration::from_secs(3_600)), "older than 1 hour"),
            (Cause::Age(Duration::from_secs(90)), "older than 90 seconds"),
            (Cause::Bytes(20_000), "all outputs have more than 20,000 bytes"),
            (Cause::Free(1_000), "less than 1,000 bytes are free"),
        ];
        for (cause, text) in table {
            assert_eq!(cause.to_string(), text);
        }
    }

    fn weights() -> impl Strategy<Value = Vec<Weight>> {
        proptest::collection::vec((0u64..1_000, 0i64..1_000, proptest::bool::weighted(0.2)), 0..30).prop_map(
            |parts| {
                let named = parts.into_iter().enumerate();
                named
                    .map(|(number, (bytes, second, in_use))| Weight {
                        in_use,
                        ..weight(&format!("w{number}"), bytes, second)
                    })
                    .collect()
            },
        )
    }

    fn rules() -> impl Strategy<Value = Rules> {
        let rule = |most: u64| proptest::option::of(1..most);
        (rule(1_200), rule(20_000), rule(20_000)).prop_map(|(age, max_bytes, min_free)| Rules {
            max_age: age.map(Duration::from_secs),
            max_bytes,
            min_free,
        })
    }

    proptest! {
        #[test]
        fn the_remaining_outputs_satisfy_the_rules_where_possible(
            weights in weights(), rules in rules(), free in proptest::option::of(0u64..20_000),
        ) {
            let now = at(1_000);
            let going = decide(&weights, &rules, now, free);
            let goes = |weight: &Weight| going.iter().any(|(handle, _)| *handle == weight.handle);
            let left: Vec<&Weight> = weights.iter().filter(|weight| !goes(weight)).collect();
            // None twice, none that is not there, none that is in use.
            prop_assert_eq!(left.len() + going.len(), weights.len());
            prop_assert!(weights.iter().all(|weight| !(weight.in_use && goes(weight))));
            let age = |weight: &Weight| (1_000 - weight.time.as_second()) as u64;
            let movable = |weight: &&&Weight| !weight.in_use;
            if let Some(most) = rules.max_age {
                prop_assert!(left.iter().filter(movable).all(|weight| age(weight) <= most.as_secs()));
            }
            let helps = |weight: &&Weight| !weight.in_use && weight.bytes > 0;
            let total: u64 = left.iter().map(|weight| weight.bytes).sum();
            let freed: u64 = weights.iter().filter(|weight| goes(weight)).map(|weight| weight.bytes).sum();
            let movable: u64 = weights.iter().filter(|weight| !weight.in_use).map(|weight| weight.bytes).sum();
            let reachable = rules.min_free.zip(free).filter(|(least, free)| free + movable >= *least);
            let fits = rules.max_bytes.is_none_or(|most| total <= most)
                && reachable.is_none_or(|(least, free)| free + freed >= least);
            prop_assert!(fits || !left.iter().any(helps));
            // Nothing goes for free space that is out of reach.
            prop_assert!(reachable.is_some() || going.iter().all(|(_, cause)| cause.name() != "free"));
            // Of two outputs that would free enough, the older one is removed.
            for gone in weights.iter().filter(|weight| goes(weight)) {
                let older = |stays: &&Weight| (gone.time, &gone.handle) < (stays.time, &stays.handle);
                prop_assert!(left.iter().filter(|weight| helps(weight)).all(older));
            }
            // No more goes than must: without the last that went for its bytes, they would not fit.
            if let Some((last, Cause::Bytes(most))) = going.last() {
                let last = weights.iter().find(|weight| weight.handle == *last).unwrap();
                prop_assert!(total + last.bytes > *most);
            }
            // Sweeping again finds nothing to do.
            let left: Vec<Weight> = left.into_iter().cloned().collect();
            prop_assert!(decide(&left, &rules, now, free.map(|free| free + freed)).is_empty());
        }
    }
}
