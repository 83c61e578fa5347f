//! Shared stores in the databases of a server.

use crate::postgres::Server;
use forebay::Session;
use forebay_store::{DatabaseAddress, Environment, Options, Origin, SharedStore};

impl Server {
    /// The options of a store in a database.
    pub(crate) fn options(&self, database: &str) -> Options {
        self.options_of("forebay", database)
    }

    /// The options of a store that a role opens.
    pub(crate) fn options_of(&self, role: &str, database: &str) -> Options {
        let url = format!("postgres://{role}@/{database}?host={}", self.socket().display());
        Options::new(DatabaseAddress::parse(&url, Origin::File, &Environment::default()).unwrap())
    }

    /// A store of a tenant.
    pub(crate) fn store(&self, database: &str, tenant: &str) -> SharedStore {
        let mut options = self.options(database);
        options.tenant = Session::safe(tenant);
        SharedStore::open(options).unwrap()
    }
}
