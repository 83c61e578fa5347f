//! Statements of SQL that create something, and the rows inserted into each table.

use crate::Result;
use crate::classify::lines::Source;
use crate::classify::sql::{FILLS, MAKES};
use crate::outline::matches::Runs;
use crate::outline::{Items, LineSpan, name};

/// Adds an item for each statement that creates something, and one for the rows inserted into a table.
pub(crate) fn outline(source: &Source, items: &mut Items) -> Result<()> {
    let mut made: Vec<(u64, String)> = Vec::new();
    let mut runs = Runs::new("insert", "statement", items);
    source.for_each(|line| {
        if let Some(found) = FILLS.captures(line.text) {
            runs.take(line.number, &[b"INSERT INTO ", &found[1]].concat(), 1);
        } else if MAKES.is_match(line.text) {
            made.push((line.number, line.lossy().trim().trim_end_matches(['(', ';', ' ']).to_owned()));
        }
    })?;
    runs.finish();
    for (line, title) in made {
        items.add(LineSpan::one(line), 0, "statement", || name(&title));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::outline::tests::of;

    #[test]
    fn a_dump_has_its_tables_and_how_many_rows_come_for_each() {
        let rows = |table: &str| -> String {
            (0..9).map(|n| format!("INSERT INTO {table} VALUES({n},'x');\n")).collect()
        };
        let out = of(&format!(
            "BEGIN TRANSACTION;\nCREATE TABLE users (\n  id INTEGER PRIMARY KEY,\n  name TEXT\n);\n{}CREATE UNIQUE INDEX by_name ON users (name);\n{}COMMIT;\n",
            rows("users"),
            rows("\"orders\"")
        ));
        expect_test::expect![[r#"
            text
            2-2 statement | CREATE TABLE users
            6-14 insert | INSERT INTO users: 9 statements
            15-15 statement | CREATE UNIQUE INDEX by_name ON users (name)
            16-24 insert | INSERT INTO "orders": 9 statements
        "#]]
        .assert_eq(&out);
    }
}
