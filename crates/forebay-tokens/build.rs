//! Lays out the vocabulary, so that counting tokens needs no work at start-up.

use std::{env, error::Error, fs, path::Path};

include!("src/hash.rs");

/// More than twice the size of the vocabulary: probes stay short, and an empty slot ends a search early.
const SLOTS: usize = 1 << 19;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = env::var("OUT_DIR")?;
    fs::write(Path::new(&folder).join("o200k.bin"), tokens()?)?;
    Ok(())
}

/// The vocabulary as a hash table, so that counting tokens needs no start-up work. `src/tokens/table.rs` reads it.
fn tokens() -> Result<Vec<u8>, Box<dyn Error>> {
    println!("cargo::rerun-if-changed=src/hash.rs");
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
