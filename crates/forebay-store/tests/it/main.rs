//! The shared store against real servers, which the tests start themselves.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod azure;
mod bad_days;
mod bucket;
mod conformance;
mod contention;
mod encryption;
mod fault;
mod lifetime;
mod mirror;
mod pgbouncer;
mod postgres;
mod proxy;
mod rooms;
mod s3;
mod schema;
mod stores;
mod workers;
