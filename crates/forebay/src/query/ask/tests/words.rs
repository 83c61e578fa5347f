use super::{SMALL, answer, noise};
use crate::Budget;

#[test]
fn a_word_that_is_only_part_of_others_is_found() {
    let mut text: String = (0..300).map(|n| format!("Unpacking libpart{n}-java (1.{n}-1) ...\n")).collect();
    text += "Unpacking libguava-java (31.1-1) ...\n";
    text += &(0..300).map(|n| format!("Setting up libpart{n}-java (1.{n}-1) ...\n")).collect::<String>();
    let found = answer(text.as_bytes(), "Which guava version was unpacked?", SMALL);
    let found = String::from_utf8_lossy(&found.text).into_owned();
    assert!(found.contains("Unpacking libguava-java (31.1-1)"), "{found}");
}

#[test]
fn in_a_program_words_near_each_other_count_together() {
    let function = |name: &str, first: &str, second: &str| {
        let rest = "    value += 1\n".repeat(4);
        format!("def {name}(value):\n    {first} = value\n{rest}    {second} = value\n{rest}{rest}{rest}\n")
    };
    let others = |from: u64, to: u64| -> String {
        let names =
            ["header", "folding"].map(|first| move |n| function(&format!("other{n}"), first, "value"));
        (from..to).flat_map(|n| names.iter().map(move |name| name(n))).collect()
    };
    let text =
        format!("import os\n\n{}{}{}", others(0, 9), function("meant", "header", "folding"), others(9, 18));
    let shown =
        String::from_utf8(answer(text.as_bytes(), "The header loses its folding", SMALL).text).unwrap();
    let meant = shown.split("[364–").nth(1).unwrap_or_default();
    assert!(meant.contains("    folding = value"), "{shown}");
}

#[test]
fn a_comment_leads_to_the_code_below_it() {
    let described: String = (0..30).map(|n| format!("    A sentence about it, number {n}.\n")).collect();
    let other = |n: u64| format!("def other{n}(value):\n    value += {n}\n\n");
    let text = format!(
        "import os\n\ndef header(folding):\n    \"\"\"\n{described}    \"\"\"\n    first = value\n    return first\n\n{}",
        (0..60).map(other).collect::<String>()
    );
    let shown =
        String::from_utf8(answer(text.as_bytes(), "The header loses its folding", SMALL).text).unwrap();
    assert!(shown.contains("    first = value\n    return first\n"), "{shown}");
}

#[test]
fn a_term_in_quotes_is_found_where_a_document_defines_it() {
    let clause = |n: u64| {
        format!(
            "{n}. The parties agree that what part {n} of this text says of the work holds for all of them, and for whoever comes after them, until they agree on something else in writing.\n"
        )
    };
    let clauses = |from, to| (from..to).map(clause).collect::<String>();
    for (quoted, is_shown) in [("\"Parties\"", true), ("“Parties”", true), ("Parties", false)] {
        let meant = format!(
            "Acme, whose seat is in the town of that name by the river, and Brook, whose seat is on the other side of it, are referred to in all that follows as the {quoted}, both of them.\n"
        );
        let text = clauses(0, 40) + &meant + &clauses(40, 80);
        let shown = String::from_utf8(answer(text.as_bytes(), "Who are the parties?", SMALL).text).unwrap();
        assert_eq!(shown.contains("Acme"), is_shown, "{shown}");
    }
}

#[test]
fn of_a_list_the_best_file_is_shown_first_and_tests_last() {
    let line = |path: &str, n: u64| format!("{path}:{n}: merge(left, right)\n");
    let part = |n: u64| line(&format!("src/part{n}.rs"), n);
    let text: String = (0..20)
        .map(part)
        .chain((0..3).map(|n| line("tests/a.rs", n)))
        .chain((20..40).map(part))
        .chain((0..4).map(|n| line("src/zipping/of_all_parts.rs", n)))
        .collect();
    let shown =
        String::from_utf8(answer(text.as_bytes(), "Merge fails when left is empty", SMALL).text).unwrap();
    let times = |what: &str| shown.matches(what).count();
    assert!(times("src/zipping") == 4 && times("src/part") > 0 && times("tests/") == 0, "{shown}");
}

#[test]
fn rare_words_weigh_more_and_forms_of_a_word_count_as_one() {
    let text = noise(0, 300) + "the migrations were adapted for parties\n" + &noise(300, 600);
    let found =
        answer(text.as_bytes(), "Which unit of the project has a migration adaptation for the party?", SMALL);
    assert!(String::from_utf8(found.text).unwrap().contains("the migrations were adapted for parties\n"));
}

#[test]
fn the_gist_of_a_text_is_its_beginning() {
    let text = format!("# Forebay keeps what tools say\n\n{}", noise(0, 900));
    let shown = String::from_utf8(answer(text.as_bytes(), "what is this text about?", SMALL).text).unwrap();
    assert!(shown.contains("# Forebay keeps what tools say"), "{shown}");
}

#[test]
fn a_date_is_found_in_any_notation() {
    for written in ["2015/03/15", "2015-03-15", "Mar 15 2015", "15/Mar/2015"] {
        let day =
            |n: u64| format!("{},15,3,2015,march\n", written.replace("15", &format!("{:02}", n % 14 + 16)));
        let text = (0..90).map(day).chain([format!("{written},wet\n")]).chain((90..180).map(day));
        let text: String = text.collect();
        let budget = Budget { tokens: 80, ..SMALL };
        let question = "How much did it rain on 15 March 2015?";
        let shown = String::from_utf8(answer(text.as_bytes(), question, budget).text).unwrap();
        assert!(shown.contains(&format!("{written},wet")), "{shown}");
    }
}

#[test]
fn the_rows_with_the_largest_values_are_shown() {
    let row = |n: u64| format!("2012/01/{n},{}.5,{}\n", n * 37 % 91, n * 7 % 13);
    let text = "date,temp_max,wind\n".to_owned() + &(0..90).map(row).collect::<String>();
    let shown = String::from_utf8(answer(text.as_bytes(), "What was the hottest day?", SMALL).text).unwrap();
    assert!(shown.contains(",90.5,") && shown.contains("date,temp_max,wind"), "{shown}");
}
