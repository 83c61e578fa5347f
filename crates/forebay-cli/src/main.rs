//! The command `forebay`: keeps what tools print, and shows the part that is needed.

mod args;
mod bounds;
mod capture;
mod commands;
mod error;
mod fallback;
mod family;
mod launch;
mod live_log;
mod models;
mod print;
mod progress;
mod pty;
mod screen;
mod settings;
mod stop;
mod typed;
mod units;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = launch::step() {
        return code;
    }
    // A file that may not grow further is a failure of the store like any other, not the end of this process.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
    let cli = typed::parse();
    match commands::run(cli) {
        Ok(code) => code,
        Err(error) => error.report(),
    }
}
