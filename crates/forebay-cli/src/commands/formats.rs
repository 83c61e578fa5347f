//! `forebay formats`: what Forebay knows of the output of tools.

use crate::context::Outcome;
use crate::error::{CliError, DONE, NOT_THERE};
use crate::print;
use crate::settings::{format_folder, read_format};
use forebay::Formats;
use forebay::formats::Description;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// List the formats of tools, or test a file that adds one.
///
/// A format says which lines of a tool's output begin a suite, report a failed test or end a run. Add your own in
/// `~/.config/forebay/formats/TOOL.toml`; docs/formats.md shows how.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay formats                        a table
  forebay formats show pytest            the lines that are known of one tool
  forebay formats check mytool.toml      test a file of your own
  forebay formats --json                 everything, with all patterns and samples")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Show the lines of one format
    Show {
        /// The format's name
        name: String,
    },
    /// Test a format file: every pattern must match its samples
    Check {
        /// The file
        #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        file: PathBuf,
    },
}

pub(crate) fn run(args: &Args, formats: &Formats, json: bool) -> Outcome {
    match &args.action {
        None => list(&formats.describe(), json)?,
        Some(Action::Show { name }) => show(name, &formats.describe(), json)?,
        Some(Action::Check { file }) => return check(file, json),
    }
    Ok(ExitCode::from(DONE))
}

fn list(formats: &[Description], json: bool) -> Result<(), CliError> {
    if json {
        return print::json(&formats);
    }
    let width = formats.iter().map(|format| format.name.len()).max().unwrap_or(0);
    let row = |format: &Description| {
        let own = if format.built_in { "" } else { " (yours)" };
        let lines = format.lines.len();
        format!("{:<width$}  {lines:>3} {}  {}{own}\n", format.name, kinds(lines), format.about)
    };
    let mut text: String = formats.iter().map(row).collect();
    if let Some(folder) = format_folder() {
        text += &format!("Your own formats: {}/*.toml\n", folder.display());
    }
    print::out(forebay::printable(&text).as_bytes())
}

fn kinds(lines: usize) -> &'static str {
    if lines == 1 { "kind of line " } else { "kinds of line" }
}

fn show(name: &str, formats: &[Description], json: bool) -> Result<(), CliError> {
    let Some(format) = formats.iter().find(|format| format.name == name) else {
        let error = CliError::not_there(format!("there is no format {name:?}"));
        return Err(error.hint("`forebay formats` lists them"));
    };
    if json {
        return print::json(format);
    }
    let mut text = format!("{}: {}\n", format.name, format.about);
    for (what, words) in [("programs", &format.programs), ("options before a test", &format.test_filters)] {
        if !words.is_empty() {
            text += &format!("{what}: {}\n", words.join(", "));
        }
    }
    for line in &format.lines {
        let hint = if line.hint.is_empty() { String::new() } else { format!("  # {}", line.hint) };
        text += &format!("\n{}  {}{hint}\n", line.role, line.pattern);
        line.samples.iter().for_each(|sample| text += &format!("    {sample}\n"));
    }
    print::out(forebay::printable(&text).as_bytes())
}

fn check(file: &Path, json: bool) -> Outcome {
    let (lines, samples, problems) = match read_format(file) {
        Ok(format) => {
            let lines = format.describe().lines;
            (lines.len(), lines.iter().map(|line| line.samples.len()).sum::<usize>(), Vec::new())
        }
        Err(problems) => (0, 0, problems),
    };
    let is_good = problems.is_empty();
    if json {
        let problems: Vec<_> = problems
            .iter()
            .map(|problem| json!({ "line": problem.line, "message": problem.message }))
            .collect();
        print::json(&json!({ "file": file, "lines": lines, "samples": samples, "problems": problems }))?;
    } else if is_good {
        let text =
            format!("{}: {lines} {}, {samples} samples, all match\n", file.display(), kinds(lines).trim());
        print::out(forebay::printable(&text).as_bytes())?;
    } else {
        for problem in &problems {
            let text = format!("{}:{}: {}\n", file.display(), problem.line, problem.message);
            print::err(&forebay::printable(&text));
        }
    }
    Ok(ExitCode::from(if is_good { DONE } else { NOT_THERE }))
}
