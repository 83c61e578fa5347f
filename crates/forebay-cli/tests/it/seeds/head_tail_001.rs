//! Document 001: the preset `head-tail`.

use crate::forebay::{Forebay, Ran};
use crate::http::Server;

/// The tools of the document with their limits of characters and lines.
const LIMITS: [(&str, usize, usize); 4] = [
    ("read_file", 50_000, 500),
    ("run_command", 20_000, 200),
    ("list_directory", 10_000, 100),
    ("search_files", 30_000, 300),
];

fn put(forebay: &Forebay, id: &str, tool: &str, text: &str) -> serde_json::Value {
    forebay.put(id, text.as_bytes(), &["--preset", "head-tail", "--tool", tool])
}

/// The view of a text in a session of its own.
fn view(tool: &str, text: &str) -> String {
    put(&Forebay::new(), "id1234", tool, text)["text"].as_str().unwrap().to_owned()
}

/// The view under these variables.
fn view_with(variables: &[(&str, &str)], tool: &str, text: &str) -> String {
    let forebay = Forebay::new();
    let file = forebay.file("text", text);
    let mut command = forebay.command(["put", "--preset", "head-tail", "--tool", tool]);
    command.arg(file).envs(variables.iter().copied());
    Ran::from(command.output().unwrap()).ok().text()
}

fn seq(count: usize) -> String {
    (1..=count).map(|line| format!("{line}\n")).collect()
}

/// One line of this many characters, each as good as unlike its neighbours.
fn line(characters: usize) -> String {
    (0..characters).map(|at| char::from(b'a' + (at % 26) as u8)).collect()
}

/// Head and tail of a view that is cut by characters, and how many are left out.
fn halves(view: &str) -> (String, u64, String) {
    let (head, rest) = view.split_once("\n\n... [").unwrap();
    let (count, rest) = rest.split_once(" characters truncated] ...\n\n").unwrap();
    let (tail, _) = rest.rsplit_once("\n[Full output: ").unwrap();
    (head.to_owned(), count.parse().unwrap(), tail.to_owned())
}

/// A tool passes what has exactly its limits, and cuts what has one more.
fn check_limits(tool: &str) {
    let (_, characters, lines) = LIMITS.into_iter().find(|(name, ..)| *name == tool).unwrap();
    assert_eq!(view(tool, &line(characters)), line(characters));
    assert_eq!(halves(&view(tool, &line(characters + 1))).1, 1);
    assert_eq!(view(tool, &seq(lines)), seq(lines));
    assert!(view(tool, &seq(lines + 1)).contains("... [1 lines truncated — "));
}

#[test]
fn row_001_1_an_output_within_its_limits_is_sent_unchanged() {
    assert_eq!(view("run_command", "a\n\tb \r\n\nno newline"), "a\n\tb \r\n\nno newline");
}

#[test]
fn row_001_2_characters_are_cut_first_and_lines_second() {
    // One line longer than its share must not switch the cutting of lines off.
    let text = line(25_000) + &"\na".repeat(5_000) + "\n";
    let view = view("run_command", &text);
    assert!(
        view.starts_with(&format!("[First 1 lines of 5001]\n{}\n\n... [19001 ch", line(6_000))),
        "{view}"
    );
    assert!(view.contains("\n\n... [4860 lines truncated — "), "{view}");
    assert_eq!(view.lines().filter(|line| *line == "a").count(), 140);
    assert!(view.lines().count() <= 200 + 10);
    // Many lines of the same length: whole lines within the characters.
    let even: String = (0..600).map(|n| format!("{n:0>99}\n")).collect();
    let view = self::view("run_command", &even);
    let shown: usize = view.lines().filter(|line| line.len() == 99).map(|line| line.len() + 1).sum();
    assert!(view.contains("[First 60 lines of 600]\n") && shown <= 20_000 && shown > 19_000, "{shown}");
}

#[test]
fn row_001_3_more_characters_than_the_limit_are_cut_to_the_limit() {
    let (head, omitted, tail) = halves(&view("list_directory", &line(50_000)));
    assert_eq!((head.len() + tail.len(), omitted), (10_000, 40_000));
}

#[test]
fn row_001_4_what_is_kept_is_a_head_and_a_tail() {
    let (_, _, tail) = halves(&view("list_directory", &(line(49_999) + "!")));
    assert!(tail.ends_with('!'));
}

#[test]
fn row_001_5_lines_are_cut_where_characters_are_within_their_limit() {
    assert!(seq(500).len() < 10_000);
    assert!(view("list_directory", &seq(500)).contains(" lines truncated"));
}

#[test]
fn row_001_6_of_500_lines_the_first_30_and_the_last_70_are_shown() {
    let view = view("list_directory", &seq(500));
    let shown: Vec<u32> = view.lines().filter_map(|line| line.parse().ok()).collect();
    assert_eq!(shown, (1..=30).chain(431..=500).collect::<Vec<_>>());
}

#[test]
fn row_001_7_the_marker_counts_what_is_left_out() {
    assert!(view("list_directory", &seq(500)).contains("... [400 lines truncated"));
}

#[test]
fn row_001_8_read_file_has_50_000_characters_and_500_lines() {
    check_limits("read_file");
}

#[test]
fn row_001_9_run_command_has_20_000_characters_and_200_lines() {
    check_limits("run_command");
}

#[test]
fn row_001_10_list_directory_has_10_000_characters_and_100_lines() {
    check_limits("list_directory");
}

#[test]
fn row_001_11_search_files_has_30_000_characters_and_300_lines() {
    check_limits("search_files");
}

#[test]
fn row_001_12_limits_depend_on_the_tool_and_others_have_those_of_run_command() {
    let text = seq(250);
    let cut = |tool: &str| view(tool, &text) != text;
    assert_eq!(LIMITS.map(|(tool, ..)| cut(tool)), [false, true, true, false]);
    assert!(cut("something_else"));
}

#[test]
fn row_001_13_limits_are_defaults_and_can_be_changed_per_session() {
    for (session, lines) in [("a", "10"), ("b", "20")] {
        let limits = [("FOREBAY_SESSION", session), ("FOREBAY_HEAD_TAIL_OTHER_LINES", lines)];
        let last = lines.parse::<usize>().unwrap() * 7 / 10;
        assert!(view_with(&limits, "mine", &seq(30)).contains(&format!("[Last {last} lines of 30]\n")));
    }
    let forebay = Forebay::new();
    forebay.file("forebay.toml", "[head_tail.tools.read_file]\ncharacters = 50000\nlines = 10\n");
    let answer = put(&forebay, "id1234", "read_file", &seq(30));
    assert!(answer["text"].as_str().unwrap().starts_with("[First 3 lines of 30]\n"));
}

#[test]
fn row_001_14_the_beginning_and_the_end_are_kept_verbatim() {
    let text: String = (0..40_000u32).map(|n| char::from_u32(0x4e00 + n % 5_000).unwrap()).collect();
    let (head, _, tail) = halves(&view("run_command", &text));
    assert!(text.starts_with(&head) && text.ends_with(&tail));
    assert_eq!((head.chars().count(), tail.chars().count()), (6_000, 14_000));
}

#[test]
fn row_001_15_exactly_at_the_limit_nothing_is_cut() {
    for (length, passes) in [(9_999, true), (10_000, true), (10_001, false)] {
        assert_eq!(view("list_directory", &line(length)) == line(length), passes, "{length}");
    }
}

#[test]
fn row_001_16_the_size_of_the_head_is_rounded_down() {
    let limit = [("FOREBAY_HEAD_TAIL_OTHER_CHARACTERS", "10001")];
    let (head, omitted, tail) = halves(&view_with(&limit, "mine", &line(20_000)));
    assert_eq!((head.len(), omitted, tail.len()), (3_000, 9_999, 7_001));
}

#[test]
fn row_001_17_head_and_tail_together_are_exactly_the_limit() {
    for (tool, characters, _) in LIMITS {
        let (head, _, tail) = halves(&view(tool, &line(characters * 3)));
        assert_eq!(head.len() + tail.len(), characters, "{tool}");
    }
}

#[test]
fn row_001_18_omitted_is_the_length_less_head_and_tail() {
    assert_eq!(halves(&view("list_directory", &line(10_001))).1, 1);
    assert_eq!(halves(&view("list_directory", &line(12_345))).1, 2_345);
}

#[test]
fn row_001_19_the_marker_for_characters_has_an_empty_line_before_and_after_it() {
    let text = line(10_001);
    let expected =
        format!("{}\n\n... [1 characters truncated] ...\n\n{}\n[Full", &text[..3_000], &text[3_001..]);
    let view = view("list_directory", &text);
    assert!(view.starts_with(&expected), "{view}");
}

#[test]
fn row_001_20_limits_count_characters_and_no_character_is_cut() {
    assert_eq!(view("list_directory", &"漢".repeat(10_000)), "漢".repeat(10_000));
    let (head, omitted, tail) = halves(&view("list_directory", &"漢".repeat(10_001)));
    assert_eq!((head, omitted, tail), ("漢".repeat(3_000), 1, "漢".repeat(7_000)));
}

#[test]
fn row_001_21_the_head_has_30_percent_by_default() {
    let settings = Forebay::new().run(["settings", "--json"]).ok().text();
    let line = settings.lines().find(|line| line.contains("\"head_tail.head_ratio\"")).unwrap();
    assert!(line.contains("\"value\":0.3"), "{line}");
    let (head, _, tail) = halves(&view("list_directory", &self::line(20_000)));
    assert_eq!((head.len(), tail.len()), (3_000, 7_000));
}

#[test]
fn row_001_22_the_head_ratio_is_a_parameter() {
    let half = [("FOREBAY_HEAD_TAIL_HEAD_RATIO", "0.5")];
    let (head, _, tail) = halves(&view_with(&half, "list_directory", &line(20_000)));
    assert_eq!((head.len(), tail.len()), (5_000, 5_000));
    for (ratio, first, last) in [("0.0", 0, 10), ("1.0", 10, 0), ("0.5", 5, 5)] {
        let forebay = Forebay::new();
        let tool = format!("[head_tail.tools.mine]\ncharacters = 9000\nlines = 10\nhead_ratio = {ratio}\n");
        forebay.file("forebay.toml", tool);
        let text = put(&forebay, "id1234", "mine", &seq(40))["text"].as_str().unwrap().to_owned();
        assert!(text.starts_with(&format!("[First {first} lines of 40]\n")), "{ratio}: {text}");
        assert!(text.contains(&format!("[Last {last} lines of 40]\n")), "{ratio}: {text}");
    }
}

#[test]
fn row_001_23_the_summary_at_the_end_of_a_test_run_is_shown() {
    let run: String = (0..5_000).map(|n| format!("test case_{n} ... ok\n")).collect();
    let view = view("run_command", &(run + "test result: FAILED. 4999 passed; 1 failed\n"));
    assert!(view.contains("\ntest result: FAILED. 4999 passed; 1 failed\n"));
}

#[test]
fn row_001_24_only_what_the_model_is_sent_changes() {
    let forebay = Forebay::new();
    let answer = put(&forebay, "id1234", "run_command", &seq(900));
    let shown = forebay.run(["show", "s/id1234", "--json"]).ok().json();
    assert_eq!(shown["given"]["text"], answer["text"]);
    assert_eq!(forebay.run(["cat", "s/id1234"]).ok().text(), seq(900));
}

#[test]
fn row_001_25_the_event_log_has_the_full_output_by_reference() {
    let forebay = Forebay::new();
    let _ = put(&forebay, "id1234", "run_command", &seq(900));
    let events = forebay.run(["events", "--json"]).ok().text();
    let stored = events.lines().find(|line| line.contains("\"output-stored\"")).unwrap();
    let stored: serde_json::Value = serde_json::from_str(stored).unwrap();
    assert_eq!(stored["size"]["bytes"], seq(900).len(), "{stored}");
    assert!(stored["hash"].as_str().is_some_and(|hash| hash.len() >= 32), "{stored}");
    let id = stored["id"].as_str().unwrap();
    assert_eq!(forebay.run(["cat", &format!("s/{id}")]).ok().text(), seq(900));
}

/// The path that the last line of a view names.
fn artifact(view: &str) -> String {
    let line = view.lines().last().unwrap();
    let (path, _) = line.strip_prefix("[Full output: ").unwrap().rsplit_once(" (handle ").unwrap();
    path.to_owned()
}

#[test]
fn row_001_26_the_full_output_is_among_the_artifacts() {
    let forebay = Forebay::new();
    let answer = put(&forebay, "id1234", "run_command", &seq(900));
    let path = artifact(answer["text"].as_str().unwrap());
    assert_eq!(std::fs::read_to_string(path).unwrap(), seq(900));
}

#[test]
fn row_001_27_the_full_output_can_be_had_by_http() {
    let forebay = Forebay::new();
    let _ = put(&forebay, "id1234", "run_command", &seq(900));
    let server = Server::start(&forebay, &[]);
    assert_eq!(server.get("/v1/sessions/s/outputs/id1234/bytes").is(200).text(), seq(900));
}

#[test]
fn row_001_28_whatever_is_cut_has_a_marker_with_a_number() {
    let both = "x".repeat(30_000) + &"\na".repeat(300);
    for (text, markers) in [
        (line(30_000), &["... [10000 characters truncated] ..."][..]),
        (seq(300), &["... [100 lines truncated — "]),
        (both, &["... [24001 characters truncated] ...", "... [160 lines truncated — "]),
    ] {
        let view = view("run_command", &text);
        for marker in markers {
            assert!(view.contains(marker), "{marker}: {view}");
        }
    }
}

#[test]
fn row_001_29_the_head_is_introduced() {
    assert!(view("list_directory", &seq(500)).starts_with("[First 30 lines of 500]\n1\n"));
}

#[test]
fn row_001_30_the_marker_for_lines_is_to_the_letter() {
    let view = view("list_directory", &seq(500));
    let marker = "... [400 lines truncated — full output available in artifacts] ...";
    assert_eq!(view.lines().filter(|line| *line == marker).count(), 1, "{view}");
}

#[test]
fn row_001_31_the_tail_is_introduced() {
    assert!(view("list_directory", &seq(500)).contains("\n[Last 70 lines of 500]\n431\n"));
}

#[test]
fn row_001_32_an_empty_line_stands_before_the_marker_and_one_after_it() {
    let view = view("list_directory", &seq(500));
    let lines: Vec<&str> = view.lines().collect();
    let at = lines.iter().position(|line| line.starts_with("... [")).unwrap();
    assert_eq!([lines[at - 2], lines[at - 1]], ["30", ""]);
    assert_eq!([lines[at + 1], lines[at + 2]], ["", "[Last 70 lines of 500]"]);
}

#[test]
fn row_001_33_the_totals_are_those_of_the_original_also_after_the_first_stage() {
    let text: String = (0..600).map(|n| format!("{n:0>99}\n")).collect();
    assert_eq!(text.len(), 60_000);
    let view = view("read_file", &text);
    assert!(view.starts_with("[First 150 lines of 600]\n"), "{view}");
    assert!(view.contains("\n[Last 350 lines of 600]\n"));
}

#[test]
fn row_001_34_the_view_names_path_and_handle_for_the_rest() {
    let forebay = Forebay::new();
    let answer = put(&forebay, "id1234", "run_command", &line(30_000));
    let view = answer["text"].as_str().unwrap();
    assert!(view.ends_with(" (handle s/id1234)]\n"), "{view}");
    assert_eq!(std::fs::read_to_string(artifact(view)).unwrap(), line(30_000));
    assert!(forebay.run(["read", "s/id1234"]).ok().text().contains(&line(100)));
}
