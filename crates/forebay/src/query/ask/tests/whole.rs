use super::{SMALL, answer, noise};
use crate::query::Found;
use crate::query::ask::overview::NOWHERE;
use crate::store::memory::output_of;
use crate::{Budget, Query, excerpt, tokens};
use expect_test::expect;

#[test]
fn without_a_match_the_answer_says_so_and_shows_salient_lines() {
    let text = noise(0, 300) + "error: no space left on device\n" + &noise(300, 400);
    for tokens in [1_000, 110] {
        let budget = Budget { tokens, bytes: 4_000, lines: None };
        let found = answer(text.as_bytes(), "Where is Ruritania?", budget);
        assert_eq!((found.found, found.shown, found.lines), (Found::Passages(Vec::new()), Vec::new(), None));
        let shown = String::from_utf8(found.text).unwrap();
        assert!(
            shown.starts_with("[nothing answers that by its words; what stands out · 401 lines"),
            "{shown}"
        );
        assert!(shown.contains("error: no space left on device\n"), "{shown}");
        assert!(tokens::count(&shown) <= tokens / NOWHERE || tokens < 2 * Budget::LEAST.tokens, "{shown}");
    }
}

#[test]
fn a_question_about_all_of_an_output_gets_its_salient_lines() {
    let record = |n: u64| format!("{{\"id\":{n},\"plan\":\"free\"}}\n");
    let text: String = (0..90).map(record).collect::<String>() + "{\"id\":90,\"plan\":\"gold\"}\n";
    let text = text + &(91..200).map(record).collect::<String>();
    let budget = Budget { tokens: 400, bytes: 8_000, lines: None };
    let found = answer(text.as_bytes(), "Which record is unlike the others?", budget);
    let Found::Passages(passages) = found.found else { panic!() };
    assert!(passages.iter().any(|passage| passage.text.contains("\"gold\"")), "{passages:?}");
    // What is said of others has lines and bytes, too.
    let said = passages.iter().find(|passage| passage.said.is_some()).unwrap();
    // Passages may lie in it, and so nothing is said to be omitted.
    assert!(!said.said.as_ref().unwrap().contains("omitted"), "{said:?}");
    assert!(said.text.is_empty() && said.last_line > said.line, "{said:?}");
    let shown = String::from_utf8(found.text).unwrap();
    let label = format!("[{}–{}: {}]\n", said.line, said.last_line, said.said.as_ref().unwrap());
    assert!(shown.contains(&label), "{shown}");
}

#[test]
fn lines_with_words_of_the_question_are_shown_with_salient_ones() {
    let text = noise(0, 200)
        + "the lexer was built in 9 s\n"
        + &noise(200, 400)
        + "error: no space left on device\n";
    let budget = Budget { tokens: 300, bytes: 4_000, lines: None };
    for (question, both) in [("How is the lexer?", true), ("How is \"the lexer\"?", false)] {
        let found = answer(text.as_bytes(), question, budget);
        let Found::Passages(passages) = &found.found else { panic!() };
        assert_eq!(passages.len(), found.shown.len());
        let shown = String::from_utf8(found.text).unwrap();
        assert!(shown.contains("the lexer was built"), "{shown}");
        assert_eq!(shown.contains("no space left"), both, "{shown}");
    }
}

#[test]
fn an_empty_output_has_no_passages() {
    let none = expect![[r#"
        [nothing answers that by its words; what stands out · 1 line · s/id1234]
        [1] some words
    "#]];
    none.assert_eq(&String::from_utf8_lossy(&answer(b"some words\n", "Where is Ruritania?", SMALL).text));
    for question in ["", " \n"] {
        assert!(excerpt(&output_of(b"x"), &Query::Ask(question.into()), SMALL).is_err());
    }
    for (text, question) in [
        (&b""[..], "why?"),
        (b"\n\n\n", "why?"),
        (&[0; 900], "why?"),
        (b"x", "???"),
        (b"{}", "what?"),
        (b"<html>", "what?"),
    ] {
        answer(text, question, SMALL);
    }
}
