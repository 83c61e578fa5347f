//! Facts from a command line about its output: which file it shows, whether it runs tests, and which ones.

use crate::formats::Formats;
use crate::formats::built_in::BUILT_IN;

/// Commands that take `-h` for sizes that people read, and not for help.
const SIZED: &[&str] = &["df", "du", "free", "ls", "lsblk", "sort", "tree"];

/// Commands that print a file as it is.
const SHOWING: &[&str] = &["cat", "head", "tail", "sed", "bat", "nl", "less", "more", "zcat", "xzcat"];

/// The file that a command prints as it is.
pub(crate) fn shown_file(command: &str) -> Option<String> {
    let command = command.split(['|', ';', '&', '>']).next()?;
    let mut words = command.split_whitespace();
    words.next().filter(|first| SHOWING.contains(first))?;
    let is_path = |word: &&str| word.contains(['.', '/']) || word.starts_with(char::is_alphabetic);
    words.rfind(is_path).map(|path| path.trim_matches(['"', '\'']).to_owned())
}

/// Whether a command prints the help or the manual of a program.
pub(crate) fn asks_for_help(command: &str) -> bool {
    let mut words = command.split_whitespace().peekable();
    if words.next_if(|first| matches!(*first, "man" | "info" | "help")).is_some() {
        return true;
    }
    let is_sized = words.next().is_some_and(|program| SIZED.contains(&program));
    let mut rest = words.clone();
    words.next_if_eq(&"help").is_some()
        || words.any(|word| word == "--help" || word.starts_with("--help="))
        || !is_sized && rest.any(|word| word == "-h") && matches!(rest.next(), None | Some("all" | "full"))
}

/// Whether the name of a file says that it is a log.
pub(crate) fn is_log(file: &str) -> bool {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file).to_ascii_lowercase();
    let says = |part: &str| matches!(part, "log" | "logs" | "out" | "output" | "stdout" | "stderr" | "err");
    name.split(|c: char| !c.is_ascii_alphabetic()).any(says)
}

impl Formats {
    /// Whether a command runs tests: `pytest`, `go test`, `npm run test:unit`, `rspec`, or a program of a format.
    fn runs_tests(&self, command: &str) -> bool {
        command.split_whitespace().any(|word| {
            let name = word.rsplit('/').next().unwrap_or(word);
            let says = ["test", "spec", "jest"].iter().any(|part| name.contains(part));
            let is_built_in =
                || BUILT_IN.iter().any(|format| format.is_of_tests() && format.programs.contains(&name));
            let is_of_user =
                || self.user().iter().flat_map(|format| format.programs()).any(|own| own == name);
            says && !word.starts_with('-') || is_built_in() || is_of_user()
        })
    }

    /// Whether the name of a test stands behind an option.
    fn filters_tests(&self, option: &str) -> bool {
        BUILT_IN.iter().any(|format| format.test_filters.contains(&option))
            || self.user().iter().flat_map(|format| format.test_filters()).any(|own| own == option)
    }

    /// Names of the tests that a command asks for.
    pub(crate) fn named_tests(&self, command: &str) -> Option<String> {
        if !self.runs_tests(command) {
            return None;
        }
        let mut names: Vec<&str> = Vec::new();
        let mut words = command.split_whitespace().map(|word| word.trim_matches(['\'', '"']));
        while let Some(word) = words.next() {
            let (option, value) = word.split_once('=').unwrap_or((word, ""));
            if !self.filters_tests(option) {
                names.extend(word.split_once("::").map(|(_, name)| name));
            } else if value.is_empty() {
                names.extend(words.next());
            } else {
                names.push(value);
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
