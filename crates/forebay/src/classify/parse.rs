//! How well a text fits the grammar of a language.

use crate::classify::languages::{Language, NoTree};
#[cfg(feature = "outline")]
use crate::classify::syntax_tree;

/// Parts of a text, by their kind in a grammar.
pub(crate) struct Fit {
    /// Bytes that do not fit.
    pub(crate) misfit: usize,
    /// Bytes of comments.
    pub(crate) comments: usize,
    /// Places that do not fit.
    pub(crate) faults: usize,
}

/// Parses a text and says how well it fits.
#[cfg(feature = "outline")]
pub(crate) fn fit(language: Language, text: &[u8]) -> Result<Fit, NoTree> {
    let tree = syntax_tree::parse(language, text)?;
    let (comments, faults) = syntax_tree::comments_and_faults(&tree);
    Ok(Fit { misfit: syntax_tree::misfit(&tree), comments, faults })
}

/// Says that there are no grammars in this build.
#[cfg(not(feature = "outline"))]
pub(crate) fn fit(_: Language, _: &[u8]) -> Result<Fit, NoTree> {
    Err(NoTree::NoGrammar)
}
