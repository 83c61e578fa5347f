//! Which units are shown: the best that fit, with few gaps, because every gap costs a marker.

use crate::formats::frames;
use crate::rank::passage::Unit;
use crate::{Budget, Result, tokens};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

/// So many of the best units are looked at.
const LOOKED_AT: usize = 4_000;

/// So many units may be too large for what is left before the budget counts as used.
const MISFITS: usize = 100;

/// A gap of more units is not filled.
const FILLED: u64 = 12;

/// A gap is filled up to so many times the cost of its marker; in a text that is read on, up to more.
const FILL: u64 = 2;
const READ_ON: u64 = 3;

/// In an answer, a small hole between two passages is filled up to so many tokens: whoever reads on both sides of it
/// would ask for it.
const HOLE_TOKENS: u64 = 30;

/// A unit that stands alone must have this share of the best one's worth in a view of so many tokens, and more in a
/// smaller one, by this power and up to a bound: what belongs to the best comes before what has a gap on both sides.
const ALONE: f32 = 0.4;
const IN_TOKENS: f32 = 1_000.0;
const SMALLER: f32 = 0.3;
const ALONE_AT_MOST: f32 = 0.65;

/// A unit that joins others must have this share of what one that stands alone must have.
const BELONGS: f32 = 0.3;

/// What markers cost is known when they are printed: so often what is left is used for more. In the second half of the
/// rounds nothing belongs to the best any more, and less is worth standing alone: so much of what was, where both its
/// sides are marked, and anything elsewhere.
const ROUNDS: usize = 4;
const LATE: f32 = 0.5;

/// A unit of more bytes must be worth more: so many bytes cost nothing extra, and further ones by this power.
const SHORT: f32 = 90.0;
const COST: f32 = 0.2;

/// What is chosen from.
#[derive(Clone)]
pub(crate) struct Choice {
    /// The units, in any order.
    pub(crate) units: Vec<Unit>,
    /// The index of the last unit of the output, where what is left out before and behind all that is shown is marked too.
    pub(crate) last: Option<u64>,
    /// What a marker costs.
    pub(crate) marker: u64,
    /// Whether a unit says enough by itself, as a paragraph does or a line of a list: then it may stand alone, however long it is,
    /// and what is between two of them is better read on than marked.
    pub(crate) reads_on: bool,
    /// What is between two of them is shown where it is no more than so many units.
    pub(crate) hole: u64,
}

impl Choice {
    /// The units to show in their order: those of most worth, as long as `cost` says that what is printed of them fits.
    pub(crate) fn choose(
        mut self,
        budget: Budget,
        cost: impl Fn(&[&Unit]) -> Result<(u64, bool)>,
    ) -> Result<Vec<Unit>> {
        if !self.reads_on {
            // The calls of a stack trace are shown together and with what is above them, however long that is.
            let is_frame = |unit: &&Unit| frames::is_frame(unit.text.as_bytes());
            let frames: HashSet<u64> = self.units.iter().filter(is_frame).map(|unit| unit.index).collect();
            let in_trace = |unit: &Unit| frames.contains(&unit.index) || frames.contains(&(unit.index + 1));
            for unit in self.units.iter_mut().filter(|unit| !in_trace(unit)) {
                unit.worth *= (SHORT / (unit.text.len() as f32).max(SHORT)).powf(COST);
            }
        }
        self.units.sort_by(|a, b| b.worth.total_cmp(&a.worth).then(a.index.cmp(&b.index)));
        self.units.truncate(LOOKED_AT);
        let least = match self.units.first() {
            Some(best) if !self.reads_on => {
                let smaller = (IN_TOKENS / budget.tokens.max(1) as f32).powf(SMALLER);
                best.worth * (ALONE * smaller).min(ALONE_AT_MOST)
            }
            _ => 0.0,
        };
        let late = if self.last.is_some() { LATE } else { 0.0 };
        let mut chosen = Chosen::new(&self);
        let (mut used, _) = cost(&[])?;
        for round in 0..ROUNDS {
            let before = chosen.order.len();
            let (alone, joining) =
                if round < ROUNDS / 2 { (least, least * BELONGS) } else { (least * late, 0.0) };
            chosen.take(budget.tokens.saturating_sub(used), alone, joining);
            let (mut now, mut fits) = cost(&chosen.units())?;
            while !fits && chosen.drop_last() {
                (now, fits) = cost(&chosen.units())?;
            }
            used = now;
            if round >= ROUNDS / 2 && chosen.order.len() <= before {
                break;
            }
        }
        Ok(chosen.units().into_iter().cloned().collect())
    }
}

/// What has been chosen so far.
struct Chosen<'a> {
    choice: &'a Choice,
    known: HashMap<u64, (&'a Unit, u64)>,
    units: BTreeMap<u64, &'a Unit>,
    /// The order in which they were taken.
    order: Vec<u64>,
}

impl<'a> Chosen<'a> {
    fn new(choice: &'a Choice) -> Chosen<'a> {
        let sized = |unit: &'a Unit| (unit.index, (unit, tokens::count(&unit.text)));
        let known = choice.units.iter().map(sized).collect();
        Chosen { choice, known, units: BTreeMap::new(), order: Vec::new() }
    }

    /// Takes units while `left` tokens last: one that stands alone if it is worth `alone`, and one that joins others if it
    /// is worth `joining`.
    fn take(&mut self, mut left: u64, alone: f32, joining: f32) {
        let mut misfits = 0;
        for unit in &self.choice.units {
            if left < 8 || misfits > MISFITS {
                break;
            }
            if unit.worth <= 0.0 || self.units.contains_key(&unit.index) {
                continue;
            }
            let top = self.leans_on(unit);
            let before = self.units.range(..top).next_back().map(|(&index, _)| index + 1);
            let behind = self.units.range(unit.index + 1..).next().map(|(&index, _)| index);
            let (first, last) = self.choice.last.map(|last| (0, last + 1)).unzip();
            // A gap that costs little more than its marker is filled.
            let fills = [
                before.or(first).and_then(|start| self.filled(start..top)),
                behind.or(last).and_then(|end| self.filled(unit.index + 1..end)),
            ];
            let joins = fills.iter().flatten().count();
            // A line without a word says nothing alone, nor does a call without what it led to.
            let says = unit.text.contains(char::is_alphanumeric) && !frames::is_frame(unit.text.as_bytes());
            let wordless = joins == 0 && !says;
            if wordless || unit.worth < if joins == 0 { alone } else { joining } {
                continue;
            }
            let tokens = |index: u64| self.known.get(&index).map_or(0, |(_, tokens)| *tokens);
            let own = (top..=unit.index).map(tokens).sum::<u64>();
            let holes = [before.map(|start| start..top), behind.map(|end| unit.index + 1..end)];
            let mut fills: Vec<_> = fills
                .into_iter()
                .zip(holes)
                .filter_map(|(fill, hole)| fill.or_else(|| self.hole(hole?)))
                .collect();
            let joins = fills.len();
            let between: u64 = fills.iter().map(|(_, tokens)| tokens).sum();
            // One more passage has one more marker; one that closes a gap saves one.
            let cost = (own + between + self.choice.marker).saturating_sub(self.choice.marker * joins as u64);
            if cost > left {
                misfits += 1;
                continue;
            }
            left -= cost;
            self.add(unit);
            fills.push((top..unit.index, 0));
            for (gap, _) in fills {
                for index in gap {
                    if let Some(&(unit, _)) = self.known.get(&index) {
                        self.add(unit);
                    }
                }
            }
        }
    }

    /// Where what is shown with a unit begins: with the one above it that is hidden, if it says nothing without that. That
    /// is so for the line below a call that makes it, and for what marks a place in the line above.
    fn leans_on(&self, unit: &Unit) -> u64 {
        let mut text = &unit.text;
        let mut first = unit.index;
        while let Some(above) = first.checked_sub(1).filter(|above| !self.units.contains_key(above)) {
            let above = self.known.get(&above).map(|(above, _)| *above);
            let leans =
                |above: &&Unit| frames::is_inward(above.text.as_bytes()) || frames::is_mark(text.as_bytes());
            match above.filter(leans).filter(|_| !self.choice.reads_on) {
                Some(above) => (first, text) = (above.index, &above.text),
                None => break,
            }
        }
        first
    }

    /// A gap that may be filled, with its tokens.
    fn filled(&self, gap: Range<u64>) -> Option<(Range<u64>, u64)> {
        if gap.end.saturating_sub(gap.start) > FILLED {
            return None;
        }
        let tokens: Option<u64> = gap.clone().map(|index| Some(self.known.get(&index)?.1)).sum();
        // A text that is read on is better read with what stands between its paragraphs than with markers in them.
        let most = self.choice.marker * if self.choice.reads_on { READ_ON } else { FILL };
        tokens.filter(|&tokens| tokens <= most).map(|tokens| (gap, tokens))
    }

    /// A hole of few units in an answer, with its tokens.
    fn hole(&self, gap: Range<u64>) -> Option<(Range<u64>, u64)> {
        if gap.end.saturating_sub(gap.start) > self.choice.hole {
            return None;
        }
        let tokens: Option<u64> = gap.clone().map(|index| Some(self.known.get(&index)?.1)).sum();
        tokens.filter(|&tokens| tokens <= HOLE_TOKENS).map(|tokens| (gap, tokens))
    }

    fn add(&mut self, unit: &'a Unit) {
        self.units.insert(unit.index, unit);
        self.order.push(unit.index);
    }

    fn drop_last(&mut self) -> bool {
        self.order.pop().is_some_and(|last| self.units.remove(&last).is_some())
    }

    fn units(&self) -> Vec<&'a Unit> {
        self.units.values().copied().collect()
    }
}

/// The ranges of units, those that follow each other together. Blank ones are shown only between others.
pub(crate) fn ranges(units: &[&Unit]) -> Vec<Range<u64>> {
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

    /// What is chosen of lines with their worths that stand so many lines apart.
    fn chosen(lines: &[(&str, f32)], apart: u64, tokens: u64) -> Vec<String> {
        let units: Vec<Unit> = lines
            .iter()
            .enumerate()
            .map(|(at, (text, worth))| Unit {
                index: 50 + at as u64 * apart,
                range: at as u64 * 1_000..at as u64 * 1_000 + text.len() as u64,
                text: (*text).to_owned(),
                worth: *worth,
            })
            .collect();
        let last = Some(100 + lines.len() as u64 * apart);
        let budget = Budget { tokens, bytes: u64::MAX, lines: None };
        let choice = Choice { units, last, marker: 6, reads_on: false, hole: 0 };
        let units = choice.choose(budget, |units| {
            let used = units.iter().map(|unit| tokens::count(&unit.text) + 6).sum();
            Ok((used, used <= tokens))
        });
        units.unwrap().into_iter().map(|unit| unit.text).collect()
    }

    #[test]
    fn what_says_nothing_alone_does_not_stand_alone() {
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
    fn what_says_nothing_without_the_line_above_it_comes_with_that() {
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
    fn a_stack_trace_is_shown_with_what_it_is_about_however_long_that_is() {
        let about = "VersionError: ".to_owned() + &"the class was compiled for another ".repeat(12);
        let call = |n: u8| {
            (format!("    at org.build.Module{n}.load (Module.java:{n})"), 1.6 + f32::from(n) / 100.0)
        };
        // On the way back from the end the calls come before what they led to.
        let calls: Vec<(String, f32)> = (0..30).map(call).collect();
        let mut lines = vec![(about.as_str(), 2.0)];
        lines.extend(calls.iter().map(|(call, worth)| (call.as_str(), *worth)));
        lines.push(("BUILD FAILURE", 3.0));
        assert!(chosen(&lines, 1, 300).contains(&about));
    }

    #[test]
    fn what_is_worth_little_does_not_stand_between_two_markers() {
        let shown = chosen(&[("it goes on", 0.3), ("error: it is gone", 2.0), ("it ends", 0.5)], 50, 1_000);
        assert_eq!(shown, ["error: it is gone", "it ends"]);
    }
}
