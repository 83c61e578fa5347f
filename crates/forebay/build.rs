//! Lays out the built-in formats, which the library would otherwise compute at start-up.

#[path = "src/formats/schema.rs"]
pub mod schema;

use regex_syntax::hir::literal::{ExtractKind, Extractor};
use regex_syntax::hir::{Hir, Look};
use std::{env, error::Error, fmt::Write as _, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = env::var("OUT_DIR")?;
    fs::write(Path::new(&folder).join("formats.rs"), formats()?)?;
    Ok(())
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

/// Bytes that a match can begin with, a bit each: a line that begins with another byte need not be searched. `None` for a
/// pattern that may match in the middle of a line.
fn first_bytes(pattern: &str) -> Result<Option<[u64; 4]>, Box<dyn Error>> {
    let hir: Hir = regex_syntax::ParserBuilder::new().utf8(false).unicode(false).build().parse(pattern)?;
    if !hir.properties().look_set_prefix().contains(Look::Start) {
        return Ok(None);
    }
    let mut extractor = Extractor::new();
    extractor.kind(ExtractKind::Prefix).limit_class(256).limit_literal_len(1).limit_total(1024);
    let prefixes = extractor.extract(&hir);
    let first = |literal: &regex_syntax::hir::literal::Literal| literal.as_bytes().first().copied();
    let firsts: Option<Vec<u8>> =
        prefixes.literals().and_then(|literals| literals.iter().map(first).collect());
    let mut bits = [0; 4];
    for byte in firsts.unwrap_or_else(|| (0..=255).collect()) {
        bits[usize::from(byte) / 64] |= 1 << (byte % 64);
    }
    Ok(Some(bits))
}
