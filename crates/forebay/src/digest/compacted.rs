//! Outputs in a compact form: whole if that fits, otherwise the rows that matter to the session.

use crate::classify::form::{self, Form};
use crate::compact::{self, Compact, Row, lines_of};
use crate::digest::frame::{frame_tokens, stating};
use crate::digest::plan::{Plan, Wanted};
use crate::digest::probe::Probe;
use crate::digest::rows::{self, RowChoice};
use crate::digest::{run, totals};
use crate::formats::verdict;
use crate::outline::{self, Item, Outline};
use crate::rank::interest::Interest;
use crate::view::{Canvas, CompactForm, Piece, Summary, View, Why, Wording};
use crate::weights::rows as weights;
use crate::{Budget, Kind, Output, Result, rank, tokens};
use std::collections::HashSet;
use std::ops::Range;

/// A rendering and its form; `None` for unchanged lines.
struct Rendered {
    form: Option<CompactForm>,
    compact: Compact,
    /// Sections of a document, each with its first row.
    sections: Vec<Section>,
}

/// A section of a document.
struct Section {
    row: usize,
    depth: u32,
    title: String,
}

/// Plans the view of an output that fits the budget in a compact form.
pub(crate) fn recognize_whole<'p>(
    probe: &'p Probe<'p>,
    _: &Wanted,
    budget: Budget,
) -> Result<Option<Plan<'p>>> {
    Ok(whole_view(probe, budget)?.map(Plan::View))
}

/// View of a whole output in a compact form, if that fits the budget.
pub(crate) fn whole_view(probe: &Probe, budget: Budget) -> Result<Option<View>> {
    let output = probe.output;
    let Some(bytes) = bytes(probe)?.filter(|bytes| !bytes.is_empty()) else { return Ok(None) };
    let form = match form_of(probe, bytes)? {
        Some(form) => form,
        None => CompactForm::Lines,
    };
    if matches!(probe.form()?, Form::Html) && form == CompactForm::Lines {
        return Ok(None);
    }
    // With a small budget, unusual facts about a few files are worth more than the names of all.
    let is_small = budget.tokens < weights::MIN_BUDGET;
    if form == CompactForm::Folders && is_small && compact::listing::is_long(bytes) {
        return Ok(None);
    }
    let Some(compact) = compact::render_within(form, bytes, most_bytes(budget)) else { return Ok(None) };
    whole(output, form, &compact, budget)
}

/// Maximum bytes of a text that can fit a budget.
fn most_bytes(budget: Budget) -> u64 {
    budget.bytes.min(budget.tokens * weights::MAX_TOKEN_BYTES)
}

/// Bytes of an output that may have a compact form.
fn bytes<'p>(probe: &'p Probe) -> Result<Option<&'p [u8]>> {
    let output = probe.output;
    let is_plain =
        output.record().kind != Kind::Binary && output.lost().is_empty() && output.len() <= compact::LARGEST;
    if is_plain { probe.whole() } else { Ok(None) }
}

/// Compact form of an output that is not plain lines.
fn form_of(probe: &Probe, bytes: &[u8]) -> Result<Option<CompactForm>> {
    Ok(match probe.form()? {
        Form::Json => Some(CompactForm::Records { detail: 0, text: u32::MAX }),
        Form::Matches => Some(CompactForm::Matches),
        Form::Listing => Some(CompactForm::Folders),
        _ if compact::numbered::is_numbered(bytes) => Some(CompactForm::Numbered),
        // `ls -R` prints its names in columns.
        Form::Text | Form::Table if compact::listing::is_recursive(bytes) => Some(CompactForm::Folders),
        _ => None,
    })
}

/// View of a whole output in a compact form, if it fits the budget.
fn whole(output: &Output, form: CompactForm, compact: &Compact, budget: Budget) -> Result<Option<View>> {
    let text = compact.text();
    if text.len() as u64 > most_bytes(budget) {
        return Ok(None);
    }
    let piece = Piece::Rendered { range: 0..output.len(), on: Canvas::Compact(form) };
    let view = View::new(output.len(), vec![piece], Wording::Ranges)?;
    let view = View { surface: output.surface().clone(), ..view };
    let view = stating(view, output, budget, &compact.note)?;
    let text = view.print_from(output, compact)?;
    Ok(Some(view).filter(|_| budget.holds(&text)))
}

/// Plans the view of JSON: as a table, with as much detail as fits.
pub(crate) fn recognize_records<'p>(
    probe: &'p Probe<'p>,
    _: &Wanted,
    budget: Budget,
) -> Result<Option<Plan<'p>>> {
    let output = probe.output;
    if probe.form()? != Form::Json || budget.tokens < weights::MIN_BUDGET {
        return Ok(None);
    }
    let Some(bytes) = bytes(probe)? else { return Ok(None) };
    let (detail, text) = weights::CHOSEN_DETAIL;
    let form = CompactForm::Records { detail, text };
    let Some(compact) = compact::render(form, bytes) else { return Ok(None) };
    // If all records do not fit with the least detail, they do not fit with more.
    if let Some(least) = whole(output, form, &compact, budget)? {
        for (detail, text) in weights::DETAILS {
            let form = CompactForm::Records { detail, text };
            let Some(compact) = compact::render_within(form, bytes, most_bytes(budget)) else { continue };
            if let Some(view) = whole(output, form, &compact, budget)? {
                return Ok(Some(Plan::View(view)));
            }
        }
        return Ok(Some(Plan::View(least)));
    }
    let rendered = Rendered { form: Some(form), compact, sections: Vec::new() };
    let budget = sampled(budget, size(&rendered.compact), weights::LARGE_FILE);
    let rows = &rendered.compact.rows;
    let (unusual, counts) = (rows::unusual_records(rows), rows::value_counts(rows));
    let choose = |choice: &mut RowChoice| {
        choice.restart(tokens::count(&counts) as f32);
        choice.without_like_records(rows);
        choice.prefer(&unusual);
        choice.take_outer(rows);
        choice.take_ends(weights::RECORDS_ENDS);
        choice.take_best();
    };
    chosen_stating(probe, &rendered, budget, budget.tokens, choose, |_| counts.clone())
}

/// Plans the view of an output by choosing rows: reads, searches, listings and runs that succeeded.
pub(crate) fn recognize_rows<'p>(
    probe: &'p Probe<'p>,
    wanted: &Wanted,
    budget: Budget,
) -> Result<Option<Plan<'p>>> {
    let form = probe.form()?;
    if matches!(form, Form::Html | Form::Json | Form::Binary) || budget.tokens < weights::MIN_BUDGET {
        return Ok(None);
    }
    let Some(bytes) = bytes(probe)? else { return Ok(None) };
    let compact_form = form_of(probe, bytes)?;
    // For these, a summary says more than any of their rows.
    let is_summed_up = matches!(form, Form::Log | Form::TestRun | Form::Table | Form::Diff)
        || form::is_sql(probe.output)?
        || form::is_history(probe.output)?;
    if compact_form.is_none() && is_summed_up {
        return Ok(None);
    }
    // File names and quoted programs may mention errors without reporting any.
    let is_listed = matches!(compact_form, Some(CompactForm::Numbered | CompactForm::Folders));
    if !is_listed && run::reports_failure(probe)? {
        return Ok(None);
    }
    let is_read = probe.call().reads();
    let rendered = match compact_form.and_then(|form| Some((form, compact::render(form, bytes)?))) {
        Some((form, compact)) => Rendered { form: Some(form), compact, sections: Vec::new() },
        None => lines(is_read, bytes),
    };
    let rows = &rendered.compact.rows;
    let answering = answering(probe, wanted, rows)?;
    // A larger list needs more tokens, but not in proportion.
    let least = budget.tokens.min(weights::SMALL_BUDGET);
    let size = size(&rendered.compact);
    let grown = budget.tokens.min((least * size).isqrt());
    let budget = match compact_form {
        Some(CompactForm::Folders) => budget,
        Some(CompactForm::Matches) => sampled(budget, size, weights::LARGE_SEARCH),
        _ => sampled(budget, size, weights::LARGE_FILE),
    };
    let grown = grown.min(budget.tokens);
    match rendered.form {
        Some(CompactForm::Matches) => matches(probe, &rendered, budget, grown),
        Some(CompactForm::Folders) => chosen(probe, &rendered, budget, grown, |choice| {
            choice.prefer(&rows::unusual_entries(rows));
            choice.without_like(rows, true);
            choice.take_names(rows, &rendered.compact.groups);
        }),
        Some(CompactForm::Numbered) => read(probe, rendered, budget, &answering),
        _ if is_read || matches!(form, Form::Code(_)) => read(probe, rendered, budget, &answering),
        _ => {
            let changes = rows::largest_changes(rows);
            let is_alike = changes.is_none();
            let unusual = changes.or_else(|| rows::unusual_lines(rows));
            let (most, ends) = match &unusual {
                Some(_) if is_alike => (weights::ALIKE_TOKENS, weights::ALIKE_ENDS),
                Some(_) => (weights::CHANGES_TOKENS, weights::RUN_ENDS),
                None if probe.exited_well() => (weights::SUCCEEDED_TOKENS, weights::SUCCEEDED_ENDS),
                None => (budget.tokens, weights::RUN_ENDS),
            };
            let totals = totals::rows(rows);
            let stated = if is_alike { "" } else { "the largest changes are shown" };
            // In a run that succeeded, and among similar lines, further similar rows add nothing.
            let adds_nothing = unusual.is_some() || probe.exited_well();
            let choose = |choice: &mut RowChoice| {
                choice.prefer(unusual.as_deref().unwrap_or_default());
                choice.prefer(&totals);
                choice.add(&answering);
                choice.take_ends(ends);
                if adds_nothing {
                    choice.take_scored();
                } else {
                    choice.take_best();
                }
            };
            chosen_stating(probe, &rendered, budget, most, choose, |_| stated.to_owned())
        }
    }
}

/// Plans the view of search results: the best matches of each file, and the names of the files that show none.
fn matches<'p>(
    probe: &'p Probe<'p>,
    rendered: &Rendered,
    budget: Budget,
    most: u64,
) -> Result<Option<Plan<'p>>> {
    let Compact { rows, groups, .. } = &rendered.compact;
    let room = (most as f32 * weights::NAMES_OF_FILES) as u64;
    let choose = |choice: &mut RowChoice| {
        choice.without_like(rows, false);
        choice.take_matches(rows);
        if rows::hides_groups(rows, choice.chosen()) {
            choice.restart(room as f32);
            choice.take_matches(rows);
        }
    };
    chosen_stating(probe, rendered, budget, most, choose, |kept| {
        rows::hidden_groups(rows, groups, kept, room)
    })
}

/// Plans the view of a file that was read: its beginning and whole definitions.
fn read<'p>(
    probe: &'p Probe<'p>,
    rendered: Rendered,
    budget: Budget,
    answering: &[f32],
) -> Result<Option<Plan<'p>>> {
    let outline = outline::outline_parsing(probe.output, weights::MAX_PARSED_PROGRAM)?;
    let rendered = &Rendered { sections: sections(&outline, rendered.compact.rows.len()), ..rendered };
    let blocks = blocks(&outline, &rendered.compact);
    let rows = &rendered.compact.rows;
    // If most blocks begin with the same line, such as `[[package]]`, their first lines say nothing.
    let heads: HashSet<&[u8]> = blocks.iter().map(|block| &rows[block.start].text[..]).collect();
    let has_heads = heads.len() * 2 > blocks.len();
    chosen(probe, rendered, budget, budget.tokens, |choice| {
        choice.add(answering);
        choice.take_ends(weights::READ_ENDS);
        choice.take_blocks(&blocks, has_heads);
        choice.take_best();
    })
}

/// Scores of rows by how well they answer the intent of the call.
fn answering(probe: &Probe, wanted: &Wanted, rows: &[Row]) -> Result<Vec<f32>> {
    let mut scores = vec![0.0; rows.len()];
    let Some(intent) = wanted.intent() else { return Ok(scores) };
    let mut units = rank::answering(probe.output, intent)?;
    units.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.index.cmp(&b.index)));
    units.truncate(weights::ANSWERS);
    let best = units.first().map_or(1.0, |unit| unit.score.max(f32::MIN_POSITIVE));
    for unit in &units {
        let first = rows.partition_point(|row| row.start <= unit.range.start).saturating_sub(1);
        let end = rows.partition_point(|row| row.start < unit.range.end);
        for score in &mut scores[first..end.max(first)] {
            *score = f32::max(*score, weights::ANSWERING_ROW * unit.score / best);
        }
    }
    Ok(scores)
}

/// Rows of lines: unchanged if a file is read, since an edit repeats them; otherwise as a screen shows them.
fn lines(as_they_are: bool, bytes: &[u8]) -> Rendered {
    let shown = || compact::render(CompactForm::Lines, bytes).unwrap_or_default();
    if as_they_are {
        let row = |(start, line): (u64, &[u8])| Row { start, text: line.to_vec(), ..Row::default() };
        return Rendered {
            form: None,
            compact: Compact { rows: lines_of(bytes).map(row).collect(), ..Compact::default() },
            sections: Vec::new(),
        };
    }
    let compact = shown();
    let form = (compact.text() != bytes).then_some(CompactForm::Lines);
    Rendered { form, compact, sections: Vec::new() }
}

/// Definitions of a program, as ranges of rows. The lines before the first definition are a block too.
fn blocks(outline: &Outline, compact: &Compact) -> Vec<Range<usize>> {
    let mut starts: Vec<usize> = vec![0];
    let count = compact.rows.len();
    for item in outline.items.iter().filter(|item| item.depth <= weights::MAX_BLOCK_DEPTH) {
        let mut at = (item.line as usize).saturating_sub(1).min(count);
        // Comments and attributes belong to what follows them.
        while at > 0 && is_comment(&compact.rows[at - 1].text) {
            at -= 1;
        }
        starts.push(at);
    }
    if starts.len() == 1 {
        // Paragraphs, if there are no definitions.
        let is_blank = |row: &Row| row.text.trim_ascii().is_empty();
        starts
            .extend((1..count).filter(|&at| is_blank(&compact.rows[at - 1]) && !is_blank(&compact.rows[at])));
    }
    starts.push(count);
    starts.sort_unstable();
    starts.dedup();
    starts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// Sections of a document. A program needs none, since the first lines of its definitions are shown.
fn sections(outline: &Outline, rows: usize) -> Vec<Section> {
    if matches!(outline.form, Form::Code(_)) {
        return Vec::new();
    }
    let items = outline.items.iter().filter(|item| item.depth <= weights::MAX_SECTION_DEPTH);
    let section = |item: &Item| Section {
        row: (item.line as usize).saturating_sub(1).min(rows),
        depth: item.depth,
        title: crate::shortened(item.name.trim(), weights::SECTION_TITLE),
    };
    items.map(section).collect()
}

/// Names the sections that begin in a range of rows: the outermost ones if there are many.
fn named(sections: &[Section], rows: Range<usize>) -> Option<String> {
    let first = sections.partition_point(|section| section.row < rows.start);
    let end = sections.partition_point(|section| section.row < rows.end);
    let hidden = &sections[first..end];
    let outermost = hidden.iter().map(|section| section.depth).min()?;
    let is_named = |section: &&Section| hidden.len() <= weights::NAMED_SECTIONS || section.depth == outermost;
    let titles: Vec<&str> = hidden.iter().filter(is_named).map(|section| section.title.as_str()).collect();
    let more = titles.len().saturating_sub(weights::NAMED_SECTIONS);
    let listed = titles[..titles.len() - more].join(", ");
    Some(if more > 0 { format!("{listed} and {more} more") } else { listed })
}

fn is_comment(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let line = line[digits..].trim_ascii_start();
    let line = line.strip_prefix("→".as_bytes()).unwrap_or(line).trim_ascii_start();
    [&b"//"[..], b"#", b"*", b"/*", b"@", b"--", b"\"\"\""].iter().any(|mark| line.starts_with(mark))
}

/// View of chosen rows, in `most` tokens of the budget.
fn chosen<'p>(
    probe: &'p Probe<'p>,
    rendered: &Rendered,
    budget: Budget,
    most: u64,
    choose: impl Fn(&mut RowChoice),
) -> Result<Option<Plan<'p>>> {
    chosen_stating(probe, rendered, budget, most, choose, |_| String::new())
}

/// View of chosen rows, with a statement about the others.
fn chosen_stating<'p>(
    probe: &'p Probe<'p>,
    rendered: &Rendered,
    budget: Budget,
    most: u64,
    choose: impl Fn(&mut RowChoice),
    state: impl Fn(&[bool]) -> String,
) -> Result<Option<Plan<'p>>> {
    let output = probe.output;
    let rows = &rendered.compact.rows;
    let texts: Vec<&[u8]> = rows.iter().map(|row| row.fresh.as_deref().unwrap_or(&row.text)).collect();
    let interest = Interest::of(output);
    let cost = costs(&rendered.compact);
    let score: Vec<f32> = interest
        .scores(&texts)
        .into_iter()
        .zip(&texts)
        .zip(&cost)
        .map(|((score, text), cost)| {
            let failure = if verdict::is_told(text) { weights::ERROR_LINE } else { 0.0 };
            (score + failure) / (weights::SHORT_ROW + cost.max(1.0).sqrt())
        })
        .collect();
    let facts = facts(&rendered.compact.note, &interest, &texts);
    let most = most.min(budget.tokens);
    let room = most.saturating_sub(frame_tokens(output, budget) + tokens::count(&facts)) as f32;
    for share in weights::TRIES {
        let mut choice = RowChoice::new(cost.clone(), score.clone(), room * share);
        choose(&mut choice);
        let kept = choice.kept();
        if !kept.contains(&true) {
            continue;
        }
        let parts = [facts.clone(), state(&kept)];
        let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        let view = showing(output, rendered, &kept, budget, &parts.join("; "))?;
        if budget.holds(&view.print_from(output, &rendered.compact)?) {
            return Ok(Some(Plan::View(view)));
        }
    }
    Ok(None)
}

/// Facts for the first line of a view: those of its form, and the words that were searched for.
fn facts(note: &str, interest: &Interest, texts: &[&[u8]]) -> String {
    let text = texts.concat();
    let names: Vec<&str> = interest.names_in(&text).into_iter().take(weights::NAMED).collect();
    let sought = if names.is_empty() { String::new() } else { format!("looked for {}", names.join(", ")) };
    let parts: Vec<&str> = [note, &sought].into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("; ")
}

/// Approximate tokens of a rendering.
fn size(compact: &Compact) -> u64 {
    costs(compact).iter().sum::<f32>() as u64
}

/// Budget for chosen rows of an output of `size` tokens. The view of a much larger output is only a sample, and a
/// larger sample hardly raises the chance that it includes a needed row.
fn sampled(budget: Budget, size: u64, large: f64) -> Budget {
    let large = (budget.tokens as f64 * large).max(1.0);
    let share = (large / size.max(1) as f64).sqrt().clamp(weights::LEAST_SAMPLE, 1.0);
    let least = weights::MIN_BUDGET.min(budget.tokens);
    Budget { tokens: ((budget.tokens as f64 * share) as u64).max(least), ..budget }
}

/// Approximate tokens of each row: its bytes times the average tokens per byte of a sample of the rendering.
fn costs(compact: &Compact) -> Vec<f32> {
    let mut sample = Vec::new();
    let step = (compact.rows.len() / weights::SAMPLED_ROWS).max(1);
    for row in compact.rows.iter().step_by(step) {
        sample.extend(&row.text);
    }
    let per_byte = tokens::count_bytes(&sample) as f32 / sample.len().max(1) as f32;
    let mut group = None;
    compact
        .rows
        .iter()
        .map(|row| {
            let heading = match row.group {
                Some(of) if group != row.group => compact.groups[of as usize].len(),
                _ => 0,
            };
            group = row.group;
            (row.text.len() + heading) as f32 * per_byte
        })
        .collect()
}

/// View of the rows in `kept`.
fn showing(output: &Output, rendered: &Rendered, kept: &[bool], budget: Budget, facts: &str) -> Result<View> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut at = 0;
    while at < kept.len() {
        let end = (at..kept.len()).find(|&next| kept[next] != kept[at]).unwrap_or(kept.len());
        let range = rendered.compact.rows[at].start..rendered.compact.range(end - 1, output.len()).end;
        pieces.push(match (kept[at], rendered.form) {
            (true, Some(form)) => Piece::Rendered { range, on: Canvas::Compact(form) },
            (true, None) => Piece::Verbatim(range),
            (false, _) => match named(&rendered.sections, at..end) {
                Some(named) => Piece::Digest { range, summary: Summary::of_lines().with(named) },
                None => Piece::Omitted { range, why: Why::LeftOut },
            },
        });
        at = end;
    }
    let view = View::new(output.len(), pieces, Wording::Ranges)?;
    stating(View { surface: output.surface().clone(), ..view }, output, budget, facts)
}

#[cfg(test)]
mod tests {
    use crate::store::keep::keep_ended;
    use crate::{Budget, Call, Exit, MemoryStore, Outputs, Session, Settings, Timestamp};

    /// Text that the model gets for the last of several calls of a session.
    fn told(calls: &[(&str, &str)], exit: Option<Exit>, settings: &Settings) -> String {
        let store = MemoryStore::default();
        let outputs = Outputs::new(&store, Session::safe("s"), &|| Timestamp::UNIX_EPOCH);
        let mut text = String::new();
        for (number, (command, printed)) in calls.iter().enumerate() {
            let call = Call {
                args: Some(serde_json::json!({ "command": command }).to_string()),
                ..Call::new(Session::safe("s"), format!("call{number:04}"), "run", Timestamp::UNIX_EPOCH)
            };
            let now = || Timestamp::UNIX_EPOCH;
            let output = keep_ended(&store, &call, &mut printed.as_bytes(), exit, &now).unwrap();
            let folded = outputs.reply(&output, settings).unwrap().folded;
            if let Some(folded) = &folded {
                assert_eq!(crate::verify(&folded.view, &output).unwrap(), vec![]);
            }
            text = folded.map_or_else(|| (*printed).to_owned(), |it| String::from_utf8(it.text).unwrap());
        }
        text
    }

    fn source() -> String {
        let part = |n: u64| {
            let body: String = (0..12).map(|at| format!("    value += config.get_{n}_{at}()\n")).collect();
            let name = if n == 60 { "parse_date".to_owned() } else { format!("handle_{n}") };
            format!("def {name}(value):\n{body}    return value\n\n")
        };
        (0..120).map(part).collect()
    }

    #[test]
    fn a_definition_that_an_earlier_call_names_is_shown_whole_and_exact() {
        let source = source();
        let read = ("cat src/dates.py", source.as_str());
        let settings = Settings::default();
        let whole = source.split("\n\n").nth(60).unwrap();
        let text = told(
            &[("grep -rn parse_date src", "src/dates.py:841:def parse_date(value):\n"), read],
            None,
            &settings,
        );
        assert!(text.contains("looked for parse_date]"), "{text}");
        assert!(text.contains(whole), "{text}");
        let text = told(&[("ls", "src\n"), read], None, &settings);
        assert!(!text.contains("looked for") && !text.contains(whole), "{text}");
        assert!(text.contains("def handle_30(value):"), "first lines of definitions are shown");
    }

    #[test]
    fn a_marker_in_a_document_names_the_sections_that_it_hides() {
        let name = |n: u64| format!("ABOUT {}", format!("{n:b}").replace('0', "NO ").replace('1', "ONE "));
        let section = |n: u64| {
            let line =
                |at: u64| format!("       The {at} words of this part say what it is about and more.\n");
            format!("{}\n{}\n", name(n).trim(), (0..20).map(line).collect::<String>())
        };
        let page: String = (1..150).map(section).collect();
        let text = told(&[("man shell", &page)], None, &Settings::default());
        let is_shown = |n: &u64| text.contains(&format!("\n{}\n", name(*n).trim()));
        let hidden: Vec<u64> = (1..150).filter(|n| !is_shown(n)).collect();
        let markers = || text.lines().filter(|line| line.starts_with("[… "));
        assert!(hidden.len() > 1, "{text}");
        // The first section of a gap is named, with the number of the other sections in it.
        for n in hidden.iter().filter(|&&n| is_shown(&(n - 1))) {
            let named = format!(", with {}", name(*n).trim());
            assert!(markers().any(|marker| marker.contains(&named)), "{named}: {text}");
        }
        assert!(markers().any(|marker| marker.contains(" more: ")), "{text}");
    }

    #[test]
    fn a_successful_command_that_names_failures_has_not_failed() {
        let names = |n: u64| format!("error-report-{n}/stable {n}.0 all\nlibfatal{n}/stable 1.{n} amd64\n");
        let listed = (0..900).map(names).collect::<String>();
        let ended = |status| {
            let settings = Settings::default();
            told(&[("apt list", &listed)], Some(Exit::Code(status)), &settings)
        };
        let text = ended(0);
        assert!(text.contains("\nerror-report-0/stable 0.0 all\n"), "{text}");
        assert!(crate::tokens::count(&text) < 1_100, "what adds nothing is left out");
    }

    #[test]
    fn of_matches_that_differ_only_in_numbers_few_are_shown_beside_the_first_of_each_file() {
        let line = |file: u64, n: u64| format!("src/part{file}.py:{n}:    return value * {n}\n");
        let mut found: String = (0..30).flat_map(|file| (1..60).map(move |n| line(file, n * 7))).collect();
        found += "src/part30.py:4:    raise Refused(value)\nsrc/part30.py:9:    parse_date(value) * 3\n";
        let text = told(&[("grep -n value src", &found)], None, &Settings::default());
        let alike = text.matches("    return value * ").count();
        assert!((30..=34).contains(&alike), "{alike}: {text}");
        assert!(text.contains("raise Refused(value)") && text.contains("parse_date(value)"), "{text}");
    }

    #[test]
    fn a_view_of_a_very_large_output_is_a_smaller_sample() {
        let budget = |tokens| Budget { tokens, bytes: tokens * 8, lines: None };
        for (tokens, size, expected) in [
            (4_000, 5_000, 4_000),
            (4_000, 16_000, 4_000),
            (4_000, 64_000, 2_000),
            (4_000, 9_000_000, 1_600),
            (1_900, 9_000_000, 1_500),
            (900, 9_000_000, 900),
        ] {
            assert_eq!(super::sampled(budget(tokens), size, 4.0).tokens, expected, "{tokens} of {size}");
        }
    }

    #[test]
    fn a_command_that_succeeded_gets_a_short_view() {
        let row = |n: u64| format!("{n},{},{}\n", if n == 444 { "refused" } else { "paid" }, n * 3);
        let rows = "id,state,cents\n".to_owned() + &(0..900).map(row).collect::<String>();
        let shown = |exit| {
            let text = told(&[("query", &rows)], exit, &Settings::default());
            assert!(text.contains("\n444,refused,1332\n"), "{text}");
            crate::tokens::count(&text)
        };
        assert!(shown(Some(Exit::Code(0))) <= 550, "450 and the frame");
        assert!(shown(None) > 900, "the exit status is not known");
    }

    #[test]
    fn an_output_within_the_limit_is_compact_if_that_saves_a_tenth() {
        let blocks: Vec<String> = (0..40)
            .map(|n| format!(r#"{{"object":"block","id":"b{n}","archived":false,"parent":{{"type":"page_id","page_id":"2292b7e8-cebd-8031-8c65"}},"text":"Words of part {n}"}}"#))
            .collect();
        let blocks = format!("[{}]", blocks.join(","));
        let compact_from = |tokens: u64| {
            let mut settings = Settings::default();
            settings.digest.compact_from = tokens;
            told(&[("curl", &blocks)], None, &settings)
        };
        assert!(compact_from(500).starts_with("[forebay view of 1 line, "), "{}", compact_from(500));
        assert!(compact_from(500).contains(" as tables; "));
        assert_eq!(compact_from(0), blocks, "0 turns it off");
        assert_eq!(compact_from(3_000), blocks, "it is smaller than that");
        let prose: String = (0..300).map(|n| format!("Sentence {n} says one thing only.\n")).collect();
        let mut settings = Settings::default();
        settings.digest.compact_from = 500;
        assert_eq!(told(&[("say", &prose)], None, &settings), prose, "nothing is saved");
    }
}
