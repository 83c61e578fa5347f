//! The command `forebay`: stores what tools print, and shows the part that is needed.

mod args;
mod bounds;
mod capture;
mod client_file;
mod commands;
mod context;
mod error;
mod fallback;
mod family;
mod filter_process;
mod hosts;
mod launch;
mod live_log;
mod models;
mod print;
mod progress;
mod pty;
mod screen;
mod sealing;
mod secrets;
mod settings;
mod shared;
mod stop;
mod typed;
mod units;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = launch::step() {
        return code;
    }
    // Reaching the limit of a file's size must fail like any other write, not end this process.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
    let cli = match typed::parse() {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    match commands::run(cli) {
        Ok(code) => code,
        Err(error) => print::error(&error),
    }
}
