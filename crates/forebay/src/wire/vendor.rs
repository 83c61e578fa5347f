//! The wires by name.

use crate::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// One spelling of tools, calls and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Wire {
    /// OpenAI's chat completions, and the many servers that imitate them.
    OpenaiChat,
    /// OpenAI's responses.
    OpenaiResponses,
    /// Anthropic's messages.
    Anthropic,
    /// Google's Gemini.
    Gemini,
    /// The Model Context Protocol, where we are the server.
    Mcp,
    /// Records inside the assistant's text, for models that have no native calls.
    FunctionCall,
}

impl Wire {
    /// All wires.
    pub const ALL: [Wire; 6] = [
        Wire::OpenaiChat,
        Wire::OpenaiResponses,
        Wire::Anthropic,
        Wire::Gemini,
        Wire::Mcp,
        Wire::FunctionCall,
    ];

    /// Its name, such as `openai-chat`.
    pub fn as_str(self) -> &'static str {
        match self {
            Wire::OpenaiChat => "openai-chat",
            Wire::OpenaiResponses => "openai-responses",
            Wire::Anthropic => "anthropic",
            Wire::Gemini => "gemini",
            Wire::Mcp => "mcp",
            Wire::FunctionCall => "function-call",
        }
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Wire {
    type Err = Error;

    fn from_str(name: &str) -> Result<Wire> {
        Wire::ALL.into_iter().find(|wire| wire.as_str() == name).ok_or_else(|| {
            let all = Wire::ALL.map(Wire::as_str).join(", ");
            Error::BadSetting(format!("there is no wire '{}': it is one of {all}", crate::printable(name)))
        })
    }
}
