//! Secrets that are recognised by their place: a URL, a header, a PEM block, a Kubernetes object, an option.

pub(crate) mod command;
pub(crate) mod cookie;
pub(crate) mod kubernetes;
pub(crate) mod pem;
pub(crate) mod pgpass;
pub(crate) mod scheme;
pub(crate) mod url;
