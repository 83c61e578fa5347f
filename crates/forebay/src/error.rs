//! The errors of the library, sorted by what the caller can do about them.

use std::io;

/// The result of an operation of this library that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not a valid name: ask with another one.
    #[error("'{name}' is not the name of {kind}: names have up to 128 letters, digits, '_' or '-'{}", kind.rule())]
    BadName {
        /// The kind of name that was expected.
        kind: NameKind,
        /// The text, shortened and escaped.
        name: String,
    },

    /// There is no such output, and asking again cannot help.
    #[error("there is no output {wanted} (any more); asking for it again will not help")]
    NotFound {
        /// The requested name.
        wanted: String,
    },

    /// There is no such output in this session, and asking again cannot help.
    #[error("there is no output {wanted} in this session (any more), and asking for it again will not help; {}", match .there.as_slice() {
        [] => "no outputs are kept here".to_owned(),
        there => format!("there are {}", there.join(", ")),
    })]
    NotHere {
        /// The requested name, shortened and escaped.
        wanted: String,
        /// The newest outputs of the session.
        there: Vec<String>,
    },

    /// More than one output has this prefix: ask with a longer one.
    #[error("more than one output is called {prefix}…: {}", .ids.join(", "))]
    Ambiguous {
        /// The prefix.
        prefix: String,
        /// The first few ids with it.
        ids: Vec<String>,
    },

    /// The range lies outside the output: ask for another.
    #[error("{0}")]
    OutOfRange(String),

    /// The query is invalid: correct it.
    #[error("{0}")]
    BadQuery(String),

    /// The settings contradict each other or are out of range: correct them.
    #[error("{0}")]
    BadSetting(String),

    /// The pieces of a view do not cover its output exactly once: a defect of the fold that made them.
    #[error("not a view: {0}")]
    NotAView(String),

    /// The archive is invalid: get another.
    #[error("the archive is refused, and nothing of it is kept: {0}")]
    BadArchive(String),

    /// Outputs of the archive have the names of other outputs: import it under another session's name.
    #[error("{} there already with other bytes, and nothing is imported: {}{}", match .count {
        1 => "an output of the archive is".to_owned(),
        count => format!("{count} outputs of the archive are"),
    }, .handles.join(", "), if (.handles.len() as u64) < *.count { ", …" } else { "" })]
    Taken {
        /// Number of such outputs.
        count: u64,
        /// The first few of their handles.
        handles: Vec<String>,
    },

    /// The caller stopped it.
    #[error("stopped: {0}")]
    Stopped(String),

    /// A step of the store failed.
    #[error("cannot {what}: {source}")]
    Store {
        /// The step that failed, with its path: completes "cannot …".
        what: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

/// A kind of name in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameKind {
    /// The name of a session.
    Session,
    /// The id of an output in its session.
    Output,
    /// Session and id, joined by a slash.
    Handle,
}

impl NameKind {
    /// The rest of the sentence that states the rule for names, where this kind differs.
    fn rule(self) -> &'static str {
        match self {
            NameKind::Session => ", in a session '.' too",
            NameKind::Output => "",
            NameKind::Handle => ", and a handle is <session>/<id>",
        }
    }
}

impl std::fmt::Display for NameKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            NameKind::Session => "a session",
            NameKind::Output => "an output",
            NameKind::Handle => "a handle",
        })
    }
}

impl Error {
    /// Returns a function that makes the error of a failed step of a store; `what` completes "cannot …".
    pub fn store(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let what = what.into();
        move |source| Error::Store { what, source }
    }
}
