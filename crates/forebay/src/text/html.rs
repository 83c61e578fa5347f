//! Text of a page as a browser shows it, a line for each block.

use crate::text::derived::{Derived, Line};

/// Elements whose text is not shown.
const HIDDEN: &[&[u8]] =
    &[b"script", b"style", b"noscript", b"svg", b"template", b"iframe", b"select", b"textarea"];

/// Elements that do not end a block.
const INLINE: &[&[u8]] = &[
    b"a", b"abbr", b"acronym", b"b", b"bdi", b"bdo", b"big", b"cite", b"code", b"data", b"del", b"dfn",
    b"em", b"font", b"i", b"img", b"ins", b"kbd", b"label", b"mark", b"q", b"s", b"samp", b"small", b"span",
    b"strong", b"sub", b"sup", b"time", b"tt", b"u", b"var", b"wbr", b"picture", b"source",
];

/// Derives the text of a page.
pub(crate) fn text(html: &[u8]) -> Derived {
    let mut page = Page { derived: Derived::default(), block: Block::default(), links: 0, heading: false };
    let mut at = 0;
    while at < html.len() {
        let Some(tag) = memchr::memchr(b'<', &html[at..]).map(|found| at + found) else {
            page.text(html, at, html.len());
            break;
        };
        page.text(html, at, tag);
        at = page.tag(html, tag);
    }
    page.end_block();
    page.derived
}

struct Page {
    derived: Derived,
    block: Block,
    /// Number of open links.
    links: u32,
    heading: bool,
}

/// The block that is being read.
#[derive(Default)]
struct Block {
    start: Option<u64>,
    characters: u32,
    linked: u32,
    words: u32,
    heading: bool,
    /// A blank is owed before the next character.
    blank: bool,
}

impl Page {
    fn text(&mut self, html: &[u8], mut at: usize, end: usize) {
        while at < end {
            let byte = html[at];
            if byte.is_ascii_whitespace() {
                self.block.blank = true;
                at += 1;
                continue;
            }
            if byte == b'&' {
                let (decoded, length) = entity(&html[at..end]);
                if let Some(decoded) = decoded {
                    if decoded == '\u{a0}' || decoded.is_whitespace() {
                        self.block.blank = true;
                    } else {
                        let mut buffer = [0; 4];
                        for byte in decoded.encode_utf8(&mut buffer).bytes() {
                            self.byte(byte, at);
                        }
                    }
                    at += length;
                    continue;
                }
            }
            self.byte(byte, at);
            at += 1;
        }
    }

    fn byte(&mut self, byte: u8, origin: usize) {
        if self.block.start.is_none() {
            self.block = Block {
                start: Some(self.derived.text.len() as u64),
                heading: self.heading,
                ..Block::default()
            };
            self.block.words = 1;
        } else if self.block.blank {
            self.derived.push(b' ', origin.saturating_sub(1));
            self.block.words += 1;
        }
        self.block.blank = false;
        self.block.characters += 1;
        self.block.linked += u32::from(self.links > 0);
        self.derived.push(byte, origin);
    }

    fn end_block(&mut self) {
        let block = std::mem::take(&mut self.block);
        let Some(start) = block.start else { return };
        let last =
            self.derived.origin(&(self.derived.text.len() as u64 - 1..self.derived.text.len() as u64)).end;
        self.derived.push(b'\n', last as usize - 1);
        let linked = block.linked as f32 / block.characters.max(1) as f32;
        let long = (block.words as f32 / 12.0).min(1.0);
        let prose = long * (1.0 - linked);
        self.derived.lines.push(Line { start, heading: block.heading, prose });
    }

    /// Reads a tag. Returns where the text continues.
    fn tag(&mut self, html: &[u8], start: usize) -> usize {
        let rest = &html[start..];
        if rest.starts_with(b"<!--") {
            return memchr::memmem::find(rest, b"-->").map_or(html.len(), |end| start + end + 3);
        }
        let closes = rest.get(1) == Some(&b'/');
        let name_at = 1 + usize::from(closes);
        let name: Vec<u8> = rest[name_at.min(rest.len())..]
            .iter()
            .take(12)
            .take_while(|byte| byte.is_ascii_alphanumeric())
            .map(u8::to_ascii_lowercase)
            .collect();
        if name.is_empty() && !rest.starts_with(b"<!") && !rest.starts_with(b"<?") && !closes {
            // Not a tag but a character of the text.
            self.byte(b'<', start);
            return start + 1;
        }
        let end = memchr::memchr(b'>', rest).map_or(html.len(), |end| start + end + 1);
        if !closes && HIDDEN.contains(&name.as_slice()) {
            if !html[start..end].ends_with(b"/>") {
                let close = [b"</", name.as_slice()].concat();
                return find_ignoring_case(&html[end..], &close).map_or(html.len(), |found| end + found);
            }
            return end;
        }
        if name == b"a" {
            self.links = if closes { self.links.saturating_sub(1) } else { 1 };
        }
        if name == b"td" || name == b"th" || name == b"br" {
            // The cells of a row are one line.
            self.block.blank = true;
        } else if !INLINE.contains(&name.as_slice()) {
            self.end_block();
            self.links = 0;
            if matches!(name.as_slice(), [b'h', b'1'..=b'6'] | b"title") {
                self.heading = !closes;
            }
        }
        end
    }
}

fn find_ignoring_case(bytes: &[u8], what: &[u8]) -> Option<usize> {
    memchr::memmem::find_iter(bytes, b"</")
        .find(|&at| bytes[at..].len() >= what.len() && bytes[at..at + what.len()].eq_ignore_ascii_case(what))
}

/// Returns the character of an entity, and the length of the entity.
fn entity(bytes: &[u8]) -> (Option<char>, usize) {
    let Some(end) = bytes.iter().take(12).position(|&byte| byte == b';') else { return (None, 1) };
    let name = &bytes[1..end];
    let named: &[(&[u8], char)] = &[
        (b"amp", '&'),
        (b"lt", '<'),
        (b"gt", '>'),
        (b"quot", '"'),
        (b"apos", '\''),
        (b"nbsp", '\u{a0}'),
        (b"rsquo", '’'),
        (b"lsquo", '‘'),
        (b"rdquo", '”'),
        (b"ldquo", '“'),
        (b"ndash", '–'),
        (b"mdash", '—'),
        (b"hellip", '…'),
        (b"eacute", 'é'),
        (b"copy", '©'),
        (b"reg", '®'),
        (b"trade", '™'),
        (b"middot", '·'),
        (b"bull", '•'),
        (b"laquo", '«'),
        (b"raquo", '»'),
        (b"pound", '£'),
        (b"euro", '€'),
        (b"deg", '°'),
        (b"times", '×'),
        (b"aacute", 'á'),
        (b"iacute", 'í'),
        (b"oacute", 'ó'),
        (b"uacute", 'ú'),
        (b"ntilde", 'ñ'),
        (b"auml", 'ä'),
        (b"ouml", 'ö'),
        (b"uuml", 'ü'),
        (b"szlig", 'ß'),
        (b"egrave", 'è'),
        (b"agrave", 'à'),
        (b"ccedil", 'ç'),
        (b"ecirc", 'ê'),
        (b"frac12", '½'),
    ];
    let found = match name {
        [b'#', b'x' | b'X', digits @ ..] => std::str::from_utf8(digits)
            .ok()
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .and_then(char::from_u32),
        [b'#', digits @ ..] => {
            std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).and_then(char::from_u32)
        }
        _ => named.iter().find(|(known, _)| *known == name).map(|&(_, c)| c),
    };
    (found, end + 1)
}
