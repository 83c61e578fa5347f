//! The columns of tables: separated by commas, tabs and the like, or aligned under a header.

use super::lines::{Line, Source};
use super::{Items, counted, name};
use crate::Result;

/// How the columns of a table are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Columns {
    Separated(u8),
    Aligned,
}

const SEPARATORS: [(u8, &str); 4] = [
    (b'\t', "separated by tabs"),
    (b',', "separated by commas"),
    (b';', "separated by semicolons"),
    (b'|', "separated by bars"),
];

/// Whether lines are rows of a table. They may be cut, so that long ones say nothing of how many fields they have.
pub(super) fn is_table(lines: &[&[u8]]) -> bool {
    columns(lines).is_some()
}

fn columns(lines: &[&[u8]]) -> Option<Columns> {
    let rows: Vec<&[u8]> = lines.iter().copied().filter(|line| !line.trim_ascii().is_empty()).collect();
    let header = *rows.first()?;
    if rows.len() < 3 {
        return None;
    }
    let separated = SEPARATORS.iter().map(|(separator, _)| *separator).find(|&separator| {
        let wanted = fields(header, separator).len();
        // Two columns apart by a comma may be a sentence.
        let least = if separator == b'\t' { 2 } else { 3 };
        let same = rows.iter().filter(|row| fields(row, separator).len() == wanted).count();
        let named = fields(header, separator).iter().filter(|field| !field.trim().is_empty()).count();
        wanted >= least && named * 4 >= wanted * 3 && same * 20 >= rows.len() * 19
    });
    if let Some(separator) = separated {
        return Some(Columns::Separated(separator));
    }
    let wanted = aligned(header).len();
    let fit = rows[1..].iter().filter(|row| aligned(row).len() + 1 >= wanted).count();
    (is_header(header) && fit * 10 >= (rows.len() - 1) * 9).then_some(Columns::Aligned)
}

/// The header of what `ps` or `kubectl get` prints: three names or more, in capitals.
fn is_header(line: &[u8]) -> bool {
    let capitals =
        |field: &&[u8]| field.iter().all(|byte| byte.is_ascii_uppercase() || b"%()-_/# +".contains(byte));
    let fields: Vec<&[u8]> =
        line.split(|byte| byte.is_ascii_whitespace()).filter(|field| !field.is_empty()).collect();
    fields.len() >= 3 && fields.iter().all(capitals) && line.iter().any(u8::is_ascii_uppercase)
}

fn aligned(line: &[u8]) -> Vec<&[u8]> {
    line.split(|byte| byte.is_ascii_whitespace()).filter(|field| !field.is_empty()).collect()
}

/// The fields of a row; a separator in quotes does not count.
fn fields(row: &[u8], separator: u8) -> Vec<String> {
    let mut fields = vec![Vec::new()];
    let mut quoted = false;
    for &byte in row {
        match byte {
            b'"' => quoted = !quoted,
            _ if byte == separator && !quoted => fields.push(Vec::new()),
            _ => {
                if let Some(field) = fields.last_mut() {
                    field.push(byte);
                }
            }
        }
    }
    fields.iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect()
}

/// One item for the table and one for each column, which are all named in the first line.
pub(super) fn outline(source: &Source, items: &mut Items) -> Result<()> {
    let mut first: Vec<(u64, Vec<u8>)> = Vec::new();
    let (mut rows, mut last) = (0, 1);
    source.for_each(|line: &Line| {
        if line.text.trim_ascii().is_empty() {
            return;
        }
        if first.len() < 200 {
            first.push((line.number, line.text.to_vec()));
        }
        (rows, last) = (rows + 1, line.number);
    })?;
    let lines: Vec<&[u8]> = first.iter().map(|(_, text)| &text[..]).collect();
    let (Some(columns), Some((line, header))) = (columns(&lines), first.first()) else { return Ok(()) };
    let (names, how): (Vec<String>, &str) = match columns {
        Columns::Separated(separator) => {
            let how = SEPARATORS.iter().find(|(known, _)| *known == separator).map_or("", |(_, how)| how);
            (fields(header, separator), how)
        }
        Columns::Aligned => {
            let header = String::from_utf8_lossy(header).into_owned();
            // Names may have a space in them where the columns are further apart.
            let wide: Vec<String> = header
                .split("  ")
                .map(|field| field.trim().to_owned())
                .filter(|field| !field.is_empty())
                .collect();
            let narrow: Vec<String> = header.split_whitespace().map(str::to_owned).collect();
            (if wide.len() * 2 > narrow.len() { wide } else { narrow }, "aligned")
        }
    };
    let size = format!("{}, {} {how}", counted(rows - 1, "row"), counted(names.len() as u64, "column"));
    items.add((*line, last), 0, "table", size);
    for column in names {
        items.add((*line, *line), 1, "column", name(&column));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::of;

    #[test]
    fn a_table_has_its_columns_and_rows() {
        let out = of("id,name,\"price, in EUR\"\n1,apple,2\n2,\"pear, green\",3\n3,plum,4\n");
        expect_test::expect![[r#"
            table
            1-4 table | 3 rows, 3 columns separated by commas
            1-1   column | id
            1-1   column | name
            1-1   column | price, in EUR
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn an_aligned_table_has_the_columns_of_its_header() {
        let out = of(
            "NAME       READY   STATUS    AGE\nweb-1      1/1     Running   3d\nweb-2      0/1     Pending   1h\ndb-0       1/1     Running   9d\n",
        );
        expect_test::expect![[r#"
            table
            1-4 table | 3 rows, 4 columns aligned
            1-1   column | NAME
            1-1   column | READY
            1-1   column | STATUS
            1-1   column | AGE
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn sentences_with_commas_are_no_table() {
        let text = "First, there was a line, and it was long.\nThen, another one came.\nAnd so, in the end, on, and on.\n";
        assert_eq!(of(text), "text\n");
    }
}
