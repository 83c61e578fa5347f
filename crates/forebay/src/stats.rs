//! Tokens saved, computed from a session's events alone.
//!
//! Saved is what the model would have been given without us, less all that it was given since: the outputs and the views,
//! every answer about them, and what models read to make abstracts. That may be less than nothing, and then it is.

use crate::event::{Replied, Stored};
use crate::{Event, Reason, Timestamp, What};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::ops::AddAssign;

/// Statistics of one session or of several.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// Counts of all groups together.
    pub total: Counts,
    /// Counts of each group.
    pub groups: BTreeMap<String, Counts>,
}

/// The counts of a group. Sizes of replies and answers are in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Outputs that ended.
    pub outputs: u64,
    /// Their stored bytes.
    pub bytes: u64,
    /// Outputs that were cut short.
    pub cut_short: u64,
    /// Outputs that passed unchanged.
    pub passed: u64,
    /// Outputs replaced because tokens could not be reserved.
    pub reserve_failed: Fired,
    /// Outputs replaced because they have too many bytes, characters or lines.
    pub size_cap: Fired,
    /// Outputs replaced because they have too many tokens.
    pub token_budget: Fired,
    /// Outputs that fit and were shown in a compact form.
    #[serde(default)]
    pub compact: Fired,
    /// Outputs that fit and were shown with masks in place of secrets.
    #[serde(default)]
    pub secrets: Fired,
    /// Tokens that the model would have got without Forebay.
    pub baseline: u64,
    /// Tokens of the replies.
    pub given: u64,
    /// Answered queries.
    pub queries: u64,
    /// Tokens of the answers.
    pub retrieved: u64,
    /// Abstracts that models wrote.
    pub extractions: u64,
    /// Tokens that models read and wrote for them, and tokens of the abstracts.
    pub extracted: u64,
    /// Fallbacks.
    pub fallbacks: u64,
    /// Outputs that were removed.
    pub swept: u64,
    /// Their bytes.
    pub swept_bytes: u64,
}

/// Firings of a trigger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Fired {
    /// Number of firings.
    pub times: u64,
    /// Characters of the outputs less those of the replies; negative if the replies are longer.
    pub characters_saved: i64,
}

impl Fired {
    /// Average characters saved per firing.
    pub fn mean_characters_saved(&self) -> Option<i64> {
        self.characters_saved.checked_div(i64::try_from(self.times).ok()?)
    }
}

impl Counts {
    /// Tokens saved, all costs deducted; fewer than 0 if it cost more than it saved.
    pub fn saved(&self) -> i64 {
        let costs = [self.given, self.retrieved, self.extracted];
        let net = i128::from(self.baseline) - costs.iter().map(|&cost| i128::from(cost)).sum::<i128>();
        i64::try_from(net).unwrap_or(if net < 0 { i64::MIN } else { i64::MAX })
    }

    /// The triggers with their names, the strongest first.
    pub fn triggers(&self) -> [(Reason, Fired); 5] {
        [
            (Reason::ReserveFailed, self.reserve_failed),
            (Reason::SizeCap, self.size_cap),
            (Reason::TokenBudget, self.token_budget),
            (Reason::Compact, self.compact),
            (Reason::Secrets, self.secrets),
        ]
    }

    /// Whether nothing happened.
    pub fn is_empty(&self) -> bool {
        *self == Counts::default()
    }

    fn fired(&mut self, reason: Reason) -> &mut Fired {
        match reason {
            Reason::ReserveFailed => &mut self.reserve_failed,
            Reason::SizeCap => &mut self.size_cap,
            Reason::TokenBudget => &mut self.token_budget,
            Reason::Compact => &mut self.compact,
            Reason::Secrets => &mut self.secrets,
        }
    }
}

impl AddAssign for Fired {
    fn add_assign(&mut self, other: Fired) {
        self.times = self.times.saturating_add(other.times);
        self.characters_saved = self.characters_saved.saturating_add(other.characters_saved);
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        // All fields are named, so that none is forgotten when one is added.
        let Counts {
            outputs,
            bytes,
            cut_short,
            passed,
            reserve_failed,
            size_cap,
            token_budget,
            compact,
            secrets,
            baseline,
            given,
            queries,
            retrieved,
            extractions,
            extracted,
            fallbacks,
            swept,
            swept_bytes,
        } = other;
        for (sum, more) in [
            (&mut self.outputs, outputs),
            (&mut self.bytes, bytes),
            (&mut self.cut_short, cut_short),
            (&mut self.passed, passed),
            (&mut self.baseline, baseline),
            (&mut self.given, given),
            (&mut self.queries, queries),
            (&mut self.retrieved, retrieved),
            (&mut self.extractions, extractions),
            (&mut self.extracted, extracted),
            (&mut self.fallbacks, fallbacks),
            (&mut self.swept, swept),
            (&mut self.swept_bytes, swept_bytes),
        ] {
            *sum = sum.saturating_add(more);
        }
        self.reserve_failed += reserve_failed;
        self.size_cap += size_cap;
        self.token_budget += token_budget;
        self.compact += compact;
        self.secrets += secrets;
    }
}

impl AddAssign for Stats {
    fn add_assign(&mut self, other: Stats) {
        self.total += other.total;
        for (name, counts) in other.groups {
            *self.groups.entry(name).or_default() += counts;
        }
    }
}

/// Key by which counts are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum By {
    /// The tool whose output it is about, with its server.
    Tool,
    /// The day on which it happened, in UTC.
    Day,
}

/// Name of the group of events that are not about a single output, and of outputs whose call is unknown.
pub(crate) const OF_NO_TOOL: &str = "(all outputs)";

/// Counts the events of one session.
///
/// ```
/// use forebay::{Call, MemoryStore, Outputs, Session, Settings, Tally, Timestamp, event, keep, stats::By};
///
/// let (store, session) = (MemoryStore::default(), Session::safe("demo"));
/// let outputs = Outputs::new(&store, session.clone(), &Timestamp::now);
/// let call = Call::new(session.clone(), "call-1", "run_command", Timestamp::UNIX_EPOCH);
/// let log: String = (1..=50_000).map(|line| format!("line {line}: all is well\n")).collect();
/// outputs.reply(&keep(&store, &call, &mut log.as_bytes(), &Timestamp::now)?, &Settings::default())?;
///
/// let mut tally = Tally::new(By::Tool, None);
/// event::for_each(&store, &session, |event| tally.take(&event))?;
/// let stats = tally.stats();
/// assert_eq!(stats.total.baseline, Settings::default().host.shown_tokens, "no host shows all of it");
/// assert!(stats.groups["run_command"].saved() > 7_000);
/// # Ok::<(), forebay::Error>(())
/// ```
#[derive(Debug)]
pub struct Tally {
    by: By,
    since: Option<Timestamp>,
    known: HashMap<String, Known>,
    stats: Stats,
}

/// Properties of an output that later events need.
#[derive(Debug, Default)]
struct Known {
    tool: String,
    characters: u64,
}

impl Tally {
    /// Counts what happened, or only what happened since then.
    pub fn new(by: By, since: Option<Timestamp>) -> Tally {
        Tally { by, since, known: HashMap::new(), stats: Stats::default() }
    }

    /// Returns the statistics.
    pub fn stats(self) -> Stats {
        self.stats
    }

    /// Counts the next event.
    pub fn take(&mut self, event: &Event) {
        // Early events are not counted, but later events refer to their outputs.
        match &event.what {
            What::CallStarted(started) => {
                let tool = match &started.server {
                    Some(server) => format!("{server}/{}", started.tool),
                    None => started.tool.clone(),
                };
                self.known.insert(started.id.clone(), Known { tool, characters: 0 });
            }
            What::OutputStored(stored) | What::OutputCutShort(stored) => {
                self.known.entry(stored.id.clone()).or_default().characters = stored.size.characters;
            }
            _ => {}
        }
        if self.since.is_some_and(|since| event.at < since) {
            return;
        }
        let counts = self.counted(&event.what);
        if counts.is_empty() {
            return;
        }
        let group = match self.by {
            By::Day => event.at.strftime("%Y-%m-%d").to_string(),
            By::Tool => {
                let known = event.what.id().and_then(|id| self.known.get(id));
                known
                    .map(|known| known.tool.as_str())
                    .filter(|tool| !tool.is_empty())
                    .unwrap_or(OF_NO_TOOL)
                    .to_owned()
            }
        };
        self.stats.total += counts;
        *self.stats.groups.entry(group).or_default() += counts;
    }

    /// The counts of one event.
    fn counted(&self, what: &What) -> Counts {
        let mut counts = Counts::default();
        match what {
            What::OutputStored(Stored { size, lost, .. })
            | What::OutputCutShort(Stored { size, lost, .. }) => {
                counts.outputs = 1;
                counts.bytes = size.bytes.saturating_sub(*lost);
                counts.cut_short = u64::from(matches!(what, What::OutputCutShort(_)));
            }
            What::OutputPassed(Replied { tokens, baseline, .. }) => {
                counts.passed = 1;
                counts.given = *tokens;
                counts.baseline = *baseline;
            }
            What::ViewGiven(replied) => {
                let so_far = replied.so_far.as_ref().map(|so_far| so_far.size.characters);
                let known = || self.known.get(&replied.id).map(|known| known.characters);
                let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
                // An unknown output counts as no saving.
                let whole = so_far.or_else(known).unwrap_or(replied.characters);
                *counts.fired(replied.reason.unwrap_or(Reason::SizeCap)) =
                    Fired { times: 1, characters_saved: signed(whole) - signed(replied.characters) };
                counts.given = replied.tokens;
                counts.baseline = replied.baseline;
            }
            What::QueryAnswered(answered) => {
                counts.queries = 1;
                counts.retrieved = answered.tokens;
            }
            What::ExtractionDone(extracted) => {
                counts.extractions = 1;
                counts.extracted =
                    extracted.tokens_in.saturating_add(extracted.tokens_out).saturating_add(extracted.tokens);
            }
            What::FellBack(_) => counts.fallbacks = 1,
            What::Swept(swept) => {
                counts.swept = 1;
                counts.swept_bytes = swept.bytes;
            }
            What::CallStarted(_)
            | What::ExtractionFailed(_)
            | What::RoomReported { .. }
            | What::RoomExceeded { .. }
            | What::SecretsRevealed { .. } => {}
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Answered, Extracted, FellBack, Started, Swept};
    use crate::{Kind, Size};

    fn started(id: &str, tool: &str, server: Option<&str>) -> What {
        What::CallStarted(Started {
            id: id.into(),
            call: id.into(),
            tool: tool.into(),
            kind: None,
            server: server.map(str::to_owned),
            argument_characters: 0,
        })
    }

    fn stored(id: &str, bytes: u64) -> Stored {
        let size = Size { bytes, characters: bytes, ..Size::default() };
        let (hash, kind) = (String::new(), Kind::Text);
        Stored { id: id.into(), size, kind, hash, exit: None, lost: 0, why: None, same_as: None }
    }

    fn replied(id: &str, reason: Option<Reason>, characters: u64, tokens: u64, baseline: u64) -> Replied {
        Replied {
            id: id.into(),
            reason,
            characters,
            bytes: characters,
            tokens,
            baseline,
            output_tokens: None,
            made_by: None,
            so_far: None,
        }
    }

    fn asked(id: &str, tokens: u64) -> What {
        let (query, arguments, shown) = ("read".to_owned(), serde_json::Map::new(), Vec::new());
        What::QueryAnswered(Answered {
            id: id.into(),
            query,
            arguments,
            length: 0,
            shown,
            drawn_from: Vec::new(),
            budget: 0,
            bytes: 0,
            tokens,
        })
    }

    /// A story, with the second of each event.
    fn story() -> Vec<(i64, What)> {
        vec![
            (0, started("small", "read_file", Some("fs"))),
            (1, What::OutputStored(stored("small", 100))),
            (1, What::OutputPassed(replied("small", None, 100, 30, 30))),
            (2, started("big", "make", None)),
            (3, What::OutputCutShort(Stored { lost: 400, ..stored("big", 9_000) })),
            (3, What::ViewGiven(replied("big", Some(Reason::TokenBudget), 1_000, 250, 2_000))),
            (
                3,
                What::FellBack(FellBack {
                    id: "big".into(),
                    from: "digest".into(),
                    to: "smaller view".into(),
                    why: String::new(),
                }),
            ),
            (86_400, started("cap", "make", None)),
            (86_401, What::OutputStored(stored("cap", 500))),
            // A message in place of a small output is longer than that.
            (86_401, What::ViewGiven(replied("cap", Some(Reason::SizeCap), 700, 180, 120))),
            (86_402, asked("big", 400)),
            (86_403, asked("", 60)),
            (
                86_404,
                What::ExtractionDone(Extracted {
                    id: "big".into(),
                    strategy: "read-grep".into(),
                    model: None,
                    tokens_in: 900,
                    tokens_out: 40,
                    tokens: 30,
                    leniencies: BTreeMap::new(),
                    request: None,
                    memory: None,
                }),
            ),
            (86_405, What::Swept(Swept { id: "small".into(), bytes: 100, why: "old".into() })),
            (86_406, What::RoomReported { used: 5 }),
        ]
    }

    fn told(by: By, since: Option<i64>) -> Stats {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut tally = Tally::new(by, since.map(at));
        story().into_iter().for_each(|(second, what)| tally.take(&Event { what, at: at(second) }));
        tally.stats()
    }

    #[test]
    fn saved_is_the_baseline_less_all_that_was_given_since() {
        let total = told(By::Tool, None).total;
        assert_eq!(
            total,
            Counts {
                outputs: 3,
                bytes: 100 + 8_600 + 500,
                cut_short: 1,
                passed: 1,
                reserve_failed: Fired::default(),
                size_cap: Fired { times: 1, characters_saved: -200 },
                token_budget: Fired { times: 1, characters_saved: 8_000 },
                compact: Fired::default(),
                secrets: Fired::default(),
                baseline: 30 + 2_000 + 120,
                given: 30 + 250 + 180,
                queries: 2,
                retrieved: 460,
                extractions: 1,
                extracted: 970,
                fallbacks: 1,
                swept: 1,
                swept_bytes: 100,
            }
        );
        assert_eq!(total.saved(), 2_150 - 460 - 460 - 970);
        let means = total.triggers().map(|(_, fired)| fired.mean_characters_saved());
        assert_eq!(means, [None, Some(-200), Some(8_000), None, None]);
    }

    #[test]
    fn every_cost_is_laid_to_the_tool_or_the_day_it_is_of() {
        type Saved = &'static [(&'static str, i64)];
        let table: [(By, Option<i64>, Saved); 4] = [
            (By::Tool, None, &[(OF_NO_TOOL, -60), ("fs/read_file", 0), ("make", 320)]),
            (By::Day, None, &[("1970-01-01", 1_750), ("1970-01-02", -1_490)]),
            (By::Day, Some(86_400), &[("1970-01-02", -1_490)]),
            (By::Tool, Some(86_402), &[(OF_NO_TOOL, -60), ("fs/read_file", 0), ("make", -1_370)]),
        ];
        for (by, since, expected) in table {
            let stats = told(by, since);
            let saved: Vec<(&str, i64)> =
                stats.groups.iter().map(|(name, counts)| (name.as_str(), counts.saved())).collect();
            assert_eq!(saved, expected, "{by:?} {since:?}");
            let mut sum = Counts::default();
            stats.groups.values().for_each(|counts| sum += *counts);
            assert_eq!(sum, stats.total, "groups are parts of the whole");
        }
    }

    #[test]
    fn sessions_are_added_up_and_numbers_that_cannot_be_do_not_wrap() {
        let mut both = told(By::Tool, None);
        both += told(By::Tool, None);
        assert_eq!((both.total.outputs, both.groups["make"].saved()), (6, 640));
        let mut huge = Counts { given: u64::MAX, ..Counts::default() };
        huge += huge;
        assert_eq!((huge.given, huge.saved()), (u64::MAX, i64::MIN));
    }
}
