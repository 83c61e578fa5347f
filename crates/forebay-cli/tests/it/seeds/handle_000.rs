//! Document 000: the tool `tool_output` and the preset `handle`, first text.
