//! What stands around a good unit is worth something too: an answer is a passage, and not a line.
//!
//! Worth fades from line to line, on and back, the slower the more the lines belong together.

use crate::classify::source::{
    Layout, continues, defines, depth, is_heading, is_noise, is_title, is_underlined, level,
};
use crate::formats::frames::{is_call, is_frame, is_inward, is_of_runtime, is_reflection};
use crate::formats::line_role::{has_passed, informs};
use crate::rank::frequency::Frequency;
use crate::rank::passage::Unit;
use crate::rank::question::{Aim, Question};
use crate::rank::scan::{LONG, Seen, Units};
use crate::rank::score;
use crate::terminal::{readable, visible};
use crate::text::similarity::{hash, template, without_paths};
use crate::{Output, Result};
use memchr::memmem;
use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

/// So many bytes around a good unit may be worth showing.
const REACH: u64 = 6_400;

/// So many deeper lines fade slowly, and further ones so.
const DEEPER: usize = 24;
const TOO_DEEP: f32 = 0.9;

/// The calls nearest to what went wrong tell where; so many do, and further ones fade so.
const CALLS: usize = 14;
const TOO_FAR: f32 = 0.98;

/// Where packages are that a program of Python uses; so many calls of a stack trace in them make the program's own rare, of
/// which the innermost ones count so much.
const PACKAGES: &[&str] = &["/site-packages/", "/dist-packages/", "/lib/python", "<frozen "];
const PACKAGED: usize = 4;
const PROGRAM: usize = 2;
const CALLED: f32 = 0.9;

/// So many lines below an error TeX says where it is.
const TEX_PLACE: usize = 14;

/// A call inside of the language's own runtime, or of what runs tests.
const RUNTIME: f32 = 0.3;

/// What is said again, but for its numbers, tells less each time, down to a floor.
const AGAIN: f32 = 0.45;
const FLOOR: f32 = 0.34;

/// A line that differs from the one beside it, or from many, only in its numbers says little; what runners note for
/// themselves says nothing.
const REPEATED: f32 = 0.4;
const NOISE: f32 = 0.02;

/// A call stands below so many of the same name, and from another line each, in any program; below more it recurses.
const RECURSES: usize = 4;

/// On the way back from the end to its cause, the calls of a stack trace are passed by: they fade, and nothing fades behind them.
const PASSED_BY: f32 = 0.9;

/// What stands before a test that passed has less to do with what went wrong behind it.
const PASSED_BETWEEN: f32 = 0.7;

/// A command may be quoted over so many lines.
const QUOTED: usize = 40;

/// A line that stands beside trouble, and is told for information.
const INFORMS: f32 = 0.4;

/// A line that stands beside trouble, and beside better trouble so many units away just the same. Shorter ones do not count.
const SAID_BEFORE: f32 = 0.5;
const FAR: u64 = 200;
const SHORT: usize = 20;

/// The same, nearer: what several failures have in common is shown with the first of them.
const SAID_NEAR: f32 = 0.6;

/// Unless so many times as much is left for it, being no call: then it is this one that says it.
const BETTER: f32 = 2.0;

/// A call that stands in the trace of better trouble too.
const SHARED: f32 = 0.7;

/// What a line is worth that is like no other, beside the best one, where nearly all lines are like others.
const RARE: f32 = 0.55;

/// What comes between a step that ended badly and the end is clean-up: how it fades from the end back.
const CLEANED_UP: f32 = 0.57;

/// What the title of the section counts that trouble stands in.
const TITLE: f32 = 0.97;

/// Before what a stack trace ends with stand the calls nearest to it: so many lines fade only so.
const INNER: usize = 12;
const NEAREST: f32 = 0.96;

/// So many lines make a stack trace, and what its end counts of what it began with.
const TRACE: usize = 2;
const TRACE_END: f32 = 0.95;

/// How far above a good unit the line may stand that heads it, being set in less (the file of a finding, the condition
/// above a statement, the name above its description, the parent in a tree), and what that counts. In a program what is
/// further away is a function, and there are others to show.
const HEAD: (usize, f32) = (usize::MAX, 0.7);
const HEAD_IN_CODE: (usize, f32) = (1, 0.6);

/// What the nearest heading above a good unit counts.
const HEADING: f32 = 0.5;

/// How worth fades, on and back, between the lines of one sentence.
const GOES_ON: f32 = 0.85;

/// How worth fades between entries of a log that begin with so many equal digits: they were written at one moment.
const SAME_EVENT: f32 = 0.85;
const MOMENT: usize = 14;

/// How worth fades from what tells of the end back to the cause.
const TO_CAUSE: f32 = 0.975;

/// How worth fades from line to line.
struct Fading {
    back: f32,
    on: f32,
    blank: f32,
    /// For lines that are set in deeper: a stack trace, the body of a function.
    deeper: f32,
}

impl Fading {
    fn new(question: &Question, layout: Layout, ends: bool, defined: bool) -> Fading {
        match question.aim {
            // The cause stands before what tells of the end.
            Aim::Trouble if ends => Fading { back: TO_CAUSE, on: 0.31, blank: 0.9, deeper: 0.31 },
            Aim::Trouble => Fading { back: 0.57, on: 0.7, blank: 0.68, deeper: 0.994 },
            _ if layout == Layout::Lone => Fading { back: 0.05, on: 0.05, blank: 0.9, deeper: 0.05 },
            _ if question.trouble => Fading { back: 0.33, on: 0.9, blank: 0.9, deeper: 0.994 },
            _ if layout == Layout::Source => Fading { back: 0.4, on: 0.9, blank: 0.9, deeper: 0.97 },
            _ if layout == Layout::Diff => {
                Fading { back: 0.4, on: 0.83, blank: 0.9, deeper: if defined { 0.9 } else { 0.83 } }
            }
            _ if layout == Layout::Prose => Fading { back: 0.5, on: 0.7, blank: 0.9, deeper: 0.7 },
            _ => Fading { back: 0.4, on: 0.78, blank: 0.9, deeper: if defined { 0.9 } else { 0.78 } },
        }
    }
}

/// The best units with those around them, each once, worth the less the further they are from a good one. `described` is
/// where a program is only described.
pub(crate) fn around(
    output: &Output,
    best: &[(Seen, f32)],
    question: &Question,
    layout: Layout,
    described: &[Range<u64>],
) -> Result<Vec<Unit>> {
    let most = best.first().map_or(0.0, |(_, worth)| *worth);
    let (frequency, rare) = match question.aim {
        Aim::Trouble => Frequency::of(output, most * RARE)?,
        _ => (Frequency::default(), Vec::new()),
    };
    let mut around = Around {
        output,
        question,
        layout,
        described,
        frequency,
        ends: best.iter().filter(|(seen, _)| seen.ends).map(|(seen, _)| seen.index).collect(),
        units: HashMap::new(),
        said: HashMap::new(),
        first: HashMap::new(),
    };
    let last = best.iter().map(|(seen, _)| seen.start).max().unwrap_or(0);
    let before_last = best.iter().filter(|(seen, _)| seen.start < last).max_by_key(|(seen, _)| seen.start);
    let ended_before = before_last.is_some_and(|(seen, _)| seen.ends);
    for (seen, worth) in best {
        let cleans_up = seen.start == last && seen.ends && ended_before;
        around.take(seen, *worth, cleans_up)?;
    }
    // A log without an end shows what is rare in its own way.
    for unit in rare.into_iter().filter(|_| !question.anywhere) {
        let known = around.units.entry(unit.index).or_insert_with(|| unit.clone());
        known.worth = known.worth.max(unit.worth);
    }
    Ok(around.units.into_values().collect())
}

/// What has been found around the best units so far.
struct Around<'a> {
    output: &'a Output,
    question: &'a Question,
    layout: Layout,
    described: &'a [Range<u64>],
    /// How often the output says what it says, if trouble is asked for.
    frequency: Frequency,
    /// Which of the best units tell that something has ended badly.
    ends: HashSet<u64>,
    units: HashMap<u64, Unit>,
    /// How often lines were good that differ only in numbers and paths.
    said: HashMap<u64, i32>,
    /// The unit that said first what a line says, and what was left for it.
    first: HashMap<u64, (u64, f32)>,
}

/// A good unit with what is around it.
struct Place {
    bytes: Vec<u8>,
    /// Where the bytes begin.
    from: u64,
    /// The units in them.
    all: Vec<Range<usize>>,
    /// Which of them is the good one, what number it has in the output, and what it is worth.
    own: usize,
    index: u64,
    worth: f32,
    /// Whether it tells that something has ended badly.
    ends: bool,
    fading: Fading,
}

impl Place {
    /// Which number a unit has in the output.
    fn index_of(&self, at: usize) -> u64 {
        self.index.saturating_add_signed(at as i64 - self.own as i64)
    }

    fn line(&self, at: usize) -> &[u8] {
        &self.bytes[self.all[at].clone()]
    }
}

/// How many lines in a row differ from the one before only in their numbers.
struct Repeats {
    template: u64,
    count: usize,
}

impl Repeats {
    fn new(line: &[u8]) -> Repeats {
        Repeats { template: template(line), count: 0 }
    }

    fn take(&mut self, line: &[u8]) {
        let template = template(line);
        let repeats = template == self.template && !line.trim_ascii().is_empty();
        self.count = if repeats { self.count + 1 } else { 0 };
        self.template = template;
    }
}

impl Around<'_> {
    /// Takes a good unit and what is around it. What cleans up is of less interest than what came before.
    fn take(&mut self, seen: &Seen, mut worth: f32, cleans_up: bool) -> Result<()> {
        let output = self.output;
        let mut from = output.line_start_near(seen.start.saturating_sub(REACH), LONG as u64)?;
        if from > 0 && output.read(from - 1..from)? != b"\n" {
            // Inside a long line the units before this one cannot be told from here.
            let line = output.line_end_near(from, seen.start - from)?;
            let begins = line < seen.start && output.read(line - 1..line)? == b"\n";
            from = if begins { line } else { seen.start };
        }
        let to = (seen.range().end + REACH).min(output.len());
        let bytes = output.read(from..to)?;
        let mut all: Vec<Range<usize>> = Units { bytes: &bytes, at: 0 }.collect();
        // The last one goes on behind what was read.
        all.pop_if(|last| to < output.len() && from + last.start as u64 != seen.start);
        let Some(own) = all.iter().position(|unit| from + unit.start as u64 == seen.start) else {
            // Parts of a giant line are cut otherwise from here: then the unit stands alone.
            let text = visible(&output.read(seen.range())?);
            let unit = Unit { index: seen.index, range: seen.range(), text, worth };
            self.units.entry(seen.index).or_insert(unit);
            return Ok(());
        };
        let line = &bytes[all[own].clone()];
        if self.is_of_trouble() {
            let times = self.said.entry(without_paths(line)).or_default();
            worth *= AGAIN.powi(*times).max(FLOOR);
            *times += 1;
        }
        let defined = matches!(self.layout, Layout::Blocks | Layout::Diff) && defines(line);
        let mut fading = Fading::new(self.question, self.layout, seen.ends, defined);
        if cleans_up {
            fading.back = fading.back.min(CLEANED_UP);
        }
        let mut place = Place { bytes, from, all, own, index: seen.index, worth, ends: seen.ends, fading };
        if self.is_of_trouble() && is_told_above(&place, own) {
            worth *= REPEATED;
            place.worth = worth;
        }
        self.show(&place, own, worth);
        if self.is_of_trouble() {
            for at in program_calls(&place).into_iter().chain(tex_place(&place)) {
                self.give(&place, at, worth * CALLED);
            }
        }
        self.on(&place);
        self.back(&place);
        Ok(())
    }

    /// Whether the question is about nothing but trouble.
    fn is_of_trouble(&self) -> bool {
        self.question.aim == Aim::Trouble
    }

    /// Whether the question is about what its words say, and not about trouble.
    fn is_of_words(&self) -> bool {
        self.question.aim == Aim::Words && !self.question.trouble && self.layout != Layout::Lone
    }

    /// From a good unit on.
    fn on(&mut self, place: &Place) {
        let (own, fading) = (place.own, &place.fading);
        let deep = depth(&readable(place.line(own)));
        let mut left = place.worth;
        let mut repeats = Repeats::new(place.line(own));
        let (mut trace, mut changed) = (0, false);
        let of_words = self.is_of_words();
        for at in own + 1..place.all.len() {
            let line = &*readable(place.line(at));
            if let Some(share) = self.skipped(place, at, line) {
                self.show(place, at, left * share);
                continue;
            }
            let blank = line.trim_ascii().is_empty();
            let deeper = !blank && (depth(line) > deep || is_frame(line));
            // What a stack trace ends with is what it is all about.
            let ends_trace =
                self.question.of_failure() && !blank && !deeper && trace > TRACE && !has_passed(line);
            trace = match () {
                () if deeper && (is_inward(line) || trace > 0) => trace + 1,
                () if blank || deeper => trace,
                () => 0,
            };
            // A shell writes a plus sign before its commands.
            changed |= matches!(line.first(), Some(b'-' | b'@'));
            left *= match () {
                () if blank => fading.blank,
                () if of_words && continues(&readable(place.line(at - 1)), line, self.layout) => {
                    GOES_ON.max(fading.on)
                }
                () if !deeper && self.is_of_trouble() && is_change(line) && changed => fading.deeper,
                () if !deeper && self.is_of_trouble() && is_same_event(&readable(place.line(own)), line) => {
                    SAME_EVENT.max(fading.on)
                }
                () if !deeper => fading.on,
                () if self.question.trouble && at - own > CALLS && is_call(line) => TOO_FAR,
                () if at - own > DEEPER && fading.deeper > TOO_DEEP => TOO_DEEP,
                () => fading.deeper,
            };
            repeats.take(line);
            let from_runner = self.question.of_failure() && is_from_runner(place, at);
            let worth = self.lent(left, line, &repeats) * if from_runner { RUNTIME } else { 1.0 };
            self.show(place, at, if ends_trace { worth.max(place.worth * TRACE_END) } else { worth });
        }
    }

    /// From a good unit back.
    fn back(&mut self, place: &Place) {
        let own = place.own;
        let of_trouble = self.is_of_trouble();
        let mut left = place.worth;
        let mut repeats = Repeats::new(place.line(own));
        let of_words = self.is_of_words();
        let (mut titled, mut headed) = (false, false);
        let inner = level(&readable(place.line(own)));
        let (reach, head) = self.head();
        let ends_trace = of_trouble && !place.ends && ends_inward_trace(place);
        // What pytest tells of a line stands below it.
        let mut explains = of_trouble && readable(place.line(own)).starts_with(b"E  ");
        // What TAP calls a test stands above all that was checked in it.
        let in_tap = place.line(own).starts_with(b"not ok");
        let command = if of_trouble { quoted_command(place) } else { own };
        let mut fades = place.fading.back;
        for at in (0..own).rev() {
            let line = &*readable(place.line(at));
            let skipped = if at >= command { Some(NOISE) } else { self.skipped(place, at, line) };
            if let Some(share) = skipped {
                self.show(place, at, left * share);
                continue;
            }
            let blank = line.trim_ascii().is_empty();
            if !titled && of_trouble && (is_title(line) || in_tap && line.starts_with(b"# ")) {
                titled = true;
                self.give(place, at, place.worth * TITLE);
            }
            let below = place.all.get(at + 1).map_or(&b""[..], |below| &place.bytes[below.clone()]);
            if !titled && of_words && (is_heading(line, self.layout) || is_underlined(line, below)) {
                titled = true;
                self.show(place, at, place.worth * HEADING);
            }
            if !headed && !blank && level(line) < inner && own - at <= reach {
                headed = true;
                self.show(place, at, place.worth * head);
            }
            if of_trouble && place.ends && is_frame(line) {
                self.show(place, at, left * PASSED_BY);
                continue;
            }
            left *= match () {
                () if blank => place.fading.blank,
                () if ends_trace && own - at <= INNER && level(line) > inner => NEAREST,
                () if explains && own - at <= INNER => NEAREST,
                () if of_words && continues(line, &readable(place.line(at + 1)), self.layout) => {
                    GOES_ON.max(place.fading.back)
                }
                () => fades,
            };
            // What ended before has its cause before it, too.
            if of_trouble && self.ends.contains(&place.index_of(at)) {
                fades = fades.max(TO_CAUSE);
            }
            if explains {
                explains = !line.starts_with(b">");
                self.give(place, at, left);
                continue;
            }
            repeats.take(line);
            if of_trouble && has_passed(line) {
                left *= PASSED_BETWEEN;
            }
            self.show(place, at, self.lent(left, line, &repeats));
        }
    }

    /// How far above a good unit the line may stand that heads it, and what that counts.
    fn head(&self) -> (usize, f32) {
        match self.layout {
            _ if self.is_of_trouble() => HEAD,
            Layout::Source if self.is_of_words() => HEAD_IN_CODE,
            Layout::Blocks if self.is_of_words() => HEAD,
            _ => (0, 0.0),
        }
    }

    /// The share of what is left that a line gets behind which nothing fades.
    fn skipped(&self, place: &Place, at: usize, line: &[u8]) -> Option<f32> {
        let start = place.from + place.all[at].start as u64;
        match () {
            () if self.is_of_trouble() && is_noise(line) => Some(NOISE),
            () if score::holds(self.described, start) => Some(score::DESCRIBED),
            () => None,
        }
    }

    /// What a line gets of what is left.
    fn lent(&self, left: f32, line: &[u8], repeats: &Repeats) -> f32 {
        match () {
            () if self.question.of_failure() && has_passed(line) => left * score::PASSED,
            () if self.is_of_trouble() && repeats.count > if is_frame(line) { RECURSES } else { 1 } => {
                left * REPEATED
            }
            () if self.question.of_failure() && is_of_runtime(line) => left * RUNTIME,
            () => left,
        }
    }

    /// What a line beside trouble counts that stands beside better trouble too, or is told for information.
    fn said_before(&mut self, place: &Place, at: usize, index: u64, worth: f32) -> f32 {
        // Below a call in Python stands the line that makes it.
        let makes_call = at > 0 && is_inward(&readable(place.line(at - 1)));
        let above = usize::from(makes_call);
        let line = &*readable(place.line(at - above));
        if line.len() <= SHORT {
            return 1.0;
        }
        let index = index.saturating_sub(above as u64);
        let first = self.first.entry(hash(line)).or_insert((index, worth));
        if worth > first.1 * BETTER && !is_frame(line) {
            *first = (index, worth);
        }
        let apart = first.0.abs_diff(index);
        let said = match apart {
            0 => 1.0,
            1..=FAR if is_frame(line) => SHARED,
            1..=FAR => SAID_NEAR,
            _ => SAID_BEFORE,
        };
        let is_common = self.frequency.is_common(line) || is_told_above(place, at - above);
        let common = if is_common { REPEATED } else { 1.0 };
        said * common * if informs(line) { INFORMS } else { 1.0 }
    }

    /// A unit is worth what is left for it, less if that has been said.
    fn show(&mut self, place: &Place, at: usize, worth: f32) {
        let index = place.index_of(at);
        let said = if self.is_of_trouble() && at != place.own {
            self.said_before(place, at, index, worth)
        } else {
            1.0
        };
        self.give(place, at, worth * said);
    }

    /// A unit is worth as much as the best place gives it.
    fn give(&mut self, place: &Place, at: usize, worth: f32) {
        let unit = &place.all[at];
        let index = place.index_of(at);
        let known = self.units.entry(index).or_insert_with(|| Unit {
            index,
            range: place.from + unit.start as u64..place.from + unit.end as u64,
            text: visible(place.line(at)),
            worth: 0.0,
        });
        known.worth = known.worth.max(worth);
    }
}

/// Whether a good unit is what a stack trace ends with.
fn ends_inward_trace(place: &Place) -> bool {
    // Below a call stands the line that makes it, and what marks the place in that.
    (place.own.saturating_sub(4)..place.own).any(|at| is_inward(&readable(place.line(at))))
}

/// Whether a call goes by reflection from what runs tests to a test.
fn is_from_runner(place: &Place, at: usize) -> bool {
    let mut outwards = (at..place.all.len()).map(|at| readable(place.line(at)));
    is_reflection(&readable(place.line(at)))
        && outwards.find(|line| !is_reflection(line)).is_some_and(|line| is_of_runtime(&line))
}

/// Whether a line is an exception whose message stands above it already, in the one that was thrown for it or in what was made
/// of it all, and that is not the root: what caused it stands below.
fn is_told_above(place: &Place, at: usize) -> bool {
    let line = readable(place.line(at));
    let thrown = line.trim_ascii();
    let thrown = thrown.strip_prefix(CAUSED).unwrap_or(thrown);
    let Some(end) = memmem::find(thrown, b": ") else { return false };
    let (name, message) = (&thrown[..end], &thrown[end + 2..]);
    let is_type = |byte: &u8| byte.is_ascii_alphanumeric() || b"._$".contains(byte);
    if message.len() <= SHORT || !name.contains(&b'.') || !name.iter().all(is_type) {
        return false;
    }
    let mut below = (at + 1..place.all.len()).map(|below| readable(place.line(below)));
    let goes_on = |line: &[u8]| is_frame(line) || line.trim_ascii_start().starts_with(b"... ");
    let is_caused = below.find(|line| !goes_on(line)).is_some_and(|line| line.starts_with(CAUSED));
    is_caused && (0..at).any(|above| memmem::find(&readable(place.line(above)), message).is_some())
}

/// How Java begins the line of what caused an exception.
const CAUSED: &[u8] = b"Caused by: ";

/// The innermost calls of the program itself, with the lines that make them, in a stack trace that a good unit ends and
/// that is mostly inside of packages.
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
            if !is_packaged && own.len() < PROGRAM {
                own.push(at);
            }
        }
    }
    if packaged < PACKAGED {
        return Vec::new();
    }
    let makes_call = |at: &usize| at + 1 < place.own && !is_inward(&readable(place.line(at + 1)));
    own.iter().flat_map(|at| [Some(*at), Some(at + 1).filter(|_| makes_call(at))]).flatten().collect()
}

/// Where TeX says how far it had come, below an error: `l.322 \begin{longtable*}`.
fn tex_place(place: &Place) -> Option<usize> {
    let is_place = |at: &usize| {
        place.line(*at).strip_prefix(b"l.").is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_digit))
    };
    let below = place.own + 1..place.all.len().min(place.own + TEX_PLACE);
    below.filter(|_| place.line(place.own).starts_with(b"! ")).find(is_place)
}

/// Where the command begins whose end a line tells, if it is quoted over several lines.
fn quoted_command(place: &Place) -> usize {
    let own = place.own;
    let quoted = place.line(own).starts_with(b"\" exited with");
    let begins = |at: &usize| memmem::find(place.line(*at), b"The command \"").is_some();
    let mut lines = (own.saturating_sub(QUOTED)..own).rev();
    lines.find(|at| quoted && begins(at)).unwrap_or(own)
}

/// Whether a line is one of those in which what was got differs from what was expected: `-'a'`, `+'b'`, `@@ @@`.
fn is_change(line: &[u8]) -> bool {
    let sign = line.first().filter(|sign| b"+-@".contains(sign));
    let same = line.iter().take_while(|byte| Some(*byte) == sign).count();
    sign.is_some_and(|sign| same == if *sign == b'@' { 2 } else { 1 }) && line.trim_ascii_end().len() > 1
}

/// Whether two entries of a log are of one moment, by the digits that they begin with.
fn is_same_event(one: &[u8], other: &[u8]) -> bool {
    let same = one.iter().zip(other).take_while(|(one, other)| one == other);
    same.filter(|(byte, _)| byte.is_ascii_digit()).count() >= MOMENT
}
