//! The commands of a shell line whose output a reader sees.
//!
//! Agents write `cd app && timeout 60 npx jest 2>&1 | tail -n 50`. What this prints is jest's output. The line is read for a
//! guess: nothing is run, no line is refused, and what a shell would compute stays as it is written.

/// A command: its program and arguments, without quotes.
pub(crate) type Words = Vec<String>;

/// Commands that pass on what they read if no file is named.
const PASSING: &[&str] = &["cat", "tee", "head", "tail", "less", "more", "col", "ts"];

/// Commands that print nothing of interest.
const SILENT: &[&str] = &[
    "cd", "pushd", "popd", "export", "set", "unset", "source", ".", "alias", "shopt", "ulimit", "umask",
    "true", "false", ":", "wait", "sleep", "trap", "exit", "return", "mkdir", "touch", "chmod", "chown",
    "rm", "mv", "cp", "ln", "echo", "printf", "kill", "pkill", "fi", "done", "esac", "}", "test", "[", "[[",
    "for", "case",
];

/// Words of a shell before a command.
const KEYWORDS: &[&str] = &["then", "do", "else", "if", "elif", "while", "until", "!", "{", "("];

/// Programs that run the rest of their line.
struct Wrapper {
    /// The program, and the word behind it if only that runs something.
    names: &'static [&'static str],
    then: &'static [&'static str],
    /// Options that have a value of their own.
    valued: &'static [&'static str],
    /// Number of words between the options and the command.
    skipped: usize,
}

const fn wrapper(
    names: &'static [&'static str],
    then: &'static [&'static str],
    valued: &'static [&'static str],
    skipped: usize,
) -> Wrapper {
    Wrapper { names, then, valued, skipped }
}

const CONTAINERS: &[&str] = &["docker", "podman", "nerdctl", "docker-compose"];

const CONTAINER_OPTIONS: &[&str] = &[
    "-e",
    "--env",
    "--env-file",
    "-u",
    "--user",
    "-w",
    "--workdir",
    "-v",
    "--volume",
    "-p",
    "--publish",
    "--name",
    "--network",
    "--entrypoint",
    "--platform",
    "-m",
    "--memory",
    "--mount",
    "--index",
];

const WRAPPERS: &[Wrapper] = &[
    wrapper(&["time", "command", "builtin", "exec", "nohup", "setsid", "unbuffer", "xvfb-run"], &[], &[], 0),
    wrapper(&["env"], &[], &["-u", "-C"], 0),
    wrapper(&["sudo", "doas"], &[], &["-u", "-g", "-h", "-p", "-C"], 0),
    wrapper(&["timeout"], &[], &["-s", "-k", "--signal", "--kill-after"], 1),
    wrapper(&["nice", "ionice"], &[], &["-n", "-c"], 0),
    wrapper(&["stdbuf"], &[], &["-i", "-o", "-e"], 0),
    wrapper(&["xargs"], &[], &["-n", "-I", "-P", "-L", "-d"], 0),
    wrapper(&["npx", "bunx", "pnpx", "uvx", "pipx"], &[], &["-p", "--package", "--from", "--with"], 0),
    wrapper(&["npm", "pnpm", "yarn"], &["exec", "dlx"], &["-p", "--package"], 0),
    wrapper(
        &["uv", "poetry", "pipenv", "pdm", "hatch", "rye"],
        &["run"],
        &["-p", "--python", "--with", "--group", "--extra", "--env-file", "--project"],
        0,
    ),
    wrapper(&["conda", "mamba", "micromamba"], &["run"], &["-n", "--name", "-p"], 0),
    wrapper(&["bundle", "mise"], &["exec"], &[], 0),
    wrapper(CONTAINERS, &["exec"], CONTAINER_OPTIONS, 1),
    wrapper(CONTAINERS, &["run"], CONTAINER_OPTIONS, 1),
    wrapper(&["kubectl"], &["exec"], &["-n", "--namespace", "-c", "--container"], 1),
];

const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ash", "ksh", "fish"];

/// Maximum nesting of shells that are parsed.
const DEEPEST: usize = 4;

/// Commands of a line that print what the line prints: of a pipeline the last one that does more than pass on, and each of
/// `a && b`.
pub(crate) fn printing(line: &str) -> Vec<Words> {
    let mut found = Vec::new();
    collect(line, DEEPEST, &mut found);
    found
}

fn collect(line: &str, depth: usize, found: &mut Vec<Words>) {
    for mut pipeline in pipelines(line) {
        while pipeline.len() > 1 && pipeline.last().is_some_and(|last| !last.is_silent && passes(&last.words))
        {
            pipeline.pop();
        }
        let Some(last) = pipeline.pop().filter(|last| !last.is_silent) else { continue };
        let words = unwrapped(last.words);
        let Some(program) = words.first() else { continue };
        match inner_line(&words) {
            Some(inner) if depth > 0 => collect(inner, depth - 1, found),
            _ if SILENT.contains(&&**program) => {}
            _ => found.push(words),
        }
    }
}

/// Whether a command of a pipeline passes on what it reads.
fn passes(words: &Words) -> bool {
    let mut rest = words.iter().skip(1).peekable();
    let mut has_file = false;
    while let Some(word) = rest.next() {
        if matches!(word.as_str(), "-n" | "-c") {
            rest.next();
        } else {
            has_file |= !word.starts_with('-') && !word.starts_with('+');
        }
    }
    words.first().is_some_and(|program| PASSING.contains(&name(program)) && (!has_file || program == "tee"))
}

/// Name of a program without its folder.
pub(crate) fn name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The line that a shell is given: `bash -lc LINE`.
fn inner_line(words: &Words) -> Option<&str> {
    let program = name(words.first()?);
    if SHELLS.contains(&program) {
        let option = words.iter().position(|word| {
            word.starts_with('-') && !word.starts_with("--") && word.ends_with('c') && word.len() <= 8
        })?;
        return words.get(option + 1).map(String::as_str);
    }
    None
}

/// A command without the programs that only run it.
fn unwrapped(mut words: Words) -> Words {
    loop {
        let leading =
            words.iter().take_while(|word| is_assignment(word) || KEYWORDS.contains(&word.as_str()));
        let leading = leading.count();
        words.drain(..leading);
        let Some(program) = words.first().map(|program| name(program).to_owned()) else { return words };
        let count = if program.starts_with("python") && words.get(1).is_some_and(|word| word == "-m") {
            2
        } else if let Some(count) = WRAPPERS.iter().find_map(|wrapper| wrapper.count(&program, &words)) {
            count
        } else {
            return words;
        };
        if count >= words.len() {
            return words;
        }
        words.drain(..count);
    }
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl Wrapper {
    /// Number of words before the command that it runs.
    fn count(&self, program: &str, words: &Words) -> Option<usize> {
        if !self.names.contains(&program) {
            return None;
        }
        let mut at = 1;
        if !self.then.is_empty() {
            // `docker compose -f x.yml exec web pytest`: the word may stand behind others.
            at += words[1..].iter().take(4).position(|word| self.then.contains(&word.as_str()))? + 1;
        }
        let mut skipped = self.skipped;
        while let Some(word) = words.get(at) {
            if word == "--" {
                return Some(at + 1);
            }
            if is_assignment(word) {
                at += 1;
            } else if word.starts_with('-') {
                at += 1 + usize::from(self.valued.contains(&word.as_str()));
            } else if skipped > 0 {
                skipped -= 1;
                at += 1;
            } else {
                break;
            }
        }
        Some(at)
    }
}

/// A command as it is written.
#[derive(Default)]
struct Written {
    words: Words,
    /// Whether its output goes into a file.
    is_silent: bool,
}

/// Pipelines of a line, each with its commands.
fn pipelines(line: &str) -> Vec<Vec<Written>> {
    let mut reader = Reader { rest: line, here: Vec::new() };
    let (mut all, mut pipeline, mut command) = (Vec::new(), Vec::new(), Written::default());
    loop {
        match reader.token() {
            Some(Token::Word(word)) => command.words.push(word),
            Some(Token::Into(is_output)) => command.is_silent |= is_output,
            end => {
                let written = std::mem::take(&mut command);
                pipeline.extend(Some(written).filter(|written| !written.words.is_empty()));
                if !matches!(end, Some(Token::Pipe)) {
                    let written = std::mem::take(&mut pipeline);
                    all.extend(Some(written).filter(|written| !written.is_empty()));
                }
                if end.is_none() {
                    return all;
                }
            }
        }
    }
}

enum Token {
    Word(String),
    /// A redirection, and whether the output then no longer reaches standard output.
    Into(bool),
    Pipe,
    End,
}

struct Reader<'a> {
    rest: &'a str,
    /// Words that end the texts which begin at the next line.
    here: Vec<String>,
}

impl<'a> Reader<'a> {
    fn token(&mut self) -> Option<Token> {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r']);
        if let Some(rest) = self.rest.strip_prefix("\\\n") {
            self.rest = rest;
            return self.token();
        }
        let first = self.rest.chars().next()?;
        match first {
            '\n' => {
                self.rest = &self.rest[1..];
                for word in std::mem::take(&mut self.here) {
                    self.skip_here(&word);
                }
                Some(Token::End)
            }
            '#' => {
                self.rest = &self.rest[self.rest.find('\n').unwrap_or(self.rest.len())..];
                self.token()
            }
            '|' => {
                let is_or = self.rest.starts_with("||");
                self.rest = self.rest.trim_start_matches(['|', '&']);
                Some(if is_or { Token::End } else { Token::Pipe })
            }
            '&' if !self.rest.starts_with("&>") => {
                self.rest = self.rest.trim_start_matches('&');
                Some(Token::End)
            }
            ';' | '(' | ')' => {
                self.rest = self.rest.trim_start_matches([';', '(', ')']);
                Some(Token::End)
            }
            _ => match self.redirection() {
                Some(token) => Some(token),
                None => Some(Token::Word(self.word())),
            },
        }
    }

    /// `2>&1`, `> FILE`, `<<EOF`, with the word behind it.
    fn redirection(&mut self) -> Option<Token> {
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let after = &self.rest[digits..];
        let operators = ["&>>", "&>", "<<<", "<<-", "<<", ">>", ">&", "<&", ">|", ">", "<"];
        let operator = operators.into_iter().find(|operator| after.starts_with(operator))?;
        // `<(sort a)` is a word.
        if after[operator.len()..].starts_with('(') {
            return None;
        }
        let stream = &self.rest[..digits];
        self.rest = after[operator.len()..].trim_start_matches([' ', '\t']);
        let target = self.word();
        if operator.starts_with("<<") && operator != "<<<" {
            self.here.push(target);
            return Some(Token::Into(false));
        }
        let is_written = operator.contains('>') && operator != ">&" && matches!(stream, "" | "1");
        Some(Token::Into(is_written && !matches!(&*target, "/dev/stdout" | "/dev/tty" | "/dev/stderr")))
    }

    /// Skips a text that ends with a line of one given word.
    fn skip_here(&mut self, word: &str) {
        while !self.rest.is_empty() {
            let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
            self.rest = rest;
            if line.trim() == word {
                break;
            }
        }
    }

    /// A word without its quotes.
    fn word(&mut self) -> String {
        let mut word = String::new();
        let mut open = 0usize;
        let mut chars = self.rest.char_indices().peekable();
        let mut end = self.rest.len();
        while let Some((at, c)) = chars.next() {
            match c {
                '\'' => chars.by_ref().take_while(|(_, c)| *c != '\'').for_each(|(_, c)| word.push(c)),
                '"' => {
                    while let Some((_, c)) = chars.next().filter(|(_, c)| *c != '"') {
                        let escaped = (c == '\\')
                            .then(|| chars.next_if(|(_, next)| matches!(next, '"' | '\\' | '$' | '`')))
                            .flatten();
                        word.push(escaped.map_or(c, |(_, next)| next));
                    }
                }
                '`' => {
                    word.push(c);
                    chars.by_ref().take_while(|(_, c)| *c != '`').for_each(|(_, c)| word.push(c));
                }
                '\\' => word.extend(chars.next().map(|(_, c)| c)),
                '(' if open > 0 || word.ends_with(['$', '<', '>']) => {
                    open += 1;
                    word.push(c);
                }
                ')' if open > 0 => {
                    open -= 1;
                    word.push(c);
                }
                _ if open > 0 => word.push(c),
                '<' | '>' if chars.peek().is_some_and(|(_, next)| *next == '(') => word.push(c),
                ' ' | '\t' | '\r' | '\n' | '|' | '&' | ';' | '(' | ')' | '>' | '<' => {
                    end = at;
                    break;
                }
                _ => word.push(c),
            }
        }
        // A character that begins no word is passed, so that reading ends.
        let first = self.rest.chars().next().map_or(0, char::len_utf8);
        self.rest = &self.rest[if end == 0 { first } else { end }..];
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_command_whose_output_is_seen_is_found_behind_what_runs_it() {
        let table: &[(&str, &[&str])] = &[
            ("man bash", &["man bash"]),
            ("sh -c 'man bash'", &["man bash"]),
            ("bash -lc \"cd app && npm test 2>&1 | tail -n 50\"", &["npm test"]),
            ("cd x && cargo build", &["cargo build"]),
            ("man tar | cat", &["man tar"]),
            ("cat a.txt | grep b", &["grep b"]),
            ("FOO=1 BAR='a b' pytest -x", &["pytest -x"]),
            ("env A=b timeout -k 5 60 sudo -u www nice -n 5 ls -lR /etc", &["ls -lR /etc"]),
            ("timeout 9 uv run --with rich pytest tests", &["pytest tests"]),
            ("npx --yes jest --ci", &["jest --ci"]),
            ("npm exec -- eslint .", &["eslint ."]),
            ("docker exec -it -w /app web pytest -k login", &["pytest -k login"]),
            ("docker compose exec -T db psql -c 'select 1'", &["psql -c select 1"]),
            ("kubectl exec -n prod pod/web -- cat /etc/hosts", &["cat /etc/hosts"]),
            ("python3 -m pytest -q", &["pytest -q"]),
            ("git log && git status; make > build.log", &["git log", "git status"]),
            ("set -e\ncd /tmp # here\nls -l \\\n  -a\n", &["ls -l -a"]),
            ("cat <<EOF > x.py\nimport os; print(1) | 2\nEOF\npython x.py", &["python x.py"]),
            ("for f in a b; do wc -l $f; done", &["wc -l $f"]),
            ("echo \"a \\\"b\\\" $(ls | head)\"; head -5 'my file.md'", &["head -5 my file.md"]),
            ("grep -r foo . 2>/dev/null | head -20", &["grep -r foo ."]),
            ("diff <(sort a) <(sort b)", &["diff <(sort a) <(sort b)"]),
            ("cd x", &[]),
            ("", &[]),
            ("'unclosed", &["unclosed"]),
        ];
        for (line, expected) in table {
            let found: Vec<String> = printing(line).iter().map(|words| words.join(" ")).collect();
            assert_eq!(found, *expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn every_line_is_read_to_its_end(line in "[ -~\\n]{0,60}|[|&;()<>'\"\\\\$`a\\n -]{0,40}") {
            printing(&line);
        }
    }
}
