//! Items of an outline as the summary of a gap: files, definitions, headings.

use crate::classify::form::Form;
use crate::digest::ends::Parts;
use crate::digest::plan::{Plan, Wanted};
use crate::digest::probe::Probe;
use crate::digest::summarize::{Summarize, fitting, list_tokens};
use crate::outline::{self, Item, Outline};
use crate::text::count::{count, grouped};
use crate::view::Summary;
use crate::view::print::Gap;
use crate::weights::folding::{SAME_NAME, Shares};
use crate::{Budget, Output, Result};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// Maximum items listed of one depth. No summary has room for more.
const MAX_LISTED: usize = 400;

/// Plans the view of any output, by its outline.
pub(crate) fn recognize<'p>(probe: &'p Probe<'p>, _: &Wanted, _: Budget) -> Result<Option<Plan<'p>>> {
    let items = OutlineItems::new(outline::outline(probe.output)?);
    Ok(Some(Plan::Ends(Parts::new(Shares::of(probe.form()?), items))))
}

/// Items of an outline in listing order: outer items before those inside them, the largest files and definitions
/// first.
pub(crate) struct OutlineItems {
    form: Form,
    items: Vec<CountedItem>,
    /// Whether the outline had more items than were kept.
    has_more: bool,
    /// Whether a part of the output is not outlined.
    is_partial: bool,
}

/// An item, and how many items of its depth have its name, if there are many. Each definition is counted separately.
struct CountedItem {
    item: Item,
    times: usize,
}

impl OutlineItems {
    /// Sorts the items of an outline.
    pub(crate) fn new(outline: Outline) -> OutlineItems {
        let by_size = matches!(outline.form, Form::Diff | Form::Matches | Form::Code(_));
        let mut names: HashMap<(u32, &str), usize> = HashMap::new();
        for item in outline.items.iter().filter(|_| !by_size) {
            *names.entry((item.depth, &item.name)).or_default() += 1;
        }
        let times =
            |item: &Item| names.get(&(item.depth, &*item.name)).copied().filter(|count| *count >= SAME_NAME);
        let times: Vec<usize> = outline.items.iter().map(|item| times(item).unwrap_or(1)).collect();
        let is_open = openness(&outline);
        let Outline { form, items, more, note, .. } = outline;
        let mut items: Vec<CountedItem> =
            items.into_iter().zip(times).map(|(item, times)| CountedItem { item, times }).collect();
        items.sort_by_key(|CountedItem { item, .. }| {
            (item.depth, !is_open(item), Reverse(if by_size { extent(item) } else { 0 }))
        });
        OutlineItems { form, items, has_more: more > 0, is_partial: note.is_some() }
    }

    /// Items that begin in a range of lines and fit `room` tokens.
    fn chosen(&self, is_inside: impl Fn(&&CountedItem) -> bool, room: u64) -> Vec<&CountedItem> {
        let mut chosen: Vec<&CountedItem> = Vec::new();
        for group in self.items.chunk_by(|a, b| a.item.depth == b.item.depth) {
            let mut names = HashSet::new();
            let inside = group.iter().filter(&is_inside);
            let new = inside.filter(|item| item.times == 1 || names.insert(item.item.name.as_str()));
            let next: Vec<&CountedItem> = new.take(MAX_LISTED + 1).collect();
            let with = |count: usize| {
                let mut with: Vec<&CountedItem> = chosen.iter().chain(&next[..count]).copied().collect();
                with.sort_by_key(|CountedItem { item, .. }| (item.line, item.depth));
                with
            };
            let fits = |count: usize| list_tokens(&listed(&with(count), self.form)) <= room;
            let count = fitting(next.len().min(MAX_LISTED), fits);
            chosen = with(count);
            if count < next.len() {
                break;
            }
        }
        chosen
    }
}

impl Summarize for OutlineItems {
    /// Items that begin in a gap.
    fn summary(&self, _: &Output, gap: &Gap, room: u64) -> Result<Option<Summary>> {
        let form = self.form;
        let lines = gap.lines.0..=gap.lines.1;
        let is_inside = |item: &&CountedItem| lines.contains(&item.item.line);
        let Some(CountedItem { item: first, .. }) = self.items.iter().find(is_inside) else {
            return Ok(None);
        };
        let chosen = self.chosen(is_inside, room);
        // Parts of files are not counted. Nested items are of the same kind as the items around them.
        let is_counted = |item: &&CountedItem| {
            item.item.depth == first.depth || !matches!(form, Form::Diff | Form::Matches)
        };
        let listed_count: usize = chosen.iter().filter(|item| is_counted(item)).map(|item| item.times).sum();
        if listed_count == 0 {
            return Ok(None);
        }
        let inside = || self.items.iter().filter(is_inside);
        let all = inside().filter(is_counted).count();
        // Some items with the same name may be shown.
        let listed_count = listed_count.min(all);
        let kind = match form {
            Form::Code(language) => Some(language.name().to_owned()),
            Form::Text | Form::Log => None,
            Form::Matches => Some("search results".to_owned()),
            Form::Markdown | Form::Rst => Some(form.name().to_owned()),
            form => Some(format!("a {}", form.name())),
        };
        let noun = match form {
            Form::Code(_) => "definition",
            Form::Matches | Form::Diff => "file",
            Form::Text if inside().all(|item| item.item.kind == first.kind) => first.kind,
            Form::Text => "part",
            Form::Markdown | Form::Rst | Form::Html => "heading",
            _ => "part",
        };
        let counted = count(noun, all as u64);
        let contents = match all - listed_count {
            _ if self.has_more => format!("{listed_count} of more than {counted}"),
            // The part of a program that is not parsed may contain more.
            _ if self.is_partial => format!("{listed_count} of at least {counted}"),
            0 => counted,
            _ => format!("{listed_count} of {counted}"),
        };
        let summary = Summary { kind, ..Summary::of_lines() };
        Ok(Some(summary.with(contents).listing(listed(&chosen, form))))
    }
}

/// Distinguishes public definitions from private ones, if the program marks either. Public ones are listed first.
fn openness(outline: &Outline) -> impl Fn(&Item) -> bool + use<> {
    let is_code = matches!(outline.form, Form::Code(_));
    let outer = || outline.items.iter().filter(|item| is_code && item.depth == 0);
    let opens = |item: &Item| OPEN.iter().any(|word| item.name.starts_with(word));
    let closes = |item: &Item| {
        item.name.contains('(') && CLOSED.iter().any(|word| item.name.starts_with(word))
            || unwrapped(&item.name).len() < item.name.len()
            || definition(&item.name).split_whitespace().nth(1).is_some_and(|name| name.starts_with('_'))
    };
    let (any_opens, any_closes) = (outer().any(opens), outer().any(closes));
    move |item| (!any_opens || opens(item)) && (!any_closes || !closes(item))
}

/// Words before a public definition, and before a private one.
const OPEN: &[&str] = &["pub ", "pub(", "export ", "public "];
const CLOSED: &[&str] = &["static ", "private ", "internal "];

/// Size of an item: the number of its parts, or of its lines.
fn extent(item: &Item) -> u64 {
    item.count.unwrap_or(item.last_line - item.line)
}

/// Lines of a list of items. Nested items are on the line of their parent, and definitions are all on one line.
fn listed(items: &[&CountedItem], form: Form) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let outermost = items.iter().map(|item| item.item.depth).min().unwrap_or(0);
    for CountedItem { item, times } in items {
        let name = match form {
            Form::Code(_) => definition(&item.name),
            _ if item.depth > outermost => item.name.split('(').next().unwrap_or_default(),
            _ => &item.name,
        };
        let goes_on = matches!(form, Form::Code(_)) || item.depth > outermost;
        let mut text = format!("{} {}", item.line, name.trim());
        if *times > 1 {
            text += &format!(" × {}", grouped(*times as u64));
        }
        match lines.last_mut().filter(|_| goes_on) {
            Some(line) => *line += &format!(" · {text}"),
            None => lines.push(text),
        }
    }
    lines
}

/// Modifiers before a definition.
const MODIFIERS: [&str; 13] = [
    "pub",
    "export",
    "default",
    "declare",
    "public",
    "private",
    "protected",
    "internal",
    "static",
    "final",
    "abstract",
    "override",
    "synchronized",
];

/// Keyword and name of a definition, without modifiers, parameters and type.
pub(crate) fn definition(name: &str) -> &str {
    let mut name = unwrapped(name);
    while let Some((word, rest)) = name.split_once(' ')
        && (MODIFIERS.contains(&word) || word.starts_with("pub("))
    {
        name = rest;
    }
    // A method in Go has its receiver before its name.
    let receiver = match name.strip_prefix("func (") {
        Some(rest) => rest.find(')').map_or(0, |end| name.len() - rest.len() + end),
        None => 0,
    };
    let end = name[receiver..].find(['(', ':', '{', '=']).map_or(name.len(), |end| receiver + end);
    &name[..end]
}

/// A definition in C without the macro around its type: `GIT_INLINE(bool) is_empty(void)`.
fn unwrapped(name: &str) -> &str {
    let is_macro =
        |word: &str| word.len() > 3 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let after =
        name.split_once('(').filter(|(word, _)| is_macro(word)).and_then(|(_, rest)| rest.split_once(") "));
    after.map(|(_, rest)| rest).filter(|rest| rest.contains('(')).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::plan::shown;
    use crate::digest::summarize::summary_of;
    use crate::outline;
    use crate::store::memory::output_of;

    #[test]
    fn sections_of_one_name_are_listed_once_with_their_number() {
        let part =
            |n: u64| format!("Certificate:\n    Version: 3\n    Serial: {n}\n    Issuer: CN=A{n}, C=ES\n");
        let text: String = (0..40).map(part).collect();
        let output = output_of(text.as_bytes());
        let outline = outline::outline(&output).unwrap();
        let gap = Gap::at(&output, &(200..output.len())).unwrap();
        let said = OutlineItems::new(outline).summary(&output, &gap, 60).unwrap().unwrap().facts();
        assert_eq!(said.matches("Certificate").count(), 1, "{said}");
        assert!(said.starts_with("with 37 sections\n"), "{said}");
        assert!(said.contains(" Certificate × 40"), "{said}");
    }

    #[test]
    #[cfg(feature = "lang-java")]
    fn the_count_of_a_program_that_is_parsed_in_part_is_a_least_one() {
        let method = |n: u64| format!("    int total{n}(int n) {{\n        return n + {n};\n    }}\n\n");
        let methods: String = (0..90).map(method).collect();
        let output = output_of(format!("package shop;\n\npublic class Cart {{\n{methods}}}\n").as_bytes());
        for (parsed, with) in [(u64::MAX, " of 91 definitions"), (1_000, " of at least ")] {
            let outline = outline::outline_parsing(&output, parsed).unwrap();
            let said = summary_of(&OutlineItems::new(outline), &output, 40).unwrap();
            assert!(said.contains(with), "{said}");
        }
    }

    #[test]
    fn public_definitions_are_listed_first() {
        for (open, closed) in [
            (
                "int git_open(int n)\n{\n\treturn n;\n}\n",
                "static int git_close(int n)\n{\n\tn++;\n\tn++;\n\treturn n;\n}\n",
            ),
            (
                "pub fn opens(n: u8) -> u8 {\n    n\n}\n",
                "fn closes(n: u8) -> u8 {\n    let n = n + 1;\n    n\n}\n",
            ),
            ("def opens(n):\n    return n\n", "def _closes(n):\n    n += 1\n    return n\n"),
        ] {
            let used = "#include <stdio.h>\nuse std::io;\nimport os\n";
            let text = used.lines().find(|line| match open.split(' ').next().unwrap() {
                "int" => line.starts_with('#'),
                "pub" => line.starts_with("use"),
                _ => line.starts_with("import"),
            });
            let text =
                format!("{}\n\n{closed}\n\n{open}\n\n{}", text.unwrap(), closed.replace("close", "shut"));
            let output = output_of(text.as_bytes());
            let outline = outline::outline(&output).unwrap();
            let said = summary_of(&OutlineItems::new(outline), &output, 8).unwrap();
            assert!(said.contains("open") && !said.contains("close") && !said.contains("shut"), "{said}");
        }
    }

    #[test]
    fn definitions_are_named_without_what_they_take() {
        for (name, expected) in [
            ("pub(crate) fn copy_at(bytes: &[u8]) -> usize", "fn copy_at"),
            ("pub trait ReadAt: Send + Sync", "trait ReadAt"),
            ("impl ReadAt for Vec<u8>", "impl ReadAt for Vec<u8>"),
            ("def total(self, discount=0)", "def total"),
            ("export function add(a, b)", "function add"),
            ("public_key = 3", "public_key "),
            ("func (c *Command) Name() string", "func (c *Command) Name"),
            ("func main()", "func main"),
            ("public static final int total(int discount)", "int total"),
            ("static void make(int x)", "void make"),
            ("GIT_INLINE(bool) is_empty(const git_oid *id)", "is_empty"),
            ("TEST(Parser, reads)", "TEST"),
        ] {
            assert_eq!(definition(name), expected);
        }
    }

    #[test]
    fn of_many_files_in_a_diff_or_a_search_the_largest_are_named() {
        let mut text = String::new();
        for file in 0..80 {
            let lines = if file == 50 { 40 } else { 2 };
            (0..lines).for_each(|line| text += &format!("src/part_{file}.rs:{line}:the word\n"));
        }
        let text = shown(recognize, &text, Form::Matches, 400);
        assert!(text.contains("src/part_50.rs: 40 matches"), "{text}");
        let counts: String =
            (0..300).map(|n| format!("src/part_{n}.rs:{}\n", if n == 150 { 9_000 } else { n % 7 })).collect();
        let text = shown(recognize, &counts, Form::Matches, 400);
        assert!(text.contains("src/part_150.rs: 9,000 matches"), "{text}");
    }
}
