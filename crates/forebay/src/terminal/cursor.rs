//! Programs that repaint: what remains on a screen after the cursor has moved back, in a line or above it, and
//! overwritten earlier text.

use crate::terminal::code;
use crate::text::timestamp::unstamped;
use memchr::{memchr, memchr2};
use std::ops::Range;

/// Maximum bytes, from the end back, of a repeatedly painted area that are painted once more.
const REPAINTED: u64 = 256 * 1024;

/// A screen has no more lines that the cursor reaches by a place, and no code moves it further to the right.
const LINES: usize = 200;
const COLUMNS: usize = 512;

/// Effect of a code on the cursor or the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Code {
    Up(usize),
    /// Up, and to the beginning of the line.
    LineUp(usize),
    Down(usize),
    Right(usize),
    Left(usize),
    Column(usize),
    Place(usize, usize),
    EraseBelow,
    EraseAll,
    EraseRight,
    EraseLeft,
    EraseLine,
    Other,
}

impl Code {
    /// Parses an escape code from exactly its bytes.
    fn of(bytes: &[u8]) -> Code {
        let Some((&letter, digits)) = bytes.strip_prefix(b"\x1b[").and_then(<[u8]>::split_last) else {
            return Code::Other;
        };
        let mut numbers = digits.split(|&byte| byte == b';').map(|digits| {
            let digits = digits.iter().take(6).take_while(|byte| byte.is_ascii_digit());
            digits.fold(0, |number, digit| number * 10 + usize::from(digit - b'0'))
        });
        let first = numbers.next().unwrap_or(0);
        let count = first.max(1);
        match (letter, first) {
            (b'A', _) => Code::Up(count),
            (b'F', _) => Code::LineUp(count),
            (b'B' | b'E', _) => Code::Down(count),
            (b'C', _) => Code::Right(count),
            (b'D', _) => Code::Left(count),
            (b'G', _) => Code::Column(count - 1),
            (b'H' | b'f', _) => Code::Place(count - 1, numbers.next().unwrap_or(1).max(1) - 1),
            (b'J', 0) => Code::EraseBelow,
            (b'J', 2 | 3) => Code::EraseAll,
            (b'K', 0) => Code::EraseRight,
            (b'K', 1) => Code::EraseLeft,
            (b'K', 2) => Code::EraseLine,
            _ => Code::Other,
        }
    }

    /// Whether the following text overwrites lines above.
    fn goes_up(self) -> bool {
        matches!(self, Code::Up(_) | Code::LineUp(_) | Code::Place(..))
    }
}

/// Whether the cursor goes up somewhere.
pub(crate) fn goes_up(bytes: &[u8]) -> bool {
    memchr::memchr_iter(0x1b, bytes).any(|at| Code::of(&bytes[at..at + code(&bytes[at..])]).goes_up())
}

/// The parts of a text that were painted more than once: lines with returns in them, and what lies between the first
/// line that the cursor went up to and the line where it went on.
pub(crate) fn areas(bytes: &[u8]) -> Vec<Range<u64>> {
    if memchr2(b'\r', 0x1b, bytes).is_none() {
        return Vec::new();
    }
    let mut areas: Vec<Range<u64>> = Vec::new();
    // Where each line of the screen begins, and how far the lines above the cursor are painted.
    let mut starts = vec![0u64];
    let (mut row, mut open, mut at, mut line) = (0usize, false, 0, 0);
    while let Some(found) = memchr2(b'\n', 0x1b, &bytes[at..]) {
        at += found;
        if bytes[at] == b'\n' {
            at += 1;
            row += 1;
            if is_overwritten(&bytes[line..at]) {
                areas.push(line as u64..at as u64);
            }
            line = at;
            if row == starts.len() {
                starts.push(at as u64);
                if open {
                    close(&mut areas, at as u64);
                }
                open = false;
            }
            continue;
        }
        let length = code(&bytes[at..]);
        let what = Code::of(&bytes[at..at + length]);
        at += length;
        let top = starts.len().saturating_sub(LINES);
        row = match what {
            Code::Up(lines) | Code::LineUp(lines) => row.saturating_sub(lines).max(top.min(row)),
            Code::Place(line, _) => (top + line).min(starts.len() - 1),
            Code::Down(lines) => (row + lines).min(starts.len() - 1),
            _ => row,
        };
        if what.goes_up() {
            areas.push(starts[row]..at as u64);
            open = true;
        }
    }
    if is_overwritten(&bytes[line..]) {
        areas.push(line as u64..bytes.len() as u64);
    }
    if open {
        close(&mut areas, bytes.len() as u64);
    }
    areas.sort_by_key(|area| area.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for area in areas {
        match joined.last_mut().filter(|last| area.start < last.end) {
            Some(last) => last.end = last.end.max(area.end),
            None => joined.push(area),
        }
    }
    // One that was painted very often is taken from near its end on: what came before was painted over.
    for area in &mut joined {
        let from = area.end.saturating_sub(REPAINTED).max(area.start) as usize;
        let begins =
            memchr2(b'\n', b'\r', &bytes[from..area.end as usize]).filter(|_| from as u64 > area.start);
        area.start = begins.map_or(area.start, |at| (from + at + 1) as u64);
    }
    joined
}

/// Makes the last area reach up to a place.
fn close(areas: &mut [Range<u64>], end: u64) {
    if let Some(area) = areas.last_mut() {
        area.end = area.end.max(end);
    }
}

/// Whether something in a line was written over after a return.
fn is_overwritten(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    memchr(b'\r', line).is_some()
}

/// Paints bytes on a screen and returns its final content.
pub(crate) fn painted(bytes: &[u8]) -> Vec<u8> {
    let mut screen = Screen { lines: vec![Line::default()], row: 0, column: 0 };
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\n' => screen.next_line(),
            b'\r' => screen.column = 0,
            0x08 => screen.column = screen.column.saturating_sub(1),
            0x1b => {
                let length = code(&bytes[at..]);
                screen.obey(Code::of(&bytes[at..at + length]));
                at += length;
                continue;
            }
            _ => {
                let ends = |byte: &u8| matches!(byte, b'\n' | b'\r' | 0x08 | 0x1b);
                let end = bytes[at..].iter().position(ends).map_or(bytes.len(), |end| at + end);
                screen.write(&String::from_utf8_lossy(&bytes[at..end]));
                at = end;
                continue;
            }
        }
        at += 1;
    }
    screen.print(bytes.ends_with(b"\n"))
}

#[derive(Clone, Debug, Default)]
struct Line {
    cells: Vec<char>,
    /// Whether something was erased in it: if nothing is left, there is no line.
    erased: bool,
}

struct Screen {
    lines: Vec<Line>,
    row: usize,
    column: usize,
}

impl Screen {
    fn next_line(&mut self) {
        self.row += 1;
        self.column = 0;
        if self.row == self.lines.len() {
            self.lines.push(Line::default());
        }
    }

    fn write(&mut self, text: &str) {
        let cells = &mut self.lines[self.row].cells;
        if cells.len() < self.column {
            cells.resize(self.column, ' ');
        }
        for character in text.chars() {
            match cells.get_mut(self.column) {
                Some(cell) => *cell = character,
                None => cells.push(character),
            }
            self.column += 1;
        }
    }

    fn obey(&mut self, code: Code) {
        let last = self.lines.len() - 1;
        let top = self.lines.len().saturating_sub(LINES);
        let column = self.column;
        match code {
            Code::Up(lines) => self.row = self.row.saturating_sub(lines).max(top.min(self.row)),
            Code::LineUp(lines) => {
                self.row = self.row.saturating_sub(lines).max(top.min(self.row));
                self.column = 0;
            }
            Code::Down(lines) => self.row = (self.row + lines).min(last),
            Code::Right(columns) => self.column = (column + columns).min(COLUMNS.max(column)),
            Code::Left(columns) => self.column = column.saturating_sub(columns),
            Code::Column(column) => self.column = column.min(COLUMNS),
            Code::Place(line, column) => {
                self.row = (top + line).min(last);
                self.column = column.min(COLUMNS);
            }
            Code::EraseBelow => {
                self.lines.truncate(self.row + 1);
                self.erase(column..usize::MAX);
            }
            Code::EraseAll => {
                self.lines.truncate(top);
                self.lines.push(Line::default());
                self.row = top;
            }
            Code::EraseRight => self.erase(column..usize::MAX),
            Code::EraseLeft => self.erase(0..(column + 1).min(COLUMNS)),
            Code::EraseLine => self.erase(0..usize::MAX),
            Code::Other => {}
        }
    }

    fn erase(&mut self, columns: Range<usize>) {
        let line = &mut self.lines[self.row];
        line.erased = true;
        match columns.end {
            usize::MAX => line.cells.truncate(columns.start),
            end => {
                let end = end.min(line.cells.len());
                line.cells[..end].fill(' ');
            }
        }
    }

    fn print(&self, ends: bool) -> Vec<u8> {
        let mut text = String::new();
        for line in &self.lines {
            let cells: String = line.cells.iter().collect();
            let shown = cells.trim_end();
            if shown.is_empty() && line.erased {
                continue;
            }
            text.push_str(&String::from_utf8_lossy(unstamped(shown.as_bytes())));
            text.push('\n');
        }
        let shown = text.trim_end_matches('\n').len();
        text.truncate(shown + usize::from(ends && shown > 0));
        text.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::repainted::widened;

    fn shown(bytes: &str) -> String {
        String::from_utf8(crate::terminal::screen(bytes.as_bytes())).unwrap()
    }

    #[test]
    fn what_is_painted_again_is_shown_as_it_was_last() {
        let table = [
            ("a: 1%\nb: 1%\n\x1b[2Aa: done\nb: 50%\n\x1b[1A\x1b[2Kb: done\nall\n", "a: done\nb: done\nall\n"),
            ("one\ntwo\n\x1b[1F\x1b[0Jend\n", "one\nend\n"),
            ("so\nwait...\n\x1b[1A\x1b[2K\x1b[1A", "so"),
            ("top 1\nx\n\x1b[H\x1b[2Jtop 2\ny\n", "top 2\ny\n"),
            ("long line\n\x1b[Ashort\x1b[K\n", "short\n"),
            ("ab\n\x1b[A\x1b[4Gcd\x1b[2DX\n", "ab Xd\n"),
            ("\x1b[9A\x1b[99999Cx\n", &format!("{}x\n", " ".repeat(512))),
            ("\x1b[9Aabcd\x1b[2D\x1b[1K\n\x1b[5Be\n", "   d\ne\n"),
            ("漢字\n\x1b[A語\n", "語字\n"),
        ];
        for (bytes, expected) in table {
            let expected =
                expected.trim_end_matches('\n').to_owned() + if bytes.ends_with('\n') { "\n" } else { "" };
            assert_eq!(shown(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn an_area_goes_from_the_first_line_that_is_gone_back_to_up_to_where_it_goes_on() {
        let text = "start\na 1\nb 1\n\x1b[2Aa 2\nb 2\n\x1b[2Aa 3\nb 3\nrest\nc 1\n\x1b[1Ac 2\nend\n";
        let found = areas(text.as_bytes());
        let parts: Vec<&str> =
            found.iter().map(|area| &text[area.start as usize..area.end as usize]).collect();
        assert_eq!(parts, ["a 1\nb 1\n\x1b[2Aa 2\nb 2\n\x1b[2Aa 3\nb 3\nrest\n", "c 1\n\x1b[1Ac 2\nend\n"]);
        assert_eq!(areas(b"x\n1%\r2%\r3%\r\ny\r\n"), [2..12]);
        let end = text.len() as u64;
        assert_eq!(widened(&[0..2, end - 2..end], &found), [0..2, found[1].start..end]);
    }

    #[test]
    fn hostile_codes_take_bounded_work() {
        for code in [
            "\x1b[J",
            "\x1b[1K",
            "\x1b[2J\x1b[H",
            "\x1b[512G.\r",
            "\x1b[9999B",
            "\x1b[9999A\n",
            "\x1b[999999999999A",
        ] {
            let text = "line\n".repeat(300) + &code.repeat(100_000);
            assert!(painted(text.as_bytes()).len() < 1_000_000, "{code:?}");
            areas(text.as_bytes());
        }
    }
}
