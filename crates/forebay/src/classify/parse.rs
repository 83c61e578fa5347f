//! Parsing with a bound on the work, and how well a text fits a grammar.

use crate::classify::languages::Language;
use memchr::{memchr, memrchr};
use std::ops::ControlFlow;
use tree_sitter::{Node, ParseOptions, ParseState, Parser, Point, Tree};

/// The parser asks to go on once in a hundred of its steps. Code gets on by 50 to 400 bytes an asking.
const BYTES_AN_ASKING: usize = 50;

/// Askings that any text has, so that a short one is not given up early.
const ASKINGS: usize = 2_000;

/// Why there is no tree.
pub(crate) enum NoTree {
    NoGrammar,
    /// It took too much work.
    Slow,
}

/// The tree of a text.
pub(crate) fn parse(language: Language, text: &[u8]) -> Result<Tree, NoTree> {
    let mut parser = Parser::new();
    let grammar = language.grammar().ok_or(NoTree::NoGrammar)?;
    parser.set_language(&grammar).map_err(|_| NoTree::NoGrammar)?;
    let mut left = ASKINGS + text.len() / BYTES_AN_ASKING;
    let mut go_on = |_: &ParseState| {
        left = left.saturating_sub(1);
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut read = |at: usize, _: Point| text.get(at..).unwrap_or_default();
    let options = ParseOptions::new().progress_callback(&mut go_on);
    parser.parse_with_options(&mut read, None, Some(options)).ok_or(NoTree::Slow)
}

/// A taste is taken this often,
const STEP: usize = 64 * 1024;
/// of this many bytes.
const TASTE: usize = 4 * 1024;
/// So many in a row that do not fit, and the text is of another kind from the first on: prose in comments is shorter.
const BAD: usize = 6;

/// How many bytes at the beginning fit the grammar more or less. What does not fit takes ten times as long to
/// parse as code does, and nothing comes of it: so a text is tasted first.
pub(crate) fn fitting(language: Language, text: &[u8]) -> usize {
    let mut bad = 0;
    for start in (STEP..text.len()).step_by(STEP) {
        let near = &text[start..text.len().min(start + TASTE)];
        let start = start + memchr(b'\n', near).map_or(0, |newline| newline + 1);
        let taste = &text[start..text.len().min(start + TASTE)];
        let fits = parse(language, taste).is_ok_and(|tree| misfit(&tree) * 10 <= taste.len() * 3);
        bad = if fits { 0 } else { bad + 1 };
        if bad == BAD {
            let first = start - (BAD - 1) * STEP;
            return memrchr(b'\n', &text[..first.min(text.len())]).map_or(0, |newline| newline + 1);
        }
    }
    text.len()
}

/// How many bytes of a tree's text did not fit the grammar.
pub(crate) fn misfit(tree: &Tree) -> usize {
    if !tree.root_node().has_error() {
        return 0;
    }
    let mut misfit = 0;
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.is_error() {
            misfit += loose(&node);
        }
        if node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return misfit;
            }
        }
    }
}

/// The bytes of an error that do not lie in anything that was understood. An excerpt has errors around whole
/// functions and comments, because it does not have the end of what they are in; a text of another kind has loose words.
fn loose(error: &Node) -> usize {
    let mut cursor = error.walk();
    let understood: usize = error
        .children(&mut cursor)
        .filter(|child| child.is_error() || child.is_extra() || (child.is_named() && child.child_count() > 1))
        .map(|child| child.byte_range().len())
        .sum();
    error.byte_range().len().saturating_sub(understood)
}

/// How many bytes of a tree's text are comments, and at how many places it does not fit: the language that a text is in has few,
/// however much of it lies in one of them because the end is missing.
pub(crate) fn comments_and_faults(tree: &Tree) -> (usize, usize) {
    let (mut comments, mut faults) = (0, 0);
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.is_extra() && node.kind().contains("comment") {
            comments += node.byte_range().len();
        }
        faults += usize::from(node.is_error() || node.is_missing());
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return (comments, faults);
            }
        }
    }
}
