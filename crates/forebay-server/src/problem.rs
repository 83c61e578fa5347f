//! Errors as HTTP clients read them: problem details (RFC 9457), all in one table.

use axum::body::Body;
use axum::http::header::{
    ACCEPT_ENCODING, ALLOW, CONTENT_RANGE, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE,
};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use forebay::Error;
use serde_json::{Value, json};

/// Maximum characters of a message, which may repeat anything that the client sent.
const MAX_DETAIL: usize = 1_000;

/// Why a request failed.
#[derive(Debug)]
pub(crate) struct Problem(Box<Details>);

/// The part that is sent to the client.
#[derive(Debug)]
struct Details {
    status: StatusCode,
    /// A word by which programs distinguish problems.
    kind: &'static str,
    detail: String,
    /// One more field for programs.
    extra: Option<(&'static str, Value)>,
    header: Option<(HeaderName, String)>,
}

impl Problem {
    fn new(status: StatusCode, kind: &'static str, detail: impl Into<String>) -> Problem {
        Problem(Box::new(Details { status, kind, detail: detail.into(), extra: None, header: None }))
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, "bad-request", detail)
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, "not-found", detail)
    }

    pub(crate) fn conflict(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::CONFLICT, "conflict", detail)
    }

    pub(crate) fn forbidden(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::FORBIDDEN, "forbidden", detail)
    }

    pub(crate) fn too_large(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail)
    }

    pub(crate) fn timed_out(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::REQUEST_TIMEOUT, "timed-out", detail)
    }

    pub(crate) fn unavailable(detail: impl Into<String>) -> Problem {
        let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail);
        problem.with_header(RETRY_AFTER, "1")
    }

    /// The request has no valid token; `what_to_do` says how to send one.
    pub(crate) fn unauthorized(what_to_do: &str) -> Problem {
        let detail = format!("a token is needed: {what_to_do}");
        let problem = Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail);
        problem.with_header(WWW_AUTHENTICATE, "Bearer")
    }

    /// The body has an encoding that is not one of those `accepted`.
    pub(crate) fn unsupported_encoding(detail: impl Into<String>, accepted: &str) -> Problem {
        let problem = Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported-encoding", detail);
        problem.with_header(ACCEPT_ENCODING, accepted)
    }

    pub(crate) fn method_not_allowed(allowed: &str) -> Problem {
        let detail = format!("methods of this address: {allowed}");
        let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", detail);
        problem.with_header(ALLOW, allowed)
    }

    pub(crate) fn range_not_satisfiable(length: u64) -> Problem {
        let detail = format!("the output has {length} bytes");
        let problem = Problem::new(StatusCode::RANGE_NOT_SATISFIABLE, "out-of-range", detail);
        problem.with_header(CONTENT_RANGE, &format!("bytes */{length}"))
    }

    /// A failure of the server itself.
    pub(crate) fn internal(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "store-failed", detail)
    }

    /// The upload could not be stored completely.
    pub(crate) fn not_stored(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::INSUFFICIENT_STORAGE, "not-kept", detail)
    }

    pub(crate) fn detail(&self) -> String {
        self.0.detail.clone()
    }

    pub(crate) fn with_field(mut self, name: &'static str, value: impl Into<Value>) -> Problem {
        self.0.extra = Some((name, value.into()));
        self
    }

    fn with_header(mut self, name: HeaderName, value: &str) -> Problem {
        self.0.header = Some((name, value.to_owned()));
        self
    }

    pub(crate) fn response(&self) -> Response {
        let Details { status, kind, detail, extra, header } = &*self.0;
        let mut problem = json!({
            "type": format!("urn:forebay:problem:{kind}"),
            "title": status.canonical_reason().unwrap_or(kind),
            "status": status.as_u16(),
            "detail": forebay::printable(&forebay::shortened(detail, MAX_DETAIL)),
        });
        if let Some((name, value)) = extra {
            problem[*name] = value.clone();
        }
        let mut response = Response::new(Body::from(problem.to_string()));
        *response.status_mut() = *status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some((name, value)) = header
            && let Ok(value) = value.parse()
        {
            headers.insert(name, value);
        }
        response
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        use std::io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        let (status, kind) = match &error {
            Error::NotFound { .. } | Error::NotHere { .. } => (StatusCode::NOT_FOUND, "not-found"),
            Error::BadName { .. } | Error::BadQuery(_) | Error::BadSetting(_) | Error::Ambiguous { .. } => {
                (StatusCode::BAD_REQUEST, "bad-request")
            }
            Error::OutOfRange(_) => (StatusCode::RANGE_NOT_SATISFIABLE, "out-of-range"),
            Error::BadArchive(_) => (StatusCode::UNPROCESSABLE_ENTITY, "bad-archive"),
            Error::Taken { .. } => (StatusCode::CONFLICT, "conflict"),
            Error::Stopped(_) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
            Error::Store { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded) => {
                (StatusCode::INSUFFICIENT_STORAGE, "disk-full")
            }
            Error::Store { source, .. } if matches!(source.kind(), PermissionDenied | ReadOnlyFilesystem) => {
                (StatusCode::SERVICE_UNAVAILABLE, "unavailable")
            }
            _ => (StatusCode::INTERNAL_SERVER_ERROR, "store-failed"),
        };
        Problem::new(status, kind, error.to_string())
    }
}

impl From<crate::error::Error> for Problem {
    fn from(error: crate::error::Error) -> Problem {
        Problem::internal(error.to_string())
    }
}
