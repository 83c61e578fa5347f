//! Document 003: the preset `handle`, later text of 000.
