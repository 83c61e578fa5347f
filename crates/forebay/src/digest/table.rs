//! Tables: their columns, and unusual rows.

use crate::classify::form::Form;
use crate::digest::ends::Parts;
use crate::digest::plan::{Plan, Wanted};
use crate::digest::probe::Probe;
use crate::digest::summarize::{Summarize, fitting, list_tokens};
use crate::digest::templates::Templates;
use crate::outline::{self, Outline};
use crate::text::count::count;
use crate::view::print::Gap;
use crate::view::{Summary, units};
use crate::weights::folding::{DENSE_BYTES_PER_TOKEN, Shares};
use crate::{Budget, Output, Result};
use std::cmp::Reverse;

/// Plans the view of a table.
pub(crate) fn recognize<'p>(probe: &'p Probe<'p>, _: &Wanted, budget: Budget) -> Result<Option<Plan<'p>>> {
    if probe.form()? != Form::Table {
        return Ok(None);
    }
    let output = probe.output;
    let (outline, templates) = output.both(|| outline::outline(output), || Templates::of(output));
    let outline = outline?;
    let shares = Shares::of(Form::Table);
    let starts = outline.odd.iter().map(|line| output.line_start(line - 1));
    let mut starts = starts.collect::<Result<Vec<u64>>>()?;
    // Rows may differ in a way that no column shows.
    starts.extend(templates?.rare());
    // The header may be too far below the title of the table to be part of the shown beginning.
    let header = output.line_start(outline.items.first().map_or(0, |table| table.line - 1))?;
    if header as f64 > budget.tokens as f64 * shares.head * DENSE_BYTES_PER_TOKEN {
        starts.insert(0, header);
    }
    let outliers = units::at(output, &starts)?;
    Ok(Some(Plan::Ends(Parts { outliers, ..Parts::new(shares, Columns(outline)) })))
}

/// Columns of a table, from its outline.
struct Columns(Outline);

impl Summarize for Columns {
    /// Columns of the table, those with known facts first.
    fn summary(&self, _: &Output, _: &Gap, room: u64) -> Result<Option<Summary>> {
        let Some((table, columns)) = self.0.items.split_first() else { return Ok(None) };
        let mut order: Vec<usize> = (0..columns.len()).collect();
        order.sort_by_key(|&column| Reverse(columns[column].count));
        let listed = |count: usize| {
            let mut chosen = order[..count].to_vec();
            chosen.sort_unstable();
            chosen.iter().map(|&column| columns[column].name.clone()).collect::<Vec<String>>()
        };
        let shown = fitting(columns.len().min(MAX_COLUMNS), |count| list_tokens(&listed(count)) <= room);
        let more = match columns.len() - shown {
            0 => String::new(),
            more => format!(", {} not said", count("column", more as u64)),
        };
        let summary = Summary::of_lines().of_kind("a table");
        Ok(Some(summary.saying(format!("{}{more}", table.name)).listing(listed(shown))))
    }
}

/// Maximum columns listed. No summary has room for more.
const MAX_COLUMNS: usize = 400;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::plan::shown;
    use crate::digest::summarize::summary_of;
    use crate::store::memory::output_of;

    #[test]
    fn of_many_columns_those_are_listed_of_which_something_is_known() {
        let mut text = "first note,second note,third note,colour,amount\n".to_owned();
        (0..200).for_each(|n| {
            text += &format!("what {n} is,how {n} came,why {n} went,{},{n}\n", ["red", "blue"][n % 2]);
        });
        let output = output_of(text.as_bytes());
        let outline = outline::outline(&output).unwrap();
        let said = summary_of(&Columns(outline), &output, 24).unwrap();
        assert!(said.contains("\ncolour: red × 100, blue × 100") && !said.contains("first note"), "{said}");
    }

    #[test]
    fn a_table_shows_a_row_that_differs_in_what_no_column_tells() {
        let mut text: String = (1..400).map(|n| format!("job{n}\tstart {n}\njob{n}\tdone {n}\n")).collect();
        text.insert_str(text.find("job200\tdone").unwrap(), "job200\tExpecting value: line 1 column 17\n");
        let shown = shown(recognize, &text, Form::Table, 300);
        assert!(shown.contains("Expecting value"), "{shown}");
    }

    #[test]
    fn a_table_shows_rows_that_are_not_like_the_others_and_what_is_in_its_columns() {
        let mut text = "id,state,cents\n".to_owned();
        (1..=900)
            .for_each(|n| text += &format!("{n},{},{}\n", if n == 444 { "refused" } else { "paid" }, n * 3));
        let text = shown(recognize, &text, Form::Table, 300);
        assert!(text.contains("\n444,refused,1332\n"), "{text}");
        assert!(text.contains("\nstate: paid × 899, refused\ncents: 3 to 2700]"), "{text}");
    }

    #[test]
    fn the_header_of_a_table_is_shown_also_where_much_is_said_above_it() {
        let above: String =
            (0..5).map(|n| format!("Tasks of part {n}: {}\n", "70 total ".repeat(20))).collect();
        // No two rows are similar, so that the header is not found as the only unusual line.
        let word = |n: u64| -> String { format!("{n:b}").replace('0', "a").replace('1', "b") };
        let rows: String =
            (0..90).map(|n| format!("{n:>5} root {:>6} {:>6}  0.0 {}\n", n * 7, n * 3, word(n))).collect();
        let shown = shown(
            recognize,
            &format!("{above}\n  PID USER   VIRT    RES %CPU COMMAND\n{rows}"),
            Form::Table,
            250,
        );
        assert!(shown.contains("  PID USER   VIRT    RES %CPU COMMAND\n"), "{shown}");
    }
}
