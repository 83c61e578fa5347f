//! Document 002: the preset `materialize`.
