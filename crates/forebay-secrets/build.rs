//! Lays out the files of `secrets/` as static tables, with the filter that finds their keywords in a text.

#[path = "src/schema.rs"]
pub(crate) mod schema;

use regex_syntax::hir::literal::{ExtractKind, Extractor};
use std::collections::{BTreeMap, BTreeSet};
use std::{env, error::Error, fmt::Write as _, fs, path::Path};

include!("src/fold.rs");
include!("src/anchors.rs");

/// Action of a keyword in the generated table, as Rust source.
type Keywords = BTreeMap<String, BTreeSet<String>>;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/schema.rs");
    println!("cargo::rerun-if-changed=src/fold.rs");
    println!("cargo::rerun-if-changed=src/anchors.rs");
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
    for path in paths {
        let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let file: schema::File =
            toml::from_str(&fs::read_to_string(&path)?).map_err(|error| wrong(&error))?;
        let service = file.service.get_ref();
        if !services.insert(service.clone()) {
            return Err(wrong(&format!("the service `{service}` has another file")).into());
        }
        for word in file.words.into_iter().map(toml::Spanned::into_inner) {
            if word.len() < 4 || !word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            {
                let message = format!("the word `{word}` is not of four or more small letters and digits");
                return Err(wrong(&message).into());
            }
            keywords.entry(word.clone()).or_default().insert("Action::Anchor(Anchor::Service)".to_owned());
            words.insert(word);
        }
        for rule in file.secrets {
            let schema::Rule { name, pattern, keywords: given, checks, samples, counter_samples } = rule;
            let pattern = pattern.into_inner();
            let own: Vec<String> = if given.is_empty() {
                prefixes(&pattern).unwrap_or_else(|error| {
                    problems.push(wrong(&error));
                    Vec::new()
                })
            } else {
                given.into_iter().map(toml::Spanned::into_inner).collect()
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
                "Rule {{ service: {service:?}, name: {name:?}, pattern: {pattern:?}, checks: &[{}], samples: &{:?}, counter_samples: &{:?} }},",
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
        "pub(crate) static RULES: &[Rule] = {table};\npub(crate) static SERVICE_WORDS: &[&str] = &{:?};\n",
        words.into_iter().collect::<Vec<_>>()
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

/// The keywords, sorted by the hash of their first four bytes, and the bits of the hashes that there are.
fn filter(keywords: &Keywords) -> Result<String, Box<dyn Error>> {
    let mut table = String::new();
    let mut entries: Vec<[u32; 2]> = Vec::new();
    writeln!(table, "pub(crate) static KEYWORDS: &[Keyword] = &[")?;
    for (at, (text, actions)) in (0..).zip(keywords) {
        let actions: Vec<&str> = actions.iter().map(String::as_str).collect();
        writeln!(table, "Keyword {{ text: b{text:?}, actions: &[{}] }},", actions.join(", "))?;
        let mut hashes = BTreeSet::new();
        match text.as_bytes() {
            [a, b, c, d, ..] => {
                hashes.insert(fold([*a, *b, *c, *d]));
            }
            [a, b, c] => hashes.extend((0..=255).map(|d| fold([*a, *b, *c, d]))),
            _ => return Err(format!("the keyword `{text}` is shorter than three bytes").into()),
        }
        entries.extend(hashes.into_iter().map(|hash| [hash, at]));
    }
    writeln!(table, "];")?;
    entries.sort_unstable();
    let mut bits = vec![0u64; 1 << (HASH_BITS - 6)];
    for [hash, _] in &entries {
        bits[*hash as usize / 64] |= 1 << (hash % 64);
    }
    let mut starts = vec![0u16; (1 << (HASH_BITS - 4)) + 1];
    for [hash, _] in &entries {
        starts[(hash >> 4) as usize + 1] += 1;
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let entries: Vec<String> = entries.iter().map(|[hash, at]| format!("({hash}, {at})")).collect();
    writeln!(table, "pub(crate) static BITS: [u64; {}] = {bits:?};", bits.len())?;
    writeln!(table, "pub(crate) static STARTS: [u16; {}] = {starts:?};", starts.len())?;
    writeln!(table, "pub(crate) static ENTRIES: &[(u16, u16)] = &[{}];", entries.join(", "))?;
    Ok(table)
}
