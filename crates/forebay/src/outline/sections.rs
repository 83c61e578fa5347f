//! Sections of settings and of other indented text: `[name]` of TOML and INI, keys of YAML with others below, titles in comment
//! rules, and the titles above the options of a help text or the entries of a changelog.

use crate::Result;
use crate::classify::lines::{Line, Source};
use crate::outline::{Items, name};
use crate::text::pattern::compiled;
use regex::bytes::Regex;
use std::sync::LazyLock;

/// `[name]` or `[[name]]`.
static HEADER: LazyLock<Regex> =
    LazyLock::new(|| compiled(r#"^(?-u:\[\[?[\w."':/ @*-]+\]\]?\s*(?:[#;].*)?)$"#));

/// A key with or without a value, or a title that ends with a colon.
static KEY: LazyLock<Regex> =
    LazyLock::new(|| compiled(r#"^(?-u:["']?[\w$./@<>*-]+["']?(?::(?:\s.*)?| ?= ?.*))$"#));

/// A line to which the lines indented below belong.
static OPENS: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r#"^(?-u:\s*(?:- )?["']?[\w$./@<>*()-]+["']?(?: [\w,()-]+){0,6}:\s*(?:[|>&#!].*)?)$"#)
});

/// Minimum percentage of lines that fit a text with sections, and of indented lines from which on any other line is a title.
const LAID_OUT: usize = 85;
const INDENTED: usize = 90;

/// Minimum lines of a text in which indentation alone means sections.
const LINES: usize = 20;

/// Beginnings of the sections of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// A header or a key with others below.
    Keys,
    /// Any line that is not indented.
    Titles,
}

/// Returns how the sections of a text with these first lines begin, if it has any.
pub(crate) fn layout<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Option<Layout> {
    let (mut all, mut indented, mut laid_out, mut sections) = (0, 0, 0, 0);
    let mut ruled = Ruled::default();
    for line in lines.filter(|line| !line.trim_ascii().is_empty()) {
        let opens = HEADER.is_match(line) || OPENS.is_match(line) && indent(line) == 0;
        let is_titled = ruled.take(0, line).is_some();
        all += 1;
        indented += usize::from(indent(line) > 0);
        sections += usize::from(opens || is_titled);
        let fits =
            opens || indent(line) > 0 || is_comment(line) || KEY.is_match(line) || line.starts_with(b"-");
        laid_out += usize::from(fits);
    }
    let is_indented = indented * 100 >= all * INDENTED;
    if sections >= 2 && laid_out * 100 >= all * LAID_OUT && !is_indented {
        Some(Layout::Keys)
    } else if all >= LINES && is_indented {
        Some(Layout::Titles)
    } else {
        None
    }
}

/// Adds an item for each section, and for each key with others below.
pub(crate) fn outline(source: &Source, layout: Layout, items: &mut Items) -> Result<()> {
    // A line to which the next ones may belong, and its indentation.
    let mut waiting: Option<(u64, usize, String)> = None;
    // Line of a section of which there are several with the same name; its first key tells it apart.
    let mut unnamed: Option<(u64, String)> = None;
    let mut above: Vec<usize> = Vec::new();
    let mut ruled = Ruled::default();
    source.for_each(|line: &Line| {
        let text = line.text.trim_ascii();
        if text.is_empty() {
            return;
        }
        if let Some((number, title)) = ruled.take(line.number, line.text) {
            above.clear();
            items.open(number, 0, "section", || name(&title));
        }
        if layout == Layout::Keys && is_comment(text) {
            return;
        }
        let indent = indent(line.text);
        if let Some((number, header)) = unnamed.take() {
            items.open(number, 0, "section", || name(&format!("{header} {}", line.lossy())));
        }
        if let Some((number, outer, title)) = waiting.take()
            && (indent > outer || text.starts_with(b"- ") && indent == outer)
        {
            while above.pop_if(|above| *above >= outer).is_some() {}
            if above.len() < 2 {
                items.open(number, above.len() as u32, "section", || name(&title));
            }
            above.push(outer);
        }
        match layout {
            Layout::Keys if text.starts_with(b"[[") && HEADER.is_match(text) => {
                above.clear();
                unnamed = Some((line.number, line.lossy().trim().to_owned()));
            }
            Layout::Keys if HEADER.is_match(text) => {
                above.clear();
                items.open(line.number, 0, "section", || name(&line.lossy()));
            }
            Layout::Keys if OPENS.is_match(line.text) && !text.starts_with(b"- ") => {
                waiting = Some((line.number, indent, line.lossy().trim().trim_end_matches(':').to_owned()));
            }
            Layout::Titles if indent == 0 => {
                waiting = Some((line.number, 0, line.lossy().trim().trim_end_matches(':').to_owned()));
            }
            _ => {}
        }
    })
}

/// Finds titles between two rules in comments.
#[derive(Default)]
struct Ruled {
    after_ruler: bool,
    title: Option<(u64, String)>,
}

impl Ruled {
    /// Returns the title that ends with this line.
    fn take(&mut self, number: u64, line: &[u8]) -> Option<(u64, String)> {
        let mark = |byte: &u8| b"#;/*".contains(byte);
        let words = String::from_utf8_lossy(line);
        let words = words.trim().trim_matches(['#', ';', '/', '*', ' ']);
        let drawn = line.trim_ascii();
        let is_comment = drawn.first().is_some_and(mark);
        let is_ruler =
            is_comment && drawn.len() >= 10 && drawn.iter().all(|byte| mark(byte) || b"-=~ ".contains(byte));
        let title = self.title.take().filter(|_| is_ruler);
        if is_comment && !is_ruler && self.after_ruler && words.len() >= 3 {
            self.title = Some((number, words.to_owned()));
        }
        self.after_ruler = is_ruler && title.is_none();
        title
    }
}

fn is_comment(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    line.starts_with(b"#") || line.starts_with(b";") || line.starts_with(b"//")
}

fn indent(line: &[u8]) -> usize {
    line.len() - line.trim_ascii_start().len()
}

#[cfg(test)]
mod tests {
    use crate::outline::tests::of;
    use expect_test::expect;

    #[test]
    fn settings_have_their_sections() {
        let out = of(
            "[package]\nname = \"demo\"\n\n[dependencies]\nserde = \"1\"\n\n[[bin]]\nname = \"one\"\n\n[[bin]]\nname = \"two\"\n",
        );
        expect![[r#"
            text
            1-3 section | [package]
            4-6 section | [dependencies]
            7-9 section | [[bin]] name = "one"
            10-11 section | [[bin]] name = "two"
        "#]]
        .assert_eq(&out);
        let out = of(
            "# what is read\nname: build\non:\n  push:\n    branches:\n      - main\njobs:\n  test:\n    steps:\n    - run: x\n  lint:\n    steps: []\nenv: {}\n",
        );
        expect![[r#"
            text
            3-6 section | on
            4-6   section | push
            7-13 section | jobs
            8-10   section | test
            11-13   section | lint
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn titles_that_comments_draw_lines_around_are_sections() {
        let out = of(
            "#------------------\n# FILES\n#------------------\n\n#dir = 'x'\nport = 1\n\n#------------------\n# CONNECTIONS\n#------------------\nmax = 100\n",
        );
        expect![[r#"
            text
            2-8 section | FILES
            9-11 section | CONNECTIONS
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn what_stands_above_indented_lines_is_a_title() {
        let options: String = (0..12).map(|n| format!("  --option-{n}  does {n}\n")).collect();
        let out = of(&format!("Usage: demo [OPTIONS]\n\nOptions:\n{options}\nOther options:\n{options}"));
        expect![[r#"
            text
            3-16 section | Options
            17-29 section | Other options
        "#]]
        .assert_eq(&out);
    }
}
