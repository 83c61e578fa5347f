//! What can go wrong, sorted by what the caller can do about it.

use std::io;

/// The result of whatever may fail in this library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The name cannot be a name: ask with another one.
    #[error("'{name}' is not the name of {}{what}: names have up to 128 letters, digits, '_' or '-'{}", if *.what == "output" { "an " } else { "a " }, match *.what {
        "handle" => ", and a handle is <session>/<id>",
        "session" => ", in a session '.' too",
        _ => "",
    })]
    BadName {
        /// What the name was for.
        what: &'static str,
        /// The name, cut and escaped.
        name: String,
    },

    /// No such output: final, asking again cannot help.
    #[error("there is no output {wanted} (any more); asking for it again will not help")]
    NotFound {
        /// What was asked for.
        wanted: String,
    },

    /// No such output in this session: final, and what there is.
    #[error("there is no output {wanted} in this session (any more), and asking for it again will not help; {}", match .there.as_slice() {
        [] => "no outputs are kept here".to_owned(),
        there => format!("there are {}", there.join(", ")),
    })]
    NotHere {
        /// What was asked for, cut and escaped.
        wanted: String,
        /// The newest outputs that are there.
        there: Vec<String>,
    },

    /// More than one output has this prefix: ask with a longer one.
    #[error("more than one output is called {prefix}…: {}", .ids.join(", "))]
    Ambiguous {
        /// The prefix.
        prefix: String,
        /// The ids that have it, the first few.
        ids: Vec<String>,
    },

    /// There is nothing at that place of the output: ask for another.
    #[error("{0}")]
    OutOfRange(String),

    /// The question cannot be answered as it stands: mend it.
    #[error("{0}")]
    BadQuery(String),

    /// The settings contradict themselves or are out of range: mend them.
    #[error("{0}")]
    BadSetting(String),

    /// The pieces of a view do not tile its output. A defect of the fold that made them.
    #[error("not a view: {0}")]
    NotAView(String),

    /// The archive is not what an archive must be: get another.
    #[error("the archive is refused, and nothing of it is kept: {0}")]
    BadArchive(String),

    /// Outputs of an archive have names that others have: import it under another session's name.
    #[error("{} there already with other bytes, and nothing is imported: {}{}", match .count {
        1 => "an output of the archive is".to_owned(),
        count => format!("{count} outputs of the archive are"),
    }, .handles.join(", "), if (.handles.len() as u64) < *.count { ", …" } else { "" })]
    Taken {
        /// How many.
        count: u64,
        /// Their handles, the first few.
        handles: Vec<String>,
    },

    /// Whoever asked stopped it: there is nobody to tell.
    #[error("stopped: {0}")]
    Stopped(String),

    /// The store could not do what was asked.
    #[error("cannot {what}: {source}")]
    Store {
        /// What was to be done, with the path.
        what: String,
        /// Why it could not be.
        #[source]
        source: io::Error,
    },
}

impl Error {
    /// Makes the error of a failed step of a store; `what` completes "cannot …".
    pub fn store(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let what = what.into();
        move |source| Error::Store { what, source }
    }
}
