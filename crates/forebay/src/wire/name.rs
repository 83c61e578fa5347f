//! Names of tools, and their form for vendors that take fewer characters.

use crate::wire::call::Tool;
use crate::wire::vendor::Wire;
use std::collections::HashSet;

impl Wire {
    /// The names of `tools` for a model, each unique.
    ///
    /// A name that the vendor takes stays. In any other, such as `context.read`, what it does not take becomes `_`; if
    /// that is the name of another tool already, a number follows.
    pub fn names(self, tools: &[Tool]) -> Vec<String> {
        let stays = |tool: &&Tool| self.name(&tool.name) == tool.name;
        let mut taken: HashSet<String> = tools.iter().filter(stays).map(|tool| tool.name.clone()).collect();
        let mut free = |tool: &Tool| -> String {
            let wanted = self.name(&tool.name);
            let mut name = wanted.clone();
            let mut number = 2;
            while !taken.insert(name.clone()) {
                let end = format!("_{number}");
                let room = self.longest().saturating_sub(end.len());
                name = wanted.chars().take(room).chain(end.chars()).collect();
                number += 1;
            }
            name
        };
        tools.iter().map(|tool| if stays(&tool) { tool.name.clone() } else { free(tool) }).collect()
    }

    /// The tool named in a call: by its name for the model, by its own name, or by the name that a host made of it
    /// for its vendor, such as `context_read` over MCP.
    pub fn tool<'a>(self, tools: &'a [Tool], called: &str) -> Option<&'a Tool> {
        let told = |wire: Wire| wire.names(tools).iter().position(|name| name == called);
        let own = || tools.iter().position(|tool| tool.name == called);
        let at = told(self).or_else(own).or_else(|| told(Wire::OpenaiChat))?;
        tools.get(at)
    }

    /// A name in the form that the vendor accepts, ignoring other tools.
    pub(crate) fn name(self, name: &str) -> String {
        // Text takes anything.
        if self == Wire::FunctionCall {
            return name.to_owned();
        }
        let takes =
            |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || (c == '.' && self == Wire::Mcp);
        let mut name: String = name.chars().map(|c| if takes(c) { c } else { '_' }).collect();
        let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
        if name.is_empty() || (self == Wire::Gemini && !name.starts_with(begins)) {
            name.insert(0, '_');
        }
        name.truncate(self.longest());
        name
    }

    /// Maximum characters of a name. Some vendors accept more by now; old models and imitating servers accept only
    /// the original limit.
    fn longest(self) -> usize {
        match self {
            Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Anthropic | Wire::Gemini => 64,
            Wire::Mcp => 128,
            Wire::FunctionCall => usize::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tools(names: &[String]) -> Vec<Tool> {
        let tool = |name: &String| Tool {
            name: name.clone(),
            description: String::new(),
            schema: serde_json::json!({"type": "object"}),
            read_only: true,
        };
        names.iter().map(tool).collect()
    }

    #[test]
    fn a_name_changes_only_where_the_vendor_does_not_take_it() {
        let long = "x".repeat(70);
        for (name, openai, gemini, mcp) in [
            ("tool_output", "tool_output", "tool_output", "tool_output"),
            ("context.read", "context_read", "context_read", "context.read"),
            ("a-b/c d:e", "a-b_c_d_e", "a-b_c_d_e", "a-b_c_d_e"),
            ("2nd", "2nd", "_2nd", "2nd"),
            ("搜索", "__", "__", "__"),
            ("", "_", "_", "_"),
            (&long, &long[..64], &long[..64], &long),
        ] {
            assert_eq!(Wire::OpenaiChat.name(name), openai);
            assert_eq!(Wire::OpenaiResponses.name(name), openai);
            assert_eq!(Wire::Anthropic.name(name), openai);
            assert_eq!(Wire::Gemini.name(name), gemini);
            assert_eq!(Wire::Mcp.name(name), mcp);
            assert_eq!(Wire::FunctionCall.name(name), name);
        }
    }

    #[test]
    fn two_tools_never_get_one_name() {
        let tools = tools(&["a.b", "a_b", "a/b", "a_b_2"].map(str::to_owned));
        assert_eq!(Wire::Anthropic.names(&tools), ["a_b_3", "a_b", "a_b_4", "a_b_2"]);
    }

    #[test]
    fn a_call_by_either_name_finds_the_tool() {
        let tools = tools(&["context.read", "context_read"].map(str::to_owned));
        let found = |called| Wire::OpenaiChat.tool(&tools, called).map(|tool| tool.name.as_str());
        assert_eq!(found("context.read"), Some("context.read"));
        assert_eq!(found("context_read_2"), Some("context.read"));
        assert_eq!(found("context_read"), Some("context_read"));
        assert_eq!(found("context"), None);
        for wire in Wire::ALL {
            let found = |called| wire.tool(&tools[..1], called).map(|tool| tool.name.as_str());
            assert_eq!([found("context.read"), found("context_read")], [Some("context.read"); 2], "{wire}");
        }
    }

    proptest! {
        #[test]
        fn every_tool_is_found_by_the_name_it_was_told_under(
            names in proptest::collection::hash_set(
                prop_oneof![
                    proptest::collection::vec(prop_oneof![Just('a'), Just('.'), Just('_'), Just('2')], 0..5)
                        .prop_map(String::from_iter),
                    Just("y".repeat(63) + ".z"), Just("y".repeat(64) + "z"), Just("y".repeat(64)),
                    any::<String>(),
                ],
                0..12,
            )
        ) {
            let names: Vec<String> = names.into_iter().collect();
            let tools = tools(&names);
            for wire in Wire::ALL {
                let told = wire.names(&tools);
                prop_assert_eq!(told.iter().collect::<HashSet<_>>().len(), tools.len(), "{}: {:?}", wire, told);
                for (told, tool) in told.iter().zip(&tools) {
                    prop_assert_eq!(wire.name(told), told.as_str(), "{} takes it", wire);
                    prop_assert_eq!(wire.tool(&tools, told), Some(tool));
                    prop_assert_eq!(wire.tool(&tools, &tool.name), Some(tool));
                }
            }
        }
    }
}
