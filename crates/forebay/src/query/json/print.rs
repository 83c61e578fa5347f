//! The results of a filter and the shape of a document, as excerpts.

use crate::classify::form::Form;
use crate::classify::stdout::Stdout;
use crate::outline::json::{JsonPath, Shape};
use crate::query::{Excerpt, Found, fitted};
use crate::request::filter::{Ended, Filter, Total, Values};
use crate::text::count::grouped;
use crate::{Budget, Output, Query, Result};

/// The results of a filter, as many as fit.
pub(crate) fn values(output: &Output, filter: &Filter, budget: Budget) -> Result<Excerpt> {
    // Quotes and brackets are tokens of their own, so that no token of JSON has more than a few bytes.
    let enough = budget.bytes.min(budget.tokens.saturating_mul(8));
    let found = crate::query::json::bounded(output, filter, enough)?;
    // Where not even the first value fits, its beginning is shown.
    let mut cut = usize::MAX;
    loop {
        let text = |count: usize| values_text(output, filter, &found, count, cut);
        let count = fitted(found.values.len(), budget, |count| text(count).0.into_bytes());
        if count == 0 && !found.values.is_empty() && cut > 16 {
            cut = cut.min(found.values[0].json.len()) / 2;
            continue;
        }
        let (text, next) = text(count);
        let shown = Values { values: found.values[..count].to_vec(), ..found };
        return Ok(Excerpt {
            text: text.into_bytes(),
            shown: shown.values.iter().filter_map(|value| value.at.clone()).collect(),
            lines: None,
            total_lines: output.lines()?,
            next,
            growing: output.is_growing(),
            found: Found::Values(shown),
        });
    }
}

fn values_text(
    output: &Output,
    filter: &Filter,
    found: &Values,
    count: usize,
    cut: usize,
) -> (String, Option<Query>) {
    let handle = output.record().handle.short();
    let grows = if output.is_growing() { ", still growing" } else { "" };
    let total = match found.total {
        Total::Exactly(0) | Total::AtLeast(0) => "no value".to_owned(),
        Total::Exactly(1) => "1 value".to_owned(),
        Total::Exactly(many) => format!("{} values", grouped(many)),
        Total::AtLeast(many) => format!("at least {} values", grouped(many)),
    };
    let last = filter.skip + count as u64;
    let (Total::Exactly(all) | Total::AtLeast(all)) = found.total;
    let which = match (filter.skip, last < all) {
        (0, false) => String::new(),
        _ if count == 0 => String::new(),
        _ => format!(", {}–{} shown", grouped(filter.skip + 1), grouped(last)),
    };
    let mut text = format!("[{total}{which}{grows} · {handle}]\n");
    for value in &found.values[..count] {
        let end =
            (0..=cut.min(value.json.len())).rev().find(|&at| value.json.is_char_boundary(at)).unwrap_or(0);
        text.push_str(&value.json[..end]);
        if (end as u64) < value.length {
            let [shown, length] = [end as u64, value.length].map(grouped);
            text.push_str(&format!(
                "…\n[{shown} of its {length} bytes: narrow the filter to see more of it]"
            ));
        }
        text.push('\n');
    }
    match &found.ended {
        Ended::AllRead => {}
        Ended::Stopped { why } => text.push_str(&format!("[stopped: {why}]\n")),
        Ended::Failed { error } => text.push_str(&format!("[the filter failed: {error}]\n")),
        Ended::Broken(what) => text.push_str(&format!("[not JSON any more: {what}]\n")),
    }
    let next = (count > 0 && last < all).then(|| Query::Json(Filter { skip: last, ..filter.clone() }));
    if let Some(next) = &next {
        text.push_str(&format!("[next: {}]\n", output.call(next)));
    }
    (text, next)
}

/// Maximum characters of the description of a path.
const LONGEST: usize = 300;

/// The shape of a document: its paths from number `skip` on, as many as fit.
pub(crate) fn shape(output: &Output, skip: u64, budget: Budget) -> Result<Excerpt> {
    let stdout = Stdout::of(output)?.filter(|stdout| stdout.form == Form::Json);
    let shape = crate::outline::json::shape(stdout.as_ref().map_or(output, |stdout| &stdout.output))?;
    if shape.paths.is_empty() && !output.is_empty() {
        crate::query::json::check(output)?;
    }
    let from = usize::try_from(skip).unwrap_or(usize::MAX).min(shape.paths.len());
    let lines: Vec<String> = shape.paths[from..].iter().map(path_line).collect();
    let text = |count: usize| shape_text(output, &shape, &lines[..count], from);
    let count = fitted(lines.len(), budget, |count| text(count).0.into_bytes());
    let (text, next) = text(count);
    Ok(Excerpt {
        text: text.into_bytes(),
        shown: Vec::new(),
        lines: None,
        total_lines: output.lines()?,
        next,
        growing: output.is_growing(),
        found: Found::Shape(Shape { paths: shape.paths[from..from + count].to_vec(), ..shape }),
    })
}

fn shape_text(output: &Output, shape: &Shape, lines: &[String], from: usize) -> (String, Option<Query>) {
    let handle = output.record().handle.short();
    let grows = if output.is_growing() { ", still growing" } else { "" };
    let documents = match shape.documents {
        1 => "1 document".to_owned(),
        many => format!("{} documents", grouped(many)),
    };
    let until = from + lines.len();
    let paths = match (from, until < shape.paths.len()) {
        (0, false) => format!("{} paths", shape.paths.len()),
        _ => format!("paths {}–{until} of {}", from + 1, shape.paths.len()),
    };
    let mut text = format!("[shape of {documents}, {paths}{grows} · {handle}]\n{}", lines.concat());
    if let Some(broken) = &shape.broken {
        text.push_str(&format!("[not JSON from byte {} on: {}]\n", grouped(broken.at), broken.why));
    }
    if shape.more {
        text.push_str("[there are more or deeper paths than are listed]\n");
    }
    let next = (until > from && until < shape.paths.len()).then_some(Query::Shape { skip: until as u64 });
    let call = match &next {
        Some(next) => format!("[next: {}]\n", output.call(next)),
        None => String::new(),
    };
    (text + &call, next)
}

/// A path with the types and values at it.
fn path_line(path: &JsonPath) -> String {
    let types: Vec<String> = match path.types.as_slice() {
        [(one, _)] => vec![(*one).to_owned()],
        many => many.iter().map(|(name, count)| format!("{name} ×{}", grouped(*count))).collect(),
    };
    let mut line = format!("{}  {}", path.path, types.join(", "));
    if path.count > 1 {
        line.push_str(&format!(" ×{}", grouped(path.count)));
    }
    let between = |what: &str, least: u64, most: u64| {
        if least == most {
            format!(", {} {what}", grouped(most))
        } else {
            format!(", {}–{} {what}", grouped(least), grouped(most))
        }
    };
    if let Some((least, most)) = path.items {
        line.push_str(&between("items", least, most));
    }
    if let Some(keys) = &path.keys {
        line.push_str(&between("keys", keys.fewest, keys.most));
        line.push_str(&format!(" such as {}", keys.examples.join(", ")));
    }
    match (&path.distinct, &path.numbers) {
        (Some(distinct), _) if path.count > 1 => {
            let value = |(value, count): &(String, u64)| match count {
                1 => value.clone(),
                many => format!("{value} ×{}", grouped(*many)),
            };
            let values: Vec<String> = distinct.iter().map(value).collect();
            line.push_str(&format!(": {}", values.join(", ")));
        }
        (_, Some((least, most))) if least != most => line.push_str(&format!(", {least} to {most}")),
        _ if !path.examples.is_empty() => line.push_str(&format!(": {}", path.examples.join(", "))),
        _ => {}
    }
    if let Some((cut, _)) = line.char_indices().nth(LONGEST) {
        line.truncate(cut);
        line.push('…');
    }
    line + "\n"
}
