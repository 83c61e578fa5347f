//! Reads cases as JSON lines on stdin and prints the masked byte ranges of each, for a scorer.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use forebay_secrets::Scanner;
use std::io::BufRead as _;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scanner = Scanner::new([0; 32]);
    for line in std::io::stdin().lock().lines() {
        let case: serde_json::Value = serde_json::from_str(&line?)?;
        let text = case["text"].as_str().ok_or("a case has no text")?;
        let found = scanner.scan(text.as_bytes());
        let masked: Vec<[usize; 2]> =
            found.iter().map(|secret| [secret.range().start, secret.range().end]).collect();
        println!("{}", serde_json::json!({ "id": case["id"], "masked": masked }));
    }
    Ok(())
}
