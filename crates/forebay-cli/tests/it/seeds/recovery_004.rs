//! Document 004: the preset `recovery`.
