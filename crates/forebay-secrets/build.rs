//! Lays out the files of `secrets/` as static tables, with the filter that finds their keywords in a text.

#[path = "src/schema.rs"]
pub(crate) mod schema;

use regex_syntax::hir::literal::{ExtractKind, Extractor};
use std::collections::{BTreeMap, BTreeSet};
use std::{env, error::Error, fmt::Write as _, fs, path::Path};

include!("src/fold.rs");

/// Texts at which a search begins that is not one for a known form, in small letters, with the search.
const ANCHORS: &[(&str, &str)] = &[
    ("key", "Name"),
    ("token", "Name"),
    ("secret", "Name"),
    ("passw", "Name"),
    ("passcode", "Name"),
    ("passphrase", "Name"),
    ("pass=", "Name"),
    ("pass:", "Name"),
    ("pass\"", "Name"),
    ("pass'", "Name"),
    ("pass ", "Name"),
    ("pwd", "Name"),
    ("credential", "Name"),
    ("auth", "Name"),
    ("access", "Name"),
    ("private", "Name"),
    ("bearer", "Name"),
    ("_pat", "Name"),
    ("_api", "Name"),
    ("signature", "Name"),
    ("_jwt", "Name"),
    ("sig=", "Name"),
    ("cookie:", "Cookie"),
    ("cookie\":", "Cookie"),
    ("cookie':", "Cookie"),
    ("bearer ", "Scheme"),
    ("basic ", "Scheme"),
    ("://", "Url"),
    ("-----begin", "Pem"),
    ("-----end", "Pem"),
    ("kind:", "Kubernetes"),
    ("kind\":", "Kubernetes"),
    (" -u", "Command"),
    (" -p", "Command"),
    (":5432:", "PgPass"),
    (":*:", "PgPass"),
    ("[secret: ", "Mask"),
];

/// Action of a keyword in the generated table, as Rust source.
type Keywords = BTreeMap<String, BTreeSet<String>>;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/schema.rs");
    println!("cargo::rerun-if-changed=src/fold.rs");
    println!("cargo::rerun-if-changed=secrets");
    let mut keywords = Keywords::new();
    for (text, anchor) in ANCHORS {
        keywords.entry((*text).to_owned()).or_default().insert(format!("Action::Anchor(Anchor::{anchor})"));
    }
    let rules = rules(&mut keywords)?;
    let folder = env::var("OUT_DIR")?;
    fs::write(Path::new(&folder).join("rules.rs"), rules)?;
    fs::write(Path::new(&folder).join("filter.rs"), filter(&keywords)?)?;
    Ok(())
}

/// The rules as a static table. Their keywords are added to those of the anchors.
fn rules(keywords: &mut Keywords) -> Result<String, Box<dyn Error>> {
    let mut paths = fs::read_dir("secrets")?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>, std::io::Error>>()?;
    paths.sort();
    let mut table = "&[\n".to_owned();
    let mut number = 0;
    let mut problems = Vec::new();
    let mut services = BTreeSet::new();
    let mut words = BTreeSet::new();
    let mut names = BTreeSet::new();
    for path in paths {
        let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let file: schema::File =
            toml::from_str(&fs::read_to_string(&path)?).map_err(|error| wrong(&error))?;
        let service = file.service.get_ref();
        if !services.insert(service.clone()) {
            return Err(wrong(&format!("the service `{service}` has another file")).into());
        }
        let own = file.words.into_iter().map(|word| (word.into_inner(), true));
        let common = file.common_words.into_iter().map(|word| (word.into_inner(), false));
        for (word, says_enough) in own.chain(common) {
            if word.len() < 4 || !word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            {
                let message = format!("the word `{word}` is not of four or more small letters and digits");
                return Err(wrong(&message).into());
            }
            if says_enough {
                keywords
                    .entry(word.clone())
                    .or_default()
                    .insert("Action::Anchor(Anchor::Service)".to_owned());
                names.insert(word.clone());
            }
            words.insert(word);
        }
        for rule in file.secrets {
            let schema::Rule { name, pattern, keywords: given, checks, samples, counter_samples } = rule;
            let pattern = pattern.into_inner();
            let begins = prefixes(&pattern);
            let given: Vec<String> = given.into_iter().map(toml::Spanned::into_inner).collect();
            let is_begun =
                |text: &String| given.iter().any(|keyword| text.to_ascii_lowercase().starts_with(keyword));
            let (own, at_start) = match begins {
                Ok(begins) if given.is_empty() => (begins, true),
                Ok(begins) if begins.iter().all(is_begun) => (given, true),
                Err(error) if given.is_empty() => {
                    problems.push(wrong(&error));
                    (Vec::new(), true)
                }
                _ => (given, false),
            };
            for keyword in own {
                let action = format!("Action::Rule({number})");
                keywords.entry(keyword.to_ascii_lowercase()).or_default().insert(action);
            }
            let texts = |texts: Vec<toml::Spanned<String>>| -> Vec<String> {
                texts.into_iter().map(toml::Spanned::into_inner).collect()
            };
            let checks: Vec<String> = checks.iter().map(|check| format!("Check::{check:?}")).collect();
            writeln!(
                table,
                "Rule {{ service: {service:?}, name: {name:?}, pattern: {pattern:?}, at_start: {at_start}, checks: &[{}], samples: &{:?}, counter_samples: &{:?} }},",
                checks.join(", "),
                texts(samples),
                texts(counter_samples),
            )?;
            number += 1;
        }
    }
    table.push(']');
    if !problems.is_empty() {
        return Err(problems.join("; ").into());
    }
    Ok(format!(
        "pub(crate) static RULES: &[Rule] = {table};\npub(crate) static SERVICE_WORDS: &[&str] = &{:?};\npub(crate) static SERVICE_NAMES: &[&str] = &{:?};\n",
        words.into_iter().collect::<Vec<_>>(),
        names.into_iter().collect::<Vec<_>>()
    ))
}

/// Texts that a match of the pattern begins with.
fn prefixes(pattern: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let hir = regex_syntax::ParserBuilder::new().utf8(false).unicode(false).build().parse(pattern)?;
    let mut extractor = Extractor::new();
    extractor.kind(ExtractKind::Prefix).limit_class(10).limit_total(64);
    let found = extractor.extract(&hir);
    let literals = found.literals().ok_or("no text begins every match; add `keywords`")?;
    let texts = literals.iter().map(|literal| {
        let text = std::str::from_utf8(literal.as_bytes())?.to_owned();
        if text.len() < 3 {
            return Err(format!("a match can begin with `{text}`, which is short; add `keywords`").into());
        }
        Ok(text)
    });
    texts.collect()
}

/// The keywords, and for those of three bytes and for longer ones a table of the hashes that they begin with.
fn filter(keywords: &Keywords) -> Result<String, Box<dyn Error>> {
    let mut table = "pub(crate) static KEYWORDS: &[Keyword] = &[\n".to_owned();
    let mut short = Vec::new();
    let mut long = Vec::new();
    for (at, (text, actions)) in (0..).zip(keywords) {
        let actions: Vec<&str> = actions.iter().map(String::as_str).collect();
        writeln!(table, "Keyword {{ text: b{text:?}, actions: &[{}] }},", actions.join(", "))?;
        match text.as_bytes() {
            [a, b, c, d, ..] => long.push(Entry { hash: fold_four([*a, *b, *c, *d]), at }),
            [a, b, c] => short.push(Entry { hash: fold_three([*a, *b, *c, 0]), at }),
            _ => return Err(format!("the keyword `{text}` is shorter than three bytes").into()),
        }
    }
    writeln!(table, "];")?;
    writeln!(table, "pub(crate) static SHORT: Hashes = {};", hashes(short))?;
    writeln!(table, "pub(crate) static LONG: Hashes = {};", hashes(long))?;
    Ok(table)
}

/// A keyword by the hash of its first bytes.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    hash: u32,
    at: u32,
}

/// A table that finds entries by their hash, as Rust source.
fn hashes(mut entries: Vec<Entry>) -> String {
    entries.sort_unstable();
    let mut bits = vec![0u64; 1 << (HASH_BITS - 6)];
    let mut starts = vec![0u16; (1 << (HASH_BITS - 4)) + 1];
    for Entry { hash, .. } in &entries {
        bits[*hash as usize / 64] |= 1 << (hash % 64);
        starts[(hash >> 4) as usize + 1] += 1;
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let entries: Vec<String> =
        entries.iter().map(|Entry { hash, at }| format!("Entry {{ hash: {hash}, keyword: {at} }}")).collect();
    format!("Hashes {{ bits: {bits:?}, starts: {starts:?}, entries: &[{}] }}", entries.join(", "))
}
