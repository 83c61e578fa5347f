//! What is said of the part of an output that is not shown, from its outline: files, definitions, headings, columns.

use crate::classify::form::Form;
use crate::digest::ends::{Summarize, fitting, list_tokens};
use crate::outline::{Item, Outline};
use crate::view::Summary;
use crate::view::print::Gap;
use crate::{Output, Result};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// No more things than these are listed.
const MOST: usize = 400;

/// The things of an outline in the order in which they are said: the outer ones before what lies in them, and of files
/// and definitions the largest first.
pub(crate) struct Things<'a> {
    outline: &'a Outline,
    order: Vec<&'a Item>,
    /// How many of a depth are called the same, where these are many. Of definitions each is said.
    called: HashMap<(u32, &'a str), usize>,
}

/// So many that are called the same are said as one.
const SAME: usize = 4;

impl<'a> Things<'a> {
    pub(crate) fn of(outline: &'a Outline) -> Things<'a> {
        let by_size = matches!(outline.form, Form::Diff | Form::Matches | Form::Code(_));
        let mut called: HashMap<(u32, &str), usize> = HashMap::new();
        for item in outline.items.iter().filter(|_| !by_size) {
            *called.entry((item.depth, &item.name)).or_default() += 1;
        }
        called.retain(|_, count| *count >= SAME);
        let mut order: Vec<&Item> = outline.items.iter().collect();
        let is_open = openness(outline);
        order.sort_by_key(|item| {
            (item.depth, !is_open(item), Reverse(if by_size { extent(item) } else { 0 }))
        });
        Things { outline, order, called }
    }

}

impl Summarize for Things<'_> {
    /// Items that begin in a gap.
    fn summary(&self, _: &Output, gap: &Gap, room: u64) -> Result<Option<Summary>> {
        let form = self.outline.form;
        let lines = gap.lines.0..=gap.lines.1;
        let is_inside = |item: &&&Item| lines.contains(&item.line);
        let Some(first) = self.order.iter().find(is_inside) else { return Ok(None) };
        let mut chosen: Vec<&Item> = Vec::new();
        let times = |item: &Item| self.called.get(&(item.depth, &*item.name)).copied().unwrap_or(1);
        for group in self.order.chunk_by(|a, b| a.depth == b.depth) {
            let mut said = HashSet::new();
            let inside = group.iter().filter(is_inside).copied();
            let new = inside.filter(|item: &&Item| times(item) == 1 || said.insert(item.name.as_str()));
            let next: Vec<&Item> = new.take(MOST + 1).collect();
            let with = |count: usize| {
                let mut with: Vec<&Item> = chosen.iter().chain(&next[..count]).copied().collect();
                with.sort_by_key(|item| (item.line, item.depth));
                with
            };
            let fits = |count: usize| list_tokens(&listed(&with(count), form, times)) <= room;
            let count = fitting(next.len().min(MOST), fits);
            chosen = with(count);
            if count < next.len() {
                break;
            }
        }
        // Files have parts, and what lies in other things is of the same kind as these.
        let is_counted =
            |item: &&&Item| item.depth == first.depth || !matches!(form, Form::Diff | Form::Matches);
        let count: usize = chosen.iter().filter(is_counted).map(|item| times(item)).sum();
        if count == 0 {
            return Ok(None);
        }
        let inside = || self.order.iter().filter(is_inside);
        let all = inside().filter(is_counted).count();
        // Some that are called the same may be shown.
        let count = count.min(all);
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
            Form::Text if inside().all(|item| item.kind == first.kind) => first.kind,
            Form::Text => "part",
            Form::Markdown | Form::Rst | Form::Html => "heading",
            _ => "part",
        };
        let counted = crate::text::count::count(noun, all as u64);
        let with = match all - count {
            _ if self.outline.more > 0 => format!("{count} of more than {counted}"),
            // Where a program is not parsed, some are not found.
            _ if self.outline.note.is_some() => format!("{count} of at least {counted}"),
            0 => counted,
            _ => format!("{count} of {counted}"),
        };
        let summary = Summary { kind, ..Summary::of_lines() };
        Ok(Some(summary.with(with).listing(listed(&chosen, form, times))))
    }
}

/// Which definitions others may use, where a program says so: then those are said before the rest.
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

/// Words before a definition that let others use it, and such as do not.
const OPEN: &[&str] = &["pub ", "pub(", "export ", "public "];
const CLOSED: &[&str] = &["static ", "private ", "internal "];

/// How much there is of a thing: what was counted in it, or its lines.
fn extent(item: &Item) -> u64 {
    item.count.unwrap_or(item.last_line - item.line)
}

/// Items, a line each; those inside others on the line of these, and definitions all on one.
fn listed(items: &[&Item], form: Form, times: impl Fn(&Item) -> usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let outermost = items.iter().map(|item| item.depth).min().unwrap_or(0);
    for item in items {
        let name = match form {
            Form::Code(_) => definition(&item.name),
            _ if item.depth > outermost => item.name.split('(').next().unwrap_or_default(),
            _ => &item.name,
        };
        let goes_on = matches!(form, Form::Code(_)) || item.depth > outermost;
        let mut text = format!("{} {}", item.line, name.trim());
        if let times @ 2.. = times(item) {
            text += &format!(" × {}", crate::text::count::grouped(times as u64));
        }
        match lines.last_mut().filter(|_| goes_on) {
            Some(line) => *line += &format!(" · {text}"),
            None => lines.push(text),
        }
    }
    lines
}

/// Words before a definition that say who may use it and how.
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

/// What is defined, without who may use it and what it takes and gives.
pub(crate) fn definition(name: &str) -> &str {
    let mut name = unwrapped(name);
    while let Some((word, rest)) = name.split_once(' ')
        && (MODIFIERS.contains(&word) || word.starts_with("pub("))
    {
        name = rest;
    }
    // What a method of Go belongs to stands before its name.
    let receiver = match name.strip_prefix("func (") {
        Some(rest) => rest.find(')').map_or(0, |end| name.len() - rest.len() + end),
        None => 0,
    };
    let end = name[receiver..].find(['(', ':', '{', '=']).map_or(name.len(), |end| receiver + end);
    &name[..end]
}

/// A definition without the macro of C before it that says what it gives: `GIT_INLINE(bool) is_empty(void)`.
fn unwrapped(name: &str) -> &str {
    let is_macro =
        |word: &str| word.len() > 3 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let after =
        name.split_once('(').filter(|(word, _)| is_macro(word)).and_then(|(_, rest)| rest.split_once(") "));
    after.map(|(_, rest)| rest).filter(|rest| rest.contains('(')).unwrap_or(name)
}

/// Columns of a table, those first of which something is known.
pub(crate) struct Columns<'a>(pub(crate) &'a Outline);

impl Summarize for Columns<'_> {
    fn summary(&self, _: &Output, _: &Gap, room: u64) -> Result<Option<Summary>> {
        Ok(columns(self.0, room))
    }
}

fn columns(outline: &Outline, room: u64) -> Option<Summary> {
    let (table, columns) = outline.items.split_first()?;
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|&column| std::cmp::Reverse(columns[column].count));
    let listed = |count: usize| {
        let mut told = order[..count].to_vec();
        told.sort_unstable();
        told.iter().map(|&column| columns[column].name.clone()).collect::<Vec<String>>()
    };
    let count = fitting(columns.len().min(MOST), |count| list_tokens(&listed(count)) <= room);
    let more = match columns.len() - count {
        0 => String::new(),
        more => format!(", {} not said", crate::text::count::count("column", more as u64)),
    };
    let summary = Summary::of_lines().of_kind("a table");
    Some(summary.saying(format!("{}{more}", table.name)).listing(listed(count)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::ends::summary_of;
    use crate::outline;
    use crate::store::memory::output_of;

    #[test]
    fn sections_that_are_called_the_same_are_said_once_with_how_many_there_are() {
        let part =
            |n: u64| format!("Certificate:\n    Version: 3\n    Serial: {n}\n    Issuer: CN=A{n}, C=ES\n");
        let text: String = (0..40).map(part).collect();
        let output = output_of(text.as_bytes());
        let outline = outline::outline(&output).unwrap();
        let gap = Gap::at(&output, &(200..output.len())).unwrap();
        let said = Things::of(&outline).summary(&output, &gap, 60).unwrap().unwrap().facts();
        assert_eq!(said.matches("Certificate").count(), 1, "{said}");
        assert!(said.starts_with("with 37 sections\n"), "{said}");
        assert!(said.contains(" Certificate × 40"), "{said}");
    }

    #[test]
    fn of_many_columns_those_are_said_of_which_something_can_be_told() {
        let mut text = "first note,second note,third note,colour,amount\n".to_owned();
        (0..200).for_each(|n| {
            text += &format!("what {n} is,how {n} came,why {n} went,{},{n}\n", ["red", "blue"][n % 2]);
        });
        let output = output_of(text.as_bytes());
        let outline = outline::outline(&output).unwrap();
        let said = summary_of(&Columns(&outline), &output, 24).unwrap();
        assert!(said.contains("\ncolour: red × 100, blue × 100") && !said.contains("first note"), "{said}");
    }

    #[test]
    #[cfg(feature = "lang-java")]
    fn of_a_program_that_is_not_parsed_to_its_end_no_count_is_said_to_be_whole() {
        let method = |n: u64| format!("    int total{n}(int n) {{\n        return n + {n};\n    }}\n\n");
        let methods: String = (0..90).map(method).collect();
        let output = output_of(format!("package shop;\n\npublic class Cart {{\n{methods}}}\n").as_bytes());
        for (parsed, with) in [(u64::MAX, " of 91 definitions"), (1_000, " of at least ")] {
            let outline = outline::outline_parsing(&output, parsed).unwrap();
            let said = summary_of(&Things::of(&outline), &output, 40).unwrap();
            assert!(said.contains(with), "{said}");
        }
    }

    #[test]
    fn what_others_may_use_is_said_first() {
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
            let said = summary_of(&Things::of(&outline), &output, 8).unwrap();
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
}
