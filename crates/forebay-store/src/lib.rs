//! A store that many machines share: outputs in a PostgreSQL database, with their bytes in a bucket if there is one.
//!
//! [`SharedStore`] is a [`forebay::Store`]: an output that one machine writes is readable on every other while it
//! grows. Its bytes are rows that never change. The row of the output says how many bytes are valid, and who writes
//! it. A writer holds a lease by the clock of the database; an output whose lease has expired is incomplete.
//!
//! Only this crate knows PostgreSQL and object storage. Its API is synchronous; requests run on a runtime of their
//! own.

mod address;
mod backend;
mod blobs;
mod cache;
mod content;
mod database;
mod encryption;
mod ended;
mod error;
mod failure;
mod frames;
mod key;
mod log;
mod mirror;
mod mirror_folder;
mod probe;
mod read_through;
mod reader;
mod removal;
mod room_notes;
mod rooms;
mod row;
mod runtime;
mod schema;
mod session_keys;
mod settle;
mod sink;
mod store;
mod window;

pub use address::bucket::BucketAddress;
pub use address::database::DatabaseAddress;
pub use address::{Environment, Origin};
pub use encryption::MasterKey;
pub use error::OpenError;
pub use mirror::{Brought, Mirror, Queue, Sharing};
pub use mirror_folder::{Fared, MirrorFolder, Serving};
pub use read_through::{Open, ReadThrough};
pub use store::{Options, SharedStore};
