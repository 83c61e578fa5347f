//! Columns of tables: separated by commas, tabs and the like, aligned under a header, or ruled under it.

pub(crate) mod column;

use crate::Result;
use crate::classify::lines::{LOOKED_AT, Line, Source};
use crate::classify::table::{Columns, FIRST, Head, SEPARATORS, aligned, fields, for_each_field, is_rule};
use crate::outline::duplicates::Twice;
use crate::outline::table::column::{Column, RARE};
use crate::outline::{Items, LineSpan, duplicates, name};
use crate::text::count::counted;

/// Returns the fields of a row whose columns begin at these places.
fn cells(row: &[u8], starts: &[usize]) -> Vec<String> {
    let text: Vec<char> = String::from_utf8_lossy(row).chars().collect();
    let ends = starts.iter().skip(1).copied().chain([usize::MAX]);
    let cell = |(&start, end): (&usize, usize)| {
        let cell: String = text.get(start..end.min(text.len())).into_iter().flatten().collect();
        cell.trim_matches([' ', '|']).to_owned()
    };
    starts.iter().zip(ends).map(cell).collect()
}

/// Maximum odd rows that are reported.
const ODD: usize = 8;

/// A table while it is read.
struct Table {
    columns: Columns,
    /// Line with the names of the columns.
    header: u64,
    /// Whether aligned columns are at least two spaces apart.
    wide: bool,
    fields: Vec<Column>,
    rows: u64,
    last: u64,
    /// Count of rows with more or fewer fields, and the line of the first.
    ragged: (u64, u64),
    /// Count of rules between rows, and the lines below the last one while they may be totals.
    rules: u64,
    totals: Vec<(u64, Vec<u8>)>,
}

/// Maximum lines of totals below the only rule between rows.
const TOTALS: usize = 3;

impl Table {
    /// Returns a table that begins with these lines.
    fn new(first: &[(u64, Vec<u8>)]) -> Option<Table> {
        let lines: Vec<&[u8]> = first.iter().map(|(_, text)| &text[..]).collect();
        // Lines above the header are not rows.
        let Head { columns, names, first: rows } = Head::of(&lines)?;
        let is_named = rows > names;
        let (line, header, below) = (first[names].0, lines[names], &lines[rows..]);
        // If columns are two spaces apart, a field can contain a space.
        let wanted = crate::outline::table::wide(header).len();
        let alike = below.iter().filter(|line| crate::outline::table::wide(line).len() == wanted).count();
        let wide = wanted >= 3 && alike * 10 >= below.len() * 9;
        let names: Vec<String> = match &columns {
            Columns::Separated(separator) => {
                let names = fields(header, *separator).into_iter();
                names.map(|name| if is_named { name } else { String::new() }).collect()
            }
            Columns::Ruled(starts) => {
                let has_word = |name: &String| name.contains(char::is_alphanumeric);
                let names = cells(header, starts).into_iter();
                names.map(|name| if has_word(&name) { name } else { String::new() }).collect()
            }
            Columns::Aligned => {
                let names = if wide { crate::outline::table::wide(header) } else { aligned(header) };
                names.into_iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
            }
        };
        let mut fields: Vec<Column> = names.into_iter().map(Column::new).collect();
        let telling = fields.iter_mut().filter(|column| duplicates::tells_apart(column.name.as_bytes()));
        telling.take(duplicates::FIELDS).for_each(|column| column.twice = Some(Twice::default()));
        let mut table = Table {
            columns,
            header: line,
            wide,
            fields,
            rows: 0,
            last: line,
            ragged: (0, 0),
            rules: 0,
            totals: Vec::new(),
        };
        first[rows..].iter().for_each(|(line, text)| table.take(*line, text));
        Some(table)
    }

    fn take(&mut self, line: u64, row: &[u8]) {
        if is_rule(row) {
            self.rules += u64::from(self.rows > 0);
            return self.take_totals();
        }
        if self.rules == 1 && (self.sums_up(row) || !self.totals.is_empty()) {
            self.totals.push((line, row.to_vec()));
            if self.totals.len() > TOTALS {
                self.rules += 1;
                self.take_totals();
            }
            return;
        }
        self.take_row(line, row);
    }

    /// Whether a row has totals: it says so, or a column is empty.
    fn sums_up(&self, row: &[u8]) -> bool {
        let small = row.to_ascii_lowercase();
        let says = [&b"total"[..], b"sum", b"average"]
            .iter()
            .any(|word| memchr::memmem::find(&small, word).is_some());
        let has_less = match &self.columns {
            Columns::Ruled(starts) => cells(row, starts).iter().any(String::is_empty),
            Columns::Separated(separator) => {
                fields(row, *separator).iter().any(|field| field.trim().is_empty())
            }
            Columns::Aligned => aligned(row).len() < self.fields.len(),
        };
        says || has_less
    }

    /// The lines below a rule are rows after all.
    fn take_totals(&mut self) {
        for (line, row) in std::mem::take(&mut self.totals) {
            self.take_row(line, &row);
        }
    }

    fn take_row(&mut self, line: u64, row: &[u8]) {
        let wanted = self.fields.len();
        if !self.has_columns(row) {
            return self.note_ragged(line);
        }
        (self.rows, self.last) = (self.rows + 1, line);
        let mut seen = 0;
        match &self.columns {
            Columns::Separated(separator) => for_each_field(row, *separator, |field| {
                if let Some(column) = self.fields.get_mut(seen) {
                    column.take(field, line);
                }
                seen += 1;
            }),
            Columns::Ruled(starts) => {
                seen = wanted;
                let cells = cells(row, starts);
                self.fields
                    .iter_mut()
                    .zip(&cells)
                    .for_each(|(column, cell)| column.take(cell.as_bytes(), line));
            }
            Columns::Aligned => {
                let cells = if self.wide { wide(row) } else { split_into(row, wanted) };
                seen = cells.len();
                if seen == wanted {
                    self.fields.iter_mut().zip(cells).for_each(|(column, cell)| column.take(cell, line));
                }
            }
        }
        // Long rows are cut.
        if seen != wanted && row.len() < LOOKED_AT {
            self.note_ragged(line);
        }
    }

    fn note_ragged(&mut self, line: u64) {
        let (count, first) = self.ragged;
        self.ragged = (count + 1, if count == 0 { line } else { first });
    }

    /// Whether a line is a row, and not the count of rows.
    fn has_columns(&self, row: &[u8]) -> bool {
        match &self.columns {
            Columns::Separated(separator) => self.fields.len() < 3 || row.contains(separator),
            Columns::Ruled(starts) => {
                let is_apart = |start: &usize| row.get(start - 1).is_none_or(|byte| b" |".contains(byte));
                !row.is_ascii() || starts.iter().find(|start| **start > 0).is_none_or(is_apart)
            }
            Columns::Aligned => true,
        }
    }

    /// Returns the lines with values that hardly any other line has, the rarest first.
    fn odd(&self) -> Vec<u64> {
        let mut odd: Vec<(u64, u64)> = self.fields.iter().flat_map(|column| column.odd(self.rows)).collect();
        let (ragged, line) = self.ragged;
        if ragged > 0 && ragged * RARE <= self.rows && self.columns != Columns::Aligned {
            odd.push((ragged, line));
        }
        odd.sort_unstable();
        let mut lines: Vec<u64> = Vec::new();
        for (_, line) in odd {
            if lines.len() < ODD && !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }
}

/// Returns the fields of a row whose columns are at least two spaces apart.
fn wide(row: &[u8]) -> Vec<&[u8]> {
    let mut fields = Vec::new();
    let mut rest = row.trim_ascii();
    while let Some(gap) = rest.windows(2).position(|pair| pair == b"  ") {
        fields.push(&rest[..gap]);
        rest = rest[gap..].trim_ascii_start();
    }
    fields.push(rest);
    fields
}

/// Returns the first words of a row as fields, and the rest as the last field.
fn split_into(row: &[u8], fields: usize) -> Vec<&[u8]> {
    let mut cells = Vec::new();
    let mut rest = row.trim_ascii();
    while cells.len() + 1 < fields {
        let Some(end) = rest.iter().position(u8::is_ascii_whitespace) else { break };
        cells.push(&rest[..end]);
        rest = rest[end..].trim_ascii_start();
    }
    cells.push(rest);
    cells
}

/// Adds an item for the table and one for each column. Returns the lines with values that hardly any other line has, the
/// rarest first.
pub(crate) fn outline(source: &Source, items: &mut Items) -> Result<Vec<u64>> {
    let mut first: Vec<(u64, Vec<u8>)> = Vec::new();
    let mut table: Option<Option<Table>> = None;
    source.for_each(|line: &Line| {
        if line.text.trim_ascii().is_empty() {
            return;
        }
        match &mut table {
            Some(Some(table)) => table.take(line.number, line.text),
            Some(None) => {}
            None => {
                first.push((line.number, line.text.to_vec()));
                if first.len() == FIRST {
                    table = Some(Table::new(&first));
                }
            }
        }
    })?;
    let table = table.unwrap_or_else(|| Table::new(&first));
    let Some(table) = table else { return Ok(Vec::new()) };
    let line = table.header;
    let how = match table.columns {
        Columns::Separated(separator) => {
            SEPARATORS.iter().find(|(known, _)| *known == separator).map_or("", |(_, how)| how)
        }
        Columns::Aligned | Columns::Ruled(_) => "aligned",
    };
    let columns = counted(table.fields.len() as u64, "column");
    items.add(LineSpan { first: line, last: table.last }, 0, "table", || {
        format!("{}, {columns} {how}", counted(table.rows, "row"))
    });
    for column in &table.fields {
        let described = || name(&column.described(table.rows));
        items.add_counted(LineSpan::one(line), 1, "column", described, column.told(table.rows));
    }
    Ok(table.odd())
}

#[cfg(test)]
mod tests {
    use crate::outline::tests::of;

    #[test]
    fn a_table_has_its_columns_and_rows() {
        let out = of("id,name,\"price, in EUR\"\n1,apple,2\n2,\"pear, green\",3\n3,plum,4\n");
        expect_test::expect![[r#"
            table
            1-4 table | 3 rows, 3 columns separated by commas
            1-1   column | id: 1 to 3
            1-1   column | name: such as apple
            1-1   column | price, in EUR: 2 to 4
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn rows_with_the_same_id_are_found() {
        let row = |n: u64| format!("{},{n},paid\n", if n == 187 { 20 } else { n });
        let text = "id,amount,state\n".to_owned() + &(0..300).map(row).collect::<String>();
        let outline = crate::outline::outline(&crate::store::memory::output_of(text.as_bytes())).unwrap();
        assert_eq!(outline.odd, [22, 189]);
        assert_eq!(outline.items[1].name, "id: 0 to 299, 1 value twice");
    }

    #[test]
    fn totals_below_the_last_rule_are_no_rows() {
        let rule = "------  ------\n";
        let rows = |n: u64| -> String { (0..n).map(|n| format!("{n:>6}  file{n}\n")).collect() };
        let said =
            |text: String| of(&text).lines().skip(1).take(2).map(|line| line.to_owned() + "\n").collect();
        let table: [(String, &str); 5] = [
            (
                rows(30) + rule + "    99  file99\n",
                "1-34 table | 31 rows, 2 columns aligned\n1-1   column | Length: 0 to 99\n",
            ),
            (
                rows(30) + rule + "   435  total of 30 files\n",
                "1-32 table | 30 rows, 2 columns aligned\n1-1   column | Length: 0 to 29\n",
            ),
            (
                rows(30) + rule + &rows(9),
                "1-42 table | 39 rows, 2 columns aligned\n1-1   column | Length: 0 to 29\n",
            ),
            (
                rows(30) + rule + &rows(2) + rule,
                "1-35 table | 32 rows, 2 columns aligned\n1-1   column | Length: 0 to 29\n",
            ),
            (rows(30) + rule, "1-32 table | 30 rows, 2 columns aligned\n1-1   column | Length: 0 to 29\n"),
        ];
        for (text, expected) in table {
            let out: String = said(format!("Length  Name\n{rule}{text}"));
            assert_eq!(out, expected, "{text}");
        }
    }

    #[test]
    fn an_aligned_table_has_the_columns_of_its_header() {
        let out = of(
            "NAME       READY   STATUS    AGE\nweb-1      1/1     Running   3d\nweb-2      0/1     Pending   1h\ndb-0       1/1     Running   9d\n",
        );
        expect_test::expect![[r#"
            table
            1-4 table | 3 rows, 4 columns aligned
            1-1   column | NAME: such as web-1
            1-1   column | READY: such as 1/1
            1-1   column | STATUS: such as Running
            1-1   column | AGE: such as 3d
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_column_says_what_is_in_it_and_rows_that_are_not_like_others_are_found() {
        let mut text = "id,state,cents,note\n".to_owned();
        for n in 1..=300 {
            let state = if n == 120 { "refused" } else { ["paid", "sent"][n % 2] };
            let cents = if n == 200 { "none".to_owned() } else { (n * 7).to_string() };
            text += &format!("{n},{state},{cents},\n");
        }
        text += "301,paid\n";
        let outline = crate::outline::outline(&crate::store::memory::output_of(text.as_bytes())).unwrap();
        expect_test::expect![[r#"
            table
            1-302 table | 301 rows, 4 columns separated by commas
            1-1   column | id: 1 to 301
            1-1   column | state: sent × 150, paid × 150, refused
            1-1   column | cents: 7 to 2100, 1 no numbers, 1 empty
            1-1   column | note: empty
        "#]]
        .assert_eq(&crate::outline::tests::printed(&outline));
        assert_eq!(outline.odd, [121, 201, 302]);
    }

    #[test]
    fn what_is_said_above_a_table_is_no_row() {
        let mut text =
            "built 36 pages\n   1157 calls in 12.004 seconds\n\n   Ordered by: function name\n\n".to_owned();
        text += "   ncalls  tottime  percall  cumtime  filename:lineno(function)\n";
        for n in 0..40 {
            text += &format!("   {n:>6}    0.001    0.000    0.002  {{built-in method f{n} of type}}\n");
        }
        text += "     1898   10.683    0.006   10.684  docs.py:7(unique_anchor)\n";
        let outline = of(&text);
        assert!(outline.starts_with("table\n6-47 table | 41 rows, 5 columns aligned\n"), "{outline}");
        let outline = crate::outline::outline(&crate::store::memory::output_of(text.as_bytes())).unwrap();
        assert_eq!(outline.odd, [47]);
        let log: String = (0..40).map(|n| format!("worker {n} found k{n}\n")).collect();
        let outline = of(&format!("it is said above\nand this has four\n{log}"));
        assert!(!outline.starts_with("table"), "{outline}");
    }

    #[test]
    fn a_table_that_is_drawn_under_its_header_has_its_columns() {
        let mut text = "Desired=Unknown/Install\n| Status=Not/Inst\n||/ Name        Version  Description\n+++-===========-========-==============\n".to_owned();
        (0..30).for_each(|n| {
            text +=
                &format!("{}  part-{n:02}     1.{n:<6} what failed — é\n", if n == 17 { "rc" } else { "ii" });
        });
        expect_test::expect![[r#"
            table
            3-34 table | 30 rows, 4 columns aligned
            3-3   column | ii × 29, rc
            3-3   column | Name: such as part-00
            3-3   column | Version: 1.0 to 1.9
            3-3   column | Description: always what failed — é
        "#]]
        .assert_eq(&of(&text));
        let pip =
            "Package    Version\n---------- -------\nattrs      23.1\npip        24.0\nwheel      0.4\n";
        assert!(of(pip).starts_with("table\n1-5 table | 3 rows, 2 columns aligned\n"), "{}", of(pip));
        let text = "Notes\n----- ----\nThis is a text that goes on\nwhatever is drawn above it.\n";
        assert!(!of(text).starts_with("table"), "{}", of(text));
    }

    #[test]
    fn rows_are_counted_without_what_is_drawn_and_said_around_them() {
        let rows = |between: &str| -> String {
            (1..=30).map(|n| format!("{n:>4} {between} user_{n:<4} {between} {:>5}\n", n * 7)).collect()
        };
        let table = [
            (
                format!("  id | name      | cents\n-----+-----------+------\n{}(30 rows)\n", rows("|")),
                "id: 1 to 30",
            ),
            (rows("|").replace(' ', ""), "1 to 30"),
            (rows(",").replace(' ', ""), "1 to 30"),
            (rows("\t").replace(' ', ""), "1 to 30"),
            (
                format!("country,2019,2020\n{}", "France,1200,1300\nSpain,1100,1250\n".repeat(15)),
                "country: France × 15, Spain × 15",
            ),
        ];
        for (text, first) in table {
            let outline = of(&text);
            let mut lines = outline.lines().skip(1);
            assert!(lines.next().unwrap().contains("| 30 rows, 3 columns"), "{outline}");
            assert!(lines.next().unwrap().ends_with(&format!("| {first}")), "{outline}");
        }
        let rule = "+------+-----------+-------+\n";
        let boxed: String = (1..=30).map(|n| format!("| {n:>4} | user_{n:<4} | {:>5} |\n", n * 7)).collect();
        let outline = of(&format!(
            "{rule}|   id | name      | cents |\n{rule}{boxed}{rule}30 rows in set (0.01 sec)\n"
        ));
        assert!(outline.contains("| 30 rows, 3 columns aligned\n"), "{outline}");
        assert!(outline.ends_with("cents: 7 to 210\n"), "{outline}");
    }

    #[test]
    fn a_row_with_a_number_far_out_is_found() {
        let mut text = "page,hits,seconds\n".to_owned();
        for n in 1..=60 {
            let seconds = if n == 33 { "41.5".to_owned() } else { format!("0.{}", 10 + n) };
            text += &format!("/items/{n},{},{seconds}\n", 500 + n * 3);
        }
        let outline = crate::outline::outline(&crate::store::memory::output_of(text.as_bytes())).unwrap();
        assert_eq!(outline.odd, [34]);
    }

    #[test]
    fn a_pod_that_is_not_like_the_others_is_found() {
        let mut text = "NAME      READY   STATUS    RESTARTS     AGE\n".to_owned();
        for n in 0..40 {
            text += &match n {
                25 => format!("web-{n}    0/1     CrashLoopBackOff   12 (3m ago)   3d\n"),
                _ => format!("web-{n}    1/1     Running   0            3d\n"),
            };
        }
        let outline = crate::outline::outline(&crate::store::memory::output_of(text.as_bytes())).unwrap();
        assert_eq!(outline.odd, [27]);
        let status = outline.items.iter().find(|item| item.name.starts_with("STATUS")).unwrap();
        assert_eq!(status.name, "STATUS: Running × 39, CrashLoopBackOff");
    }

    #[test]
    fn sentences_with_commas_and_lines_of_json_are_no_table() {
        let mut lines: Vec<String> =
            (0..30).map(|n| format!(r#"{{"at":{n},"level":"info","ms":{}}}"#, n % 7)).collect();
        lines[12] = r#"{"at":12,"level":"info","ms":007}"#.to_owned();
        assert!(!of(&lines.join("\n")).starts_with("table"), "{}", of(&lines.join("\n")));
        let text = "First, there was a line, and it was long.\nThen, another one came.\nAnd so, in the end, on, and on.\n";
        assert_eq!(of(text), "text\n");
    }
}
