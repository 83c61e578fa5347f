//! Weights and thresholds of the heuristics, in one place, each with its unit and its reason.
//!
//! They are tuned together: `bench/recall` says what a changed value does to the scores.

/// Weights of folding: how a view divides its tokens, and when an output is of one kind.
pub(crate) mod folding {
    use crate::classify::form::Form;

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
    /// Best units that are looked through for one that starts with an error.
    pub(crate) const BEST_UNITS: usize = 30;
    /// Factor on the best unit that was asked for, relative to the best that is shown anyway. What was asked for comes first.
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

    /// Share of outliers where no form says otherwise.
    const OUTLIERS: f64 = 0.45;

    impl Shares {
        /// Documents are read from their beginning, and their headings say how they go on.
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

        /// Shares by the form of an output.
        pub(crate) fn of(form: Form) -> Shares {
            let (summary, head) = match form {
                Form::Markdown | Form::Rst => return Shares::DOCUMENT,
                // A program starts with its imports and ends with its main part; names say what lies between.
                Form::Code(_) => (0.12, 0.2),
                // The first changes, and the files of the others.
                Form::Diff => (0.1, 1.0),
                // The first matches, and the files with most. The path of a match at the end may be far above it.
                Form::Matches => (0.1, 1.0),
                // Listings and tables are alike from end to end: a summary of all of it says more.
                Form::Listing => (0.1, 0.6),
                Form::Table => (0.13, 0.6),
                // The shape covers all records; the first and the last are examples.
                Form::Json => (0.12, 0.35),
                // The start, and the present state.
                Form::Log | Form::TestRun => (0.13, 0.35),
                Form::Html | Form::Text | Form::Binary => (0.1, 0.8),
            };
            let is_data = matches!(form, Form::Table | Form::Json);
            Shares { summary, head, outliers: OUTLIERS, is_data }
        }

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
    /// Least tokens of a summary. In fewer tokens hardly anything can be said.
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

    /// Most files with the same unusual mode, owner or zero size that are still outliers.
    pub(crate) const MAX_UNUSUAL_ALIKE: u64 = 2;
    /// Least entries a listing has for each outlier.
    pub(crate) const FILES_PER_OUTLIER: u64 = 20;
    /// Least files of a listing that has outliers.
    pub(crate) const MIN_FILES: u64 = 50;
    /// Most kinds of files of a listing that has outliers. Where more differ, nothing is usual.
    pub(crate) const MAX_FILE_KINDS: usize = 256;
    /// Most outermost branches of a tree that are shown.
    pub(crate) const MAX_OUTER_BRANCHES: usize = 80;
    /// Least entries a tree has for each outermost branch that is shown.
    pub(crate) const ENTRIES_PER_OUTER: usize = 3;
    /// Least share of the entries of a folder that have an extension which is named, as one in so many.
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
    /// Least share of findings in the lines of such a list, in percent.
    pub(crate) const FINDINGS_PERCENT: usize = 70;
    /// Maximum codes of which a finding can be shown.
    pub(crate) const MAX_CODES: usize = 24;

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

    /// Lines before a change that say where it is.
    pub(crate) const LINES_BEFORE_CHANGE: usize = 3;
    /// Least hunks that change only the layout in a reformatting.
    pub(crate) const MIN_LAYOUT_HUNKS: usize = 5;
    /// Least hunks that change only the layout for each other hunk in a reformatting.
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
