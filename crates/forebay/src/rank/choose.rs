//! Choice of the units to show: the best that fit a budget, with few gaps, because every gap costs a marker.

use crate::formats::frames;
use crate::rank::passage::RankedUnit;
use crate::weights::choose as weights;
use crate::{Budget, Result, tokens};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

/// Units to choose from.
#[derive(Clone)]
pub(crate) struct UnitChoice {
    /// In any order.
    pub(crate) units: Vec<RankedUnit>,
    /// Index of the last unit of the output, if the gaps before the first and after the last shown unit are marked too.
    pub(crate) last: Option<u64>,
    /// Tokens of a marker.
    pub(crate) marker: u64,
    /// Whether a unit is complete by itself, such as a paragraph or a line of a list. Then it may be isolated, however long
    /// it is, and larger gaps are filled.
    pub(crate) reads_on: bool,
    /// Maximum units between two chosen ones that are shown too.
    pub(crate) hole: u64,
}

impl UnitChoice {
    /// Returns the units to show, in their order: the best ones that fit. `cost` returns the tokens of units when they are
    /// printed, and whether they fit.
    pub(crate) fn choose(
        mut self,
        budget: Budget,
        cost: impl Fn(&[&RankedUnit]) -> Result<(u64, bool)>,
    ) -> Result<Vec<RankedUnit>> {
        if !self.reads_on {
            // The calls of a stack trace are shown together and with the line above them, however long it is.
            let is_frame = |unit: &&RankedUnit| frames::is_frame(unit.text.as_bytes());
            let frames: HashSet<u64> = self.units.iter().filter(is_frame).map(|unit| unit.index).collect();
            let in_trace =
                |unit: &RankedUnit| frames.contains(&unit.index) || frames.contains(&(unit.index + 1));
            for unit in self.units.iter_mut().filter(|unit| !in_trace(unit)) {
                let length = (unit.text.len() as f32).max(weights::LONG_UNIT_BYTES);
                unit.score *= (weights::LONG_UNIT_BYTES / length).powf(weights::LONG_UNIT_POWER);
            }
        }
        self.units.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.index.cmp(&b.index)));
        self.units.truncate(weights::MAX_UNITS);
        let least = match self.units.first() {
            Some(best) if !self.reads_on => {
                let smaller =
                    (weights::ISOLATED_TOKENS / budget.tokens.max(1) as f32).powf(weights::ISOLATED_POWER);
                best.score * (weights::ISOLATED * smaller).min(weights::MAX_ISOLATED)
            }
            _ => 0.0,
        };
        let late = if self.last.is_some() { weights::LATE_ISOLATED } else { 0.0 };
        let mut chosen = Chosen::new(&self);
        let (mut used, _) = cost(&[])?;
        for round in 0..weights::ROUNDS {
            let before = chosen.order.len();
            let is_late = round >= weights::ROUNDS / 2;
            let needed = if is_late {
                Needed { isolated: least * late, joining: 0.0 }
            } else {
                Needed { isolated: least, joining: least * weights::JOINING }
            };
            chosen.take(budget.tokens.saturating_sub(used), needed);
            let (mut now, mut fits) = cost(&chosen.units())?;
            while !fits && chosen.drop_last() {
                (now, fits) = cost(&chosen.units())?;
            }
            used = now;
            if is_late && chosen.order.len() <= before {
                break;
            }
        }
        Ok(chosen.units().into_iter().cloned().collect())
    }
}

/// Scores that units need to be chosen.
#[derive(Clone, Copy)]
struct Needed {
    /// With a gap on both sides.
    isolated: f32,
    /// Beside chosen ones.
    joining: f32,
}

/// Units chosen so far.
struct Chosen<'a> {
    choice: &'a UnitChoice,
    /// All units with their tokens, by index.
    known: HashMap<u64, (&'a RankedUnit, u64)>,
    units: BTreeMap<u64, &'a RankedUnit>,
    /// Indices in the order in which they were chosen.
    order: Vec<u64>,
}

/// Units between two chosen ones, with their tokens.
struct Gap {
    units: Range<u64>,
    tokens: u64,
}

impl<'a> Chosen<'a> {
    fn new(choice: &'a UnitChoice) -> Chosen<'a> {
        let sized = |unit: &'a RankedUnit| (unit.index, (unit, tokens::count(&unit.text)));
        let known = choice.units.iter().map(sized).collect();
        Chosen { choice, known, units: BTreeMap::new(), order: Vec::new() }
    }

    /// Chooses units with the scores that are needed while `left` tokens last.
    fn take(&mut self, mut left: u64, needed: Needed) {
        let mut misfits = 0;
        for unit in &self.choice.units {
            if left < weights::MIN_TOKENS_LEFT || misfits > weights::MAX_MISFITS {
                break;
            }
            if unit.score <= 0.0 || self.units.contains_key(&unit.index) {
                continue;
            }
            let top = self.leans_on(unit);
            let before = self.units.range(..top).next_back().map(|(&index, _)| index + 1);
            let behind = self.units.range(unit.index + 1..).next().map(|(&index, _)| index);
            let (first, last) = self.choice.last.map(|last| (0, last + 1)).unzip();
            // A gap that costs little more than its marker is filled.
            let fills = [
                before.or(first).and_then(|start| self.small_gap(start..top)),
                behind.or(last).and_then(|end| self.small_gap(unit.index + 1..end)),
            ];
            let joins = fills.iter().flatten().count();
            let is_isolated = joins == 0;
            // A line without a word says nothing alone, nor does a call without the exception.
            let says = unit.text.contains(char::is_alphanumeric) && !frames::is_frame(unit.text.as_bytes());
            let least = if is_isolated { needed.isolated } else { needed.joining };
            if is_isolated && !says || unit.score < least {
                continue;
            }
            let tokens = |index: u64| self.known.get(&index).map_or(0, |(_, tokens)| *tokens);
            let own = (top..=unit.index).map(tokens).sum::<u64>();
            let holes = [before.map(|start| start..top), behind.map(|end| unit.index + 1..end)];
            let mut fills: Vec<_> = fills
                .into_iter()
                .zip(holes)
                .filter_map(|(fill, hole)| fill.or_else(|| self.small_hole(hole?)))
                .collect();
            let joins = fills.len();
            let between: u64 = fills.iter().map(|gap| gap.tokens).sum();
            // Another passage needs another marker; closing a gap saves one.
            let cost = (own + between + self.choice.marker).saturating_sub(self.choice.marker * joins as u64);
            if cost > left {
                misfits += 1;
                continue;
            }
            left -= cost;
            self.add(unit);
            fills.push(Gap { units: top..unit.index, tokens: 0 });
            for index in fills.into_iter().flat_map(|gap| gap.units) {
                if let Some(&(unit, _)) = self.known.get(&index) {
                    self.add(unit);
                }
            }
        }
    }

    /// Returns the first line that must be shown with a unit because the unit means nothing without it. A source line
    /// needs the call above it, and a mark (`^^^`) the line above it.
    fn leans_on(&self, unit: &RankedUnit) -> u64 {
        let mut text = &unit.text;
        let mut first = unit.index;
        while let Some(above) = first.checked_sub(1).filter(|above| !self.units.contains_key(above)) {
            let above = self.known.get(&above).map(|(above, _)| *above);
            let leans = |above: &&RankedUnit| {
                frames::is_inward(above.text.as_bytes()) || frames::is_mark(text.as_bytes())
            };
            match above.filter(leans).filter(|_| !self.choice.reads_on) {
                Some(above) => (first, text) = (above.index, &above.text),
                None => break,
            }
        }
        first
    }

    /// Returns a gap if it is filled because a marker would cost about as much.
    fn small_gap(&self, units: Range<u64>) -> Option<Gap> {
        let markers =
            if self.choice.reads_on { weights::GAP_IN_MARKERS_OF_TEXT } else { weights::GAP_IN_MARKERS };
        self.gap(units, weights::MAX_GAP_UNITS, self.choice.marker * markers)
    }

    /// Returns a hole of few units in an answer.
    fn small_hole(&self, units: Range<u64>) -> Option<Gap> {
        self.gap(units, self.choice.hole, weights::MAX_HOLE_TOKENS)
    }

    /// Returns a gap of known units that is no larger.
    fn gap(&self, units: Range<u64>, most_units: u64, most_tokens: u64) -> Option<Gap> {
        if units.end.saturating_sub(units.start) > most_units {
            return None;
        }
        let tokens: Option<u64> = units.clone().map(|index| Some(self.known.get(&index)?.1)).sum();
        tokens.filter(|&tokens| tokens <= most_tokens).map(|tokens| Gap { units, tokens })
    }

    fn add(&mut self, unit: &'a RankedUnit) {
        self.units.insert(unit.index, unit);
        self.order.push(unit.index);
    }

    fn drop_last(&mut self) -> bool {
        self.order.pop().is_some_and(|last| self.units.remove(&last).is_some())
    }

    fn units(&self) -> Vec<&'a RankedUnit> {
        self.units.values().copied().collect()
    }
}

/// Returns the ranges of units, with adjacent ones merged. Blank units count only between others.
pub(crate) fn ranges(units: &[&RankedUnit]) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    let mut next = None;
    let mut blanks = 0;
    for unit in units {
        if unit.text.trim().is_empty() {
            blanks += 1;
            continue;
        }
        let follows = next.is_some_and(|next| next + blanks == unit.index);
        match ranges.last_mut().filter(|last| follows || unit.range.start <= last.end) {
            Some(last) => last.end = last.end.max(unit.range.end),
            None => ranges.push(unit.range.clone()),
        }
        (next, blanks) = (Some(unit.index + 1), 0);
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chooses from lines with scores, `apart` lines from each other.
    fn chosen(lines: &[(&str, f32)], apart: u64, tokens: u64) -> Vec<String> {
        let units: Vec<RankedUnit> = lines
            .iter()
            .enumerate()
            .map(|(at, (text, score))| RankedUnit {
                index: 50 + at as u64 * apart,
                range: at as u64 * 1_000..at as u64 * 1_000 + text.len() as u64,
                text: (*text).to_owned(),
                score: *score,
            })
            .collect();
        let last = Some(100 + lines.len() as u64 * apart);
        let budget = Budget { tokens, bytes: u64::MAX, lines: None };
        let choice = UnitChoice { units, last, marker: 6, reads_on: false, hole: 0 };
        let units = choice.choose(budget, |units| {
            let used = units.iter().map(|unit| tokens::count(&unit.text) + 6).sum();
            Ok((used, used <= tokens))
        });
        units.unwrap().into_iter().map(|unit| unit.text).collect()
    }

    #[test]
    fn a_line_that_means_nothing_alone_is_not_isolated() {
        let best = "error: it is gone";
        for (alone, is_shown) in [
            ("the disk was full", true),
            ("    at Module.load (module.js:3)", false),
            ("  File \"a.py\", line 3, in f", false),
            ("------------------------", false),
        ] {
            let shown = chosen(&[(alone, 1.9), (best, 2.0)], 50, 100);
            assert_eq!(shown.contains(&alone.to_owned()), is_shown, "{shown:?}");
        }
    }

    #[test]
    fn a_line_that_needs_the_line_above_comes_with_it() {
        let call = "  File \"a.py\", line 3, in f";
        let makes = "    assert total == 3";
        let marks = "           ^^^^^^^^^^";
        let best = "AssertionError";
        let lines = [(call, 0.1), (makes, 1.9), (marks, 1.8), ("a", 0.0), ("b", 0.0), (best, 2.0)];
        assert_eq!(chosen(&lines[..2], 1, 100), [call, makes]);
        assert_eq!(chosen(&lines[..3], 1, 100), [call, makes, marks]);
        assert_eq!(chosen(&[lines[0], lines[1], lines[5]], 1, 8), [best]);
    }

    #[test]
    fn a_stack_trace_is_shown_with_its_exception_however_long_that_is() {
        let about = "VersionError: ".to_owned() + &"the class was compiled for another ".repeat(12);
        let call = |n: u8| {
            (format!("    at org.build.Module{n}.load (Module.java:{n})"), 1.6 + f32::from(n) / 100.0)
        };
        // On the way back from the end the calls come before what they led to.
        let calls: Vec<(String, f32)> = (0..30).map(call).collect();
        let mut lines = vec![(about.as_str(), 2.0)];
        lines.extend(calls.iter().map(|(call, score)| (call.as_str(), *score)));
        lines.push(("BUILD FAILURE", 3.0));
        assert!(chosen(&lines, 1, 300).contains(&about));
    }

    #[test]
    fn a_low_score_is_not_shown_between_two_markers() {
        let shown = chosen(&[("it goes on", 0.3), ("error: it is gone", 2.0), ("it ends", 0.5)], 50, 1_000);
        assert_eq!(shown, ["error: it is gone", "it ends"]);
    }
}
