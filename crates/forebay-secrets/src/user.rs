//! Rule files of a user.

use crate::rules::{Compiled, find_with};
use crate::sample::expand;
use crate::schema::{Check, File, Rule};
use crate::secret::Kind;
use regex::bytes::{Regex, RegexBuilder};
use std::borrow::Cow;
use std::ops::Range;

/// Maximum bytes of a file: more than ten times the largest built-in one.
const MAX_BYTES: usize = 64 * 1024;

/// Maximum rules of a file. Every text is searched for all of them.
const MAX_RULES: usize = 100;

/// Maximum bytes of a pattern: several times the longest built-in one.
const MAX_PATTERN: usize = 1_000;

/// Maximum bytes of the names that a mask shows.
const MAX_NAME: usize = 40;

/// The rules of one file. The time of their patterns is proportional to the text, as for all patterns of the `regex`
/// crate, and their size is bounded.
#[derive(Clone, Debug)]
pub struct UserRules {
    rules: Vec<UserRule>,
}

/// One rule.
#[derive(Clone, Debug)]
struct UserRule {
    kind: Kind,
    /// Finds where a match begins.
    anywhere: Regex,
    pattern: Compiled,
    /// Finds a keyword; without one in the text, there is no match.
    keywords: Option<Regex>,
    checks: Vec<Check>,
}

/// Error in a rule file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Number of the line, from 1.
    pub line: usize,
    /// Description of the error, and the remedy.
    pub message: String,
}

/// An error, and the bytes of the file that it concerns.
struct Fault {
    place: Range<usize>,
    message: String,
}

impl UserRules {
    /// Reads a rule file.
    ///
    /// # Errors
    ///
    /// All problems, in the order of the lines.
    ///
    /// # Examples
    ///
    /// ```
    /// use forebay_secrets::UserRules;
    ///
    /// let rules = UserRules::parse(
    ///     r#"
    ///     service = "acme"
    ///
    ///     [[secret]]
    ///     name = "deploy key"
    ///     pattern = 'acme_[a-z0-9]{32}'
    ///     samples = ["ACME=acme_{l32}"]
    ///     "#,
    /// );
    /// assert!(rules.is_ok());
    ///
    /// let problems = UserRules::parse("service = 'acme'\nsecret = []\n").unwrap_err();
    /// assert_eq!(problems[0].line, 1);
    /// ```
    pub fn parse(text: &str) -> Result<UserRules, Vec<Problem>> {
        let at = |Fault { place, message }: Fault| Problem {
            line: 1 + memchr::memchr_iter(b'\n', &text.as_bytes()[..place.start.min(text.len())]).count(),
            message,
        };
        if text.len() > MAX_BYTES {
            let message = format!("the file has {} bytes; {MAX_BYTES} are allowed; split it", text.len());
            return Err(vec![at(Fault { place: 0..0, message })]);
        }
        let file: File = toml::from_str(text).map_err(|error| {
            let place = error.span().unwrap_or_default();
            vec![at(Fault { place, message: error.message().to_owned() })]
        })?;
        let mut faults = Vec::new();
        let mut fault = |place: Range<usize>, message: String| faults.push(Fault { place, message });
        if !is_name(file.service.get_ref()) {
            fault(file.service.span(), name_message("service", file.service.get_ref()));
        }
        for word in file.words.iter().chain(&file.common_words) {
            fault(word.span(), "only built-in files have words; write a rule with a pattern".to_owned());
        }
        if file.secrets.is_empty() {
            fault(file.service.span(), "no rules; add a `[[secret]]` table".to_owned());
        }
        if let Some(rule) = file.secrets.get(MAX_RULES) {
            fault(rule.pattern.span(), format!("more than {MAX_RULES} rules; split the file"));
        }
        let mut rules = Vec::new();
        for rule in file.secrets.iter().take(MAX_RULES) {
            match UserRule::new(file.service.get_ref(), rule) {
                Ok(rule) => rules.push(rule),
                Err(own) => faults.extend(own),
            }
        }
        if faults.is_empty() { Ok(UserRules { rules }) } else { Err(faults.into_iter().map(at).collect()) }
    }

    /// Calls `found` with the place and the kind of each secret.
    pub(crate) fn find(&self, text: &[u8], mut found: impl FnMut(Range<usize>, &Kind)) {
        for rule in &self.rules {
            rule.find(text, |range| found(range, &rule.kind));
        }
    }
}

impl UserRule {
    fn new(service: &str, rule: &Rule) -> Result<UserRule, Vec<Fault>> {
        let Rule { name, pattern, keywords, checks, samples, counter_samples } = rule;
        let text = pattern.get_ref();
        let wrong = |message: String| vec![Fault { place: pattern.span(), message }];
        if !is_name(name) {
            return Err(wrong(name_message("name", name)));
        }
        if text.len() > MAX_PATTERN {
            return Err(wrong(format!("the pattern has {} bytes; {MAX_PATTERN} are allowed", text.len())));
        }
        let compile = |pattern: &str| {
            RegexBuilder::new(pattern).unicode(false).size_limit(1 << 20).dfa_size_limit(1 << 20).build()
        };
        let compiled = Compiled::new(text, true).and_then(|compiled| Ok((compile(text)?, compiled)));
        let (anywhere, compiled) = compiled.map_err(|error| wrong(describe(&error)))?;
        if anywhere.is_match(b"") {
            return Err(wrong("the pattern matches an empty text; make a part of it required".to_owned()));
        }
        if let Some(keyword) = keywords.iter().find(|keyword| keyword.get_ref().len() < 3) {
            let message = format!("the keyword `{}` has fewer than 3 bytes", keyword.get_ref());
            return Err(vec![Fault { place: keyword.span(), message }]);
        }
        let any =
            keywords.iter().map(|keyword| regex::escape(keyword.get_ref())).collect::<Vec<_>>().join("|");
        let any = if any.is_empty() { None } else { Some(compile(&format!("(?i:{any})"))) };
        let rule = UserRule {
            kind: Kind { service: Some(Cow::Owned(service.to_owned())), name: Cow::Owned(name.clone()) },
            anywhere,
            pattern: compiled,
            keywords: any.transpose().map_err(|error| wrong(describe(&error)))?,
            checks: checks.clone(),
        };
        if samples.is_empty() {
            return Err(wrong("no samples; give at least one text with such a secret".to_owned()));
        }
        let finds = |sample: &toml::Spanned<String>| {
            let mut any = false;
            rule.find(&expand(sample.get_ref()), |_| any = true);
            any
        };
        let missed = samples.iter().filter(|sample| !finds(sample)).map(|sample| Fault {
            place: sample.span(),
            message: format!("the rule finds no secret in this sample: {}", sample.get_ref()),
        });
        let wrongly = counter_samples.iter().filter(|sample| finds(sample)).map(|sample| Fault {
            place: sample.span(),
            message: format!("the rule finds a secret in this counter-sample: {}", sample.get_ref()),
        });
        let faults: Vec<Fault> = missed.chain(wrongly).collect();
        if faults.is_empty() { Ok(rule) } else { Err(faults) }
    }

    fn find(&self, text: &[u8], mut found: impl FnMut(Range<usize>)) {
        if self.keywords.as_ref().is_some_and(|keywords| !keywords.is_match(text)) {
            return;
        }
        let mut from = 0;
        while let Some(at) = self.anywhere.find_at(text, from) {
            if let Some(range) = find_with(text, at.start(), &self.pattern, &self.checks) {
                found(range);
            }
            from = at.end().max(at.start() + 1);
        }
    }
}

/// Whether a mask can show a name.
pub(crate) fn is_name(name: &str) -> bool {
    let allowed = |letter: char| letter.is_alphanumeric() || matches!(letter, ' ' | '.' | '_' | '-');
    !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(allowed)
}

fn name_message(field: &str, name: &str) -> String {
    format!("the {field} `{name}` is not of 1 to {MAX_NAME} letters, digits, blanks, `.`, `_` and `-`")
}

fn describe(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(size) => {
            format!("the pattern needs more than {size} bytes of memory; make it shorter")
        }
        // The message of `regex` marks the place in the pattern with lines of its own.
        error => {
            let message = error.to_string();
            format!(
                "the pattern: {}",
                message.lines().last().unwrap_or_default().trim_start_matches("error: ")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "service = \"acme\"\n\n[[secret]]\nname = \"key\"\npattern = 'acme_[a-z0-9]{32}'\nkeywords = [\"acme_\"]\nsamples = [\"k=acme_{l32}\"]\n";

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let table = [
            (FILE.replace("service", "servce"), 1, "unknown field `servce`"),
            (FILE.replace("\"acme\"", "\"a]c\""), 1, "the service `a]c`"),
            (FILE.replace("\"key\"", "\"\""), 5, "the name ``"),
            (FILE.replace("\n\n", "\nwords = [\"acme\"]\n"), 2, "only built-in files have words"),
            (FILE.replace("acme_[", "acme_(["), 5, "the pattern: unclosed group"),
            (FILE.replace("{32}'", "{32}{90}{90}{90}'"), 5, "more than 1048576 bytes of memory"),
            (FILE.replace("acme_[a-z0-9]{32}", "(?:acme)?"), 5, "matches an empty text"),
            (FILE.replace("acme_[", &("a".repeat(1_001) + "[")), 5, "1000 are allowed"),
            (FILE.replace("[\"acme_\"]", "[\"a\"]"), 6, "fewer than 3 bytes"),
            (FILE.replace("[\"k=acme_{l32}\"]", "[]"), 5, "no samples"),
            (
                FILE.replace("[\"k=acme_{l32}\"]", "[\n\"acme_{l32}\",\n\"acme\"]"),
                9,
                "no secret in this sample: acme",
            ),
            (FILE.to_owned() + "counter_samples = [\"acme_{h32}\"]", 8, "in this counter-sample"),
            ("service = \"acme\"\n".to_owned(), 1, "no rules"),
            (" ".repeat(MAX_BYTES + 1), 1, "bytes are allowed"),
        ];
        for (text, line, message) in table {
            let problems = UserRules::parse(&text).unwrap_err();
            let [problem] = &*problems else { panic!("{problems:?} for {message}") };
            let message = message.strip_prefix("bytes ").unwrap_or(message);
            assert!(problem.line == line && problem.message.contains(message), "{problem:?} for {message}");
        }
    }

    #[test]
    fn a_rule_finds_every_secret() {
        let rules = UserRules::parse(FILE).unwrap();
        let text = [expand("a acme_{l32} b"), expand("acme_{l32}x acme_{h32}")].concat();
        let mut found = Vec::new();
        rules.find(&text, |range, kind| found.push((range.start, kind.to_string())));
        assert_eq!(found, [(2, "acme key".to_owned()), (80, "acme key".to_owned())]);
    }
}
