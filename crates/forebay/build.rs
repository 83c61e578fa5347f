//! Lays out what the library would otherwise compute at start-up: the vocabulary of tokens and the built-in formats.

#[path = "src/formats/schema.rs"]
pub mod schema;

use regex_syntax::hir::literal::{ExtractKind, Extractor};
use regex_syntax::hir::{Hir, Look};
use std::{env, error::Error, fmt::Write as _, fs, path::Path};

include!("src/tokens/hash.rs");

/// Twice the vocabulary and a bit: probes stay short, and an empty slot ends a search early.
const SLOTS: usize = 1 << 19;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = env::var("OUT_DIR")?;
    fs::write(Path::new(&folder).join("o200k.bin"), tokens()?)?;
    fs::write(Path::new(&folder).join("formats.rs"), formats()?)?;
    Ok(())
}

/// The vocabulary as a hash table, so that counting tokens needs no start-up work. `src/tokens/table.rs` reads it.
fn tokens() -> Result<Vec<u8>, Box<dyn Error>> {
    println!("cargo::rerun-if-changed=src/tokens/hash.rs");
    let vocabulary = tiktoken::get_encoding("o200k_base").ok_or("the tiktoken crate has no o200k_base")?;
    let tokens: Vec<Vec<u8>> =
        (0..).map(|rank| vocabulary.decode(&[rank])).take_while(|token| !token.is_empty()).collect();
    if tokens.len() != 199_998 {
        return Err(format!("o200k_base has 199,998 tokens, found {}", tokens.len()).into());
    }

    // A slot holds rank + 1 in its low 18 bits (0 is an empty slot) and 14 bits of the hash above it,
    // so that a miss is nearly always seen without looking at the token's bytes.
    let mut slots = vec![0u32; SLOTS];
    for (rank, token) in tokens.iter().enumerate() {
        let hash = token_hash(token);
        let mut at = hash as usize % SLOTS;
        while slots[at] != 0 {
            at = (at + 1) % SLOTS;
        }
        slots[at] = (rank as u32 + 1) | ((hash >> 50) as u32) << 18;
    }

    let mut table = Vec::new();
    for slot in slots {
        table.extend(slot.to_le_bytes());
    }
    let mut offset = 0u32;
    for token in &tokens {
        table.extend(offset.to_le_bytes());
        offset += token.len() as u32;
    }
    table.extend(offset.to_le_bytes());
    tokens.iter().for_each(|token| table.extend(token));
    Ok(table)
}

/// The files of `formats/` as the static table that `src/formats.rs` includes.
fn formats() -> Result<String, Box<dyn Error>> {
    println!("cargo::rerun-if-changed=src/formats/schema.rs");
    println!("cargo::rerun-if-changed=formats");
    let mut paths = fs::read_dir("formats")?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>, std::io::Error>>()?;
    paths.sort();
    let mut table = "&[\n".to_owned();
    for path in paths {
        let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let file: schema::File =
            toml::from_str(&fs::read_to_string(&path)?).map_err(|error| wrong(&error))?;
        let name = path.file_stem().unwrap_or_default();
        let schema::File { about, programs, test_filters, lines } = file;
        writeln!(
            table,
            "Format {{ name: {name:?}, about: {about:?}, programs: &{programs:?}, test_filters: &{test_filters:?}, lines: &["
        )?;
        for schema::Line { role, pattern, hint, samples } in lines {
            let pattern = pattern.into_inner();
            let first_bytes = first_bytes(&pattern).map_err(|error| wrong(&error))?;
            let samples: Vec<String> = samples.into_iter().map(toml::Spanned::into_inner).collect();
            writeln!(
                table,
                "Line {{ role: Role::{role:?}, pattern: {pattern:?}, first_bytes: {first_bytes:?}, hint: {hint:?}, samples: &{samples:?} }},"
            )?;
        }
        table.push_str("] },\n");
    }
    table.push(']');
    Ok(table)
}

/// Bytes that a match can begin with, a bit each. Lines that begin with another byte are skipped without a search; a
/// pattern that may match in the middle of a line lets every line through.
fn first_bytes(pattern: &str) -> Result<[u64; 4], Box<dyn Error>> {
    let hir: Hir = regex_syntax::ParserBuilder::new().utf8(false).unicode(false).build().parse(pattern)?;
    let starts_line = hir.properties().look_set_prefix().contains(Look::Start);
    let mut extractor = Extractor::new();
    extractor.kind(ExtractKind::Prefix).limit_class(256).limit_literal_len(1).limit_total(1024);
    let prefixes = extractor.extract(&hir);
    let first = |literal: &regex_syntax::hir::literal::Literal| literal.as_bytes().first().copied();
    let firsts: Option<Vec<u8>> =
        prefixes.literals().filter(|_| starts_line).and_then(|literals| literals.iter().map(first).collect());
    let mut bits = [0; 4];
    for byte in firsts.unwrap_or_else(|| (0..=255).collect()) {
        bits[usize::from(byte) / 64] |= 1 << (byte % 64);
    }
    Ok(bits)
}
