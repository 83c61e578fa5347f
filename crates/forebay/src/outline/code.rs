//! Classes, functions and other definitions of source code.

use crate::Result;
use crate::classify::languages::{Language, Rule, When};
use crate::classify::lines::Source;
use crate::classify::parse;
use crate::classify::parse::NoTree;
use crate::classify::text::text;
use crate::outline::{Items, Symbol, definitions, shortened};
use std::collections::HashMap;
use tree_sitter::{Node, Tree};

/// Maximum bytes that are parsed. The parser reads a few megabytes per second.
pub(crate) const PARSED: u64 = 4 * 1024 * 1024;

/// Maximum characters of a signature.
const SIGNATURE: usize = 120;

/// Maximum bytes of a signature that are read.
const LOOKED_AT: usize = 1024;

/// Adds the definitions. Returns a note on what was not parsed, and why.
pub(crate) fn outline(
    source: &Source,
    language: Language,
    parsed: u64,
    items: &mut Items,
) -> Result<Option<String>> {
    let by_lines = "definitions were found by their lines";
    if language.grammar().is_none() {
        items.append(definitions::outline(source, language, 0)?);
        return Ok(Some(format!("there is no grammar for it here; {by_lines}")));
    }
    let text = text(source, parsed)?;
    let end = parse::fitting(language, &text.bytes);
    let fits = &text.bytes[..end];
    let (from, note) = if end < text.bytes.len() {
        let lines = memchr::memchr_iter(b'\n', fits).count() as u64;
        let note = format!("what comes after line {lines} does not parse well; there {by_lines}");
        (source.output.line_start(lines)?, Some(note))
    } else {
        let cut = text.read < source.output.len();
        let note = || format!("only the first {} MiB were parsed; after them {by_lines}", parsed >> 20);
        (text.read, cut.then(note))
    };
    let (beginning, rest) =
        source.output.both(|| by_tree(language, fits), || definitions::outline(source, language, from));
    let Ok(beginning) = beginning else {
        items.append(definitions::outline(source, language, 0)?);
        return Ok(Some(format!("it does not parse well; {by_lines}")));
    };
    items.append(beginning);
    items.append(rest?);
    Ok(note)
}

/// Returns the definitions of a text from its syntax tree.
fn by_tree(language: Language, text: &[u8]) -> std::result::Result<Items, NoTree> {
    let mut items = Items::default();
    walk(&parse::parse(language, text)?, language, text, &mut items);
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
                items.define((line, last.max(line)), above.len() as u32, kind, symbol, || signature);
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

/// Returns the node of the name: a field in most grammars, else what is assigned to, implemented or declared.
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

#[cfg(test)]
mod tests {
    use crate::outline::tests::{of, of_file};

    #[test]
    #[cfg(feature = "lang-rust")]
    fn rust_is_outlined_by_its_definitions() {
        let out = of(r##"use std::fmt;

/// A store.
#[derive(Clone)]
pub struct Store<T> {
    items: Vec<T>,
}

impl<T: Clone> Store<T> {
    pub fn get(
        &self,
        index: usize,
    ) -> Option<&T> {
        self.items.get(index)
    }
}

trait Named {
    const LEFT: u32 = 1;
    fn name(&self) -> String;
}

mod inner {
    pub(crate) enum Kind { A, B }
}

macro_rules! two { () => { 2 } }
"##);
        expect_test::expect![[r#"
            Rust
            5-7 struct | pub struct Store<T>
            9-16 impl | impl<T: Clone> Store<T>
            10-15   fn | pub fn get(&self, index: usize) -> Option<&T>
            18-21 trait | trait Named
            19-19   const | const LEFT: u32
            20-20   fn | fn name(&self) -> String
            23-25 mod | mod inner
            24-24   enum | pub(crate) enum Kind
            27-27 macro | macro_rules! two
        "#]]
        .assert_eq(&out);
    }

    #[test]
    #[cfg(feature = "lang-python")]
    fn python_is_outlined_by_its_definitions() {
        let out = of(r##"import os
from typing import List


@dataclass
class Store(Base, metaclass=Meta):
    """Keeps."""

    def get(self, index: int) -> str:  # quick
        return self.items[index]

    async def put(
        self,
        item,
    ):
        def inner():
            pass
        return inner


def main():
    pass
"##);
        expect_test::expect![[r#"
            Python
            6-18 class | class Store(Base, metaclass=Meta)
            9-10   def | def get(self, index: int) -> str
            12-18   def | async def put(self, item)
            16-17     def | def inner()
            21-22 def | def main()
        "#]]
        .assert_eq(&out);
    }

    #[test]
    #[cfg(feature = "lang-javascript")]
    fn javascript_is_outlined_by_its_definitions() {
        let out = of(r##"const fs = require("fs");

export default class Store extends Base {
  constructor(items) { this.items = items; }
  get = (index) => this.items[index];
}

export async function main(args) {
  console.log(args === 1);
}

const helper = async (a, b) => {
  return a + b;
};

module.exports.run = function (x) { return x; };
"##);
        expect_test::expect![[r#"
            JavaScript
            3-6 class | class Store extends Base
            4-4   method | constructor(items)
            5-5   method | get = (index)
            8-10 fn | async function main(args)
            12-14 fn | helper = async (a, b)
            16-16 fn | module.exports.run = function (x)
        "#]]
        .assert_eq(&out);
    }

    #[test]
    #[cfg(feature = "lang-typescript")]
    fn typescript_is_outlined_by_its_definitions() {
        let out = of(r##"import { a } from "./a";

export interface Shape<T> {
  area(): number;
}

type Name = string | number;

enum Colour { Red, Green }

namespace Inner {
  export function f(x: number): void {}
}

abstract class Store implements Shape<string> {
  private readonly items: string[] = [];
  abstract size(): number;
  area(): number { return 1; }
}

export const helper = (a: string): number => a.length;
"##);
        expect_test::expect![[r#"
            TypeScript
            3-5 interface | interface Shape<T>
            7-7 type | type Name
            9-9 enum | enum Colour
            11-13 namespace | namespace Inner
            12-12   fn | function f(x: number): void
            15-19 class | abstract class Store implements Shape<string>
            17-17   method | abstract size(): number
            18-18   method | area(): number
            21-21 fn | helper = (a: string): number
        "#]]
        .assert_eq(&out);
    }

    #[test]
    #[cfg(feature = "lang-typescript")]
    fn tsx_is_outlined_by_its_definitions() {
        let out = of(r##"import React from "react";

interface Props {
  name: string;
}

export function Hello({ name }: Props): JSX.Element {
  return <div className="a">Hello {name}</div>;
}

export const Page: React.FC = () => (
  <main>
    <Hello name="x" />
  </main>
);
"##);
        expect_test::expect![[r#"
            TSX
            3-5 interface | interface Props
            7-9 fn | function Hello({ name }: Props): JSX.Element
            11-15 fn | Page: React.FC = ()
        "#]]
        .assert_eq(&out);
    }

    #[test]
    #[cfg(feature = "lang-go")]
    fn go_is_outlined_by_its_definitions() {
        let out = of(r##"package main

import "fmt"

type Store struct {
	items []string
}

type Getter interface {
	Get(i int) string
}

func (s *Store) Get(i int) string {
	return s.items[i]
}

func main() {
	x, err := run()
	if err != nil {
		fmt.Println(x)
	}
}
"##);
        expect_test::expect![[r#"
            Go
            5-7 struct | type Store struct
            9-11 interface | type Getter interface
            13-15 method | func (s *Store) Get(i int) string
            17-22 fn | func main()
        "#]]
        .assert_eq(&out);
    }

    #[test]
    #[cfg(feature = "lang-java")]
    fn java_is_outlined_by_its_definitions() {
        let out = of(r##"package org.example;

import java.util.List;

@Entity
public class Store<T> extends Base implements Named {
    private final List<T> items;

    public Store(List<T> items) {
        this.items = items;
    }

    @Override
    @Nullable
    public T get(int index) throws IOException {
        return items.get(index);
    }

    enum Kind { A, B }
}
"##);
        expect_test::expect![[r#"
            Java
            6-20 class | public class Store<T> extends Base implements Named
            9-11   method | public Store(List<T> items)
            15-17   method | public T get(int index) throws IOException
            19-19   enum | enum Kind
        "#]]
        .assert_eq(&out);
    }

    #[test]
    #[cfg(feature = "lang-c")]
    fn c_is_outlined_by_its_definitions() {
        let out = of(r##"#include <stdio.h>
#define MAX(a, b) ((a) > (b) ? (a) : (b))

struct point {
    int x;
};

typedef struct {
    int y;
} other_t;

int add(int a, int b);

static struct point *make(int x)
{
    struct point *p = malloc(sizeof *p);
    p->x = x;
    return p;
}
"##);
        expect_test::expect![[r#"
            C
            2-2 macro | #define MAX(a, b)
            4-6 struct | struct point
            8-10 typedef | typedef struct other_t
            12-12 declaration | int add(int a, int b)
            14-19 fn | static struct point *make(int x)
        "#]]
        .assert_eq(&out);
    }

    #[test]
    #[cfg(feature = "lang-cpp")]
    fn cpp_is_outlined_by_its_definitions() {
        let out = of(r##"#include <vector>

namespace store {

template <typename T>
class Store : public Base {
public:
    explicit Store(int size);
    const T& get(size_t i) const { return items[i]; }
private:
    std::vector<T> items;
};

}  // namespace store

int main(int argc, char** argv) {
    std::vector<int> v;
    return 0;
}
"##);
        expect_test::expect![[r#"
            C++
            3-14 namespace | namespace store
            6-12   class | class Store : public Base
            8-8     declaration | explicit Store(int size)
            9-9     fn | const T& get(size_t i) const
            16-19 fn | int main(int argc, char** argv)
        "#]]
        .assert_eq(&out);
    }

    #[test]
    #[cfg(feature = "lang-ruby")]
    fn ruby_is_outlined_by_its_definitions() {
        let out = of(r##"require "set"

module Tools
  class Store < Base
    attr_reader :items

    def initialize(items)
      @items = items
    end

    def self.open(path)
      new(path)
    end

    def empty?
      @items.empty?
    end
  end
end
"##);
        expect_test::expect![[r#"
            Ruby
            3-19 module | module Tools
            4-18   class | class Store < Base
            7-9     def | def initialize(items)
            11-13     def | def self.open(path)
            15-17     def | def empty?
        "#]]
        .assert_eq(&out);
    }

    #[test]
    #[cfg(feature = "lang-php")]
    fn php_is_outlined_by_its_definitions() {
        let out = of(r##"<?php
namespace App;

use App\Base;

final class Store extends Base implements Named
{
    private $items = [];

    public function get(int $index): ?string
    {
        return $this->items[$index];
    }
}

function helper($a) { return $a; }
"##);
        expect_test::expect![[r#"
            PHP
            6-14 class | final class Store extends Base implements Named
            10-13   method | public function get(int $index): ?string
            16-16 fn | function helper($a)
        "#]]
        .assert_eq(&out);
    }

    #[test]
    #[cfg(feature = "lang-csharp")]
    fn csharp_is_outlined_by_its_definitions() {
        let out = of(r##"using System;

namespace App.Data
{
    [Serializable]
    public class Store<T> : IStore where T : class
    {
        public int Count { get; private set; }

        public Store(int size) { }

        [Obsolete]
        public async Task<T> Get(int index)
        {
            return items[index];
        }
    }

    public interface IStore { }
}
"##);
        expect_test::expect![[r#"
            C#
            3-20 namespace | namespace App.Data
            6-17   class | public class Store<T> : IStore where T : class
            8-8     property | public int Count
            10-10     method | public Store(int size)
            13-16     method | public async Task<T> Get(int index)
            19-19   interface | public interface IStore
        "#]]
        .assert_eq(&out);
    }

    #[test]
    #[cfg(feature = "lang-bash")]
    fn bash_is_outlined_by_its_definitions() {
        let out = of(r##"#!/usr/bin/env bash
set -euo pipefail

usage() {
  echo "usage: $0"
}

function build {
  if [ -n "$1" ]; then
    make "$1"
  fi
}

build all
"##);
        expect_test::expect![[r#"
            shell
            4-6 fn | usage()
            8-12 fn | function build
        "#]]
        .assert_eq(&out);
    }

    #[test]
    #[cfg(feature = "lang-lua")]
    fn lua_is_outlined_by_its_definitions() {
        let out = of(r##"local M = {}

local function helper(a)
  if a then
    return a
  end
end

function M.get(self, index)
  return self[index]
end

M.put = function(x)
  return x
end

return M
"##);
        expect_test::expect![[r#"
            Lua
            3-7 fn | local function helper(a)
            9-11 fn | function M.get(self, index)
            13-15 fn | M.put = function(x)
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_language_without_a_grammar_is_outlined_by_its_lines() {
        let out = of_file(
            "a/Store.kt",
            r##"package org.example

import java.util.UUID

data class Item(val id: Int)

class Store(private val items: List<Item>) {
    fun get(index: Int): Item {
        return items[index]
    }

    private suspend fun load() {
        val x = 1
    }
}
"##,
        );
        expect_test::expect![[r#"
            source code
            1-4 package | package org.example
            5-6 class | data class Item(val id: Int)
            7-15 class | class Store(private val items: List<Item>)
            8-11   fun | fun get(index: Int): Item
            12-15   fun | private suspend fun load()
            note: there is no grammar for it here; definitions were found by their lines
        "#]]
        .assert_eq(&out);
    }

    #[test]
    #[cfg(feature = "lang-python")]
    fn line_numbers_before_the_lines_are_no_part_of_the_code() {
        let code = [
            "import os",
            "",
            "class A:",
            "    def f(self):",
            "        return 1",
            "",
            "def main():",
            "    pass",
        ];
        let numbered = |print: fn(usize, &str) -> String| -> String {
            let lines = code.iter().enumerate().map(|(index, line)| print(index + 40, line));
            format!("[File: a.py]\n{}\n", lines.collect::<Vec<_>>().join("\n"))
        };
        let table: [fn(usize, &str) -> String; 5] = [
            |number, line| format!("{number:6}\t{line}"),
            |number, line| format!("{number}:{line}"),
            |number, line| format!("{number}: {line}"),
            |number, line| format!("{number:5} | {line}"),
            |number, line| format!("{number:6}→{line}"),
        ];
        for print in table {
            assert_eq!(
                of(&numbered(print)),
                "Python\n4-6 class | class A\n5-6   def | def f(self)\n8-9 def | def main()\n",
                "{}",
                numbered(print)
            );
        }
    }

    #[test]
    #[cfg(feature = "lang-c")]
    fn behind_what_is_parsed_functions_of_c_are_found_by_their_lines() {
        let function = |n: u64| format!("static int f{n}(int n)\n{{\n    return n + {n};\n}}\n\n");
        let code: String = (0..40_000).map(function).collect();
        let output = crate::store::memory::output_of(code.as_bytes());
        let outline = crate::outline::outline_parsing(&output, 1024 * 1024).unwrap();
        assert_eq!(outline.items.len(), 40_000);
        let note = outline.note.unwrap();
        assert!(note.starts_with("only the first 1 MiB were parsed"), "{note}");
    }

    #[test]
    #[cfg(feature = "lang-python")]
    fn junk_after_code_is_given_up_soon_and_read_by_lines() {
        let code: String = (0..9_000)
            .map(|number| format!("def f{number}(self, x):\n    return self.x[{number}]\n\n"))
            .collect();
        let junk: String =
            (0..40_000).map(|number| format!("x{number} = foo bar({number} baz {{ [ok\n")).collect();
        let out = of(&format!("import os\n{code}{junk}def after(x):\n"));
        assert!(out.starts_with("Python\n2-3 def | def f0(self, x)\n"));
        assert!(out.contains("67002-67002 def | def after(x)\n"), "{}", &out[out.len() - 400..]);
        assert!(out.contains("\nnote: what comes after line "), "{}", &out[out.len() - 400..]);
    }
}
