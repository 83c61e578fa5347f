//! Definitions of source code, from its syntax tree.

use crate::classify::languages::{Language, NoTree, Rule, When};
use crate::classify::syntax_tree;
use crate::outline::{Items, LineSpan, Symbol, shortened};
use std::collections::HashMap;
use tree_sitter::{Node, Tree};

/// Maximum characters of a signature.
const SIGNATURE: usize = 120;

/// Maximum bytes of a signature that are read.
const LOOKED_AT: usize = 1024;

/// Returns the definitions of a text from its syntax tree.
pub(crate) fn items(language: Language, text: &[u8]) -> Result<Items, NoTree> {
    let mut items = Items::default();
    walk(&syntax_tree::parse(language, text)?, language, text, &mut items);
    Ok(items)
}

fn walk(tree: &Tree, language: Language, text: &[u8], items: &mut Items) {
    let grammar = tree.language();
    let rules: HashMap<u16, &Rule> = language
        .rules()
        .iter()
        .map(|rule| (grammar.id_for_node_kind(rule.node, true), rule))
        .filter(|(id, _)| *id != 0)
        .collect();
    // Depths in the tree of the items above.
    let mut above: Vec<u32> = Vec::new();
    let mut cursor = tree.walk();
    // The cursor would count its depth from the root each time.
    let mut depth = 0;
    loop {
        let node = cursor.node();
        let rule = rules.get(&node.kind_id()).filter(|rule| holds(rule.when, &node));
        if let Some(rule) = rule {
            let start = after_attributes(&node);
            let signature = signature(&node, start, text);
            if !signature.is_empty() {
                let line = text_line(&node, start, text);
                let last = node.end_position().row as u64 + u64::from(node.end_position().column > 0);
                let kind = kind(rule, &node);
                let symbol = Symbol::new(language.keyword(kind), &symbol_name(&node, text));
                items.define(
                    LineSpan { first: line, last: last.max(line) },
                    above.len() as u32,
                    kind,
                    symbol,
                    || signature,
                );
                above.push(depth);
            }
        }
        if cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        loop {
            if above.last() == Some(&depth) {
                above.pop();
            }
            if cursor.goto_next_sibling() {
                break;
            }
            if !cursor.goto_parent() {
                return;
            }
            depth -= 1;
        }
    }
}

fn holds(when: When, node: &Node) -> bool {
    match when {
        When::Always => true,
        When::HasBody => {
            node.child_by_field_name("body").is_some() && node.child_by_field_name("name").is_some()
        }
        When::HoldsFunction => held(node).is_some(),
        When::DeclaresFunction => {
            // A pointer to the return type may surround it.
            let mut declarator = node.child_by_field_name("declarator");
            for _ in 0..8 {
                match declarator {
                    Some(inner) if inner.kind() == "function_declarator" => {
                        // A function pointer is a variable.
                        return inner
                            .child_by_field_name("declarator")
                            .is_some_and(|name| name.kind() != "parenthesized_declarator");
                    }
                    Some(inner) => declarator = inner.child_by_field_name("declarator"),
                    None => return false,
                }
            }
            false
        }
    }
}

/// Returns the function or class that is assigned to a variable, a field or a property.
fn held<'a>(node: &Node<'a>) -> Option<Node<'a>> {
    let value = node.child_by_field_name("value").or_else(|| node.child_by_field_name("right"));
    let value = value.or_else(|| node.named_child(1).filter(|list| list.kind() == "expression_list"))?;
    let value = if value.kind() == "expression_list" { value.named_child(0)? } else { value };
    let kinds =
        ["arrow_function", "function_expression", "generator_function", "function_definition", "class"];
    (value.is_named() && kinds.contains(&value.kind())).then_some(value)
}

/// Returns the kind of an item if its node alone does not say it.
fn kind(rule: &Rule, node: &Node) -> &'static str {
    match node.child_by_field_name("type").map(|inner| inner.kind()) {
        Some("struct_type") => "struct",
        Some("interface_type") => "interface",
        _ if held(node).is_some_and(|value| value.kind() == "class") => "class",
        _ => rule.kind,
    }
}

/// Returns the name that a node defines, empty if there is none.
fn symbol_name(node: &Node, text: &[u8]) -> String {
    let Some(name) = name_node(node) else { return String::new() };
    let end = name.end_byte().min(text.len()).min(name.start_byte() + LOOKED_AT);
    let name = String::from_utf8_lossy(&text[name.start_byte().min(end)..end]);
    let name = name.trim_matches(['"', '\'']);
    // The name of a conversion operator includes its brackets.
    name.split_once('(')
        .filter(|(before, _)| !before.ends_with("operator"))
        .map_or(name, |(before, _)| before)
        .to_owned()
}

/// Returns the node of the name: a field in most grammars, otherwise the assigned, implemented or declared item.
fn name_node<'a>(node: &Node<'a>) -> Option<Node<'a>> {
    let field = |node: &Node<'a>, name: &str| node.child_by_field_name(name);
    let named = ["name", "left", "key", "property"].iter().find_map(|name| field(node, name));
    match node.kind() {
        "impl_item" => {
            field(node, "type").map(|implemented| field(&implemented, "type").unwrap_or(implemented))
        }
        // The first variable that is assigned.
        "assignment_statement" => node.named_child(0)?.named_child(0),
        _ => named.or_else(|| declared(node)),
    }
}

/// Returns what a declaration of C or C++ declares, inside its pointers, references and parameters.
fn declared<'a>(node: &Node<'a>) -> Option<Node<'a>> {
    let mut inner = node.child_by_field_name("declarator")?;
    for _ in 0..16 {
        let mut cursor = inner.walk();
        let next = inner
            .child_by_field_name("declarator")
            .or_else(|| inner.named_children(&mut cursor).find(|child| child.kind().ends_with("declarator")));
        match next {
            Some(next) if !next.kind().starts_with("abstract") => inner = next,
            _ => break,
        }
    }
    Some(inner)
}

/// Returns the start of a definition after its annotations.
fn after_attributes(node: &Node) -> usize {
    let mut start = node.start_byte();
    let mut cursor = node.walk();
    for child in node.children(&mut cursor) {
        match child.kind() {
            "attribute_list" | "decorator" | "comment" | "attribute" => start = child.end_byte(),
            "modifiers" => {
                let mut inner = child.walk();
                let annotations = child.children(&mut inner);
                let last = annotations
                    .take_while(|part| matches!(part.kind(), "annotation" | "marker_annotation"))
                    .last();
                start = last.map_or(start, |part| part.end_byte());
                break;
            }
            _ => break,
        }
    }
    start
}

/// Returns the line of the first token at or after `start`.
fn text_line(node: &Node, start: usize, text: &[u8]) -> u64 {
    let before = &text[node.start_byte()..start.min(text.len())];
    let after = &text[start.min(text.len())..];
    let blank = after.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let newlines =
        memchr::memchr_iter(b'\n', before).count() + memchr::memchr_iter(b'\n', &after[..blank]).count();
    (node.start_position().row + newlines) as u64 + 1
}

/// Returns a definition up to its body, on one line.
fn signature(node: &Node, start: usize, text: &[u8]) -> String {
    let body = body(node);
    let mut end = body.map_or(node.end_byte(), |body| before_comment(node, body)).min(text.len()).max(start);
    if body.is_none() {
        let first = text[start..end].iter().take_while(|byte| byte.is_ascii_whitespace()).count() + start;
        // Without a body, the first line says what it is.
        end = memchr::memchr(b'\n', &text[first..end]).map_or(end, |newline| first + newline);
    }
    let part = String::from_utf8_lossy(&text[start..end.min(start + LOOKED_AT)]).into_owned();
    let part = part.trim().trim_end_matches(['{', ':', ';', '=', '(', '\\']).trim_end();
    let part = part.strip_suffix("=>").unwrap_or(part).trim_end().trim_end_matches(['=']).trim_end();
    let mut part = part.split_whitespace().collect::<Vec<_>>().join(" ");
    // Parameters on lines of their own.
    for (apart, together) in [("( ", "("), (", )", ")"), (" )", ")")] {
        part = part.replace(apart, together);
    }
    match node.kind() {
        "type_spec" => part.insert_str(0, "type "),
        // The name of a type that is spelled out follows it.
        "type_definition" if body.is_some() => {
            let name = node.child_by_field_name("declarator").map(|name| name.byte_range());
            part.push(' ');
            part.push_str(&name.map(|name| String::from_utf8_lossy(&text[name])).unwrap_or_default());
        }
        _ => {}
    }
    shortened(&part, SIGNATURE)
}

/// Returns the end of a signature with a comment between it and the body.
fn before_comment(node: &Node, body: usize) -> usize {
    let mut cursor = node.walk();
    let comment = node
        .children(&mut cursor)
        .take_while(|child| child.start_byte() < body)
        .filter(|child| child.is_extra() && child.kind().contains("comment"))
        .last();
    comment.map_or(body, |comment| comment.start_byte())
}

/// Returns the start of the body, which is not part of the signature.
fn body(node: &Node) -> Option<usize> {
    if let Some(value) = held(node) {
        return value.child_by_field_name("body").map(|body| body.start_byte());
    }
    for field in ["body", "accessors", "value"] {
        if let Some(body) = node.child_by_field_name(field) {
            return Some(body.start_byte());
        }
    }
    // A type that is spelled out where it is used.
    if let Some(inner) = node.child_by_field_name("type") {
        let mut cursor = inner.walk();
        let lists = ["field_declaration_list", "enumerator_list"];
        let list = inner.children(&mut cursor).find(|child| lists.contains(&child.kind()));
        if let Some(list) = list {
            return Some(list.start_byte());
        }
        if inner.kind() == "interface_type" {
            return Some(inner.start_byte() + "interface".len());
        }
    }
    let mut cursor = node.walk();
    let lists = ["body_statement", "declaration_list", "block", "compound_statement", "macro_rule"];
    node.children(&mut cursor).find(|child| lists.contains(&child.kind())).map(|child| child.start_byte())
}
