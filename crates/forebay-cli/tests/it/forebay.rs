//! Runs the binary in a folder of its own.

use serde_json::Value;
use std::{
    ffi::OsStr,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

/// A root, a working folder and an environment that nothing else shares.
#[must_use]
pub(crate) struct Forebay {
    folder: tempfile::TempDir,
}

/// Result of a run.
#[derive(Debug)]
#[must_use]
pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl Forebay {
    pub(crate) fn new() -> Forebay {
        let folder = tempfile::tempdir().unwrap();
        for name in ["work", "tmp"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Forebay { folder }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// A file in the working folder.
    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join("work").join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// The command, not yet started.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path())
            .env("TMPDIR", self.folder.path().join("tmp"))
            .env("FOREBAY_ROOT", self.root())
            .env("FOREBAY_SESSION", "s")
            .current_dir(self.folder.path().join("work"));
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        Ran::from(self.command(args).stdin(Stdio::null()).output().unwrap())
    }

    pub(crate) fn run_with_input<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Ran {
        let mut child = self.start(self.command(args).stdin(Stdio::piped()));
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let feeding = std::thread::spawn(move || stdin.write_all(&input));
        let ran = Ran::from(child.wait_with_output().unwrap());
        let _ = feeding.join().unwrap();
        ran
    }

    pub(crate) fn start(&self, command: &mut Command) -> Child {
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Keeps bytes under an id of their own and gives back the answer.
    pub(crate) fn put(&self, id: &str, bytes: &[u8], more: &[&str]) -> Value {
        let args = [&["put", "--json", "--call-id", id], more].concat();
        self.run_with_input(args, bytes).ok().json()
    }

    /// The outputs of the session.
    pub(crate) fn ls(&self) -> Vec<Value> {
        let ran = self.run(["ls", "--json"]).ok();
        ran.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Runs every command that a text suggests; each must work.
    pub(crate) fn try_suggestions(&self, text: &str) -> usize {
        let mut tried = 0;
        for (at, _) in text.match_indices("forebay ") {
            let rest = &text[at..];
            // A command ends where its bracket does; what is in quotes may be anything.
            let (mut quoted, mut escaped) = (false, false);
            let ends = |c: char| {
                quoted ^= c == '\'' && !escaped;
                escaped = c == '\\' && !quoted;
                !quoted && matches!(c, ']' | '\n' | '·')
            };
            let command = rest.split(ends).next().unwrap().trim();
            let known = ["read", "tail", "grep", "head", "json", "outline", "ask"]
                .iter()
                .any(|name| rest.starts_with(&format!("forebay {name} ")));
            if !known {
                continue;
            }
            let binary = format!("'{}'", env!("CARGO_BIN_EXE_forebay"));
            let line = command.replacen("forebay", &binary, 1);
            let mut shell = self.command(["x"]);
            let environment: Vec<_> =
                shell.get_envs().map(|(k, v)| (k.to_owned(), v.unwrap().to_owned())).collect();
            shell = Command::new("sh");
            shell.arg("-c").arg(&line).env_clear().envs(environment).current_dir(self.folder.path());
            let ran = Ran::from(shell.output().unwrap());
            assert_eq!(ran.status, 0, "{command}: {}", ran.err);
            assert!(!ran.out.is_empty(), "{command} says nothing");
            tried += 1;
        }
        tried
    }
}

impl Ran {
    /// It must have gone well, and quietly.
    #[track_caller]
    pub(crate) fn ok(self) -> Ran {
        assert_eq!((self.status, self.err.as_str()), (0, ""), "{}", self.text());
        self
    }

    /// It must have given an answer: with code 4 if a warning in it says that no model read the output, else with 0.
    #[track_caller]
    pub(crate) fn answered(self) -> Ran {
        let text = self.text();
        let is_fallback = text.contains("STRATEGY:truncate:") && text.contains("WARNING: ");
        assert_eq!((self.status, self.err.as_str()), (if is_fallback { 4 } else { 0 }, ""), "{text}");
        self
    }

    /// It must have failed with this code, and said why.
    #[track_caller]
    pub(crate) fn fails(self, code: i32) -> String {
        assert_eq!(self.status, code, "{}", self.err);
        assert!(self.err.starts_with("forebay: "), "{}", self.err);
        self.err
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        use std::os::unix::process::ExitStatusExt;
        let status = output.status.code().unwrap_or_else(|| -output.status.signal().unwrap_or_default());
        Ran { status, out: output.stdout, err: String::from_utf8_lossy(&output.stderr).into_owned() }
    }
}

/// The number of o200k tokens of a text.
pub(crate) fn tokens(text: &[u8]) -> u64 {
    ::forebay::tokens::count_bytes(text)
}

/// Waits until something holds; a machine under load may take its time.
#[track_caller]
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..600 {
        if holds() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("{what}: never");
}
