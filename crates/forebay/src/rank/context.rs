//! Context lines: a good unit gives a share of its score to the lines around it, because an answer is a passage.
//!
//! The share fades from line to line, towards the beginning and towards the end of the output. It fades more slowly
//! between lines that belong together, such as those of a stack trace or of a sentence.

use crate::classify::source::{Layout, continues, defines, is_heading, is_title, is_underlined, level};
use crate::formats::frames::{is_call, is_frame, is_inward, is_of_runtime, is_reflection};
use crate::formats::line_role::{has_passed, informs};
use crate::formats::noise::is_noise;
use crate::rank::frequency::Frequency;
use crate::rank::passage::RankedUnit;
use crate::rank::question::{Aim, Question};
use crate::rank::scan::{MAX_UNIT_BYTES, Scored, Seen, TextUnits};
use crate::terminal::{readable, visible};
use crate::text::gutter::depth;
use crate::text::ranges::holds;
use crate::text::similarity::{hash, template, without_paths};
use crate::weights::context as weights;
use crate::weights::context::{Fading, Head};
use crate::weights::score::{DOC_COMMENT, PASSED_LINE};
use crate::{Output, Result};
use memchr::memmem;
use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

/// Paths of packages that a Python program uses. In a stack trace that is mostly inside them, the calls of the program
/// itself are rare and show where to look.
const PACKAGES: &[&str] = &["/site-packages/", "/dist-packages/", "/lib/python", "<frozen "];

/// Returns how a score fades around a unit. `reports_exit`: the unit reports how a run ended; `defines`: it defines
/// something.
fn fading(question: &Question, layout: Layout, reports_exit: bool, defines: bool) -> Fading {
    let below_definition = |fading: Fading| {
        if defines { Fading { deeper: weights::BELOW_DEFINITION, ..fading } } else { fading }
    };
    match (question.aim, layout) {
        (Aim::Failure, _) if reports_exit => weights::AROUND_EXIT,
        (Aim::Failure, _) => weights::AROUND_FAILURE,
        (_, Layout::Lone) => weights::IN_LIST,
        _ if question.mentions_failure => weights::AROUND_NAMED_FAILURE,
        (_, Layout::Source) => weights::IN_PROGRAM,
        (_, Layout::Diff) => below_definition(weights::IN_DIFF),
        (_, Layout::Prose) => weights::IN_PROSE,
        (_, Layout::Blocks) => below_definition(weights::IN_BLOCKS),
    }
}

/// Returns the best units with their context, each unit once with its highest score. `doc_comments` are the parts of a
/// program that document it.
pub(crate) fn with_context(
    output: &Output,
    best: &[Scored],
    question: &Question,
    layout: Layout,
    doc_comments: &[Range<u64>],
) -> Result<Vec<RankedUnit>> {
    let highest = best.first().map_or(0.0, |best| best.score);
    let (frequency, rare) = match question.aim {
        Aim::Failure => Frequency::of(output, highest * weights::RARE_LINE)?,
        _ => (Frequency::default(), Vec::new()),
    };
    let mut context = FoundUnits {
        output,
        question,
        layout,
        doc_comments,
        frequency,
        exits: best.iter().filter(|best| best.seen.reports_exit).map(|best| best.seen.index).collect(),
        units: HashMap::new(),
        times: HashMap::new(),
        first: HashMap::new(),
    };
    let last = best.iter().map(|best| best.seen.start).max().unwrap_or(0);
    let before_last = best.iter().filter(|best| best.seen.start < last).max_by_key(|best| best.seen.start);
    let ended_before = before_last.is_some_and(|best| best.seen.reports_exit);
    for Scored { seen, score } in best {
        let is_clean_up = seen.start == last && seen.reports_exit && ended_before;
        context.add(seen, *score, is_clean_up)?;
    }
    // In an output that never ends, such as the log of a service, rare lines are shown by other means.
    for unit in rare.into_iter().filter(|_| !question.ignores_position) {
        let known = context.units.entry(unit.index).or_insert_with(|| unit.clone());
        known.score = known.score.max(unit.score);
    }
    Ok(context.units.into_values().collect())
}

/// Units found so far, with what is needed to score the next ones.
struct FoundUnits<'a> {
    output: &'a Output,
    question: &'a Question,
    layout: Layout,
    doc_comments: &'a [Range<u64>],
    /// Counts of the templates of the output, if the question is about failure.
    frequency: Frequency,
    /// Indices of the best units that report how a run ended.
    exits: HashSet<u64>,
    units: HashMap<u64, RankedUnit>,
    /// Good units so far for each line without its numbers and paths.
    times: HashMap<u64, i32>,
    /// The unit that showed a line first, and its score, by the hash of the line.
    first: HashMap<u64, (u64, f32)>,
}

/// A good unit with the units around it.
struct Place {
    bytes: Vec<u8>,
    /// Offset of the bytes in the output.
    from: u64,
    /// Ranges of the units in the bytes.
    all: Vec<Range<usize>>,
    /// Position of the good unit in `all`.
    own: usize,
    /// Index of the good unit in the output.
    index: u64,
    score: f32,
    reports_exit: bool,
    fading: Fading,
}

impl Place {
    /// Returns the index in the output of a unit of this place.
    fn index_of(&self, at: usize) -> u64 {
        self.index.saturating_add_signed(at as i64 - self.own as i64)
    }

    fn line(&self, at: usize) -> &[u8] {
        &self.bytes[self.all[at].clone()]
    }
}

/// Count of lines in a row that differ from the line before only in their numbers.
struct Repeats {
    template: u64,
    count: usize,
}

impl Repeats {
    fn new(line: &[u8]) -> Repeats {
        Repeats { template: template(line), count: 0 }
    }

    fn add(&mut self, line: &[u8]) {
        let template = template(line);
        let repeats = template == self.template && !line.trim_ascii().is_empty();
        self.count = if repeats { self.count + 1 } else { 0 };
        self.template = template;
    }
}

impl FoundUnits<'_> {
    /// Adds a good unit and its context. Clean-up matters less than what came before it.
    fn add(&mut self, seen: &Seen, mut score: f32, is_clean_up: bool) -> Result<()> {
        let output = self.output;
        let mut from = output
            .line_start_near(seen.start.saturating_sub(weights::CONTEXT_BYTES), MAX_UNIT_BYTES as u64)?;
        if from > 0 && output.read(from - 1..from)? != b"\n" {
            // Inside a long line, the borders of the units before this one are unknown here.
            let line = output.line_end_near(from, seen.start - from)?;
            let begins = line < seen.start && output.read(line - 1..line)? == b"\n";
            from = if begins { line } else { seen.start };
        }
        let to = (seen.range().end + weights::CONTEXT_BYTES).min(output.len());
        let bytes = output.read(from..to)?;
        let mut all: Vec<Range<usize>> = TextUnits { bytes: &bytes, at: 0 }.collect();
        // The last unit goes on after the bytes that were read.
        all.pop_if(|last| to < output.len() && from + last.start as u64 != seen.start);
        let Some(own) = all.iter().position(|unit| from + unit.start as u64 == seen.start) else {
            // A giant line is cut at other places when it is read from here: show the unit alone.
            let text = visible(&output.read(seen.range())?);
            let unit = RankedUnit { index: seen.index, range: seen.range(), text, score };
            self.units.entry(seen.index).or_insert(unit);
            return Ok(());
        };
        let line = &bytes[all[own].clone()];
        if self.is_about_failure() {
            let times = self.times.entry(without_paths(line)).or_default();
            score *= weights::SAME_FAILURE_AGAIN.powi(*times).max(weights::MIN_SAME_FAILURE);
            *times += 1;
        }
        let defines = matches!(self.layout, Layout::Blocks | Layout::Diff) && defines(line);
        let mut fading = fading(self.question, self.layout, seen.reports_exit, defines);
        if is_clean_up {
            fading.back = fading.back.min(weights::CLEAN_UP);
        }
        let reports_exit = seen.reports_exit;
        let mut place = Place { bytes, from, all, own, index: seen.index, score, reports_exit, fading };
        if self.is_about_failure() && repeats_message_above(&place, own) {
            score *= weights::REPEATED_LINE;
            place.score = score;
        }
        self.show(&place, own, score);
        if self.is_about_failure() {
            for at in program_calls(&place).into_iter().chain(tex_place(&place)) {
                self.give(&place, at, score * weights::PROGRAM_CALL);
            }
        }
        self.add_lines_after(&place);
        self.add_lines_before(&place);
        Ok(())
    }

    /// Whether the question is about failure alone.
    fn is_about_failure(&self) -> bool {
        self.question.aim == Aim::Failure
    }

    /// Whether the question is about its words, and not about a failure.
    fn is_about_words(&self) -> bool {
        self.question.aim == Aim::Words && !self.question.mentions_failure && self.layout != Layout::Lone
    }

    /// Adds the lines after a good unit.
    fn add_lines_after(&mut self, place: &Place) {
        let own = place.own;
        let own_depth = depth(&readable(place.line(own)));
        let mut left = place.score;
        let mut repeats = Repeats::new(place.line(own));
        let (mut trace, mut in_change) = (0, false);
        for at in own + 1..place.all.len() {
            let line = &*readable(place.line(at));
            if let Some(share) = self.fixed_share(place, at, line) {
                self.show(place, at, left * share);
                continue;
            }
            let blank = line.trim_ascii().is_empty();
            let deeper = !blank && (depth(line) > own_depth || is_frame(line));
            // The line after a stack trace is the exception.
            let ends_trace = self.question.asks_for_cause()
                && !blank
                && !deeper
                && trace > weights::MIN_TRACE_LINES
                && !has_passed(line);
            if deeper && (is_inward(line) || trace > 0) {
                trace += 1;
            } else if !blank && !deeper {
                trace = 0;
            }
            // Not `+`: a shell writes it before its commands.
            in_change |= matches!(line.first(), Some(b'-' | b'@'));
            left *= self.fade_after(place, at, line, Line { blank, deeper, in_change });
            repeats.add(line);
            let from_runner = self.question.asks_for_cause() && is_from_runner(place, at);
            let score =
                self.adjusted(left, line, &repeats) * if from_runner { weights::RUNTIME_CALL } else { 1.0 };
            let least = if ends_trace { place.score * weights::TRACE_END } else { 0.0 };
            self.show(place, at, score.max(least));
        }
    }

    /// Returns the factor by which a score fades from the line before to a line after the good unit.
    fn fade_after(&self, place: &Place, at: usize, line: &[u8], is: Line) -> f32 {
        let fading = &place.fading;
        let of_failure = self.is_about_failure();
        let same_sentence = || continues(&readable(place.line(at - 1)), line, self.layout);
        if is.blank {
            fading.blank
        } else if self.is_about_words() && same_sentence() {
            weights::SAME_SENTENCE.max(fading.on)
        } else if !is.deeper && of_failure && is_change(line) && is.in_change {
            fading.deeper
        } else if !is.deeper && of_failure && is_same_event(&readable(place.line(place.own)), line) {
            weights::SAME_MOMENT.max(fading.on)
        } else if !is.deeper {
            fading.on
        } else if self.question.mentions_failure && at - place.own > weights::MAX_INNER_CALLS && is_call(line)
        {
            weights::OUTER_CALL
        } else if at - place.own > weights::MAX_SLOW_LINES && fading.deeper > weights::AFTER_SLOW_LINES {
            weights::AFTER_SLOW_LINES
        } else {
            fading.deeper
        }
    }

    /// Adds the lines before a good unit.
    fn add_lines_before(&mut self, place: &Place) {
        let own = place.own;
        let of_failure = self.is_about_failure();
        let mut left = place.score;
        let mut repeats = Repeats::new(place.line(own));
        let (mut titled, mut headed) = (false, false);
        let own_level = level(&readable(place.line(own)));
        let head = self.head();
        let ends_trace = of_failure && !place.reports_exit && ends_inward_trace(place);
        // pytest explains a line (`>`) below it (`E  `).
        let mut explains = of_failure && readable(place.line(own)).starts_with(b"E  ");
        // TAP names a test above all of its checks.
        let in_tap = place.line(own).starts_with(b"not ok");
        let command = if of_failure { quoted_command(place) } else { own };
        let mut back = place.fading.back;
        for at in (0..own).rev() {
            let line = &*readable(place.line(at));
            let fixed =
                if at >= command { Some(weights::NOISE_LINE) } else { self.fixed_share(place, at, line) };
            if let Some(share) = fixed {
                self.show(place, at, left * share);
                continue;
            }
            let blank = line.trim_ascii().is_empty();
            if !titled && of_failure && (is_title(line) || in_tap && line.starts_with(b"# ")) {
                titled = true;
                self.give(place, at, place.score * weights::SECTION_TITLE);
            }
            let below = place.all.get(at + 1).map_or(&b""[..], |below| &place.bytes[below.clone()]);
            if !titled
                && self.is_about_words()
                && (is_heading(line, self.layout) || is_underlined(line, below))
            {
                titled = true;
                self.show(place, at, place.score * weights::HEADING);
            }
            if !headed && !blank && level(line) < own_level && own - at <= head.distance {
                headed = true;
                self.show(place, at, place.score * head.share);
            }
            if of_failure && place.reports_exit && is_frame(line) {
                self.show(place, at, left * weights::CALL_BEFORE_EXIT);
                continue;
            }
            let in_trace = ends_trace && level(line) > own_level || explains;
            left *= if blank {
                place.fading.blank
            } else if in_trace && own - at <= weights::MAX_INNERMOST_LINES {
                weights::INNERMOST_CALL
            } else if self.is_about_words() && continues(line, &readable(place.line(at + 1)), self.layout) {
                weights::SAME_SENTENCE.max(place.fading.back)
            } else {
                back
            };
            // The cause of an earlier exit is before it too.
            if of_failure && self.exits.contains(&place.index_of(at)) {
                back = back.max(weights::TO_CAUSE);
            }
            if explains {
                explains = !line.starts_with(b">");
                self.give(place, at, left);
                continue;
            }
            repeats.add(line);
            if of_failure && has_passed(line) {
                left *= weights::BEFORE_PASSED_TEST;
            }
            self.show(place, at, self.adjusted(left, line, &repeats));
        }
    }

    /// Returns how far above a good unit its head may be, and what that gets.
    fn head(&self) -> Head {
        match self.layout {
            _ if self.is_about_failure() => weights::HEAD,
            Layout::Source if self.is_about_words() => weights::HEAD_IN_PROGRAM,
            Layout::Blocks if self.is_about_words() => weights::HEAD,
            _ => weights::NO_HEAD,
        }
    }

    /// Returns the share for a line that says nothing itself. Such lines do not make the score fade.
    fn fixed_share(&self, place: &Place, at: usize, line: &[u8]) -> Option<f32> {
        let start = place.from + place.all[at].start as u64;
        if self.is_about_failure() && is_noise(line) {
            Some(weights::NOISE_LINE)
        } else {
            holds(self.doc_comments, start).then_some(DOC_COMMENT)
        }
    }

    /// Returns the score of a line: the remaining share of the good unit's score, less for lines that rarely help.
    fn adjusted(&self, left: f32, line: &[u8], repeats: &Repeats) -> f32 {
        let most_repeats = if is_frame(line) { weights::MAX_EQUAL_CALLS } else { 1 };
        if self.question.asks_for_cause() && has_passed(line) {
            left * PASSED_LINE
        } else if self.is_about_failure() && repeats.count > most_repeats {
            left * weights::REPEATED_LINE
        } else if self.question.asks_for_cause() && is_of_runtime(line) {
            left * weights::RUNTIME_CALL
        } else {
            left
        }
    }

    /// Returns the factor of a context line that a better failure already shows, or that is logged for information.
    fn shown_before(&mut self, place: &Place, at: usize, index: u64, score: f32) -> f32 {
        // In a Python stack trace the source line is below the call: the call decides for both.
        let below_call = at > 0 && is_inward(&readable(place.line(at - 1)));
        let above = usize::from(below_call);
        let line = &*readable(place.line(at - above));
        if line.len() <= weights::MAX_SHORT_LINE {
            return 1.0;
        }
        let index = index.saturating_sub(above as u64);
        let first = self.first.entry(hash(line)).or_insert((index, score));
        if score > first.1 * weights::TAKES_OVER && !is_frame(line) {
            *first = (index, score);
        }
        let shown = match first.0.abs_diff(index) {
            0 => 1.0,
            1..=weights::NEARBY_UNITS if is_frame(line) => weights::SHARED_CALL,
            1..=weights::NEARBY_UNITS => weights::SHOWN_NEARBY,
            _ => weights::SHOWN_FAR_AWAY,
        };
        let is_common = self.frequency.is_common(line) || repeats_message_above(place, at - above);
        let common = if is_common { weights::REPEATED_LINE } else { 1.0 };
        shown * common * if informs(line) { weights::INFO_LINE } else { 1.0 }
    }

    /// Gives a unit a score, less if its line is shown elsewhere.
    fn show(&mut self, place: &Place, at: usize, score: f32) {
        let index = place.index_of(at);
        let factor = if self.is_about_failure() && at != place.own {
            self.shown_before(place, at, index, score)
        } else {
            1.0
        };
        self.give(place, at, score * factor);
    }

    /// Sets the score of a unit to the highest one given.
    fn give(&mut self, place: &Place, at: usize, score: f32) {
        let unit = &place.all[at];
        let index = place.index_of(at);
        let known = self.units.entry(index).or_insert_with(|| RankedUnit {
            index,
            range: place.from + unit.start as u64..place.from + unit.end as u64,
            text: visible(place.line(at)),
            score: 0.0,
        });
        known.score = known.score.max(score);
    }
}

/// Properties of a line after a good unit.
#[derive(Clone, Copy)]
struct Line {
    blank: bool,
    /// It is indented deeper than the good unit, or a call of a stack trace.
    deeper: bool,
    /// It is part of a comparison of expected and actual text.
    in_change: bool,
}

/// Whether a good unit ends a stack trace whose innermost call is the last.
fn ends_inward_trace(place: &Place) -> bool {
    // Below a call are its source line and a mark under that.
    (place.own.saturating_sub(weights::MAX_LINES_BELOW_CALL)..place.own)
        .any(|at| is_inward(&readable(place.line(at))))
}

/// Whether a call is part of the reflection by which a test runner calls a test.
fn is_from_runner(place: &Place, at: usize) -> bool {
    let mut outwards = (at..place.all.len()).map(|at| readable(place.line(at)));
    is_reflection(&readable(place.line(at)))
        && outwards.find(|line| !is_reflection(line)).is_some_and(|line| is_of_runtime(&line))
}

/// Whether this exception line repeats a message shown above and is not the root cause.
fn repeats_message_above(place: &Place, at: usize) -> bool {
    let line = readable(place.line(at));
    let thrown = line.trim_ascii();
    let thrown = thrown.strip_prefix(CAUSED).unwrap_or(thrown);
    let Some(end) = memmem::find(thrown, b": ") else { return false };
    let (name, message) = (&thrown[..end], &thrown[end + 2..]);
    let is_type = |byte: &u8| byte.is_ascii_alphanumeric() || b"._$".contains(byte);
    if message.len() <= weights::MAX_SHORT_LINE || !name.contains(&b'.') || !name.iter().all(is_type) {
        return false;
    }
    let mut below = (at + 1..place.all.len()).map(|below| readable(place.line(below)));
    let goes_on = |line: &[u8]| is_frame(line) || line.trim_ascii_start().starts_with(b"... ");
    let is_caused = below.find(|line| !goes_on(line)).is_some_and(|line| line.starts_with(CAUSED));
    is_caused && (0..at).any(|above| memmem::find(&readable(place.line(above)), message).is_some())
}

/// Beginning of the line in which Java reports the cause of an exception.
const CAUSED: &[u8] = b"Caused by: ";

/// Returns the innermost calls of the program itself, with their source lines, in a stack trace that a good unit ends and
/// that is mostly inside packages.
fn program_calls(place: &Place) -> Vec<usize> {
    if !ends_inward_trace(place) {
        return Vec::new();
    }
    let (mut own, mut packaged) = (Vec::new(), 0);
    for at in (0..place.own).rev() {
        let line = readable(place.line(at));
        if line.starts_with(b"Traceback (most recent call last)") {
            break;
        }
        if is_inward(&line) {
            let is_packaged = PACKAGES.iter().any(|path| memmem::find(&line, path.as_bytes()).is_some());
            packaged += usize::from(is_packaged);
            if !is_packaged && own.len() < weights::MAX_PROGRAM_CALLS {
                own.push(at);
            }
        }
    }
    if packaged < weights::MIN_PACKAGE_CALLS {
        return Vec::new();
    }
    let has_source_line = |at: &usize| at + 1 < place.own && !is_inward(&readable(place.line(at + 1)));
    own.iter().flat_map(|at| [Some(*at), Some(at + 1).filter(|_| has_source_line(at))]).flatten().collect()
}

/// Returns the line below a TeX error that reports its place: `l.322 \begin{longtable*}`.
fn tex_place(place: &Place) -> Option<usize> {
    let is_place = |at: &usize| {
        place.line(*at).strip_prefix(b"l.").is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_digit))
    };
    let below = place.own + 1..place.all.len().min(place.own + weights::MAX_TEX_PLACE_LINES);
    below.filter(|_| place.line(place.own).starts_with(b"! ")).find(is_place)
}

/// Returns the line in which a command begins whose exit the good unit reports, if it is quoted over several lines.
fn quoted_command(place: &Place) -> usize {
    let own = place.own;
    let quoted = place.line(own).starts_with(b"\" exited with");
    let begins = |at: &usize| memmem::find(place.line(*at), b"The command \"").is_some();
    let mut lines = (own.saturating_sub(weights::MAX_QUOTED_COMMAND_LINES)..own).rev();
    lines.find(|at| quoted && begins(at)).unwrap_or(own)
}

/// Whether a line shows a difference between expected and actual text: `-'a'`, `+'b'`, `@@ @@`.
fn is_change(line: &[u8]) -> bool {
    let sign = line.first().filter(|sign| b"+-@".contains(sign));
    let same = line.iter().take_while(|byte| Some(*byte) == sign).count();
    sign.is_some_and(|sign| same == if *sign == b'@' { 2 } else { 1 }) && line.trim_ascii_end().len() > 1
}

/// Whether two log entries are of one moment, by the digits that they begin with.
fn is_same_event(one: &[u8], other: &[u8]) -> bool {
    let same = one.iter().zip(other).take_while(|(one, other)| one == other);
    same.filter(|(byte, _)| byte.is_ascii_digit()).count() >= weights::MIN_EQUAL_DIGITS
}
