//! Errors of requests to a server, and whether a retry can help.

use std::{error::Error as _, fmt, io, time::Duration};
use tokio_postgres::error::SqlState;

/// A request that failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The database could not be reached.
    Unreachable(String),
    /// The connection broke, or no answer came in time: the request may have taken effect.
    Broken(String),
    /// The database rolled the request back because of a concurrent one.
    Conflict(String),
    /// The database refused the request.
    Refused(String),
    /// The bucket failed.
    Bucket(String),
    /// There is no such output.
    NotFound,
    /// Another process has ended the output, because its lease ran out.
    LeaseLost,
    /// Stored rows contradict each other.
    Damaged(String),
}

impl Failure {
    /// The failure of a request that got no answer in time.
    pub(crate) fn timed_out(after: Duration) -> Failure {
        Failure::Broken(format!("the database did not answer within {} seconds", after.as_secs()))
    }

    /// Whether the same request may succeed a moment later.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(self, Failure::Unreachable(_) | Failure::Broken(_) | Failure::Conflict(_))
    }

    /// Whether the request may have taken effect although it failed.
    pub(crate) fn may_have_landed(&self) -> bool {
        matches!(self, Failure::Broken(_))
    }

    /// Converts the failure into an error of the library. `what` completes "cannot …".
    pub(crate) fn error(self, what: impl Into<String>, wanted: impl fmt::Display) -> forebay::Error {
        match self {
            Failure::NotFound => forebay::Error::NotFound { wanted: wanted.to_string() },
            failure => forebay::Error::store(what)(failure.into()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Unreachable(why) => write!(f, "the database cannot be reached: {why}"),
            Failure::Broken(why) => write!(f, "the connection to the database broke: {why}"),
            Failure::Conflict(why) => write!(f, "other requests to the database conflicted with it: {why}"),
            Failure::Refused(why) => write!(f, "the database refused it: {why}"),
            Failure::Bucket(why) => write!(f, "the bucket failed: {why}"),
            Failure::NotFound => f.write_str("there is no such output"),
            Failure::LeaseLost => {
                f.write_str("it was ended by another process, because its writer's lease expired")
            }
            Failure::Damaged(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Failure {}

impl From<Failure> for io::Error {
    fn from(failure: Failure) -> io::Error {
        let kind = match failure {
            Failure::NotFound => io::ErrorKind::NotFound,
            Failure::Damaged(_) => io::ErrorKind::InvalidData,
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, failure)
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Failure {
        let text = text_of(&error);
        match error.code() {
            Some(code) => of_code(code, text),
            None if is_of_connection(&error) => Failure::Broken(text),
            None => Failure::Refused(text),
        }
    }
}

/// Classifies an error code of the database.
fn of_code(code: &SqlState, text: String) -> Failure {
    match code.code() {
        // Serialization failure, deadlock, a lock or a time limit: undone as a whole.
        "40001" | "40P01" | "55P03" | "57014" => Failure::Conflict(text),
        // Starting up, no connection is free, or it is no longer the server that takes writes.
        "57P03" | "53300" | "25006" => Failure::Unreachable(text),
        // Shut down or crashed while it worked, and connection exceptions.
        "57P01" | "57P02" => Failure::Broken(text),
        code if code.starts_with("08") => Failure::Broken(text),
        _ => Failure::Refused(text),
    }
}

/// Whether an error without a code comes from the connection.
fn is_of_connection(error: &tokio_postgres::Error) -> bool {
    error.is_closed() || error.source().is_some_and(|source| source.is::<io::Error>())
}

/// Text of an error with its causes. It never contains an address with a password: the database's own messages do
/// not, and those of the client name only the kind of failure.
pub(crate) fn text_of(error: &tokio_postgres::Error) -> String {
    if let Some(answer) = error.as_db_error() {
        return format!("{} ({})", answer.message(), answer.code().code());
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_say_whether_a_second_try_can_help() {
        // code, another try can help, it may have taken effect
        let table = [
            ("40001", true, false),
            ("40P01", true, false),
            ("57014", true, false),
            ("25006", true, false),
            ("57P03", true, false),
            ("53300", true, false),
            ("57P01", true, true),
            ("57P02", true, true),
            ("08006", true, true),
            ("42501", false, false),
            ("23505", false, false),
            ("53100", false, false),
        ];
        for (code, transient, landed) in table {
            let failure = of_code(&SqlState::from_code(code), "text".to_owned());
            assert_eq!((failure.is_transient(), failure.may_have_landed()), (transient, landed), "{code}");
        }
    }
}
