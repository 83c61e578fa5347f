//! Finds matches block by block.
//!
//! A block is a whole number of lines, so a search needs no more memory than a block; a line longer than that is
//! searched in windows that overlap, and so is every output where a match may span lines.

use crate::request::grep::{Grep, Selection};
use crate::{Error, Output, Result};
use grep_matcher::{LineMatchKind, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use std::{ops::Range, thread};

/// Maximum bytes of a line that is shown whole and counts as one match.
pub(crate) const LONG: usize = 4 * 1024;

/// Bytes of a long line shown before a match and after it.
const AROUND: u64 = 160;

/// Bytes that are searched at a time.
pub(crate) const BLOCK: usize = 1024 * 1024;

/// Maximum bytes of a match across two windows that is found whole.
pub(crate) const OVERLAP: usize = 64 * 1024;

/// Bytes before a position inside a line that look-behind assertions see: a whole character.
const BEFORE: u64 = 4;

/// Maximum bytes of an output that one thread searches.
const SMALL: u64 = 8 * 1024 * 1024;

/// Maximum characters of a pattern. Real patterns are shorter.
const LONGEST: usize = 10_000;

/// Maximum bytes of a compiled pattern: the time of a search grows with it. `a{100000}` is over it, `\w{100}` is not.
const COMPILED: usize = 2 * 1024 * 1024;

/// Maximum bytes of a compiled pattern that is fast on a whole block. With a larger one, the caller's flag is checked
/// every [`SLOW_STEP`] bytes.
const QUICK: usize = 256 * 1024;
const SLOW_STEP: usize = 4 * 1024;

/// A search that is ready to run.
pub(crate) struct Search {
    pub(crate) matcher: RegexMatcher,
    wanted: Selection,
    multiline: bool,
    max: usize,
    /// Whether the pattern is so large that a block takes long.
    slow: bool,
}

/// One match, as offsets.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Its lines, as far as they are shown.
    pub(crate) lines: Range<u64>,
    /// The match itself, or its whole line.
    pub(crate) hit: Range<u64>,
    /// First byte for the search that continues this one.
    pub(crate) end: u64,
    /// Whether only a part of a long line is shown.
    pub(crate) partial: bool,
}

/// The wanted matches, and the number of all.
#[derive(Default)]
pub(crate) struct Places {
    pub(crate) total: u64,
    pub(crate) places: Vec<Place>,
}

impl Places {
    fn push(&mut self, max: usize, place: impl FnOnce() -> Place) {
        self.total += 1;
        if self.places.len() < max {
            self.places.push(place());
        }
    }

    fn line(&mut self, max: usize, line: Range<u64>) {
        self.push(max, || {
            let shown = line.end.min(line.start + LONG as u64);
            let partial = line.end - line.start > LONG as u64;
            Place { lines: line.start..shown, hit: line.start..shown, end: line.end, partial }
        });
    }

    /// A match inside a long line.
    fn inside(&mut self, max: usize, hit: Range<u64>) {
        self.push(max, || {
            let shown = hit.end.min(hit.start + AROUND);
            let lines = hit.start.saturating_sub(AROUND)..shown + AROUND;
            Place { lines, end: hit.end.max(hit.start + 1), hit, partial: true }
        });
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::BadQuery(format!("the search failed: {error}"))
}

/// Compiles a pattern of up to `size` bytes; an error shows the place in the pattern.
fn matcher(query: &Grep, size: usize) -> Result<RegexMatcher> {
    if query.pattern.chars().count() > LONGEST {
        return Err(Error::BadQuery(format!(
            "a pattern may have {LONGEST} characters, and this one has more"
        )));
    }
    RegexMatcherBuilder::new()
        .case_insensitive(query.ignore_case)
        .multi_line(true)
        .fixed_strings(query.fixed)
        .size_limit(size)
        .dfa_size_limit(COMPILED)
        .line_terminator(if query.multiline { None } else { Some(b'\n') })
        .build(&query.pattern)
        .map_err(|error| {
            let hint = if query.pattern.contains("\\n") && !query.multiline {
                "\na pattern that goes over lines must be asked for as one that does"
            } else {
                ""
            };
            Error::BadQuery(format!("the pattern cannot be used: {error}{hint}"))
        })
}

impl Search {
    pub(crate) fn new(query: &Grep) -> Result<Search> {
        if query.multiline && query.wanted == Selection::OtherLines {
            let why =
                "a multi-line pattern cannot select lines that do not match; use only one of the two options";
            return Err(Error::BadQuery(why.to_owned()));
        }
        let quick = matcher(query, QUICK);
        Ok(Search {
            slow: quick.is_err(),
            matcher: quick.or_else(|_| matcher(query, COMPILED))?,
            wanted: query.wanted,
            multiline: query.multiline,
            max: query.max,
        })
    }

    /// All matches from `from` on.
    pub(crate) fn run(&self, output: &Output, from: u64) -> Result<Places> {
        let length = output.len() - from;
        if self.multiline {
            return self.across_lines(output, from..output.len());
        }
        let threads =
            if length <= SMALL || output.is_growing() || output.record().size.longest_line as usize > BLOCK {
                1
            } else {
                thread::available_parallelism().map_or(1, |n| n.get() as u64)
            };
        if threads == 1 {
            let mut found = self.by_lines(output, from..output.len())?;
            found.places.truncate(self.max);
            return Ok(found);
        }
        let mut borders = vec![from];
        for part in 1..threads {
            borders.push(output.line_end_near(from + length / threads * part, BLOCK as u64)?);
        }
        borders.push(output.len());
        let parts: Vec<Range<u64>> = borders.windows(2).map(|part| part[0]..part[1]).collect();
        let mut all = Places::default();
        for part in Output::in_parts(&parts, |part| self.by_lines(output, part))? {
            all.total += part.total;
            all.places.extend(part.places);
        }
        all.places.truncate(self.max);
        Ok(all)
    }

    fn by_lines(&self, output: &Output, range: Range<u64>) -> Result<Places> {
        let mut found = Places::default();
        let mut buffer =
            vec![0; BLOCK.min(usize::try_from(range.end - range.start).unwrap_or(BLOCK) + BEFORE as usize)];
        let mut at = range.start;
        let mut inside = at > 0 && output.read(at - 1..at)? != b"\n";
        // Start of the line that is longer than a block, and whether it has a match.
        let mut giant = (at, false);
        while at < range.end {
            // Inside a line, the bytes before are searched too, or a position there would count as the line's beginning.
            let back = if inside { at.min(BEFORE) } else { 0 };
            let base = at - back;
            let wanted = buffer.len().min(usize::try_from(range.end - base).unwrap_or(BLOCK));
            let read = output.fill(base, &mut buffer[..wanted])?;
            let (block, from) = (&buffer[..read], back as usize);
            if read <= from {
                break;
            }
            let is_last = base + read as u64 >= range.end;
            let newline = if inside {
                memchr::memchr(b'\n', &block[from..]).map(|newline| from + newline + 1)
            } else {
                memchr::memrchr(b'\n', block).map(|newline| newline + 1)
            };
            let end = newline.or(is_last.then_some(read));
            if !inside {
                giant = (at, false);
            }
            at = match (end, inside) {
                (Some(end), false) if newline.is_some() || read <= LONG => {
                    let end = if is_last { read } else { end };
                    self.in_steps(output, &block[..end], base, &mut found)?;
                    base + end as u64
                }
                (Some(end), _) => {
                    inside = newline.is_none();
                    let line = block[..end].strip_suffix(b"\n").unwrap_or(&block[..end]);
                    giant.1 |= self.long(line, from, line.len(), base, &mut found)?.1;
                    if self.wanted == Selection::OtherLines && !giant.1 {
                        found.line(self.max, giant.0..base + end as u64);
                    }
                    base + end as u64
                }
                (None, _) => {
                    // No line ends here: a match near the end is left for the next window, which has all of it.
                    inside = true;
                    let (next, hit) = self.long(block, from, read - OVERLAP, base, &mut found)?;
                    giant.1 |= hit;
                    base + next as u64
                }
            };
        }
        Ok(found)
    }

    /// Searches whole lines in steps that are short enough for the caller's stop flag.
    fn in_steps(&self, output: &Output, block: &[u8], base: u64, found: &mut Places) -> Result<()> {
        let mut at = 0;
        while at < block.len() {
            output.stop().check()?;
            let step = if self.slow { (at + SLOW_STEP).min(block.len()) } else { block.len() };
            let end = memchr::memchr(b'\n', &block[step - 1..]).map_or(block.len(), |newline| step + newline);
            self.lines(&block[at..end], base + at as u64, found)?;
            at = end;
        }
        Ok(())
    }

    /// Searches whole lines.
    fn lines(&self, block: &[u8], base: u64, found: &mut Places) -> Result<()> {
        let mut at = 0;
        while at < block.len() {
            let rest = &block[at..];
            let candidate = match self.matcher.line_terminator() {
                Some(_) => self.matcher.find_candidate_line(rest).map_err(failed)?,
                // A pattern that looks at the ends of the text must see each line by itself.
                None => Some(LineMatchKind::Candidate(0)),
            };
            let (place, certain) = match candidate {
                None => break,
                Some(LineMatchKind::Confirmed(place)) => (at + place, true),
                Some(LineMatchKind::Candidate(place)) => (at + place, false),
            };
            // An empty match may be after the last newline, where there is no line.
            if place == block.len() && block.ends_with(b"\n") {
                break;
            }
            let start = memchr::memrchr(b'\n', &block[..place]).map_or(0, |newline| newline + 1).max(at);
            let end =
                memchr::memchr(b'\n', &block[place..]).map_or(block.len(), |newline| place + newline + 1);
            let line = block[start..end].strip_suffix(b"\n").unwrap_or(&block[start..end]);
            let offset = base + start as u64;
            let is_hit = certain || self.matcher.is_match(line).map_err(failed)?;
            match self.wanted {
                Selection::OtherLines => {
                    self.others(block, at..if is_hit { start } else { end }, base, found)
                }
                _ if !is_hit => {}
                Selection::Lines if line.len() < LONG => found.line(self.max, offset..base + end as u64),
                Selection::Lines | Selection::Matches => {
                    self.long(line, 0, line.len(), offset, found)?;
                }
            }
            at = end;
        }
        if self.wanted == Selection::OtherLines {
            self.others(block, at..block.len(), base, found);
        }
        Ok(())
    }

    /// The lines between those that match.
    fn others(&self, block: &[u8], range: Range<usize>, base: u64, found: &mut Places) {
        let mut at = range.start;
        while at < range.end {
            let end =
                memchr::memchr(b'\n', &block[at..range.end]).map_or(range.end, |newline| at + newline + 1);
            found.line(self.max, base + at as u64..base + end as u64);
            at = end;
        }
    }

    /// Searches a part of a line from `from` on, match by match. Matches that start at `border` or after it are left for
    /// the next part. Returns the start of the next part, and whether there was a match.
    fn long(
        &self,
        part: &[u8],
        from: usize,
        border: usize,
        base: u64,
        found: &mut Places,
    ) -> Result<(usize, bool)> {
        let (mut next, mut any) = (border, false);
        self.matcher
            .find_iter_at(part, from, |place| {
                if place.start() >= border && border < part.len() {
                    return false;
                }
                any = true;
                next = next.max(place.end());
                let hit = base + place.start() as u64..base + place.end() as u64;
                match self.wanted {
                    Selection::Lines => found.inside(self.max, hit),
                    // An empty match has nothing to show.
                    Selection::Matches if hit.is_empty() => {}
                    Selection::Matches => found.push(self.max, || only(hit)),
                    Selection::OtherLines => return false,
                }
                true
            })
            .map_err(failed)?;
        Ok((next, any))
    }

    /// Searches for matches that may span lines: in windows, each from the end of the lines of the last match.
    fn across_lines(&self, output: &Output, range: Range<u64>) -> Result<Places> {
        let mut found = Places::default();
        let mut buffer = vec![0; 4 * BLOCK];
        let mut at = range.start;
        while at < range.end {
            let base = at - at.min(BEFORE);
            let read = output.fill(base, &mut buffer)?;
            let window = &buffer[..read];
            let is_last = base + read as u64 >= range.end;
            let border = if is_last { read } else { read - OVERLAP };
            let mut from = (at - base) as usize;
            while from < border {
                let Some(place) = self.matcher.find_at(window, from).map_err(failed)? else {
                    from = border;
                    break;
                };
                if place.start() >= border && !is_last {
                    from = border;
                    break;
                }
                if place.end() == read && !is_last && place.start() > (at - base) as usize {
                    // It may go on after this window: the next one begins with it.
                    from = place.start();
                    break;
                }
                let hit = base + place.start() as u64..base + place.end() as u64;
                // After the last newline there is no line.
                if hit.start == range.end && window.ends_with(b"\n") {
                    from = read;
                    break;
                }
                from = match self.wanted {
                    Selection::Matches => place.end().max(place.start() + 1),
                    _ => {
                        let last = place.end().max(place.start() + 1) - 1;
                        memchr::memchr(b'\n', &window[last.min(read)..])
                            .map_or(read, |newline| last + newline + 1)
                    }
                };
                match self.wanted {
                    Selection::Matches if hit.is_empty() => {}
                    Selection::Matches => found.push(self.max, || only(hit)),
                    _ => {
                        let end = base + from as u64;
                        let start = output.line_start_near(hit.start, LONG as u64)?;
                        let fits = end - start <= LONG as u64;
                        if !fits {
                            // In a long line every match counts.
                            from = place.end().max(place.start() + 1);
                        }
                        if fits {
                            found.push(self.max, || Place { lines: start..end, hit, end, partial: false })
                        } else {
                            found.inside(self.max, hit)
                        }
                    }
                }
            }
            at = (base + from as u64).max(at + 1);
        }
        Ok(found)
    }
}

/// A match that is shown without its line.
fn only(hit: Range<u64>) -> Place {
    let lines = hit.start..hit.end.min(hit.start + LONG as u64);
    Place { partial: lines.end < hit.end, lines, end: hit.end, hit }
}
