//! Headings of Markdown and reStructuredText.

use crate::Result;
use crate::classify::headings::{level, underline};
use crate::classify::lines::Source;
use crate::outline::{Items, name};

/// Adds headings that begin with `#` or are underlined with `=` or `-`, outside fenced code.
pub(crate) fn markdown(source: &Source, items: &mut Items) -> Result<()> {
    // Opening of the fence that contains a line.
    let mut fence: Option<(u8, usize)> = None;
    let mut front_matter = false;
    let mut before: Option<String> = None;
    source.for_each(|line| {
        let text = line.text;
        let indent = text.iter().take_while(|&&byte| byte == b' ').count();
        let trimmed = text.trim_ascii();
        if line.number == 1 && text == b"---" {
            front_matter = true;
            return;
        }
        if front_matter {
            front_matter = text != b"---";
            return;
        }
        if let Some((mark, length)) = opens(trimmed) {
            match fence {
                Some((open, least)) => {
                    let closes = open == mark && length >= least && trimmed.len() == length;
                    if closes {
                        fence = None;
                    }
                }
                None if mark != b'`' || !trimmed[length..].contains(&b'`') => fence = Some((mark, length)),
                None => {}
            }
            before = None;
            return;
        }
        if fence.is_some() || indent > 3 {
            before = None;
            return;
        }
        if let Some(level) = level(trimmed) {
            let title = line.lossy();
            let title = title.trim().trim_start_matches('#').trim_end_matches('#');
            items.open(line.number, level - 1, "heading", || name(title));
            before = None;
            return;
        }
        match (&before, trimmed.first()) {
            (Some(title), Some(mark @ (b'=' | b'-'))) if trimmed.iter().all(|byte| byte == mark) => {
                items.open(line.number - 1, u32::from(*mark == b'-'), "heading", || name(title));
                before = None;
            }
            _ => before = is_title(trimmed).then(|| line.lossy().into_owned()),
        }
    })
}

/// Returns the mark and the length of a fence.
fn opens(line: &[u8]) -> Option<(u8, usize)> {
    let mark = *line.first().filter(|mark| b"`~".contains(mark))?;
    let length = line.iter().take_while(|&&byte| byte == mark).count();
    (length >= 3).then_some((mark, length))
}

fn is_title(line: &[u8]) -> bool {
    !line.is_empty() && line.len() <= 200 && !matches!(line[0], b'|' | b'>' | b'<' | b'-' | b'*' | b'+')
}

/// Adds underlined headings. The level of a mark follows from the order in which marks first occur.
pub(crate) fn rst(source: &Source, items: &mut Items) -> Result<()> {
    let mut marks: Vec<(u8, bool)> = Vec::new();
    let mut before: Option<String> = None;
    let mut overline: Option<(u8, usize)> = None;
    source.for_each(|line| {
        let text = line.text.trim_ascii_end();
        match (&before, underline(text)) {
            (Some(title), Some((mark, length))) if length + 1 >= title.trim_end().chars().count() => {
                let over = overline == Some((mark, length));
                let level = marks.iter().position(|known| *known == (mark, over)).unwrap_or_else(|| {
                    marks.push((mark, over));
                    marks.len() - 1
                });
                items.open(line.number - 1, level as u32, "heading", || name(title));
                (before, overline) = (None, None);
            }
            (_, Some(rule)) => (before, overline) = (None, Some(rule)),
            (_, None) => {
                if before.is_some() || text.is_empty() {
                    overline = None;
                }
                let may_be = !text.is_empty()
                    && text.len() <= 200
                    && !text.starts_with(b"..")
                    && (overline.is_some() || !text.starts_with(b" "));
                before = may_be.then(|| line.lossy().into_owned());
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use crate::outline::tests::{of, of_file};

    #[test]
    fn headings_of_markdown_lie_in_each_other_and_fences_are_code() {
        let out = of(
            "---\ntitle: x\n---\n# One #\n\ntext with `code` and [a](b)\n\n## Two\n\n```sh\n# no heading\n```\n\nSetext\n------\n\n- a\n- b\n\n# Three\n",
        );
        expect_test::expect![[r#"
            Markdown
            4-19 heading | One
            8-13   heading | Two
            14-19   heading | Setext
            20-20 heading | Three
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn headings_of_rst_have_the_level_of_their_mark() {
        let out = of_file(
            "a.rst",
            "=====\nTitle\n=====\n\n.. note:: see :ref:`x`\n\nFirst\n=====\n\nDeeper\n------\n\ntext ``code``\n\nSecond\n======\n",
        );
        expect_test::expect![[r#"
            reStructuredText
            2-16 heading | Title
            7-14   heading | First
            10-14     heading | Deeper
            15-16   heading | Second
        "#]]
        .assert_eq(&out);
    }
}
