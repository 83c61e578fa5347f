//! Facts from a command line about its output: which file it shows, whether it runs tests, and which ones.

use crate::formats::Formats;
use crate::formats::built_in::BUILT_IN;
use crate::formats::shell::{Words, name, printing};

/// Commands that take `-h` for sizes that people read, and not for help.
const SIZED: &[&str] = &["df", "du", "free", "ls", "lsblk", "sort", "tree"];

/// Commands that print a file as it is.
const SHOWING: &[&str] = &["cat", "head", "tail", "sed", "bat", "nl", "less", "more", "zcat", "xzcat"];

/// The file that a line prints as it is, if it prints nothing else.
pub(crate) fn shown_file(line: &str) -> Option<String> {
    let mut files = printing(line).into_iter().map(|words| file_of(&words));
    let first = files.next()??;
    files.all(|other| other.is_some()).then_some(first)
}

/// The file that a command prints: `cat FILE`, `git show COMMIT:FILE`.
fn file_of(words: &[String]) -> Option<String> {
    let (program, rest) = words.split_first()?;
    if name(program) == "git" {
        let shown = rest.strip_prefix(&["show".to_owned()])?.iter().find_map(|word| word.split_once(':'))?;
        return (!shown.1.is_empty()).then(|| shown.1.to_owned());
    }
    let is_path = |word: &&String| word.contains(['.', '/']) || word.starts_with(char::is_alphabetic);
    rest.iter().rfind(is_path).filter(|_| SHOWING.contains(&name(program))).cloned()
}

/// Whether all that a line prints is written to be read: files that are not logs, and help.
pub(crate) fn reads(line: &str) -> bool {
    let commands = printing(line);
    let is_read = |words: &Words| match file_of(words) {
        Some(file) => !is_log(&file),
        None => asks_for_help(words),
    };
    !commands.is_empty() && commands.iter().all(is_read)
}

/// Whether a command prints the help or the manual of a program.
fn asks_for_help(words: &[String]) -> bool {
    let Some((program, rest)) = words.split_first() else { return false };
    let (program, mut rest) = (name(program), rest.iter().map(String::as_str).peekable());
    if matches!(program, "man" | "info" | "help" | "tldr") {
        return true;
    }
    let mut short = rest.clone();
    rest.next_if_eq(&"help").is_some()
        || rest.any(|word| word == "--help" || word.starts_with("--help="))
        || !SIZED.contains(&program)
            && short.any(|word| word == "-h")
            && matches!(short.next(), None | Some("all" | "full"))
}

/// Whether the name of a file says that it is a log.
pub(crate) fn is_log(file: &str) -> bool {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file).to_ascii_lowercase();
    let says = |part: &str| matches!(part, "log" | "logs" | "out" | "output" | "stdout" | "stderr" | "err");
    name.split(|c: char| !c.is_ascii_alphabetic()).any(says)
}

impl Formats {
    /// Whether a command runs tests: `pytest`, `go test`, `npm run test:unit`, `rspec`, or a program of a format.
    fn runs_tests(&self, command: &[String]) -> bool {
        command.iter().any(|word| {
            let name = name(word);
            let says = ["test", "spec", "jest"].iter().any(|part| name.contains(part));
            let is_built_in =
                || BUILT_IN.iter().any(|format| format.is_of_tests() && format.programs.contains(&name));
            let is_of_user =
                || self.user().iter().flat_map(|format| format.programs()).any(|own| own == name);
            says && !word.starts_with('-') || is_built_in() || is_of_user()
        })
    }

    /// Whether the name of a test follows an option.
    fn filters_tests(&self, option: &str) -> bool {
        BUILT_IN.iter().any(|format| format.test_filters.contains(&option))
            || self.user().iter().flat_map(|format| format.test_filters()).any(|own| own == option)
    }

    /// Names of the tests that a line asks for.
    pub(crate) fn named_tests(&self, line: &str) -> Option<String> {
        let mut names: Vec<String> = Vec::new();
        for command in printing(line).iter().filter(|command| self.runs_tests(command)) {
            let mut words = command.iter().map(String::as_str);
            while let Some(word) = words.next() {
                let (option, value) = word.split_once('=').unwrap_or((word, ""));
                let named = if !self.filters_tests(option) {
                    word.split_once("::").map(|(_, name)| name)
                } else if value.is_empty() {
                    words.next()
                } else {
                    Some(value)
                };
                names.extend(named.map(str::to_owned));
            }
        }
        names.retain(|name| name.len() > 2 && !name.starts_with('-'));
        (!names.is_empty()).then(|| names.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::UserFormat;

    #[test]
    fn the_tests_that_a_command_names_are_known() {
        let table = [
            ("pytest tests/a.py::TestA::test_b -x", Some("TestA::test_b")),
            ("pytest -k 'login' tests", Some("login")),
            ("go test ./... -run TestLogin", Some("TestLogin")),
            ("mvn test -Dtest=LoginTest", Some("LoginTest")),
            ("./gradlew check --tests LoginSpec", Some("LoginSpec")),
            ("cargo test parse::tests::empty", Some("tests::empty")),
            ("cargo test", None),
            ("make -k CFLAGS=-g all", None),
            ("docker run -t debian:12", None),
            ("cargo clippy -- -D clippy::needless_pass_by_value", None),
            ("verify-all --only Login", None),
        ];
        for (command, expected) in table {
            assert_eq!(Formats::default().named_tests(command).as_deref(), expected, "{command}");
        }
        let file = "about = \"x\"\nprograms = [\"verify-all\"]\ntest_filters = [\"--only\"]\n";
        let formats = Formats::with(vec![UserFormat::parse("verify", file).unwrap()]);
        assert_eq!(formats.named_tests("verify-all --only Login").as_deref(), Some("Login"));
    }
}
