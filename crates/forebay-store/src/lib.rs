//! A store that many machines share: outputs in a PostgreSQL database, and their bytes in a bucket if there is one.
//!
//! [`SharedStore`] is a [`forebay::Store`]: an output that one machine writes is readable on every other while it grows.
//! Its bytes are rows that are never changed. The row of the output says how many of them count, and who writes: a
//! writer holds a lease by the clock of the database, and an output whose lease has run out was cut short.
//!
//! Only this crate knows PostgreSQL and object storage. It is synchronous outside; inside, requests run on a runtime of their own.

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
