//! The key of an output in the database.

use crate::database::Param;
use forebay::{Handle, Session};
use tokio_postgres::types::Type;

/// Tenant, session and id: the first columns of every table's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) tenant: String,
    pub(crate) session: String,
    pub(crate) id: String,
}

impl Key {
    pub(crate) fn new(tenant: &Session, handle: &Handle) -> Key {
        Key {
            tenant: tenant.as_str().to_owned(),
            session: handle.session().as_str().to_owned(),
            id: handle.id().to_owned(),
        }
    }

    /// The parameters $1, $2 and $3 of a statement about the output, with `more` after them.
    pub(crate) fn params<'a>(&'a self, more: &[Param<'a>]) -> Vec<Param<'a>> {
        let mut params = self.session_params(&[(&self.id, Type::TEXT)]);
        params.extend_from_slice(more);
        params
    }

    /// The parameters $1 and $2 of a statement about the session, with `more` after them.
    pub(crate) fn session_params<'a>(&'a self, more: &[Param<'a>]) -> Vec<Param<'a>> {
        let mut params: Vec<Param<'a>> = vec![(&self.tenant, Type::TEXT), (&self.session, Type::TEXT)];
        params.extend_from_slice(more);
        params
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.session, self.id)
    }
}
