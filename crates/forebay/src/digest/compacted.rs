//! Outputs in a compact form: whole if that fits, else the rows that the session is about.

use crate::classify::form::{self, Form};
use crate::compact::{self, Compact, Row, lines_of};
use crate::digest::frame::{frame_tokens, stating};
use crate::digest::plan::{Plan, Wanted};
use crate::digest::probe::Probe;
use crate::digest::rows::{self, Choice};
use crate::digest::run;
use crate::formats::verdict;
use crate::outline;
use crate::rank::interest::Interest;
use crate::view::{Canvas, CompactForm, Piece, View, Why, Wording};
use crate::weights::rows as weights;
use crate::{Budget, Kind, Output, Result, rank, tokens};
use std::collections::HashSet;
use std::ops::Range;

/// A rendering, and the form that it has; `None` for lines as they are.
struct Rendered {
    form: Option<CompactForm>,
    compact: Compact,
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
    // In little room, what is unusual about a few files tells more than the names of all.
    let is_small = budget.tokens < weights::MIN_BUDGET;
    if form == CompactForm::Folders && is_small && compact::listing::is_long(bytes) {
        return Ok(None);
    }
    let Some(compact) = compact::render_within(form, bytes, most_bytes(budget)) else { return Ok(None) };
    whole(output, form, &compact, budget)
}

/// Bytes of a text that may fit a budget.
fn most_bytes(budget: Budget) -> u64 {
    budget.bytes.min(budget.tokens * weights::MAX_TOKEN_BYTES)
}

/// The bytes of an output that may have a compact form.
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
    let rendered = Rendered { form: Some(form), compact };
    let rows = &rendered.compact.rows;
    let (unusual, counts) = (rows::unusual_records(rows), rows::value_counts(rows));
    let choose = |choice: &mut Choice| {
        choice.restart(tokens::count(&counts) as f32);
        choice.prefer(&unusual);
        choice.take_outer(rows);
        choice.take_ends(weights::RECORDS_ENDS);
        choice.take_best();
    };
    chosen_stating(probe, &rendered, budget, budget.tokens, choose, |_| counts.clone())
}

/// Plans the view of an output of which rows are chosen: reads, searches, listings and runs that succeeded.
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
    // These are summed up better than any of their rows tell.
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
        Some((form, compact)) => Rendered { form: Some(form), compact },
        None => lines(is_read, bytes),
    };
    let rows = &rendered.compact.rows;
    let answering = answering(probe, wanted, rows)?;
    // A larger list needs more, but not in proportion.
    let least = budget.tokens.min(weights::SMALL_BUDGET);
    let size = costs(&rendered.compact).iter().sum::<f32>() as u64;
    let grown = budget.tokens.min((least * size).isqrt());
    match rendered.form {
        Some(CompactForm::Matches) => matches(probe, &rendered, budget, grown),
        Some(CompactForm::Folders) => chosen(probe, &rendered, budget, grown, |choice| {
            choice.prefer(&rows::unusual_entries(rows));
            choice.take_names(rows, &rendered.compact.groups);
        }),
        Some(CompactForm::Numbered) => read(probe, &rendered, budget, &answering),
        _ if is_read || matches!(form, Form::Code(_)) => read(probe, &rendered, budget, &answering),
        _ => {
            let changes = rows::largest_changes(rows);
            let is_alike = changes.is_none();
            let unusual = changes.or_else(|| rows::unusual_lines(rows));
            let most = match &unusual {
                Some(_) if is_alike => weights::ALIKE_TOKENS,
                Some(_) => weights::SUCCEEDED_TOKENS,
                None if probe.exited_well() => weights::SUCCEEDED_TOKENS,
                None => budget.tokens,
            };
            let stated = if is_alike { "" } else { "the largest changes are shown" };
            let choose = |choice: &mut Choice| {
                choice.prefer(unusual.as_deref().unwrap_or_default());
                choice.add(&answering);
                choice.take_ends(weights::RUN_ENDS);
                choice.take_best();
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
    let choose = |choice: &mut Choice| {
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
    rendered: &Rendered,
    budget: Budget,
    answering: &[f32],
) -> Result<Option<Plan<'p>>> {
    let blocks = blocks(probe.output, &rendered.compact)?;
    let rows = &rendered.compact.rows;
    // Where most blocks begin alike, as `[[package]]`, their first lines tell nothing.
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

/// Rows of lines: as they are where a file is read, since an edit repeats them, else as a screen shows them.
fn lines(as_they_are: bool, bytes: &[u8]) -> Rendered {
    let shown = || compact::render(CompactForm::Lines, bytes).unwrap_or_default();
    if as_they_are {
        let row = |(start, line): (u64, &[u8])| Row { start, text: line.to_vec(), ..Row::default() };
        return Rendered {
            form: None,
            compact: Compact { rows: lines_of(bytes).map(row).collect(), ..Compact::default() },
        };
    }
    let compact = shown();
    let form = (compact.text() != bytes).then_some(CompactForm::Lines);
    Rendered { form, compact }
}

/// Definitions of a program, as ranges of rows. Lines before the first are a block too.
fn blocks(output: &Output, compact: &Compact) -> Result<Vec<Range<usize>>> {
    let outline = outline::outline_parsing(output, weights::PARSED)?;
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
        // Paragraphs, where nothing is defined.
        let is_blank = |row: &Row| row.text.trim_ascii().is_empty();
        starts
            .extend((1..count).filter(|&at| is_blank(&compact.rows[at - 1]) && !is_blank(&compact.rows[at])));
    }
    starts.push(count);
    starts.sort_unstable();
    starts.dedup();
    Ok(starts.windows(2).map(|pair| pair[0]..pair[1]).collect())
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
    choose: impl Fn(&mut Choice),
) -> Result<Option<Plan<'p>>> {
    chosen_stating(probe, rendered, budget, most, choose, |_| String::new())
}

/// View of chosen rows, with what is stated of those that are not.
fn chosen_stating<'p>(
    probe: &'p Probe<'p>,
    rendered: &Rendered,
    budget: Budget,
    most: u64,
    choose: impl Fn(&mut Choice),
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
        let mut choice = Choice::new(cost.clone(), score.clone(), room * share);
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

/// Facts for the first line of a view: those of its form, and what was looked for.
fn facts(note: &str, interest: &Interest, texts: &[&[u8]]) -> String {
    let text = texts.concat();
    let names: Vec<&str> = interest.names_in(&text).into_iter().take(weights::NAMED).collect();
    let sought = if names.is_empty() { String::new() } else { format!("looked for {}", names.join(", ")) };
    let parts: Vec<&str> = [note, &sought].into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("; ")
}

/// Tokens of each row, nearly: by its bytes, as many as a part of the rendering has on average.
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

/// View of the rows that are kept.
fn showing(output: &Output, rendered: &Rendered, kept: &[bool], budget: Budget, facts: &str) -> Result<View> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut at = 0;
    while at < kept.len() {
        let end = (at..kept.len()).find(|&next| kept[next] != kept[at]).unwrap_or(kept.len());
        let range = rendered.compact.rows[at].start..rendered.compact.range(end - 1, output.len()).end;
        pieces.push(match (kept[at], rendered.form) {
            (true, Some(form)) => Piece::Rendered { range, on: Canvas::Compact(form) },
            (true, None) => Piece::Verbatim(range),
            (false, _) => Piece::Omitted { range, why: Why::LeftOut },
        });
        at = end;
    }
    let view = View::new(output.len(), pieces, Wording::Ranges)?;
    stating(View { surface: output.surface().clone(), ..view }, output, budget, facts)
}

#[cfg(test)]
mod tests {
    use crate::store::keep::keep_ended;
    use crate::{Call, Exit, MemoryStore, Outputs, Session, Settings, Timestamp};

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
