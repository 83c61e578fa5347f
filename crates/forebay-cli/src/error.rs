//! Errors as the user reads them: the message, hints, and the exit code, all in one place.

/// Success.
pub(crate) const DONE: u8 = 0;
/// The requested thing does not exist or is not possible.
pub(crate) const NOT_THERE: u8 = 1;
/// Wrong usage.
pub(crate) const USAGE: u8 = 2;
/// The store failed.
pub(crate) const STORE: u8 = 3;
/// No model could read the output; the answer is what the library found without one.
pub(crate) const NOT_READ: u8 = 4;
/// A signal interrupted the command; the answer is what was done until then.
pub(crate) const INTERRUPTED: u8 = 130;

/// An error with hints on what to do.
#[derive(Debug)]
pub(crate) struct CliError {
    message: String,
    hints: Vec<String>,
    code: u8,
}

impl CliError {
    pub(crate) fn usage(message: impl Into<String>) -> CliError {
        CliError { message: message.into(), hints: Vec::new(), code: USAGE }
    }

    pub(crate) fn not_there(message: impl Into<String>) -> CliError {
        CliError { message: message.into(), hints: Vec::new(), code: NOT_THERE }
    }

    /// The error of a command that a signal ended.
    pub(crate) fn interrupted() -> CliError {
        CliError { message: "interrupted".to_owned(), hints: Vec::new(), code: INTERRUPTED }
    }

    /// The error of a program that could not be started, with the status a shell would give.
    pub(crate) fn cannot_run(program: &std::ffi::OsStr, error: &std::io::Error) -> CliError {
        let code = if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 };
        CliError {
            message: format!("cannot run {}: {error}", program.to_string_lossy()),
            hints: Vec::new(),
            code,
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> CliError {
        self.hints.push(hint.into());
        self
    }

    /// The exit code of a command that fails with it.
    pub(crate) fn code(&self) -> u8 {
        self.code
    }

    /// Hints for the user, one line each.
    pub(crate) fn hints(&self) -> &[String] {
        &self.hints
    }
}

impl std::fmt::Display for CliError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<forebay::Error> for CliError {
    fn from(error: forebay::Error) -> CliError {
        use forebay::{Error, NameKind};
        let (code, hint) = match &error {
            Error::BadName { kind: NameKind::Handle | NameKind::Output, .. } => {
                (USAGE, Some("`forebay ls` lists the handles of the session".to_owned()))
            }
            Error::BadName { .. } | Error::BadQuery(_) | Error::BadSetting(_) => (USAGE, None),
            Error::OutOfRange(_) | Error::BadArchive(_) | Error::Stopped(_) => (NOT_THERE, None),
            Error::Taken { .. } => {
                (NOT_THERE, Some("`--as NAME` imports it under another session's name".to_owned()))
            }
            Error::NotHere { there, .. } => (
                NOT_THERE,
                Some(if there.is_empty() {
                    "`forebay ls --all` lists the outputs of all sessions".to_owned()
                } else {
                    "`forebay ls` lists what there is".to_owned()
                }),
            ),
            Error::NotFound { .. } => (NOT_THERE, Some("`forebay ls` lists what there is".to_owned())),
            Error::Ambiguous { .. } => (USAGE, Some("give more characters of the id".to_owned())),
            Error::Store { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
                (STORE, Some("choose another folder with --root or FOREBAY_ROOT".to_owned()))
            }
            _ => (STORE, None),
        };
        CliError { message: error.to_string(), hints: hint.into_iter().collect(), code }
    }
}

impl From<forebay_mcp::Error> for CliError {
    fn from(error: forebay_mcp::Error) -> CliError {
        use forebay_mcp::Error;
        match error {
            Error::Store(error) => error.into(),
            Error::Config(message) => CliError::usage(message),
            Error::Start { .. } => CliError::not_there(error.to_string()),
            Error::Io(_) | Error::NotKept(_) | Error::Random(_) => {
                CliError { message: error.to_string(), hints: Vec::new(), code: STORE }
            }
        }
    }
}

impl From<forebay_server::Error> for CliError {
    fn from(error: forebay_server::Error) -> CliError {
        use forebay_server::Error;
        let (code, hint) = match &error {
            Error::TokensNeeded(_) => (
                USAGE,
                Some(
                    "make one with `forebay serve token --tokens FILE`, and give the file with --tokens; or listen on 127.0.0.1",
                ),
            ),
            Error::NoTokens => (USAGE, Some("make one with `forebay serve token --tokens FILE`")),
            Error::UnreadableToken { .. } | Error::UnwritableToken { .. } => (
                NOT_THERE,
                Some(
                    "`forebay serve token --rotate` makes a new one; `forebay serve --no-token` and `--socket PATH` need none",
                ),
            ),
            Error::BadTokens { .. } | Error::BadHash(_) => (USAGE, None),
            _ => (NOT_THERE, None),
        };
        let hints = hint.map(str::to_owned).into_iter().collect();
        CliError { message: error.to_string(), hints, code }
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> CliError {
        CliError { message: error.to_string(), hints: Vec::new(), code: STORE }
    }
}
