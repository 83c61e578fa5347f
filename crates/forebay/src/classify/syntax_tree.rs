//! Parsing with a bound on the work, and how well a text fits a grammar.

use crate::classify::languages::{Language, NoTree};
use memchr::{memchr, memrchr};
use std::ops::ControlFlow;
use tree_sitter::{Node, ParseOptions, ParseState, Parser, Point, Tree};

/// Bytes of text for each permitted call of the progress callback. The parser calls it once in a hundred steps, which
/// is once in 50 to 400 bytes of code.
const BYTES_AN_ASKING: usize = 50;

/// Askings that any text has, so that a short one is not given up early.
const ASKINGS: usize = 2_000;

/// Parses a text.
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

/// Interval of the samples that are parsed first, in bytes,
const STEP: usize = 64 * 1024;
/// and bytes of each sample.
const TASTE: usize = 4 * 1024;
/// Samples in a row that do not fit, from which on the text counts as another kind. Prose in comments is shorter.
const BAD: usize = 6;

/// Returns how many bytes from the beginning roughly fit the grammar. Text that does not fit takes ten times as long to
/// parse and yields nothing, so samples are parsed first.
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

/// Returns how many bytes of a tree's text do not fit the grammar.
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

/// Returns the bytes of an error outside its understood parts. An excerpt has errors around whole
/// functions and comments, because their surroundings are incomplete; a text of another kind has loose words.
fn loose(error: &Node) -> usize {
    let mut cursor = error.walk();
    let understood: usize = error
        .children(&mut cursor)
        .filter(|child| child.is_error() || child.is_extra() || (child.is_named() && child.child_count() > 1))
        .map(|child| child.byte_range().len())
        .sum();
    error.byte_range().len().saturating_sub(understood)
}

/// Returns how many bytes of a tree's text are comments, and at how many places it does not fit. In its own language a text
/// has few such places, however large one of them is because the end is missing.
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
