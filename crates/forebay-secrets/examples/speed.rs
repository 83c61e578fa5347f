//! Measures a scan of files on one core: `speed FILE…`. The best of five runs counts.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use forebay_secrets::Scanner;
use std::time::{Duration, Instant};

fn main() -> std::io::Result<()> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let begin = Instant::now();
    let scanner = Scanner::new([0; 32]);
    println!("a scanner: {:?}", begin.elapsed());
    for path in paths {
        let text = std::fs::read(&path)?;
        let mut best = Duration::MAX;
        let mut found = 0;
        for _ in 0..5 {
            let begin = Instant::now();
            found = scanner.scan(&text).len();
            best = best.min(begin.elapsed());
        }
        let speed = text.len() as f64 / best.as_secs_f64() / 1e6;
        println!(
            "{path}: {} bytes, {found} secrets, {speed:.0} MB/s, {:.2} ms",
            text.len(),
            best.as_secs_f64() * 1e3
        );
    }
    Ok(())
}
