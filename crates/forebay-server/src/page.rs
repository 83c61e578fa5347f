//! The page that shows outputs: a few files in the binary. It has no data of its own and uses the API.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;

/// A file of the page.
struct File {
    path: &'static str,
    media_type: &'static str,
    bytes: &'static [u8],
}

macro_rules! files {
    ($($path:literal $name:literal $media_type:literal),* $(,)?) => {
        &[$(File { path: $path, media_type: $media_type, bytes: include_bytes!(concat!("page/", $name)) }),*]
    };
}

static FILES: &[File] = files![
    "/" "index.html" "text/html; charset=utf-8",
    "/page.css" "page.css" "text/css; charset=utf-8",
    "/page.js" "page.js" "text/javascript; charset=utf-8",
    "/api.js" "api.js" "text/javascript; charset=utf-8",
    "/asked.js" "asked.js" "text/javascript; charset=utf-8",
    "/dialogs.js" "dialogs.js" "text/javascript; charset=utf-8",
    "/diff.js" "diff.js" "text/javascript; charset=utf-8",
    "/dom.js" "dom.js" "text/javascript; charset=utf-8",
    "/ink.js" "ink.js" "text/javascript; charset=utf-8",
    "/line.js" "line.js" "text/javascript; charset=utf-8",
    "/lists.js" "lists.js" "text/javascript; charset=utf-8",
    "/live.js" "live.js" "text/javascript; charset=utf-8",
    "/output.js" "output.js" "text/javascript; charset=utf-8",
    "/plot.js" "plot.js" "text/javascript; charset=utf-8",
    "/search.js" "search.js" "text/javascript; charset=utf-8",
    "/stats.js" "stats.js" "text/javascript; charset=utf-8",
    "/tree.js" "tree.js" "text/javascript; charset=utf-8",
    "/view.js" "view.js" "text/javascript; charset=utf-8",
    "/whole.js" "whole.js" "text/javascript; charset=utf-8",
    "/words.js" "words.js" "text/javascript; charset=utf-8",
    "/icon.svg" "icon.svg" "image/svg+xml",
];

/// Content security policy: only our own scripts run, nothing is loaded from elsewhere, no page frames this one, and no
/// text becomes markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// The file at this path, if there is one.
pub(crate) fn file(path: &str, headers: &HeaderMap) -> Option<Response> {
    let file = FILES.iter().find(|file| file.path == path)?;
    let etag = format!("\"{}\"", &blake3::hash(file.bytes).to_hex()[..32]);
    let is_known = headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == etag.as_bytes());
    let mut response = Response::new(Body::empty());
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    } else {
        *response.body_mut() = Body::from(file.bytes);
    }
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(file.media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("content-security-policy", HeaderValue::from_static(POLICY));
    if let Ok(etag) = etag.parse() {
        headers.insert(ETAG, etag);
    }
    Some(response)
}
