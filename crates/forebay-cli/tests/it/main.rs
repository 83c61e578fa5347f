//! The command line, tried as its users do.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod archive;
mod events;
mod excerpts;
mod extract;
mod failures;
mod forebay;
mod formats;
mod hosts;
mod http;
mod local_models;
mod many;
mod mcp;
mod model_server;
#[path = "../../../forebay-store/tests/it/postgres.rs"]
mod postgres;
mod presets;
mod queries;
mod real_outputs;
mod retention;
mod run;
mod secrets;
mod seeds;
mod serve;
mod sessions;
mod settings;
mod shared;
