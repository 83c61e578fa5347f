//! Layout of a rule file. The build script reads the built-in files with it, and the library those of a user.

use serde::Deserialize;
use toml::Spanned;

/// Test that a match must pass beyond its pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Check {
    /// The last six characters are the CRC-32 of the 30 before them, in base 62.
    Crc32Base62,
    /// Three parts in base64url, the first of which is a JSON object that names an algorithm.
    Jwt,
    /// At least one digit.
    Digit,
    /// At least one lower-case letter, one upper-case letter and one digit.
    Mixed,
    /// The value looks machine-made. For patterns that also match words.
    Random,
    /// Values that look like placeholders are accepted. For formats whose every value is a secret.
    Any,
}

/// One file: what is known of the secrets of one service.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    /// The service, as a mask names it.
    pub(crate) service: Spanned<String>,
    /// Words in the name of a setting that point to the service: `asana` in `asana_pat`. They let values be found that
    /// have no form of their own.
    #[serde(default)]
    pub(crate) words: Vec<Spanned<String>>,
    /// Such words that mean something else too: `linear` in `linear_key`. Without a word for a secret they say nothing.
    #[serde(default)]
    pub(crate) common_words: Vec<Spanned<String>>,
    /// The kinds of secrets that the service gives out.
    #[serde(default, rename = "secret")]
    pub(crate) secrets: Vec<Rule>,
}

/// One kind of secret that is known by its form.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    /// What it is, as a mask names it after the service.
    pub(crate) name: String,
    /// Regular expression of the whole secret, or with one group that holds the secret. Letters, digits and word
    /// boundaries are those of ASCII.
    pub(crate) pattern: Spanned<String>,
    /// Texts one of which is in every match, at least three bytes each. Without them, they are the texts that a match
    /// can begin with.
    #[serde(default)]
    pub(crate) keywords: Vec<Spanned<String>>,
    /// Tests that a match must pass.
    #[serde(default)]
    pub(crate) checks: Vec<Check>,
    /// Texts in which the rule must find a secret. `{a32}` stands for 32 made-up characters; see [`crate::sample`].
    pub(crate) samples: Vec<Spanned<String>>,
    /// Texts in which it must find none.
    #[serde(default)]
    pub(crate) counter_samples: Vec<Spanned<String>>,
}
