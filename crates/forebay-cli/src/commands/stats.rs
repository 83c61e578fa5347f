//! `forebay stats`: tokens saved by storing outputs, with all costs deducted.

use crate::context::{Context, Outcome};
use crate::error::DONE;
use crate::print::{self, grouped};
use crate::units;
use forebay::forms;
use forebay::stats::{By, Counts};
use forebay::text::count::count;
use forebay::{Session, Stats, Tally, Timestamp, event};
use std::process::ExitCode;

/// Show the tokens saved, all costs deducted.
///
/// Saved are the tokens that the model would have read without forebay (the output, or what its host shows of a large one),
/// minus the tokens of the views, minus those of every later answer, minus those that models read and wrote for
/// extractions. Days are UTC.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay stats
  forebay stats --all --by day --since 30d
  forebay stats --json | jq .saved")]
pub(crate) struct Args {
    /// Count all sessions
    #[arg(long)]
    all: bool,
    /// Count only from this time on (2026-11-16T10:00:00Z, 2026-11-16, 90s, 10m, 2h, 3d)
    #[arg(long, value_name = "TIME", value_parser = units::moment)]
    since: Option<Timestamp>,
    /// Bars of the chart
    #[arg(long, value_enum, value_name = "WHAT", default_value = "tool")]
    by: Sorted,
}

/// Bars of the chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Sorted {
    /// Tokens saved by tool, most first
    Tool,
    /// Tokens saved by day, newest last
    Day,
}

/// Maximum bars of a chart.
const BARS: usize = 20;

/// Maximum characters of a name in the chart.
const LONGEST_NAME: usize = 30;

/// Maximum width of a line.
const WIDTH: usize = 80;

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let sessions: Vec<Session> =
        if args.all { context.store().sessions()? } else { vec![context.session.clone()] };
    let by = if args.by == Sorted::Day { By::Day } else { By::Tool };
    let mut stats = Stats::default();
    for session in &sessions {
        let mut tally = Tally::new(by, args.since);
        event::for_each(context.store(), session, |event| tally.take(&event))?;
        stats += tally.stats();
    }
    let which = if args.all { "all sessions".to_owned() } else { format!("session {}", context.session) };
    let since = args.since.map_or(String::new(), |since| format!(" since {since}"));
    if context.json {
        print::json(&forms::stats(&stats, by))?;
    } else if stats.total.is_empty() {
        print::err(&format!("nothing has happened in {which}{since} yet, so nothing is saved\n"));
    } else {
        print::out(report(&stats, args.by, &format!("{which}{since}")).as_bytes())?;
    }
    Ok(ExitCode::from(DONE))
}

/// The whole report.
fn report(stats: &Stats, by: Sorted, which: &str) -> String {
    [summary(&stats.total, which), replies(&stats.total), tokens(&stats.total), chart(stats, by)].join("\n")
}

fn summary(total: &Counts, which: &str) -> String {
    let mut text = format!(
        "{}: {}, {} kept",
        forebay::printable(which),
        count("output", total.outputs),
        print::bytes(total.bytes)
    );
    if total.cut_short > 0 {
        text.push_str(&format!(", {} cut short", grouped(total.cut_short)));
    }
    if total.swept > 0 {
        text.push_str(&format!(", {} swept ({})", grouped(total.swept), print::bytes(total.swept_bytes)));
    }
    text + "\n"
}

/// Number of replies with a whole output, and with a view.
fn replies(total: &Counts) -> String {
    let row = |what: String, times: u64, saved: Option<i64>| {
        vec![what, grouped(times), saved.map_or("-".to_owned(), signed)]
    };
    let mut rows = vec![row("the output as it is".to_owned(), total.passed, None)];
    for (reason, fired) in total.triggers() {
        rows.push(row(format!("a view: {reason}"), fired.times, fired.mean_characters_saved()));
    }
    if total.fallbacks > 0 {
        rows.push(row("something else than meant".to_owned(), total.fallbacks, None));
    }
    print::table(&["THE MODEL GOT", "TIMES", "CHARACTERS SAVED EACH"], &[false, true, true], &rows)
}

/// The calculation, line by line.
fn tokens(total: &Counts) -> String {
    let saved = total.saved();
    let share = match total.baseline {
        0 => String::new(),
        baseline => format!(" ({:.0} %)", saved as f64 * 100.0 / baseline as f64),
    };
    let end = match saved {
        ..0 => format!("saved: it cost {} tokens more than it spared", grouped(saved.unsigned_abs())),
        _ => format!("saved{share}"),
    };
    let rows: [(&str, String, String); 5] = [
        (
            " ",
            grouped(total.baseline),
            "without forebay: the outputs, as far as the host shows them".to_owned(),
        ),
        ("-", grouped(total.given), "given for the calls".to_owned()),
        ("-", grouped(total.retrieved), format!("given in {}", count("answer", total.queries))),
        (
            "-",
            grouped(total.extracted),
            format!("read and written for {}", count("abstract", total.extractions)),
        ),
        ("=", signed(saved), end),
    ];
    let rows: Vec<Vec<String>> =
        rows.into_iter().map(|(sign, number, what)| vec![sign.to_owned(), number, what]).collect();
    print::table(&["", "TOKENS", ""], &[false, true, false], &rows)
}

/// Tokens saved, with a bar for each tool or day.
fn chart(stats: &Stats, by: Sorted) -> String {
    let mut groups: Vec<(String, i64)> = stats
        .groups
        .iter()
        .map(|(name, counts)| (forebay::printable(name).replace('\n', " "), counts.saved()))
        .collect();
    // Bars beyond the maximum are combined: those of the earliest days, or of the tools in the middle, so that the
    // largest losses stay visible beside the largest savings.
    let too_many = groups.len().saturating_sub(BARS);
    let (head, together, word) = match by {
        Sorted::Tool => {
            groups.sort_by_key(|(_, saved)| std::cmp::Reverse(*saved));
            ("tokens saved by tool", BARS / 2..BARS / 2 + too_many + 1, "more")
        }
        Sorted::Day => ("tokens saved by day", 0..too_many + 1, "before"),
    };
    let mut rows: Vec<(String, i64, bool)> =
        groups.into_iter().map(|(name, saved)| (name, saved, true)).collect();
    if too_many > 0 {
        let at = together.start;
        let rest: Vec<_> = rows.drain(together).collect();
        let sum = rest.iter().fold(0_i64, |sum, (_, saved, _)| sum.saturating_add(*saved));
        rows.insert(at, (format!("({} {word})", grouped(rest.len() as u64)), sum, false));
    }
    let most = rows.iter().filter(|row| row.2).map(|(_, saved, _)| saved.unsigned_abs()).max().unwrap_or(0);
    let names = rows.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0).min(LONGEST_NAME);
    let numbers = rows.iter().map(|(_, saved, _)| signed(*saved).len()).max().unwrap_or(0);
    let room = WIDTH.saturating_sub(names + numbers + 4).max(10);
    let lost = if rows.iter().any(|(_, saved, barred)| *barred && *saved < 0) { " (▒: lost)" } else { "" };
    let mut text = format!("{head}{lost}\n");
    for (name, saved, barred) in &rows {
        let name = shortened(name, names);
        let bar = if *barred { bar(*saved, most, room) } else { String::new() };
        let line = format!("{name:<names$}  {:>numbers$}  {bar}", signed(*saved));
        text.push_str(&format!("{}\n", line.trim_end()));
    }
    text
}

/// A bar of up to `room` cells, rounded to an eighth of a cell.
fn bar(value: i64, most: u64, room: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if value == 0 || most == 0 {
        return String::new();
    }
    let eighths = u128::from(value.unsigned_abs()) * room as u128 * 8 / u128::from(most);
    // A nonzero value is always visible.
    let eighths = usize::try_from(eighths).unwrap_or(usize::MAX).max(1);
    if value < 0 {
        "▒".repeat(eighths.div_ceil(8))
    } else {
        "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
    }
}

fn shortened(name: &str, width: usize) -> String {
    if name.chars().count() > width {
        name.chars().take(width.saturating_sub(1)).chain(['…']).collect()
    } else {
        name.to_owned()
    }
}

fn signed(number: i64) -> String {
    format!("{}{}", if number < 0 { "-" } else { "" }, grouped(number.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn group(name: &str, baseline: u64, given: u64) -> (String, Counts) {
        (name.to_owned(), Counts { baseline, given, ..Counts::default() })
    }

    #[test]
    fn bars_are_as_long_as_what_they_stand_for() {
        let table = [
            (0, ""),
            (100, "██████████"),
            (50, "█████"),
            (55, "█████▌"),
            (1, "▏"),
            (-100, "▒▒▒▒▒▒▒▒▒▒"),
            (-1, "▒"),
        ];
        for (value, expected) in table {
            assert_eq!(bar(value, 100, 10), expected, "{value}");
        }
        assert_eq!(bar(i64::MIN, u64::MAX, 10), "▒▒▒▒▒");
        assert_eq!(bar(5, 0, 10), "");
    }

    #[test]
    fn a_chart_keeps_to_its_width_and_shows_losses_and_what_is_put_together() {
        let mut stats = Stats::default();
        stats.groups.extend((0..24).map(|n| group(&format!("tool-{n:02}"), 1_000 * n, 7_000)));
        stats.groups.extend([group(&"long ".repeat(20), 90_000, 0)]);
        let text = chart(&stats, Sorted::Tool);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        expect![[r#"
            tokens saved by tool (▒: lost)
            long long long long long long…  90,000  ████████████████████████████████████████
            tool-23                         16,000  ███████
            tool-22                         15,000  ██████▋
            tool-21                         14,000  ██████▏
            tool-20                         13,000  █████▊
            tool-19                         12,000  █████▎
            tool-18                         11,000  ████▉
            tool-17                         10,000  ████▍
            tool-16                          9,000  ████
            tool-15                          8,000  ███▌
            (6 more)                        27,000
            tool-08                          1,000  ▍
            tool-07                              0
            tool-06                         -1,000  ▒
            tool-05                         -2,000  ▒
            tool-04                         -3,000  ▒▒
            tool-03                         -4,000  ▒▒
            tool-02                         -5,000  ▒▒▒
            tool-01                         -6,000  ▒▒▒
            tool-00                         -7,000  ▒▒▒
        "#]]
        .assert_eq(&text);
        stats.groups = (1..=25).map(|day| group(&format!("2026-11-{day:02}"), 40 * day, 0)).collect();
        expect![[r#"
            tokens saved by day
            (6 before)    840
            2026-11-07    280  █████████████████
            2026-11-08    320  ███████████████████▌
            2026-11-09    360  █████████████████████▉
            2026-11-10    400  ████████████████████████▍
            2026-11-11    440  ██████████████████████████▊
            2026-11-12    480  █████████████████████████████▎
            2026-11-13    520  ███████████████████████████████▋
            2026-11-14    560  ██████████████████████████████████▏
            2026-11-15    600  ████████████████████████████████████▌
            2026-11-16    640  ███████████████████████████████████████
            2026-11-17    680  █████████████████████████████████████████▍
            2026-11-18    720  ███████████████████████████████████████████▉
            2026-11-19    760  ██████████████████████████████████████████████▎
            2026-11-20    800  ████████████████████████████████████████████████▊
            2026-11-21    840  ███████████████████████████████████████████████████▏
            2026-11-22    880  █████████████████████████████████████████████████████▋
            2026-11-23    920  ████████████████████████████████████████████████████████
            2026-11-24    960  ██████████████████████████████████████████████████████████▌
            2026-11-25  1,000  █████████████████████████████████████████████████████████████
        "#]]
        .assert_eq(&chart(&stats, Sorted::Day));
    }

    #[test]
    fn what_cost_more_than_it_spared_is_said_so() {
        let table = [
            (Counts { baseline: 100, given: 40, ..Counts::default() }, "saved (60 %)"),
            (
                Counts { baseline: 100, given: 90, retrieved: 30, queries: 1, ..Counts::default() },
                "saved: it cost 20 tokens more than it spared",
            ),
            (Counts { queries: 1, ..Counts::default() }, "saved"),
        ];
        for (counts, end) in table {
            let text = tokens(&counts);
            assert!(text.trim_end().ends_with(end), "{text}");
        }
    }
}
