//! Hosts whose hooks cannot replace a result. The MCP gateway folds results of their MCP servers; their own tools are
//! not covered.

use super::{Host, Way};

pub(crate) const QWEN_CODE: Host = Host {
    name: "qwen-code",
    title: "Qwen Code",
    program: "qwen",
    checked: None,
    way: Way::Gateway,
    notes: &[
        "hooks of Qwen Code can add to a result or stop, and cannot replace it; its shell is not covered",
    ],
    traces: &[".qwen"],
};

pub(crate) const GOOSE: Host = Host {
    name: "goose",
    title: "Goose",
    program: "goose",
    checked: None,
    way: Way::Gateway,
    notes: &[
        "hooks of Goose only observe; its shell is not covered",
        "its settings are YAML, which init does not change: put `forebay mcp --` before the `cmd` of an extension in \
         ~/.config/goose/config.yaml",
    ],
    traces: &[".config/goose"],
};

pub(crate) const CLINE: Host = Host {
    name: "cline",
    title: "Cline",
    program: "cline",
    checked: None,
    way: Way::Gateway,
    notes: &[
        "hooks of Cline can add context or cancel, and cannot replace a result; its shell is not covered",
    ],
    traces: &[".cline"],
};

pub(crate) const VSCODE: Host = Host {
    name: "vscode",
    title: "VS Code",
    program: "code",
    checked: None,
    way: Way::Gateway,
    notes: &[
        "the agent of VS Code has no hook that replaces a result; its terminal is not covered",
        "agents of other makers inside VS Code run their own hooks: set these up by their own names",
    ],
    traces: &[".config/Code", "Library/Application Support/Code"],
};
