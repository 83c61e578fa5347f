//! Document 001: the preset `head-tail`.
