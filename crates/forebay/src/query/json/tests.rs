//! Filters and their results, as tables.

use super::*;
use crate::outline::json::shape;
use crate::request::filter::Ended;
use crate::request::filter::Total;
use crate::store::memory::output_of;
use expect_test::expect;
use proptest::prelude::*;

fn results(bytes: &[u8], code: &str) -> Result<Values> {
    filter(&output_of(bytes), code, 0, 1000, 1_000_000)
}

/// The results on one line, with how the run ended if not well.
fn said(bytes: &[u8], code: &str) -> String {
    match results(bytes, code) {
        Err(error) => format!("error: {error}"),
        Ok(values) => {
            let mut said: Vec<String> = values.values.iter().map(|value| value.json.clone()).collect();
            match &values.ended {
                Ended::AllRead => assert_eq!(values.total, Total::Exactly(said.len() as u64)),
                ended => said.push(format!("{ended:?}")),
            }
            said.join(" ")
        }
    }
}

fn table(bytes: &[u8], codes: &[&str]) -> String {
    codes.iter().map(|code| format!("{code}  →  {}\n", said(bytes, code))).collect()
}

#[test]
fn many_small_documents_use_no_more_together_than_one_large() {
    let values = results(&b"{\"a\":1}\n".repeat(2_000), "[limit(1e4; repeat(.))] | length").unwrap();
    assert!(matches!(values.ended, Ended::Stopped { .. }), "{:?}", values.ended);
    assert!(matches!(values.total, Total::AtLeast(..1_000)), "{:?}", values.total);
}

#[test]
fn filters_give_the_results_of_jq() {
    let bytes = br#"{"items":[{"id":1,"kind":"a","n":2.50},{"id":2,"kind":"b","n":1e400},{"id":3,"kind":"a","n":-0}],"odd key":{"x":123456789012345678901234567890}}"#;
    let codes = [
        ".",
        ".items[].id",
        ".items | length",
        "[.items[] | select(.kind == \"a\") | .id]",
        ".items | map(.n)",
        "[.items[] | .id] | add",
        ".items | group_by(.kind) | map({k: .[0].kind, n: length})",
        ".[\"odd key\"].x",
        "keys",
        ".items[-1]",
        ".items[1:] | length",
        ".items[0] | to_entries[] | [.key, .value] | @csv",
        ".missing",
        ".missing[]?",
        "first(.items[] | .id)",
        "limit(2; .items[]) | .id",
        "[limit(2; .items[].id)]",
        ".items | map(.id) | @tsv",
        ".items[] as {id: $i, kind: $k} | \"\\($i)\\($k)\"",
        "def f: .id * 2; .items[] | f",
        ".items | INDEX(.kind) | keys",
        "[paths] | length",
        ".items | any(.id == 2)",
        "[.items[].id | IN(1, 2)]",
        "walk(if type == \"number\" then 0 else . end) | .items[0]",
        ".items | sort_by(-.id) | .[0].id",
        "[.. | numbers] | length",
        "reduce .items[] as $x (0; . + $x.id)",
        ".items[0] | del(.n)",
        ".items[0] | .n |= . + 1",
        ".items[0].kind | test(\"A\"; \"i\")",
        "\"a,b\" | split(\",\")",
        "[range(0; 10; 3)]",
        ".items[0] | with_entries(.value |= tostring)",
        "tojson | fromjson | .items[1].id",
        "[.items[] | .id] | min, max",
        ".a.b.c",
        ".items[0][0]",
        "[.[-1]?, .items[0][0]?]",
        ".items[1].kind = \"c\" | .items[1].kind",
        ".items.x",
        "error(\"no\")",
        "1, error(\"no\"), 2",
        "try error(\"no\") catch .",
        "nan",
        "infinite",
        "[1, 1.0, 1.5, 3.0 * 2]",
    ];
    expect![[r#"
        .  →  {"items":[{"id":1,"kind":"a","n":2.50},{"id":2,"kind":"b","n":1e400},{"id":3,"kind":"a","n":-0}],"odd key":{"x":123456789012345678901234567890}}
        .items[].id  →  1 2 3
        .items | length  →  3
        [.items[] | select(.kind == "a") | .id]  →  [1,3]
        .items | map(.n)  →  [2.50,1e400,-0]
        [.items[] | .id] | add  →  6
        .items | group_by(.kind) | map({k: .[0].kind, n: length})  →  [{"k":"a","n":2},{"k":"b","n":1}]
        .["odd key"].x  →  123456789012345678901234567890
        keys  →  ["items","odd key"]
        .items[-1]  →  {"id":3,"kind":"a","n":-0}
        .items[1:] | length  →  2
        .items[0] | to_entries[] | [.key, .value] | @csv  →  "\"id\",1" "\"kind\",\"a\"" "\"n\",2.50"
        .missing  →  null
        .missing[]?  →  
        first(.items[] | .id)  →  1
        limit(2; .items[]) | .id  →  1 2
        [limit(2; .items[].id)]  →  [1,2]
        .items | map(.id) | @tsv  →  "1\t2\t3"
        .items[] as {id: $i, kind: $k} | "\($i)\($k)"  →  "1a" "2b" "3a"
        def f: .id * 2; .items[] | f  →  2 4 6
        .items | INDEX(.kind) | keys  →  ["a","b"]
        [paths] | length  →  15
        .items | any(.id == 2)  →  true
        [.items[].id | IN(1, 2)]  →  [true,true,false]
        walk(if type == "number" then 0 else . end) | .items[0]  →  {"id":0,"kind":"a","n":0}
        .items | sort_by(-.id) | .[0].id  →  3
        [.. | numbers] | length  →  7
        reduce .items[] as $x (0; . + $x.id)  →  6
        .items[0] | del(.n)  →  {"id":1,"kind":"a"}
        .items[0] | .n |= . + 1  →  {"id":1,"kind":"a","n":3.5}
        .items[0].kind | test("A"; "i")  →  true
        "a,b" | split(",")  →  ["a","b"]
        [range(0; 10; 3)]  →  [0,3,6,9]
        .items[0] | with_entries(.value |= tostring)  →  {"id":"1","kind":"a","n":"2.50"}
        tojson | fromjson | .items[1].id  →  2
        [.items[] | .id] | min, max  →  1 3
        .a.b.c  →  null
        .items[0][0]  →  Failed { error: "Cannot index object with number" }
        [.[-1]?, .items[0][0]?]  →  []
        .items[1].kind = "c" | .items[1].kind  →  "c"
        .items.x  →  Failed { error: "cannot index [{\"id\":1,\"kind\":\"a\",\"n\":2.50},{\"id\":2,\"kind\":\"b\",\"n\":1e400},{\"id\":3,\"kind\":\"a\",\"n\":-0}] with \"x\"" }
        error("no")  →  Failed { error: "no" }
        1, error("no"), 2  →  1 Failed { error: "no" }
        try error("no") catch .  →  "no"
        nan  →  null
        infinite  →  1.7976931348623157e308
        [1, 1.0, 1.5, 3.0 * 2]  →  [1,1.0,1.5,6]
    "#]].assert_eq(&table(bytes, &codes));
}

#[test]
fn a_wrong_filter_is_shown_with_the_place_of_the_error() {
    let codes = [
        ".[",
        ".a |",
        "1 +",
        "\"abc",
        "nosuch",
        "map(1; 2)",
        "$x",
        "{a b}",
        ".a | nosuch(1) | .b",
        "env",
        "$ENV.HOME",
        "now",
        "input",
        "inputs",
        "input_filename",
        "import \"a\" as a; .",
        "include \"a\"; .",
        "halt",
        "localtime",
        "break $out",
        "@nosuch",
        "a::b",
        "&",
        "",
        "reduce . as $x",
    ];
    expect![[r#"
        .[  →  error: the filter does not parse: expected closing bracket
            .[
              ^
        .a |  →  error: the filter does not parse: expected term
            .a |
                ^
        1 +  →  error: the filter does not parse: expected term
            1 +
               ^
        "abc  →  error: the filter does not parse: expected closing quote
            "abc
                ^
        nosuch  →  error: the filter does not parse: there is no such filter
            nosuch
            ^^^^^^
        map(1; 2)  →  error: the filter does not parse: there is no such filter with 2 arguments
            map(1; 2)
            ^^^
        $x  →  error: the filter does not parse: there is no such variable
            $x
            ^^
        {a b}  →  error: the filter does not parse: expected comma or right brace
            {a b}
               ^
        .a | nosuch(1) | .b  →  error: the filter does not parse: there is no such filter with 1 argument
            .a | nosuch(1) | .b
                 ^^^^^^
        env  →  error: the filter does not parse: filters cannot read the environment
            env
            ^^^
        $ENV.HOME  →  error: the filter does not parse: filters cannot read the environment
            $ENV.HOME
            ^^^^
        now  →  error: the filter does not parse: filters have no clock
            now
            ^^^
        input  →  error: the filter does not parse: filters are run for each document by itself
            input
            ^^^^^
        inputs  →  error: the filter does not parse: filters are run for each document by itself
            inputs
            ^^^^^^
        input_filename  →  error: the filter does not parse: an output has no file name
            input_filename
            ^^^^^^^^^^^^^^
        import "a" as a; .  →  error: the filter does not parse: filters cannot load modules
            import "a" as a; .
            ^^^^^^
        include "a"; .  →  error: the filter does not parse: filters cannot load modules
            include "a"; .
            ^^^^^^^
        halt  →  error: the filter does not parse: filters cannot end the program; use limit or first
            halt
            ^^^^
        localtime  →  error: the filter does not parse: filters have no local time; use gmtime
            localtime
            ^^^^^^^^^
        break $out  →  error: the filter does not parse: there is no such label
            break $out
                  ^^^^
        @nosuch  →  error: the filter does not parse: there is no such filter
            @nosuch
            ^^^^^^^
        a::b  →  error: the filter does not parse: there is no such module
            a::b
            ^
        &  →  error: the filter does not parse: expected token
            &
            ^
          →  error: the filter is empty; '.' gives the whole document
        reduce . as $x  →  error: the filter does not parse: there is no such filter
            reduce . as $x
            ^^^^^^
    "#]]
    .assert_eq(&table(b"[]", &codes));
}

#[test]
fn a_filter_that_would_not_end_is_stopped() {
    let codes = [
        "def f: f; f",
        "def f: 1 + f; f",
        "def f: [f]; f",
        "def f(g): f(g | g); f(.)",
        "[range(1e12)] | length",
        "[repeat(1)] | length",
        "last(repeat(1))",
        "[limit(1e9; repeat(1))] | length",
        "\"x\" * 1e9",
        "\"x\" * 1000000000",
        "reduce range(100) as $_ (\"x\"; . + .) | length",
        "reduce range(100) as $_ ([1]; . + .) | length",
        "reduce range(100) as $_ (\"x\"; \"\\(.)\\(.)\") | length",
        "reduce range(100) as $_ (1; [., .]) | tojson | length",
        "reduce range(100) as $_ (1; [., .]) | . == .",
        "reduce range(100) as $_ (1; [., .]) | [., .] | sort | length",
        "reduce range(1e9) as $_ (1; [.])",
        "reduce range(1e9) as $_ (1; {a: .})",
        "reduce range(1e9) as $_ ({}; .a = .)",
        "reduce range(100) as $_ (3; . * .)",
        "[recurse(. + 1)] | length",
        "until(false; .)",
        "[.[]?, repeat(try error(\"x\"))] | length",
        "def f: try f catch f; f",
        "def f: f?; f",
        "[range(1e6)] as $a | [$a[] as $x | $a[]] | length",
        "(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|empty",
        "[range(1000) as $x | range(1e7) as $y | empty]",
        "\"[\" * 1000000 | fromjson",
        "[combinations(40)?] | [[1,2],[3,4]] | [combinations(40)] | length",
        "[range(1e7)] | implode | length",
        "reduce range(1e6) as $i ([]; . + [\"a\"]) as $p | null | setpath($p; 1) | 1",
        "[splits(\"\")?] | (\"x\" * 30000000) | explode | length",
        "(\"x\" * 30000000) as $s | [range(1000) | $s | explode] | length",
        "def f: def g: f; g | g; f",
        "isvalid(1)?",
        "[foreach repeat(1) as $x (0; . + 1)]",
        "input_line_number?",
        "walk(.)",
        "label $x | repeat(1) | if . == 1 then ., break $x else . end",
        "first(repeat(1))",
        "[limit(3; repeat(1))]",
        "isempty(repeat(1))",
    ];
    expect![[r#"
        def f: f; f  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        def f: 1 + f; f  →  Stopped { why: "the filter was stopped: it calls itself too deep" }
        def f: [f]; f  →  Stopped { why: "the filter was stopped: it calls itself too deep" }
        def f(g): f(g | g); f(.)  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        [range(1e12)] | length  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        [repeat(1)] | length  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        last(repeat(1))  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        [limit(1e9; repeat(1))] | length  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        "x" * 1e9  →  Stopped { why: "the filter was stopped: it makes a string of more than 32 MiB" }
        "x" * 1000000000  →  Stopped { why: "the filter was stopped: it makes a string of more than 32 MiB" }
        reduce range(100) as $_ ("x"; . + .) | length  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        reduce range(100) as $_ ([1]; . + .) | length  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        reduce range(100) as $_ ("x"; "\(.)\(.)") | length  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        reduce range(100) as $_ (1; [., .]) | tojson | length  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        reduce range(100) as $_ (1; [., .]) | . == .  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        reduce range(100) as $_ (1; [., .]) | [., .] | sort | length  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        reduce range(1e9) as $_ (1; [.])  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        reduce range(1e9) as $_ (1; {a: .})  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        reduce range(1e9) as $_ ({}; .a = .)  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        reduce range(100) as $_ (3; . * .)  →  Stopped { why: "the filter was stopped: it makes an integer of more than a million bits" }
        [recurse(. + 1)] | length  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        until(false; .)  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        [.[]?, repeat(try error("x"))] | length  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        def f: try f catch f; f  →  Stopped { why: "the filter was stopped: it calls itself too deep" }
        def f: f?; f  →  Stopped { why: "the filter was stopped: it calls itself too deep" }
        [range(1e6)] as $a | [$a[] as $x | $a[]] | length  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        (.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|empty  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        [range(1000) as $x | range(1e7) as $y | empty]  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        "[" * 1000000 | fromjson  →  Failed { error: "not JSON at byte 10000: it is nested too deep" }
        [combinations(40)?] | [[1,2],[3,4]] | [combinations(40)] | length  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        [range(1e7)] | implode | length  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        reduce range(1e6) as $i ([]; . + ["a"]) as $p | null | setpath($p; 1) | 1  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        [splits("")?] | ("x" * 30000000) | explode | length  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        ("x" * 30000000) as $s | [range(1000) | $s | explode] | length  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        def f: def g: f; g | g; f  →  Stopped { why: "the filter was stopped: it calls itself too deep" }
        isvalid(1)?  →  error: the filter does not parse: there is no such filter with 1 argument
            isvalid(1)?
            ^^^^^^^
        [foreach repeat(1) as $x (0; . + 1)]  →  Stopped { why: "the filter was stopped: it takes too many steps or too much memory" }
        input_line_number?  →  error: the filter does not parse: the line of each result is given with it
            input_line_number?
            ^^^^^^^^^^^^^^^^^
        walk(.)  →  null
        label $x | repeat(1) | if . == 1 then ., break $x else . end  →  1
        first(repeat(1))  →  1
        [limit(3; repeat(1))]  →  [1,1,1]
        isempty(repeat(1))  →  false
    "#]].assert_eq(&table(b"null", &codes));
}

#[test]
fn outputs_that_are_not_json_or_not_complete_are_reported() {
    let codes: [(&[u8], &str); 22] = [
        (b"", "."),
        (b"hello world\n", "."),
        (b"[INFO] building\n", ".[]"),
        (b"{\"a\":1}\n{\"a\":2}\n", ".a"),
        (b"{\"a\":1}\n\n \n{\"a\":2}", ".a"),
        (b"{\"a\":1}{\"a\":2}[3]4 \"x\"", "."),
        (b"{\"a\":1}\noops\n", ".a"),
        (b"{\"a\":1}\n{\"a\":}\n", ".a"),
        (b"{\"a\":1}\n{\"a\":2", ".a"),
        (b"[1,2,3", ".[]"),
        (b"[1,2,3", ".[] | . * 2"),
        (b"[1,2,[3,4", ".[]"),
        (b"[1,2,3", "length"),
        (b"{\"a\":[1,{\"b\":2},3", ".a[]"),
        (b"{\"a\":[1,{\"b\":2},3", ".a[1].b"),
        (b"{\"a\":[1,2", "map(1)"),
        (b"[1,2,]", ".[]"),
        (b"[1}", ".[]"),
        (b"\xef\xbb\xbf[1]", ".[]"),
        (b"[NaN]", "."),
        (b"{\"a\":1,\"a\":2}", ".a, .[]"),
        (b"[\"\xff\"]", ".[]"),
    ];
    let said: String = codes
        .iter()
        .map(|(bytes, code)| format!("{} · {code}  →  {}\n", bytes.escape_ascii(), said(bytes, code)))
        .collect();
    expect![[r#"
         · .  →  
        hello world\n · .  →  error: the output is text, not JSON: no value can begin with this, at byte 0 (line 1); use grep or read its lines
        [INFO] building\n · .[]  →  error: the output is text, not JSON: no value can begin with this, at byte 1 (line 1); use grep or read its lines
        {\"a\":1}\n{\"a\":2}\n · .a  →  1 2
        {\"a\":1}\n\n \n{\"a\":2} · .a  →  1 2
        {\"a\":1}{\"a\":2}[3]4 \"x\" · .  →  {"a":1} {"a":2} [3] 4 "x"
        {\"a\":1}\noops\n · .a  →  1 Broken("no value can begin with this, at byte 8 (line 2)")
        {\"a\":1}\n{\"a\":}\n · .a  →  1 Broken("no value can begin with this, at byte 13 (line 2)")
        {\"a\":1}\n{\"a\":2 · .a  →  1 Stopped { why: "the document that begins at byte 8 (line 2) is not whole: the output ends inside of it" }
        [1,2,3 · .[]  →  1 2 Stopped { why: "the document that begins at byte 0 (line 1) is not whole: the output ends inside of it" }
        [1,2,3 · .[] | . * 2  →  2 4 Stopped { why: "the document that begins at byte 0 (line 1) is not whole: the output ends inside of it" }
        [1,2,[3,4 · .[]  →  1 2 Stopped { why: "the document that begins at byte 0 (line 1) is not whole: the output ends inside of it" }
        [1,2,3 · length  →  Stopped { why: "the document that begins at byte 0 (line 1) is not whole: the output ends inside of it" }
        {\"a\":[1,{\"b\":2},3 · .a[]  →  1 {"b":2} Stopped { why: "the document that begins at byte 5 (line 1) is not whole: the output ends inside of it" }
        {\"a\":[1,{\"b\":2},3 · .a[1].b  →  2 Stopped { why: "the document that begins at byte 0 (line 1) is not whole: the output ends inside of it" }
        {\"a\":[1,2 · map(1)  →  Stopped { why: "the document that begins at byte 0 (line 1) is not whole: the output ends inside of it" }
        [1,2,] · .[]  →  error: the output is text, not JSON: no value can begin with this, at byte 5 (line 1); use grep or read its lines
        [1} · .[]  →  error: the output is text, not JSON: ',' or ']' must come here, at byte 2 (line 1); use grep or read its lines
        \xef\xbb\xbf[1] · .[]  →  1
        [NaN] · .  →  error: the output is text, not JSON: no value can begin with this, at byte 1 (line 1); use grep or read its lines
        {\"a\":1,\"a\":2} · .a, .[]  →  2 2
        [\"\xff\"] · .[]  →  error: the output is binary, not JSON: this is not UTF-8, at byte 2 (line 1); use grep or read its lines
    "#]].assert_eq(&said);
}

#[test]
fn a_result_that_is_small_in_memory_and_endless_in_print_is_cut() {
    let values = filter(&output_of(b"null"), "reduce range(100) as $_ (1; [., .])", 0, 10, 1000).unwrap();
    assert_eq!(values.values[0].json.len(), 1000);
    assert!(!values.values[0].is_whole());
    assert!(matches!(values.ended, Ended::Stopped { .. }), "{:?}", values.ended);
}

#[test]
fn results_begin_at_a_number_and_end_with_the_room() {
    let output = output_of(b"[10,11,12,13,14]\n[20,21]\n");
    let given = |skip, max, enough| {
        let values = filter(&output, ".[]", skip, max, enough).unwrap();
        let given: Vec<_> = values
            .values
            .iter()
            .map(|value| (value.json.clone(), value.at.clone().unwrap(), value.line.unwrap()))
            .collect();
        (given, values.total)
    };
    let value = |text: &str, at, line| (text.to_owned(), at, line);
    assert_eq!(given(4, 2, 100), (vec![value("14", 0..16, 1), value("20", 17..24, 2)], Total::Exactly(7)));
    assert_eq!(given(0, 100, 5), (vec![value("10", 0..16, 1), value("11", 0..16, 1)], Total::Exactly(7)));
    assert_eq!(given(9, 100, 5), (vec![], Total::Exactly(7)));
    let cut = filter(&output_of(b"[\"a long string\"]"), ".[0]", 0, 1, 7).unwrap().values.remove(0);
    assert_eq!((cut.json.as_str(), cut.length, cut.is_whole()), ("\"a long", 15, false));
}

#[test]
fn a_giant_word_is_not_a_value_for_any_filter() {
    let word = "x".repeat(3 << 20);
    for code in [".", ".[0]", ".a", ".[]", "length", "map(.a)", ".[2:4]"] {
        let said = said(word.as_bytes(), code);
        assert!(said.starts_with("error: the output is text, not JSON: "), "{code}: {said}");
    }
    assert_eq!(said(format!("\"{word}\"").as_bytes(), "length"), word.len().to_string());
}

/// A document with something large before its members, so that it is gone through piece by piece.
fn large(members: &str) -> Vec<u8> {
    let padding = "x".repeat(1_100_000);
    format!("{{\"padding\": \"{padding}\", \"a\": {members}, \"b\": {{\"c\": {members}}}}}").into_bytes()
}

/// Filters that are run piece by piece; the others with them must say the same.
const FILTERS: [&str; 28] = [
    ".a[]",
    ".a[]?",
    ".a | length",
    ".a | map(.x?)",
    ".a | map(.x?) | length",
    "[.a[] | .x?] | add?",
    ".a[1]",
    ".a[-2]",
    ".a[-1].x?",
    ".a[1:3]",
    ".a[:2] | length",
    ".a | keys",
    ".a | type",
    ".b.c[]",
    "[.b.c[]]",
    "[.b.c[] | type] | group_by(.)",
    "first(.a[])",
    "[first(.b.c[])]",
    "limit(2; .a[] | ., .)",
    "limit(2; .a[]) | type",
    "limit(0; .a[])",
    ".b | keys",
    ".a | has(0)",
    ".missing",
    ".missing[]",
    ".a.x",
    ".b.c[].x",
    "def f: type; .a[] | f",
];

fn outcome(bytes: &[u8], code: &str) -> (Vec<String>, bool) {
    let values = filter(&output_of(bytes), code, 0, 1000, 1_000_000).unwrap();
    (values.values.into_iter().map(|value| value.json).collect(), values.ended == Ended::AllRead)
}

fn json(depth: u32) -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i32>().prop_map(serde_json::Value::from),
        "[a-c\"\\\\é\n]{0,3}".prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(depth, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            proptest::collection::vec(("[xyé \"]{1,2}", inner), 0..4)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The number of times that each path occurs, found in the plainest way.
fn walked(value: &serde_json::Value, path: &str, paths: &mut std::collections::BTreeMap<String, u64>) {
    *paths.entry(path.to_owned()).or_default() += 1;
    match value {
        serde_json::Value::Array(items) => {
            items.iter().for_each(|item| walked(item, &format!("{path}[]"), paths))
        }
        serde_json::Value::Object(members) => members.iter().for_each(|(key, value)| {
            walked(value, &format!("{path}[{}]", serde_json::Value::from(key.as_str())), paths);
        }),
        _ => {}
    }
}

/// A path in the form of [`walked`].
fn plain(path: &str) -> String {
    let mut plain = String::from(".");
    let mut rest = &path[1..];
    while let Some(next) = rest.chars().next() {
        let end = match next {
            '?' => 1,
            '.' | '[' if rest.starts_with("[]") => {
                plain.push_str("[]");
                2
            }
            '[' => {
                let mut keys = serde_json::Deserializer::from_str(&rest[1..]).into_iter::<String>();
                let key = keys.next().unwrap().unwrap();
                plain.push_str(&format!("[{}]", serde_json::Value::from(key)));
                keys.byte_offset() + 2
            }
            _ => {
                let name = rest.trim_start_matches('.');
                let length = name.find(['.', '[', '?']).unwrap_or(name.len());
                plain.push_str(&format!("[\"{}\"]", &name[..length]));
                rest.len() - name.len() + length
            }
        };
        rest = &rest[end..];
    }
    plain
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_large_document_gives_what_the_same_filter_gives_on_the_whole(members in json(3)) {
        let bytes = large(&members.to_string());
        for code in FILTERS {
            // A variable keeps a filter from being taken apart.
            let whole = format!(". as $whole | {code}");
            let (piecewise, whole) = (outcome(&bytes, code), outcome(&bytes, &whole));
            prop_assert_eq!(piecewise, whole, "{} on {}", code, members);
        }
    }
}

proptest! {
    #[test]
    fn a_shape_counts_what_a_plain_walk_counts(documents in proptest::collection::vec(json(4), 1..4)) {
        let text: Vec<String> = documents.iter().map(ToString::to_string).collect();
        let output = output_of(text.join("\n").as_bytes());
        let shape = shape(&output).unwrap();
        let mut expected = Default::default();
        documents.iter().for_each(|document| walked(document, ".", &mut expected));
        let counted = shape.paths.iter().map(|path| (plain(&path.path), path.count)).collect();
        prop_assert_eq!(expected, counted);
        prop_assert!(shape.whole && shape.documents == documents.len() as u64);
    }

    #[test]
    fn every_path_of_a_shape_is_a_filter(document in json(4)) {
        let output = output_of(document.to_string().as_bytes());
        for path in shape(&output).unwrap().paths {
            let values = filter(&output, &path.path, 0, 1000, 100_000).unwrap();
            prop_assert_eq!(&values.ended, &Ended::AllRead, "{}", path.path);
            let Total::Exactly(total) = values.total else { panic!() };
            prop_assert!(total >= path.count, "{} {} {}", path.path, total, path.count);
        }
    }

    #[test]
    fn any_bytes_are_taken_without_a_panic(bytes in "([\\[\\]{},:\"]|[a-c0-9.e-]|true|null|\"a\":| |\n|é){0,30}", cut in 0usize..40) {
        let bytes = &bytes.as_bytes()[..cut.min(bytes.len())];
        let output = output_of(bytes);
        let _ = shape(&output).unwrap();
        for code in [".", ".[]", ".a[0]", "map(.)", "length"] {
            let _ = filter(&output, code, 0, 10, 100);
        }
    }
}

#[test]
fn a_path_below_arrays_and_objects_skips_missing_members() {
    for document in
        [r#"[{"\"": null}, [[null]]]"#, r#"[{"a": 1}, [{"b": 2}]]"#, r#"[{"a": [1]}, [[{"b": 2}]]]"#]
    {
        let output = output_of(document.as_bytes());
        for path in shape(&output).unwrap().paths {
            let values = filter(&output, &path.path, 0, 10, 1_000).unwrap();
            assert_eq!(values.ended, Ended::AllRead, "{document}: {}", path.path);
        }
    }
}

#[test]
fn hostile_documents_get_an_answer() {
    let deep = "[".repeat(1_000_000);
    assert!(results(deep.as_bytes(), ".[]").unwrap().values.is_empty());
    assert!(shape(&output_of(deep.as_bytes())).unwrap().more);
    let closed = format!("{deep}{}", "]".repeat(1_000_000));
    assert!(said(closed.as_bytes(), "length").contains('1'));
    assert!(said(closed.as_bytes(), ".").contains("nested too deep"));
    let long = format!("[\"{}\", 1]", "x".repeat(3_000_000));
    assert_eq!(said(long.as_bytes(), ".[1]"), "1");
    let shape = shape(&output_of(long.as_bytes())).unwrap();
    assert_eq!(shape.paths[1].longest, Some(3_000_000));
    assert!(shape.whole);
}

#[test]
fn the_shape_of_documents() {
    let table: [&[u8]; 11] = [
        br#"{"items":[{"id":1,"name":"a","ok":true},{"id":22,"name":null,"extra":[1.5,-2]}],"odd key":{}}"#,
        b"{\"a\":1}\n{\"a\":\"x\"}\n{\"b\":[]}\n",
        br#"{"files":{"src/a.rs":{"lines":1},"src/b.rs":{"lines":2},"src/c.rs":{"lines":3},"src/d.rs":{"lines":4},"src/e.rs":{"lines":5}}}"#,
        br#"{"1":1,"2":1,"3":1,"4":1,"5":1,"6":1}"#,
        b"[1,2,{\"a\":",
        b"[1,2 3]",
        b"",
        b"plain text",
        b"\xef\xbb\xbf[]",
        br#"[{"a":1},5]"#,
        br#"{"a\u0062":1,"if":2,"x":"a string that is so long that nobody would want to see all of it here"}"#,
    ];
    let mut said = String::new();
    for bytes in table {
        let shape = shape(&output_of(bytes)).unwrap();
        said += &format!(
            "{} · {} documents{}\n",
            bytes.escape_ascii(),
            shape.documents,
            match shape.broken {
                Some(broken) => format!(", {} at byte {}", broken.why, broken.at),
                None => String::new(),
            }
        );
        for path in shape.paths {
            said += &format!("    {}\n", serde_json::to_string(&path).unwrap());
        }
    }
    expect![[r#"
        {\"items\":[{\"id\":1,\"name\":\"a\",\"ok\":true},{\"id\":22,\"name\":null,\"extra\":[1.5,-2]}],\"odd key\":{}} · 1 documents
            {"path":".","count":1,"types":[["object",1]],"first":0}
            {"path":".items","count":1,"types":[["array",1]],"items":[2,2],"first":9}
            {"path":".items[]","count":2,"types":[["object",2]],"first":10}
            {"path":".items[].id","count":2,"types":[["number",2]],"examples":["1","22"],"distinct":[["1",1],["22",1]],"numbers":["1","22"],"first":16}
            {"path":".items[].name","count":2,"types":[["null",1],["string",1]],"examples":["\"a\"","null"],"distinct":[["\"a\"",1],["null",1]],"longest":1,"first":25}
            {"path":".items[].ok","count":1,"types":[["boolean",1]],"examples":["true"],"distinct":[["true",1]],"first":34}
            {"path":".items[].extra","count":1,"types":[["array",1]],"items":[2,2],"first":69}
            {"path":".items[].extra[]?","count":2,"types":[["number",2]],"examples":["1.5","-2"],"distinct":[["1.5",1],["-2",1]],"numbers":["-2","1.5"],"first":70}
            {"path":".[\"odd key\"]","count":1,"types":[["object",1]],"first":90}
        {\"a\":1}\n{\"a\":\"x\"}\n{\"b\":[]}\n · 3 documents
            {"path":".","count":3,"types":[["object",3]],"first":0}
            {"path":".a","count":2,"types":[["number",1],["string",1]],"examples":["1","\"x\""],"distinct":[["1",1],["\"x\"",1]],"numbers":["1","1"],"longest":1,"first":5}
            {"path":".b","count":1,"types":[["array",1]],"items":[0,0],"first":23}
        {\"files\":{\"src/a.rs\":{\"lines\":1},\"src/b.rs\":{\"lines\":2},\"src/c.rs\":{\"lines\":3},\"src/d.rs\":{\"lines\":4},\"src/e.rs\":{\"lines\":5}}} · 1 documents
            {"path":".","count":1,"types":[["object",1]],"first":0}
            {"path":".files","count":1,"types":[["object",1]],"keys":{"fewest":5,"most":5,"examples":["src/a.rs","src/b.rs","src/c.rs"]},"first":9}
            {"path":".files[]","count":5,"types":[["object",5]],"first":21}
            {"path":".files[].lines","count":5,"types":[["number",5]],"examples":["1","2","3"],"distinct":[["1",1],["2",1],["3",1],["4",1],["5",1]],"numbers":["1","5"],"first":30}
        {\"1\":1,\"2\":1,\"3\":1,\"4\":1,\"5\":1,\"6\":1} · 1 documents
            {"path":".","count":1,"types":[["object",1]],"keys":{"fewest":6,"most":6,"examples":["1","2","3"]},"first":0}
            {"path":".[]","count":6,"types":[["number",6]],"examples":["1"],"distinct":[["1",6]],"numbers":["1","1"],"first":5}
        [1,2,{\"a\": · 0 documents, it ends too early at byte 10
            {"path":".","count":1,"types":[["array",1]],"items":[3,3],"first":0}
            {"path":".[]","count":3,"types":[["number",2],["object",1]],"examples":["1","2"],"distinct":[["1",1],["2",1]],"numbers":["1","2"],"first":1}
        [1,2 3] · 0 documents, ',' or ']' must come here at byte 5
            {"path":".","count":1,"types":[["array",1]],"items":[2,2],"first":0}
            {"path":".[]","count":2,"types":[["number",2]],"examples":["1","2"],"distinct":[["1",1],["2",1]],"numbers":["1","2"],"first":1}
         · 0 documents
        plain text · 0 documents, no value can be written like this at byte 0
        \xef\xbb\xbf[] · 1 documents
            {"path":".","count":1,"types":[["array",1]],"items":[0,0],"first":3}
        [{\"a\":1},5] · 1 documents
            {"path":".","count":1,"types":[["array",1]],"items":[2,2],"first":0}
            {"path":".[]","count":2,"types":[["number",1],["object",1]],"examples":["5"],"distinct":[["5",1]],"numbers":["5","5"],"first":1}
            {"path":".[].a?","count":1,"types":[["number",1]],"examples":["1"],"distinct":[["1",1]],"numbers":["1","1"],"first":6}
        {\"a\\u0062\":1,\"if\":2,\"x\":\"a string that is so long that nobody would want to see all of it here\"} · 1 documents
            {"path":".","count":1,"types":[["object",1]],"first":0}
            {"path":".ab","count":1,"types":[["number",1]],"examples":["1"],"distinct":[["1",1]],"numbers":["1","1"],"first":11}
            {"path":".if","count":1,"types":[["number",1]],"examples":["2"],"distinct":[["2",1]],"numbers":["2","2"],"first":18}
            {"path":".x","count":1,"types":[["string",1]],"examples":["\"a string that is so long that nobody would want to see all …"],"longest":69,"first":24}
    "#]].assert_eq(&said);
}

#[test]
fn an_object_with_very_many_keys_is_one_path() {
    let mut text = String::from("{");
    for number in 0..100_000 {
        text += &format!(
            "\"name{}\": {{\"x\": {number}}},",
            "z".repeat(number % 7) + &"y".repeat(number / 1000) + &number.to_string()
        );
    }
    text += "\"last\": {}}";
    let output = output_of(text.as_bytes());
    let shape = shape(&output).unwrap();
    let paths: Vec<_> = shape.paths.iter().map(|path| (path.path.as_str(), path.count)).collect();
    assert_eq!(paths, [(".", 1), (".[]", 100_001), (".[].x", 100_000)]);
    assert_eq!(shape.paths[0].keys.as_ref().map(|keys| keys.most), Some(100_001));
    assert_eq!(filter(&output, ".[].x", 0, 0, 100).unwrap().total, Total::Exactly(100_001));
}

#[test]
fn a_filter_that_makes_much_in_one_step_is_stopped_before_it_does() {
    let codes = [
        "(\"a\"*20000000)|[match(\"\";\"g\")]|length",
        "(\"a\"*20000000)|gsub(\"\";\"aaaa\")|length",
        "(\"a\"*20000000)|[splits(\"\")]|length",
        "(\"a\"*20000000)/\"a\"|length",
        "(\"a\"*20000000)/\"\"|length",
        "(\"a\"*20000000)|explode|length",
        "(\"a\"*16000000)|indices((\"a\"*8000000)+\"b\")",
        "[range(100000)]|contains([range(100000)])",
        "(\"a\"*1000000) as $s|[range(1000)|$s]|tojson|length",
        "(\"a\"*1000000) as $s|\"\\([range(1000)|$s])\"|length",
        "[range(\"\";[];(\"a\"*30000000))]|length",
        "(\"a\"*1000000) as $s|[range(1000)|[$s]]|sort_by($s)|length",
        "def f(x): x|f(x); f(.)",
        "def f(x;y): (x|y)|f(x;y); f(.;.)",
        "def d: .+.; \"a\"|d|d|d|d|d|d|d|d|d|d|d|d|d|d|d|d|d|d|d|d|d|d|d|d|d|d|d|d|length",
        "null|setpath([1e9];1)|length",
        "reduce range(60) as $_ (1; [., .]) | .a",
        "[limit(1e9;repeat({a:1,b:2}))]|length",
    ];
    for code in codes {
        let values = results(b"null", code).unwrap();
        assert_ne!(values.ended, Ended::AllRead, "{code}: {:?}", values.values);
    }
}

#[test]
fn patterns_match_as_those_of_jq_do() {
    let codes = [
        "\"test abc\" | [match(\"[a-c]+\"; \"g\") | [.offset, .length, .string, (.captures | length)]]",
        "\"é ab AB\" | [match(\"(?<x>a)(b)?\"; \"gi\") | {offset, captures}]",
        "\"aXbxc\" | [splits(\"x\"; \"i\")], ascii_downcase",
        "\"a1b22\" | gsub(\"(?<n>[0-9]+)\"; \"<\\(.n)>\"), sub(\"b\"; \"\"), [scan(\"[0-9]\")]",
        "\"ab\" | capture(\"(?<l>.)(?<r>.)\")",
        "[\"ab\" | match(\"\"; \"g\").offset]",
        "\"a\" | test(\"A\"), test(\"A\"; \"ix\"), (try test(\"(\") catch (.[0:13])), (try test(\"a\"; \"q\") catch .)",
        "(\"a\" * 100000) | test(\"a{1000}b\")",
        "\"abcb\" | indices(\"b\"), index(\"b\"), rindex(\"b\"), contains(\"cb\")",
        "[1,2,1] | indices(1), indices([1,2]), contains([2]), inside([1,2,3]), . - [1]",
    ];
    expect![[r#"
        "test abc" | [match("[a-c]+"; "g") | [.offset, .length, .string, (.captures | length)]]  →  [[5,3,"abc",0]]
        "é ab AB" | [match("(?<x>a)(b)?"; "gi") | {offset, captures}]  →  [{"offset":2,"captures":[{"offset":2,"length":1,"string":"a","name":"x"},{"offset":3,"length":1,"string":"b"}]},{"offset":5,"captures":[{"offset":5,"length":1,"string":"A","name":"x"},{"offset":6,"length":1,"string":"B"}]}]
        "aXbxc" | [splits("x"; "i")], ascii_downcase  →  ["a","b","c"] "axbxc"
        "a1b22" | gsub("(?<n>[0-9]+)"; "<\(.n)>"), sub("b"; ""), [scan("[0-9]")]  →  "a<1>b<22>" "a122" ["1","2","2"]
        "ab" | capture("(?<l>.)(?<r>.)")  →  {"l":"a","r":"b"}
        ["ab" | match(""; "g").offset]  →  [0,1,2]
        "a" | test("A"), test("A"; "ix"), (try test("(") catch (.[0:13])), (try test("a"; "q") catch .)  →  false true "invalid regex" "invalid regex flag: q"
        ("a" * 100000) | test("a{1000}b")  →  false
        "abcb" | indices("b"), index("b"), rindex("b"), contains("cb")  →  [1,3] 1 3 true
        [1,2,1] | indices(1), indices([1,2]), contains([2]), inside([1,2,3]), . - [1]  →  [0,2] [0] true true [2]
    "#]].assert_eq(&table(b"null", &codes));
}

#[test]
fn a_filter_ends_when_its_caller_raises_the_flag() {
    let stop = crate::Stop::default();
    let fuel = jq::fuel::Fuel::new(&stop.child());
    fuel.refill(1_000_000);
    let code = "repeat(1)";
    let program = jq::program::Program::compile(code, jq::program::tree(code).unwrap()).unwrap();
    let mut given = 0;
    let end = program.run(jaq_json::Val::Null, &fuel, |_| {
        given += 1;
        if given == 10 {
            stop.raise("time is up");
        }
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!((given, end), (10, jq::program::End::Stopped("time is up".to_owned())));
    // Whatever reads the output ends as well.
    let output = output_of(b"[1]").ended_by(&stop);
    assert!(matches!(filter(&output, ".", 0, 1, 9), Err(crate::Error::Stopped(why)) if why == "time is up"));
    let grep = crate::Query::Grep(crate::Grep::new("1"));
    let budget = crate::Budget { tokens: 99, bytes: 999, lines: None };
    assert!(matches!(crate::excerpt(&output, &grep, budget), Err(crate::Error::Stopped(_))));
}
