//! Weights and thresholds: the numbers that decide which lines are shown and what an output is taken for.
//!
//! A change here needs a measurement. Each value was found by trying: of the candidates, the one was kept with which most
//! marked lines of real outputs (logs, test runs, diffs, programs, documents, tables, JSON) were found. Where one kind of
//! output decided, the comment names it. `bench/recall/score.py` shows what a change does.
//!
//! Units: a score has none and is only compared with other scores of the same output. A factor multiplies a score. A
//! share lies between 0 and 1. Lines are counted as units: whole lines, or parts of at most
//! [`scan::MAX_UNIT_BYTES`](crate::rank::scan::MAX_UNIT_BYTES) bytes of a longer one. Limits of memory and of the width
//! of names stay with the code that they bound.

/// Largest outputs that are read whole, by what the reading costs.
pub(crate) mod bounds {
    /// Maximum bytes read if every byte is expensive: parsing, painting, reading an end again.
    pub(crate) const SMALL: u64 = 1024 * 1024;

    /// Maximum bytes read if every line is examined: counting templates, finding test output, parsing a program.
    pub(crate) const MEDIUM: u64 = 8 * 1024 * 1024;

    /// Bytes that are held in memory where a form is read only as a whole: pages, JSON, XML.
    pub(crate) const LARGE: u64 = 64 * 1024 * 1024;
}

/// Terms of a question (`rank/question.rs`).
pub(crate) mod question {
    /// Maximum terms of a question. A mask of all of them fits a machine word.
    pub(crate) const MAX_TERMS: usize = 60;

    /// Maximum characters of a question that are read.
    pub(crate) const MAX_QUESTION_CHARS: usize = 4_000;

    /// Weight of a failure word ("error") that counts as an ordinary word: questions often contain one by habit.
    pub(crate) const FAILURE_TERM: f32 = 0.5;

    /// Weight of an ordinary word.
    pub(crate) const PLAIN_WORD: f32 = 1.0;

    /// Weight of a name (a path, an identifier, a version, a date). People copy a name only if it matters, and a line
    /// that contains it contains its parts too.
    pub(crate) const WHOLE_NAME: f32 = 1.6;

    /// Weight of a name inside a name: `test_it` of `tests/test_a.py::test_it`.
    pub(crate) const INNER_NAME: f32 = 1.0;

    /// Weight of each word of a name.
    pub(crate) const NAME_PART: f32 = 0.45;

    /// Weight of words joined by a hyphen, in addition to the weight of each of them.
    pub(crate) const HYPHENATED: f32 = 0.5;

    /// Share of a term's weight that each repetition in the question adds.
    pub(crate) const REPEATED_TERM: f32 = 0.5;

    /// Maximum weight of a repeated term. Long questions repeat some words many times.
    pub(crate) const MAX_REPEATED_TERM: f32 = 2.0;
}

/// One pass over an output (`rank/scan.rs`).
pub(crate) mod scan {
    /// Minimum bytes of a term that may match inside other words (`guava` in `libguava-java`). Shorter ones match by
    /// chance.
    pub(crate) const MIN_TERM_INSIDE_WORDS: usize = 4;

    /// Factor of a failure that a run was told to ignore.
    pub(crate) const IGNORED_FAILURE: f32 = 0.1;

    /// Least failure weight of a line that a user's format reports as a failure: that of the gravest words.
    pub(crate) const REPORTED_BY_USER_FORMAT: f32 = 2.2;

    /// Factor on the failure weight of a line that a user's format calls harmless, as on that of a passed test.
    pub(crate) const HARMLESS_BY_USER_FORMAT: f32 = 0.1;

    /// Units from which on a term can be common: fewer are all remembered.
    pub(crate) const MIN_UNITS_WITH_COMMON_TERMS: u64 = 20_000;

    /// A term is common if more than one unit in this many has it.
    pub(crate) const COMMON_TERM_ONE_IN: u64 = 4;
}

/// Scores of units (`rank/score.rs`).
pub(crate) mod score {
    /// Best units whose context is read.
    pub(crate) const MAX_BEST_UNITS: usize = 600;

    /// Units that are weighed by their position before the best are kept, as a multiple of [`MAX_BEST_UNITS`].
    pub(crate) const POSITIONED_PER_BEST: usize = 16;

    /// Distance in units up to which a term counts for a unit, and the share of its weight that it gives.
    pub(crate) struct Neighbours {
        pub(crate) distance: u64,
        pub(crate) share: f32,
    }

    /// Neighbours in most outputs.
    pub(crate) const NEIGHBOURS: Neighbours = Neighbours { distance: 2, share: 0.2 };

    /// Neighbours in programs and diffs, where a statement takes several lines.
    pub(crate) const NEIGHBOURS_IN_CODE: Neighbours = Neighbours { distance: 8, share: 0.3 };

    /// Share of a term's weight that is added if a unit contains the term again.
    pub(crate) const SECOND_OCCURRENCE: f32 = 0.3;

    /// Share of a term's weight that only the exact form of the question gets; other forms of the word get the rest.
    pub(crate) const EXACT_FORM: f32 = 0.5;

    /// How strongly the length of a unit, relative to the average, lowers its score (the `b` of BM25).
    pub(crate) const LENGTH_NORM: f32 = 0.72;

    /// Saturation of the length factor (the `k1` of BM25), and its value plus one, which scales the factor to 1 for a
    /// unit of average length.
    pub(crate) const SATURATION: f32 = 1.2;
    pub(crate) const SATURATION_SCALE: f32 = 2.2;

    /// Lowest length factor: a long unit with the answer must stay in reach.
    pub(crate) const MIN_LENGTH_FACTOR: f32 = 0.3;

    /// Average length of units, in bytes, below which shorter units are not distinguished.
    pub(crate) const MIN_AVERAGE_BYTES: f32 = 20.0;

    /// Factor of a failure at the beginning of an output. Later failures get up to 1 more.
    pub(crate) const EARLY_FAILURE: f32 = 0.5;

    /// Power by which that addition grows from the beginning (0) to the end (1).
    pub(crate) const GROWTH_TO_END: f32 = 0.65;

    /// Failure weight of the last unit of an output, which shows how it ended.
    pub(crate) const LAST_UNIT: f32 = 1.25;

    /// Power of the rarity of a failure word: words that an output repeats say less.
    pub(crate) const RARITY_POWER: f32 = 1.1;

    /// Factor per failure line directly before this one, and the maximum number of such lines. The first line of a
    /// block explains the rest.
    pub(crate) const FOLLOWING_LINE: f32 = 0.94;
    pub(crate) const MAX_FOLLOWING_LINES: i32 = 2;

    /// Factor of a failure in the answer to a question that has other words too.
    pub(crate) const FAILURE_BESIDE_WORDS: f32 = 0.6;

    /// Failure weight above which a word states a failure instead of hinting at one.
    pub(crate) const STATED_FAILURE: f32 = 1.0;

    /// Share of a name's score that the failures after it get, and its factor per unit of distance: what went wrong with
    /// something is reported after its name.
    pub(crate) const AFTER_NAME: f32 = 0.63;
    pub(crate) const AFTER_NAME_FADE: f32 = 0.64;

    /// Units after which a name has no effect.
    pub(crate) const MAX_AFTER_NAME: u64 = 1_000;

    /// Share of the highest term weight that a unit needs to count as the name that the question is about.
    pub(crate) const MIN_NAME_SHARE: f32 = 0.72;

    /// Factor of an added or removed line of a diff.
    pub(crate) const CHANGED_LINE: f32 = 1.2;

    /// Factor of a line in a test or a document, unless the question asks for those.
    pub(crate) const TEST_OR_DOC_FILE: f32 = 0.45;

    /// Factor of a line that documents a program: it points to the code that answers.
    pub(crate) const DOC_COMMENT: f32 = 0.5;

    /// Factor of a line of prose that puts a term of the question in quotes, as definitions do.
    pub(crate) const DEFINITION: f32 = 1.5;

    /// Share of the best line's score that a line of the best file of a list gets. A file that answers has many lines
    /// that do.
    pub(crate) const BEST_FILE: f32 = 0.5;

    /// Factor of a line beside a failure that reports success.
    pub(crate) const PASSED_LINE: f32 = 0.15;

    /// Factor of a failure that only passed tests print.
    pub(crate) const OUTPUT_OF_PASSED_TEST: f32 = 0.25;

    /// Bytes from which on a line with a failure word counts less, by the power [`LONG_LINE_POWER`]: its words may be
    /// about anything.
    pub(crate) const LONG_LINE_BYTES: u32 = 240;
    pub(crate) const LONG_LINE_POWER: f32 = 0.5;

    /// Bytes at the beginning of a document that name its subject, at most this part of all, and the factor there.
    pub(crate) const OPENING_BYTES: u64 = 3_000;
    pub(crate) const OPENING_PART: u64 = 20;
    pub(crate) const OPENING: f32 = 1.25;

    /// Bytes shown of a text if the question asks for its subject.
    pub(crate) const SUBJECT_BYTES: u64 = 16 * 1024;

    /// Bytes at the end of an output in which a failure counts as its end.
    pub(crate) const END_BYTES: u64 = 2_048;

    /// Difference of scores, as a share of the better one, up to which units count as equal. Of equal units the first
    /// comes first: it explains those that follow.
    pub(crate) const EQUAL_SCORES: f32 = 0.06;

    /// Lines that differ only in their numbers, from which on the first of them gets the best score of all.
    pub(crate) const MIN_SAME_TEMPLATE: usize = 3;
}

/// Places that a question about a file names (`rank/places.rs`). Scores are shares of that of the best unit.
pub(crate) mod places {
    /// Score of the first line of a definition that the question names, and of lines whose numbers it names.
    pub(crate) const DEFINITION: f32 = 1.0;
    pub(crate) const NAMED_LINES: f32 = 1.1;

    /// Factor per line below the first, and per name before it in the question.
    pub(crate) const NEXT_LINE: f32 = 0.995;
    pub(crate) const NEXT_NAME: f32 = 0.9;

    /// Maximum lines of one place, definitions of one name, and names of a question.
    pub(crate) const MOST_LINES: usize = 80;
    pub(crate) const MOST_OF_A_NAME: usize = 2;
    pub(crate) const MOST_NAMES: usize = 12;

    /// Lines at the end or the beginning of a file that a question requests, less one.
    pub(crate) const END_LINES: u64 = 11;
}

/// Context lines of good units (`rank/context.rs`).
pub(crate) mod context {
    /// Bytes before and after a good unit that are read.
    pub(crate) const CONTEXT_BYTES: u64 = 6_400;

    /// Factors by which a score fades from each line to the next.
    pub(crate) struct Fading {
        /// Towards the beginning of the output.
        pub(crate) back: f32,
        /// Towards its end.
        pub(crate) on: f32,
        /// For a blank line.
        pub(crate) blank: f32,
        /// For a line that is indented deeper: a stack trace, the body of a function.
        pub(crate) deeper: f32,
    }

    /// Around a line that reports how a run ended: its cause is before it, and clean-up is after it.
    pub(crate) const AROUND_EXIT: Fading = Fading { back: TO_CAUSE, on: 0.31, blank: 0.9, deeper: 0.31 };
    /// Around a failure.
    pub(crate) const AROUND_FAILURE: Fading = Fading { back: 0.57, on: 0.7, blank: 0.68, deeper: 0.994 };
    /// In lists of independent lines.
    pub(crate) const IN_LIST: Fading = Fading { back: 0.05, on: 0.05, blank: 0.9, deeper: 0.05 };
    /// Around an answer to a question that has words and mentions a failure.
    pub(crate) const AROUND_NAMED_FAILURE: Fading = Fading { back: 0.33, on: 0.9, blank: 0.9, deeper: 0.994 };
    /// In a program.
    pub(crate) const IN_PROGRAM: Fading = Fading { back: 0.4, on: 0.9, blank: 0.9, deeper: 0.97 };
    /// In a diff.
    pub(crate) const IN_DIFF: Fading = Fading { back: 0.4, on: 0.83, blank: 0.9, deeper: 0.83 };
    /// In prose.
    pub(crate) const IN_PROSE: Fading = Fading { back: 0.5, on: 0.7, blank: 0.9, deeper: 0.7 };
    /// In all other outputs.
    pub(crate) const IN_BLOCKS: Fading = Fading { back: 0.4, on: 0.78, blank: 0.9, deeper: 0.78 };
    /// Factor of deeper lines below a definition in a diff or in blocks of lines.
    pub(crate) const BELOW_DEFINITION: f32 = 0.9;

    /// Factor per line from a line that reports how a run ended back to its cause.
    pub(crate) const TO_CAUSE: f32 = 0.975;

    /// Deeper lines that fade slowly, and the factor of all further ones.
    pub(crate) const MAX_SLOW_LINES: usize = 24;
    pub(crate) const AFTER_SLOW_LINES: f32 = 0.9;

    /// Innermost calls of a stack trace that fade slowly, and the factor of outer ones. The innermost show the place.
    pub(crate) const MAX_INNER_CALLS: usize = 14;
    pub(crate) const OUTER_CALL: f32 = 0.98;

    /// Calls inside packages from which on a Python stack trace counts as mostly theirs; then this many calls of the
    /// program itself are shown, with this share of the score.
    pub(crate) const MIN_PACKAGE_CALLS: usize = 4;
    pub(crate) const MAX_PROGRAM_CALLS: usize = 2;
    pub(crate) const PROGRAM_CALL: f32 = 0.9;

    /// Lines below a TeX error in which its place is reported.
    pub(crate) const MAX_TEX_PLACE_LINES: usize = 14;

    /// Factor of a call inside the runtime of the language or inside a test runner.
    pub(crate) const RUNTIME_CALL: f32 = 0.3;

    /// Factor per earlier line that differs only in numbers and paths, and its floor.
    pub(crate) const SAME_FAILURE_AGAIN: f32 = 0.45;
    pub(crate) const MIN_SAME_FAILURE: f32 = 0.34;

    /// Factor of a line that differs only in its numbers from the line beside it or from many.
    pub(crate) const REPEATED_LINE: f32 = 0.4;

    /// Factor of lines that runners write for themselves, such as folds and times.
    pub(crate) const NOISE_LINE: f32 = 0.02;

    /// Equal calls in a row, differing only in line numbers, that any program has; more are a recursion.
    pub(crate) const MAX_EQUAL_CALLS: usize = 4;

    /// Factor of the calls of a stack trace on the way from the end back to the cause. Lines before them do not fade.
    pub(crate) const CALL_BEFORE_EXIT: f32 = 0.9;

    /// Factor of what precedes a passed test on the way back from a failure.
    pub(crate) const BEFORE_PASSED_TEST: f32 = 0.7;

    /// Maximum lines over which a log quotes a command.
    pub(crate) const MAX_QUOTED_COMMAND_LINES: usize = 40;

    /// Factor of a context line that is logged for information.
    pub(crate) const INFO_LINE: f32 = 0.4;

    /// Factor of a context line that also occurs beside a better failure, at any distance.
    pub(crate) const SHOWN_FAR_AWAY: f32 = 0.5;

    /// The same factor within [`NEARBY_UNITS`]: context that several failures share is shown with the first.
    pub(crate) const SHOWN_NEARBY: f32 = 0.6;
    pub(crate) const NEARBY_UNITS: u64 = 200;

    /// Factor of a call that is also in the stack trace of a better failure nearby.
    pub(crate) const SHARED_CALL: f32 = 0.7;

    /// Maximum bytes of a line that is too short to count as equal to another.
    pub(crate) const MAX_SHORT_LINE: usize = 20;

    /// How many times higher a score must be to take over as the first place of a line.
    pub(crate) const TAKES_OVER: f32 = 2.0;

    /// Share of the best score for a line unlike all others, if nearly all lines are similar.
    pub(crate) const RARE_LINE: f32 = 0.55;

    /// Factor per line back from the end of a run if a step failed before: what lies between is clean-up.
    pub(crate) const CLEAN_UP: f32 = 0.57;

    /// Share of a failure's score that the title of its section gets.
    pub(crate) const SECTION_TITLE: f32 = 0.97;

    /// Lines before the end of a stack trace that fade by [`INNERMOST_CALL`] only: the innermost calls.
    pub(crate) const MAX_INNERMOST_LINES: usize = 12;
    pub(crate) const INNERMOST_CALL: f32 = 0.96;

    /// Lines before the end of a stack trace in which a call shows that there is one.
    pub(crate) const MAX_LINES_BELOW_CALL: usize = 4;

    /// Lines a stack trace has more than, and the share of the score that the line after it gets: the exception.
    pub(crate) const MIN_TRACE_LINES: usize = 2;
    pub(crate) const TRACE_END: f32 = 0.95;

    /// Maximum distance, in lines, of the less indented line above a good unit that heads it (the file of a finding, the
    /// condition of a statement, the parent in a tree), and the share of the score that it gets.
    pub(crate) struct Head {
        pub(crate) distance: usize,
        pub(crate) share: f32,
    }

    /// Heads in most outputs.
    pub(crate) const HEAD: Head = Head { distance: usize::MAX, share: 0.7 };

    /// Heads in a program. A head further away is that of a function, of which others can be shown.
    pub(crate) const HEAD_IN_PROGRAM: Head = Head { distance: 1, share: 0.6 };

    /// Heads where lines do not belong to the lines above them.
    pub(crate) const NO_HEAD: Head = Head { distance: 0, share: 0.0 };

    /// Share of the score that the nearest heading above gets.
    pub(crate) const HEADING: f32 = 0.5;

    /// Lowest factor between the lines of one sentence.
    pub(crate) const SAME_SENTENCE: f32 = 0.85;

    /// Lowest factor between log entries of one moment: those that begin with this many equal digits.
    pub(crate) const SAME_MOMENT: f32 = 0.85;
    pub(crate) const MIN_EQUAL_DIGITS: usize = 14;
}

/// Rare lines (`rank/frequency.rs`).
pub(crate) mod frequency {
    /// Number of templates from which most lines differ from each other, so that none is rare.
    pub(crate) const MAX_TEMPLATES: usize = 1 << 16;

    /// A line is common if more lines than this have its template, and more than this share of all.
    pub(crate) const MAX_UNCOMMON_COUNT: u32 = 8;
    pub(crate) const MAX_UNCOMMON_SHARE: f32 = 0.03;

    /// Highest count of a rare template.
    pub(crate) const MAX_RARE_COUNT: u32 = 2;

    /// Rare lines are reported only if there are this many lines, or this many findings, …
    pub(crate) const MIN_LINES: u32 = 50;
    pub(crate) const MIN_FINDINGS: u32 = 20;

    /// … and this share of them is not rare, …
    pub(crate) const MIN_REPEATING_SHARE: f32 = 0.75;

    /// … and the rare ones are no more than this, and no more than this in a row: many in a row are another part of the
    /// output.
    pub(crate) const MAX_RARE_LINES: usize = 40;
    pub(crate) const MAX_RARE_IN_A_ROW: usize = 14;

    /// Factor of a rare line that is an error in a list of remarks.
    pub(crate) const RARE_ERROR: f32 = 2.0;

    /// Share of a rare line's score that its neighbours and its head get.
    pub(crate) const BESIDE_RARE_LINE: f32 = 0.5;
}

/// Choice of units for a budget (`rank/choose.rs`).
pub(crate) mod choose {
    /// Best units that are considered.
    pub(crate) const MAX_UNITS: usize = 4_000;

    /// Number of units too large for the rest of the budget after which it counts as used.
    pub(crate) const MAX_MISFITS: usize = 100;

    /// Minimum remaining tokens for another unit.
    pub(crate) const MIN_TOKENS_LEFT: u64 = 8;

    /// Longest gap, in units, that is filled.
    pub(crate) const MAX_GAP_UNITS: u64 = 12;

    /// Cost of a gap that is filled, in multiples of the cost of its marker; the second in a text that is read through,
    /// where a marker disturbs more.
    pub(crate) const GAP_IN_MARKERS: u64 = 2;
    pub(crate) const GAP_IN_MARKERS_OF_TEXT: u64 = 3;

    /// Maximum tokens of a small hole between two passages of an answer that is filled: a reader of both would ask for
    /// it.
    pub(crate) const MAX_HOLE_TOKENS: u64 = 30;

    /// Share of the best score that an isolated unit needs in a view of [`ISOLATED_TOKENS`] tokens.
    pub(crate) const ISOLATED: f32 = 0.4;
    pub(crate) const ISOLATED_TOKENS: f32 = 1_000.0;

    /// Power by which that share grows in smaller views, and its maximum: the context of the best comes before what has
    /// a gap on both sides.
    pub(crate) const ISOLATED_POWER: f32 = 0.3;
    pub(crate) const MAX_ISOLATED: f32 = 0.65;

    /// Share of that score that a unit needs which joins chosen ones.
    pub(crate) const JOINING: f32 = 0.3;

    /// Rounds of filling the leftover budget. The cost of markers is known only after printing. The later half of the
    /// rounds accepts any joining unit, and isolated ones with [`LATE_ISOLATED`] of the score needed before.
    pub(crate) const ROUNDS: usize = 4;
    pub(crate) const LATE_ISOLATED: f32 = 0.5;

    /// Bytes from which on a unit must be better to be chosen, by the power [`LONG_UNIT_POWER`].
    pub(crate) const LONG_UNIT_BYTES: f32 = 90.0;
    pub(crate) const LONG_UNIT_POWER: f32 = 0.2;
}

/// Scope of a question (`rank/scope.rs`).
pub(crate) mod scope {
    /// Share of the budget for the units with the words of a question; the rest is for the overview. The best half of
    /// what words find has nearly all that they find where each line says something by itself.
    pub(crate) const WORDS_SHARE: f64 = 0.5;

    /// The same in JSON.
    pub(crate) const WORDS_SHARE_IN_JSON: f64 = 0.75;

    /// The same for words that fit any output ("line", "first", "show").
    pub(crate) const GENERAL_WORDS_SHARE: f64 = 0.25;

    /// Failure weight of a line that can be what a question about failure is after.
    pub(crate) const MIN_FAILURE: f32 = 1.0;

    /// Weight of a term that can lead to a place.
    pub(crate) const MIN_TERM_WEIGHT: f32 = 1.0;

    /// Bytes from the beginning that show whether a list consists of findings.
    pub(crate) const FINDINGS_SAMPLE_BYTES: u64 = 16 * 1024;

    /// Smallest budget, in tokens, with room for both an answer and an overview.
    pub(crate) const MIN_TOKENS_FOR_BOTH: u64 = 250;
}

/// Blocks of pages (`rank/page.rs`).
pub(crate) mod page {
    /// Prose share of a block below which it is a menu or the like.
    pub(crate) const MIN_PROSE: f32 = 0.25;

    /// Share of the best score below which a block is never shown.
    pub(crate) const MIN_SHARE_OF_BEST: f32 = 0.03;

    /// Share of its weight that a term keeps if it is in the title too: the whole page is about it.
    pub(crate) const TERM_IN_TITLE: f32 = 0.5;

    /// Factor of a heading, and of a block: a minimum plus a part that grows with its prose share.
    pub(crate) const HEADING_BLOCK: f32 = 1.2;
    pub(crate) const BLOCK_WITHOUT_PROSE: f32 = 0.3;
    pub(crate) const BLOCK_OF_PROSE: f32 = 0.7;

    /// Blocks below a heading that get a share of its score, the share of the first, and its factor per block.
    pub(crate) const BLOCKS_UNDER_HEADING: usize = 4;
    pub(crate) const UNDER_HEADING: f32 = 0.6;
    pub(crate) const UNDER_HEADING_FADE: f32 = 0.6;

    /// Bytes below a heading that are shown with it, the share of their best score that the heading gets, and the share
    /// of what is further down.
    pub(crate) const SHOWN_WITH_HEADING_BYTES: u64 = 240;
    pub(crate) const SHOWN_WITH_HEADING: f32 = 0.95;
    pub(crate) const BELOW_HEADING: f32 = 0.3;

    /// Maximum blocks of a section that a question asks for by its heading.
    pub(crate) const MAX_SECTION_BLOCKS: usize = 40;

    /// Score of that section, in multiples of the best score elsewhere, its factor under a marked heading, and its
    /// factor each time the name comes again: the first may be a table of contents.
    pub(crate) const NAMED_SECTION: f32 = 4.0;
    pub(crate) const MARKED_SECTION: f32 = 2.0;
    pub(crate) const NEXT_NAMED_SECTION: f32 = 0.7;

    /// Factor of a block of that section: a minimum plus a part that grows with its prose share.
    pub(crate) const SECTION_BLOCK_WITHOUT_PROSE: f32 = 0.2;
    pub(crate) const SECTION_BLOCK_OF_PROSE: f32 = 0.8;

    /// Factors by which the section fades after a block of prose (of more than [`SECTION_PROSE`]) and after others.
    pub(crate) const SECTION_PROSE: f32 = 0.3;
    pub(crate) const AFTER_PROSE: f32 = 0.85;
    pub(crate) const AFTER_OTHER: f32 = 0.97;

    /// Tenths of the words of the longer text that two texts have in common if they are alike.
    pub(crate) const SAME_WORDS_TENTHS: usize = 7;
}

/// Members of JSON documents (`rank/members.rs`).
pub(crate) mod members {
    /// Best members that are cut into units.
    pub(crate) const MAX_BEST_MEMBERS: usize = 600;

    /// Shares of the terms that a member lacks: those of the keys above it, of the members beside it, and of the members
    /// beside the containers above it.
    pub(crate) const TERMS_OF_KEYS: f32 = 0.8;
    pub(crate) const TERMS_BESIDE: f32 = 0.7;
    pub(crate) const TERMS_FAR_ABOVE: f32 = 0.3;

    /// Factor of all that for a member without a term of its own.
    pub(crate) const WITHOUT_OWN_TERM: f32 = 0.3;

    /// Factor of a value longer than a unit, of its parts without a term, and of each further part: one value does not
    /// answer for all.
    pub(crate) const LONG_VALUE: f32 = 0.6;
    pub(crate) const PART_WITHOUT_TERM: f32 = 0.5;
    pub(crate) const FURTHER_PART: f32 = 0.7;

    /// Share of the name of a record that its members get whose question contains that name, and the share for those
    /// without a term of their own: a reader who names a record wants its contents.
    pub(crate) const IN_NAMED_RECORD: f32 = 1.0;
    pub(crate) const IN_NAMED_RECORD_ALONE: f32 = 0.3;

    /// Factor per earlier member that is equal.
    pub(crate) const EQUAL_MEMBER: f32 = 0.6;

    /// Factor of the members beside an extreme value, and how many lines below the beginning of the record they lie.
    pub(crate) const BESIDE_EXTREME: f32 = 0.8;
    pub(crate) const MAX_RECORD_LINES: usize = 60;

    /// Factor of a member with a date if the question asks when, and the bytes in which the date must be.
    pub(crate) const WITH_DATE: f32 = 1.5;
    pub(crate) const DATE_WITHIN_BYTES: usize = 200;
}

/// Records of JSON outputs (`rank/records.rs`).
pub(crate) mod records {
    /// Bytes of records that are scanned together.
    pub(crate) const BATCH_BYTES: usize = 8 * 1024 * 1024;

    /// Share of the terms that only the path to a record has.
    pub(crate) const TERMS_OF_PATH: f32 = 0.5;

    /// Factor of a record with a phrase that the question puts in quotes.
    pub(crate) const QUOTED_PHRASE: f32 = 2.0;
}

/// Rows with extreme values (`rank/extremes.rs`).
pub(crate) mod extremes {
    /// Columns of a table that are read.
    pub(crate) const MAX_COLUMNS: usize = 40;

    /// Percent of the rows that need a number in a numeric column.
    pub(crate) const MIN_NUMERIC_PERCENT: usize = 70;

    /// Lines whose fields are counted to find the separator of a table.
    pub(crate) const SEPARATOR_LINES: usize = 12;

    /// Scores of the rows that are shown, in multiples of the best score of a line with the words of the question.
    pub(crate) const EXTREME_ROWS: [f32; 3] = [1.6, 1.4, 1.2];

    /// The same for the row with the names of the columns.
    pub(crate) const COLUMN_NAMES: f32 = 1.3;
}

/// Forms of outputs (`classify/`). Shares are in percent of the lines that are not empty.
pub(crate) mod classify {
    /// Lines with a time stamp in a log or a table of entries.
    pub(crate) const STAMPED_LINES: usize = 40;

    /// Lines with a file and a place in the results of a search.
    pub(crate) const SEARCH_LINES: usize = 75;

    /// Lines with a level from which on an output is not a test run, whatever it quotes.
    pub(crate) const LEVELS_OF_NO_TEST_RUN: usize = 30;

    /// Lines of code from which on a test summary may be quoted by a program or a document.
    pub(crate) const CODE_LINES: usize = 30;

    /// Lines with the result of a test in a test run.
    pub(crate) const TEST_RESULTS: usize = 60;

    /// Lines with a level or a name in brackets in a log.
    pub(crate) const LOGGED_LINES: usize = 40;

    /// Lines of settings in a file of settings.
    pub(crate) const SETTING_LINES: usize = 70;

    /// Lines with a level, lines that report an error, and lines with a level or a step in a log of which nothing else
    /// is known.
    pub(crate) const FEW_LEVELS: usize = 10;
    pub(crate) const FEW_ERRORS: usize = 3;
    pub(crate) const FEW_STEPS: usize = 20;

    /// Last lines in which a test run reports how it ended.
    pub(crate) const MAX_SUMMARY_LINES: usize = 12;

    /// Lines of a diff that is not unified, and of one that is.
    pub(crate) const PLAIN_DIFF_LINES: usize = 98;
    pub(crate) const UNIFIED_DIFF_LINES: usize = 90;

    /// First lines among which a diff names a file, and first lines of a page that come before its first tag.
    pub(crate) const DIFF_HEAD_LINES: usize = 60;
    pub(crate) const PAGE_HEAD_LINES: usize = 20;

    /// Lines that begin with a tag in XML, and lines with a tag of HTML in a page.
    pub(crate) const XML_LINES: usize = 60;
    pub(crate) const HTML_LINES: usize = 30;

    /// Lines with inline markup in Markdown: with headings of the second level, with those of the first only, without
    /// headings but with underlined lines, and where no code looks like it.
    pub(crate) const MARKUP_WITH_HEADINGS: usize = 10;
    pub(crate) const MARKUP_WITH_TITLES: usize = 20;
    pub(crate) const MARKUP_WITH_RULES: usize = 10;
    pub(crate) const CERTAIN_MARKUP: usize = 25;

    /// Lines that look like a language below which its grammar is not tried, and below which it has to fit better.
    pub(crate) const MIN_LANGUAGE_LINES: usize = 8;
    pub(crate) const SOME_LANGUAGE_LINES: usize = 12;

    /// Lines that look like a language from which on one without a grammar is accepted.
    pub(crate) const LINES_WITHOUT_GRAMMAR: usize = 40;

    /// Percent points that the file extension and the first line of a program add to that share.
    pub(crate) const EXTENSION_BONUS: usize = 30;
    pub(crate) const FIRST_LINE_BONUS: usize = 50;

    /// Tenths of that share for languages that others look like.
    pub(crate) const AMBIGUOUS_LANGUAGE_TENTHS: usize = 9;

    /// One line with a tag in this many makes TypeScript TSX.
    pub(crate) const TSX_ONE_TAG_IN: usize = 50;

    /// Lines examined to detect a language.
    pub(crate) const LANGUAGE_SAMPLE_LINES: usize = 600;

    /// Languages whose grammar is tried.
    pub(crate) const MAX_LANGUAGES_TRIED: usize = 5;

    /// Percent of the bytes that may not fit a grammar: for a language of which only the extension speaks, with the
    /// extension, for a language that few lines look like, and otherwise. The last is the value without a grammar.
    pub(crate) const MISFIT_OF_EXTENSION_ONLY: usize = 3;
    pub(crate) const MISFIT_WITH_EXTENSION: usize = 30;
    pub(crate) const MISFIT_OF_FEW_LINES: usize = 5;
    pub(crate) const MISFIT: usize = 15;
    pub(crate) const MISFIT_WITHOUT_GRAMMAR: usize = 14;

    /// Percent of the bytes that a good fit misses at most; then only a language with at least half the lines is tried.
    pub(crate) const GOOD_FIT: usize = 3;

    /// Percent points of misfit by which a language must be better than one that more lines look like.
    pub(crate) const BETTER_FIT: usize = 3;

    /// Faults of a program in its own language that do not count, and how many times fewer another language needs.
    pub(crate) const MAX_FAULTS: usize = 10;
    pub(crate) const FEWER_FAULTS: usize = 4;

    /// Share of lines that must be entries in the log of a service. A build has others too.
    pub(crate) const ENTRY_LINES: usize = 95;

    /// Bytes from the beginning that show how lines belong together.
    pub(crate) const LAYOUT_SAMPLE_BYTES: u64 = 64 * 1024;

    /// Minimum tenths of the lines in a list that are independent.
    pub(crate) const LIST_LINES_TENTHS: usize = 8;

    /// Average bytes of a line above which a text is prose.
    pub(crate) const PROSE_LINE_BYTES: usize = 150;

    /// One line that defines something in this many makes a program.
    pub(crate) const PROGRAM_ONE_DEFINITION_IN: usize = 50;
}

/// Outlines (`outline/`).
pub(crate) mod outline {
    /// Different errors of a log that are listed.
    pub(crate) const MAX_ERRORS: usize = 1_000;

    /// Hours of a log above which its days are listed instead.
    pub(crate) const MAX_HOURS: usize = 48;
}

/// Weights of folding: how a view divides its tokens, and when an output is of one kind.
pub(crate) mod folding {
    /// Maximum tokens of a view of passages or of a summary. A failure explains itself in 1,000 tokens.
    pub(crate) const CHOSEN_TOKENS: u64 = 2_000;

    /// The same if the command succeeded: of what reports failures all the same, and of what is only summed up. More of them
    /// would repeat what is shown.
    pub(crate) const SUCCEEDED_RUN_TOKENS: u64 = 800;
    pub(crate) const SUCCEEDED_TOKENS: u64 = 450;

    // The frame of a view.

    /// Least budget, in tokens, of a view whose frame repeats what its markers say and names the file.
    pub(crate) const FULL_FRAME_TOKENS: u64 = 1_500;
    /// Least budget, in tokens, of a view whose opening counts lines and bytes. Smaller ones count lines.
    pub(crate) const TWO_COUNTS_TOKENS: u64 = 600;
    /// Longest average line, in bytes, of an output whose size is clear from its lines alone.
    pub(crate) const CLEAR_LINE_BYTES: u64 = 400;
    /// Shortest gap, in bytes, that is marked. A shorter one costs more to mark than to show.
    pub(crate) const MIN_GAP_BYTES: u64 = 100;

    // An output that was shown before.

    /// Least size of a new view, as a multiple of the one of the same bytes before it, that shows anything new.
    pub(crate) const LARGER_VIEW: f64 = 1.5;
    /// Least share of the budget that a view keeps if the differences from an earlier output are printed before it.
    pub(crate) const LEAST_AFTER_DIFFERENCES: f64 = 0.5;
    /// Factor on the score of a line that an earlier output of the same call does not have.
    pub(crate) const NEW_LINE: f32 = 1.5;
    /// Maximum failures named that an earlier output has and this one lacks. They share one line.
    pub(crate) const MAX_FIXED_NAMED: usize = 4;

    // A run that failed.

    /// Least failure weight of an output that reports a failure. A bare `error` in a line weighs 1.
    pub(crate) const FAILED_RUN: f32 = 1.2;
    /// Bytes at the end of an output that say how a run ended: its last screen.
    pub(crate) const RUN_END_BYTES: u64 = 2_048;
    /// Lines at the end of an output of which one reports a failure, if the run failed.
    pub(crate) const RUN_END_LINES: usize = 3;
    /// Number of best units that are checked for one that starts with an error.
    pub(crate) const BEST_UNITS: usize = 30;
    /// Factor on the best requested unit, relative to the best unit that is shown anyway. Requested units come first.
    pub(crate) const ASKED_FOR: f32 = 1.2;

    // Shares of a view that shows both ends.

    /// Shares of a view that shows the beginning and the end of an output.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Shares {
        /// Share of the view for the summary of the gap, with its marker. With the frame, at most 15 % of a view of 1,000
        /// tokens are not the output's own.
        pub(crate) summary: f64,
        /// Share of the beginning in what both ends get.
        pub(crate) head: f64,
        /// Share of the outliers in what is shown.
        pub(crate) outliers: f64,
        /// Whether the output is data, in which no byte was written for a screen.
        pub(crate) is_data: bool,
    }

    /// Share of outliers for forms without a share of their own.
    const OUTLIERS: f64 = 0.45;

    impl Shares {
        /// Documents are read from the beginning, and their headings outline the rest.
        pub(crate) const DOCUMENT: Shares =
            Shares { summary: 0.1, head: 1.0, outliers: OUTLIERS, is_data: false };
        /// Dumps of SQL end with whether they are complete.
        pub(crate) const SQL: Shares = Shares { head: 0.8, ..Shares::DOCUMENT };
        /// Findings are like each other, and their number is at the end.
        pub(crate) const FINDINGS: Shares =
            Shares { summary: 0.12, head: 0.3, outliers: 0.75, is_data: false };
        /// Threads are like each other, and why they were dumped is at the beginning or at the end.
        pub(crate) const THREADS: Shares =
            Shares { summary: 0.13, head: 0.5, outliers: 0.75, is_data: false };

        /// A program starts with its imports and ends with its main part; names summarise the rest.
        pub(crate) const CODE: Shares =
            Shares { summary: 0.12, head: 0.2, outliers: OUTLIERS, is_data: false };
        /// The first changes, and the files of the others. The first matches, and the files with most: the path of a match
        /// at the end may be far above it.
        pub(crate) const CHANGES: Shares =
            Shares { summary: 0.1, head: 1.0, outliers: OUTLIERS, is_data: false };
        /// Listings and tables are similar from end to end, so a summary of all says more.
        pub(crate) const LISTING: Shares =
            Shares { summary: 0.1, head: 0.6, outliers: OUTLIERS, is_data: false };
        /// As a listing, with columns that cost more to describe.
        pub(crate) const TABLE: Shares =
            Shares { summary: 0.13, head: 0.6, outliers: OUTLIERS, is_data: true };
        /// The shape covers all records; the first and the last are examples.
        pub(crate) const JSON: Shares =
            Shares { summary: 0.12, head: 0.35, outliers: OUTLIERS, is_data: true };
        /// The start, and the present state.
        pub(crate) const LOG: Shares =
            Shares { summary: 0.13, head: 0.35, outliers: OUTLIERS, is_data: false };
        /// Text is read from its beginning.
        pub(crate) const TEXT: Shares =
            Shares { summary: 0.1, head: 0.8, outliers: OUTLIERS, is_data: false };

        /// The same shares for a text with merge conflicts, which a reader must resolve.
        pub(crate) fn with_conflicts(self) -> Shares {
            Shares { outliers: 0.9, ..self }
        }

        /// The same shares for a program that ends with its tests, which say little about what it does.
        pub(crate) fn without_end(self) -> Shares {
            Shares { head: 1.0, ..self }
        }
    }

    /// Largest share of what is shown that an outlier gets if nothing else is shown yet.
    pub(crate) const FIRST_OUTLIER: f64 = 0.5;
    /// Minimum tokens of a summary. Fewer tokens hold hardly any information.
    pub(crate) const SUMMARY_TOKENS: f64 = 100.0;
    /// Largest share of a small view that [`SUMMARY_TOKENS`] may take.
    pub(crate) const MAX_SUMMARY: f64 = 0.25;
    /// First size tried, as a multiple of the budget. The costs of markers are guessed high.
    pub(crate) const FIRST_TRY: f64 = 1.3;
    /// Sizes tried, each smaller than the one before.
    pub(crate) const TRIES: u32 = 80;
    /// Bytes a token that the beginning of a table has at least. Dense columns have about two.
    pub(crate) const DENSE_BYTES_PER_TOKEN: f64 = 2.0;
    /// Bytes a token that are enough to choose both ends from. English text has about four.
    pub(crate) const ENOUGH_BYTES_PER_TOKEN: u64 = 6;
    /// Least bytes that are enough to choose both ends from: a few lines.
    pub(crate) const ENOUGH_BYTES: u64 = 1_024;
    /// Factor on the bytes that are enough where escape codes for colours are between the words.
    pub(crate) const COLOURED_BYTES: u64 = 3;
    /// Bytes at the beginning that are searched for escape codes.
    pub(crate) const COLOUR_SAMPLE: u64 = 4_096;
    /// Least cost of a skipped part of the beginning, as a multiple of its marker. A reader who reads on misses it.
    pub(crate) const MIN_SKIPPED_MARKERS: u64 = 4;
    /// Shortest part of a long line that is shown, in bytes.
    pub(crate) const MIN_PART_BYTES: u64 = 16;

    // Failures in outputs that are not one run.

    /// Least share of the worst failure's score that a failure needs to be shown first.
    pub(crate) const SHOWN_FAILURE: f32 = 0.5;
    /// Largest share of a view for failures.
    pub(crate) const MAX_FAILURES: f64 = 0.6;
    /// Share of the view of a dump of threads within which failures are chosen: the stacks need the rest.
    pub(crate) const FAILURES_OF_DUMP: u64 = 2;

    // Templates of a log.

    /// Maximum lines without a like that are shown by themselves.
    pub(crate) const MAX_RARE_LINES: usize = 8;
    /// Least lines of a log in which a line can be rare.
    pub(crate) const MIN_LOG_LINES: u64 = 50;
    /// Occurrences up to which a template is rare.
    pub(crate) const RARE_TEMPLATE: u64 = 2;
    /// Least share, in percent, of lines of frequent templates in a log that repeats itself.
    pub(crate) const REPEATING_PERCENT: u64 = 90;
    /// Least share, in percent, of lines of frequent templates in a log in which a line can be rare.
    pub(crate) const MOSTLY_ALIKE_PERCENT: u64 = 75;

    // Folders of a listing.

    /// Maximum files with the same unusual mode, owner or zero size that are still outliers.
    pub(crate) const MAX_UNUSUAL_ALIKE: u64 = 2;
    /// Least entries a listing has for each outlier.
    pub(crate) const FILES_PER_OUTLIER: u64 = 20;
    /// Least files of a listing that has outliers.
    pub(crate) const MIN_FILES: u64 = 50;
    /// Maximum kinds of files for a listing to have outliers. With more kinds, nothing is usual.
    pub(crate) const MAX_FILE_KINDS: usize = 256;
    /// Most outermost branches of a tree that are shown.
    pub(crate) const MAX_OUTER_BRANCHES: usize = 80;
    /// Least entries a tree has for each outermost branch that is shown.
    pub(crate) const ENTRIES_PER_OUTER: usize = 3;
    /// Minimum share of a folder's entries for an extension to be named, as one in this many.
    pub(crate) const NAMED_EXTENSION: u64 = 20;
    /// Maximum extensions named for a folder.
    pub(crate) const MAX_EXTENSIONS_NAMED: usize = 3;

    // Merge conflicts.

    /// Longest conflict that is shown whole, in lines.
    pub(crate) const WHOLE_CONFLICT_LINES: usize = 24;
    /// Lines shown of each version in a longer conflict.
    pub(crate) const CONFLICT_SIDE_LINES: usize = 6;
    /// Maximum conflicts that can be shown.
    pub(crate) const MAX_CONFLICTS: usize = 200;

    // Findings of a linter.

    /// Least findings of a list of findings.
    pub(crate) const MIN_FINDINGS: usize = 40;
    /// Minimum percentage of findings in the lines of such a list.
    pub(crate) const FINDINGS_PERCENT: usize = 70;
    /// Maximum codes of which a finding can be shown.
    pub(crate) const MAX_CODES: usize = 24;

    // Two streams.

    /// Largest share of a view for standard error, if standard output is JSON or a page.
    pub(crate) const STDERR_SHARE: f64 = 0.2;

    // Errors of a compiler.

    /// Least errors that are counted by kind and file: fewer are mostly all shown.
    pub(crate) const MIN_COUNTED_ERRORS: u64 = 20;
    /// Largest share of a view for these counts.
    pub(crate) const ERROR_COUNTS: f64 = 0.12;
    /// Maximum kinds and files of errors that are named.
    pub(crate) const NAMED_ERROR_KINDS: usize = 6;
    pub(crate) const NAMED_ERROR_FILES: usize = 6;

    // Dumps of threads.

    /// Least threads of a dump.
    pub(crate) const MIN_THREADS: usize = 8;
    /// Least share of the lines of stacks in a dump, in percent.
    pub(crate) const STACKS_PERCENT: usize = 70;
    /// Least threads a dump has for each thread of a group that is an outlier.
    pub(crate) const THREADS_PER_OUTLIER: usize = 12;
    /// Most threads of a group that is an outlier in a small dump.
    pub(crate) const RARE_GROUP: usize = 2;
    /// Maximum threads that can be shown.
    pub(crate) const MAX_THREADS: usize = 24;
    /// Innermost calls of a thread that are shown, and that tell whether it waits for a lock.
    pub(crate) const INNERMOST_CALLS: usize = 6;
    /// Calls that describe what a group of threads does.
    pub(crate) const CALLS_OF_GROUP: usize = 5;
    /// Lines without a thread after which an output is not a dump.
    pub(crate) const LINES_BEFORE_THREADS: usize = 2_000;

    // Sections and states of a list.

    /// Most sections of a list. More of them are folders.
    pub(crate) const MAX_SECTIONS: usize = 12;
    /// Longest section that is shown whole, in lines.
    pub(crate) const WHOLE_SECTION_LINES: usize = 8;
    /// Lines shown of a longer section.
    pub(crate) const SECTION_START_LINES: usize = 3;
    /// Least share of lines inside of sections, in percent.
    pub(crate) const SECTIONS_PERCENT: usize = 80;
    /// Least lines with a state in a list of states.
    pub(crate) const MIN_STATED: usize = 20;
    /// Least share of lines with a state, in percent.
    pub(crate) const STATED_PERCENT: usize = 85;
    /// Least share of names that are paths, in percent: with an extension, or in a folder.
    pub(crate) const PATHS_PERCENT: usize = 60;
    /// Most states of a list.
    pub(crate) const MAX_STATES: usize = 16;

    // Diffs.

    /// Lines before a change that show its location.
    pub(crate) const LINES_BEFORE_CHANGE: usize = 3;
    /// Least hunks that change only the layout in a reformatting.
    pub(crate) const MIN_LAYOUT_HUNKS: usize = 5;
    /// Minimum hunks that change only the layout for each other hunk in a reformatting.
    pub(crate) const LAYOUT_HUNKS_PER_CHANGE: usize = 3;
    /// Maximum changes of a reformatting that can be shown.
    pub(crate) const MAX_CHANGES: usize = 100;

    // Documents and totals.

    /// Maximum tables of a dump, or names in a history, that can be shown.
    pub(crate) const MAX_STATEMENTS: usize = 200;
    /// Most lines of totals. More of them are totals of parts.
    pub(crate) const MAX_TOTALS: usize = 3;
    /// Longest line of totals, in bytes. A longer one is a sentence.
    pub(crate) const TOTALS_BYTES: usize = 160;

    // Items of an outline.

    /// Least items of one name and depth that are listed as one.
    pub(crate) const SAME_NAME: usize = 4;

    // Records of JSON.

    /// Least records among which something can be rare.
    pub(crate) const MIN_RECORDS: u64 = 20;
    /// Least records for each one that has a rare path or value.
    pub(crate) const RECORDS_PER_RARE: u64 = 20;
    /// Maximum rare records that can be shown.
    pub(crate) const MAX_RARE_RECORDS: usize = 8;
    /// Longest record that is shown whole, in bytes.
    pub(crate) const WHOLE_RECORD_BYTES: u64 = 700;
    /// Length of the part that is shown of a longer record, in bytes.
    pub(crate) const RECORD_PART_BYTES: u64 = 240;
    /// Bytes of that part before what is rare in it.
    pub(crate) const BEFORE_RARE_BYTES: u64 = 80;
    /// Documents that are shown before a rare one, because they led to it.
    pub(crate) const DOCUMENTS_BEFORE: usize = 2;
    /// Maximum bytes of these documents.
    pub(crate) const DOCUMENTS_BEFORE_BYTES: u64 = 700;

    // Outputs that are not text.

    /// Share of a view for the names in an archive, in percent.
    pub(crate) const ARCHIVE_NAMES_PERCENT: u64 = 60;
}

/// Rows of compact renderings (`digest/rows.rs`, `digest/compacted.rs`).
pub(crate) mod rows {
    /// Shares of the budget for the beginning and the end, which are shown before anything else.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Ends {
        pub(crate) head: f32,
        pub(crate) tail: f32,
    }

    /// Bytes of a token, at most on average: a longer text does not fit.
    pub(crate) const MAX_TOKEN_BYTES: u64 = 12;

    /// Smallest budget, in tokens, for rows of a compact form. In less, a summary tells more.
    pub(crate) const MIN_BUDGET: u64 = 1_500;

    /// Details of JSON that are tried in turn, with the maximum characters of a text.
    pub(crate) const DETAILS: [(u8, u32); 7] =
        [(0, u32::MAX), (1, 4_000), (1, 1_000), (2, 400), (2, 200), (4, 200), (4, 100)];

    /// The least detail, at which records are chosen if not all of them fit.
    pub(crate) const CHOSEN_DETAIL: (u8, u32) = (4, 60);

    /// Shares of the budget for the beginning and the end of a table.
    pub(crate) const RECORDS_ENDS: Ends = Ends { head: 0.5, tail: 0.1 };

    /// Share of the budget for the records of the outermost table.
    pub(crate) const OUTER_RECORDS: f32 = 0.85;

    /// Share of the budget for names of a listing that the session states, and tokens of names that each folder shows
    /// before any shows more.
    pub(crate) const STATED_NAMES: f32 = 0.5;
    pub(crate) const NAMES_OF_FOLDER: f32 = 100.0;

    /// Tokens from which on the budgets of listings, searches and runs grow with the root of their size.
    pub(crate) const SMALL_BUDGET: u64 = 2_000;

    /// Shares for both ends of a file and of a run.
    pub(crate) const READ_ENDS: Ends = Ends { head: 0.3, tail: 0.0 };
    pub(crate) const RUN_ENDS: Ends = Ends { head: 0.25, tail: 0.35 };

    /// Maximum bytes of a program that are parsed for the definitions that its view shows or names. A larger one has more of
    /// them than any view names.
    pub(crate) const MAX_PARSED_PROGRAM: u64 = 1024 * 1024;

    /// Definitions inside more others than this are no blocks of their own.
    pub(crate) const MAX_BLOCK_DEPTH: u32 = 1;

    /// Sections inside more others than this are not named in markers; characters of a title; and sections that one marker
    /// names.
    pub(crate) const MAX_SECTION_DEPTH: u32 = 1;
    pub(crate) const SECTION_TITLE: usize = 40;
    pub(crate) const NAMED_SECTIONS: usize = 6;

    /// Score of a row that is unlike the others, and the maximum share of such rows.
    pub(crate) const UNUSUAL_ROW: f32 = 6.0;
    pub(crate) const UNUSUAL_SHARE: f32 = 0.01;

    /// Score of the row that answers the intent of the call best, and the number of rows that answer it.
    pub(crate) const ANSWERING_ROW: f32 = 4.0;
    pub(crate) const ANSWERS: usize = 40;

    /// Rows from which on some may be unusual, and the least share that the most common value or line must have.
    pub(crate) const MANY_ROWS: usize = 20;
    pub(crate) const COMMON_SHARE: f32 = 0.2;

    /// Share of equal lines, but for numbers, from which on lines are alike, and the tokens of a view of such lines.
    pub(crate) const ALIKE_SHARE: f32 = 0.6;
    pub(crate) const ALIKE_TOKENS: u64 = 400;

    /// Maximum tokens of a list of changed files, of which the largest changes are shown.
    pub(crate) const CHANGES_TOKENS: u64 = 1_000;

    /// Maximum tokens of a view of a command that succeeded and read no file.
    pub(crate) const SUCCEEDED_TOKENS: u64 = 450;

    /// Shares of these for both ends. The rest is for unusual lines, and for lines that the session mentions.
    pub(crate) const ALIKE_ENDS: Ends = Ends { head: 0.15, tail: 0.2 };
    pub(crate) const SUCCEEDED_ENDS: Ends = Ends { head: 0.25, tail: 0.4 };

    /// Outputs of more than so many budgets are sampled: their views get smaller with the root of their size, down to a share.
    /// Listings are not: any of their names may be the one that is opened next.
    pub(crate) const LARGE_FILE: f64 = 4.0;
    pub(crate) const LARGE_SEARCH: f64 = 2.0;
    pub(crate) const LEAST_SAMPLE: f64 = 0.4;

    /// Share of the budget for the names of files whose matches are left out.
    pub(crate) const NAMES_OF_FILES: f32 = 0.08;

    /// Rows that are shown of those that differ only in numbers, unless the session states a name in them; and records.
    pub(crate) const SHOWN_LIKE: usize = 4;
    pub(crate) const SHOWN_LIKE_RECORDS: usize = 8;

    /// Score of a line that begins with an error.
    pub(crate) const ERROR_LINE: f32 = 6.0;

    /// Number that is added to the root of the tokens of a row, by which its score is divided: a short row is not worth more
    /// only because it is short.
    pub(crate) const SHORT_ROW: f32 = 4.0;

    /// Shares of the budget that are tried in turn, since costs are estimated.
    pub(crate) const TRIES: [f32; 7] = [1.0, 0.95, 0.9, 0.8, 0.65, 0.4, 0.2];

    /// Maximum names in the first line of a view that were searched for.
    pub(crate) const NAMED: usize = 3;

    /// Rows from which the tokens of a byte are measured.
    pub(crate) const SAMPLED_ROWS: usize = 200;

    /// Tokens of a marker between two rows.
    pub(crate) const MARKER_TOKENS: f32 = 9.0;

    /// Maximum tokens of a single row that fills a gap.
    pub(crate) const FILLED_GAP: f32 = 9.0;

    /// Maximum tokens of names between two shown names of a folder that are shown too: a marker and the folder's name again
    /// would cost as much.
    pub(crate) const FILLED_GAP_OF_FOLDER: f32 = 25.0;

    /// Rows around a good one that share its score, and the factor for each further step.
    pub(crate) const REACH: usize = 4;
    pub(crate) const FADE: f32 = 0.8;

    /// The same number inside a definition that is shown in part.
    pub(crate) const PARTIAL_REACH: usize = 6;

    /// Share of the budget for the first lines of definitions.
    pub(crate) const SIGNATURES: f32 = 0.15;

    /// Number of a definition's best lines that determine its score, and the number added to the root of its tokens.
    pub(crate) const BEST_OF_BLOCK: usize = 6;
    pub(crate) const BLOCK_NORM: f32 = 30.0;

    /// Share of the budget for the best match of each file.
    pub(crate) const MAX_GROUPS_SHARE: f32 = 0.7;
}
