use super::{SMALL, answer, check};
use crate::query::Found;
use expect_test::expect;

#[test]
fn only_the_visible_text_of_a_page_is_searched() {
    let menu: String = (0..200).map(|n| format!("<li><a href='/x{n}'>Item {n}</a></li>")).collect();
    let text = format!(
        "<!DOCTYPE html><html><head><title>The tide &amp; the moon</title><script>var tide = 'moon';</script></head>\
         <body><ul>{menu}</ul><h2>Why tides rise</h2><p>The sea is drawn to the moon, and so the water <b>rises</b> twice \
         a day on most of the coasts of the world.</p><h2>Fish</h2><p>Many fish follow the water and feed where it has \
         been, which birds and people know well.</p></body></html>"
    );
    check(
        &text,
        "What does the page say under \"Fish\"?",
        expect![[r#"
            [1 passage · 1 line · s/id1234]
            [1 @7306]
            Why tides rise
            The sea is drawn to the moon, and so the water rises twice a day on most of the coasts of the world.
            Fish
            Many fish follow the water and feed where it has been, which birds and people know well.
        "#]],
    );
    check(
        &text,
        "What does the article \"The tide & the moon\" report?",
        expect![[r#"
            [3 passages · 1 line · s/id1234]
            [1] The tide & the moon
            [1 @7328] The sea is drawn to the moon, and so the water rises twice a day on most of the coasts of the world.
            [1 @7455] Many fish follow the water and feed where it has been, which birds and people know well.
        "#]],
    );
}

#[test]
fn a_heading_comes_with_the_text_under_it() {
    let release = |n: u64, what: &str| {
        let fixes: String = (0..8).map(|fix| format!("- mend part {fix} of {n}\n")).collect();
        format!("1.{n}.0\n=====\n\n{fixes}{what}\n")
    };
    let text: String = (0..30).map(|n| release(n, if n == 17 { "- drop the fig\n" } else { "" })).collect();
    let found = answer(text.as_bytes(), "Which release dropped the fig?", SMALL);
    let found = String::from_utf8_lossy(&found.text).into_owned();
    assert!(found.contains("1.17.0\n") && found.contains("- drop the fig\n"), "{found}");
}

#[test]
fn text_under_a_heading_is_found_by_the_words_of_the_heading() {
    let person = |name: &str, actor: &str| {
        format!(
            "<h3>{name} Huxley</h3><table><tr><td>{actor}</td><td>all seasons</td></tr></table>\
             <p>A friend of the family who has lived next door for as long as anybody can remember.</p>\
             <p>Seen in the pilot, where the Huxleys talk about the Huxleys.</p>"
        )
    };
    let people = [("Ann", "Jo Berg"), ("Ben", "Kim Dahl"), ("Cleo", "Lou Eng"), ("Dan", "Max Fox")];
    let people: String = people.iter().map(|(name, actor)| person(name, actor)).collect();
    // Neither a heading nor a tag of the whole page comes first.
    let text = format!("The Huxleys - a list<h1>The Huxleys</h1><p>All of the Huxleys.</p>{people}");
    check(
        &text,
        "who is cleo of the huxleys?",
        expect![[r#"
            [2 passages · 1 line · s/id1234]
            [1] Ben Huxley
            [1 @475]
            Seen in the pilot, where the Huxleys talk about the Huxleys.
            Cleo Huxley
            Lou Eng all seasons
            A friend of the family who has lived next door for as long as anybody can remember.
            Seen in the pilot, where the Huxleys talk about the Huxleys.
            Dan Huxley
            Max Fox all seasons
            A friend of the family who has lived next door for as long as anybody can remember.
        "#]],
    );
}

#[test]
fn a_question_about_a_whole_page_gets_its_text() {
    let item = |n: u64| format!("<li><a href='/x{n}'>Item {n}</a></li>");
    let menu: String = (0..90).map(item).collect();
    let text = format!(
        "<!DOCTYPE html><html><head><title>Tides</title></head><body><ul>{menu}</ul><p>The sea is drawn to the moon, and so the \
         water rises twice a day on most of the coasts of the world.</p></body></html>"
    );
    let found = answer(text.as_bytes(), "What stands out here?", SMALL);
    let Found::Passages(passages) = found.found else { panic!() };
    assert!(passages.iter().any(|passage| passage.text.starts_with("The sea is drawn")), "{passages:?}");
}
