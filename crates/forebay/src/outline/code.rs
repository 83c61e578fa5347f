//! Classes, functions and other definitions of source code.

#[cfg(feature = "outline")]
mod tree;

use crate::Result;
use crate::classify::languages::Language;
use crate::classify::lines::Source;
#[cfg(feature = "outline")]
use crate::classify::{syntax_tree, text::text};
use crate::outline::{Items, definitions};

/// Maximum bytes that are parsed. The parser reads a few megabytes per second.
pub(crate) const MAX_PARSED_OUTLINE: u64 = 4 * 1024 * 1024;

/// How definitions are found where nothing is parsed.
const BY_LINES: &str = "definitions were found by their lines";

/// Adds the definitions in up to `most` parsed bytes. Returns a note on the unparsed part, with the reason.
#[cfg_attr(not(feature = "outline"), expect(unused_variables, reason = "nothing is parsed"))]
pub(crate) fn outline(
    source: &Source,
    language: Language,
    most: u64,
    items: &mut Items,
) -> Result<Option<String>> {
    #[cfg(feature = "outline")]
    if language.has_grammar() {
        return parsed(source, language, most, items);
    }
    items.append(definitions::outline(source, language, 0)?);
    Ok(Some(format!("there is no grammar for it here; {BY_LINES}")))
}

/// Adds the definitions in the syntax tree of the first `most` bytes, and finds those after them by their lines.
#[cfg(feature = "outline")]
fn parsed(source: &Source, language: Language, most: u64, items: &mut Items) -> Result<Option<String>> {
    let text = text(source, most)?;
    let end = syntax_tree::fitting(language, &text.bytes);
    let fits = &text.bytes[..end];
    let (from, note) = if end < text.bytes.len() {
        let lines = memchr::memchr_iter(b'\n', fits).count() as u64;
        let note = format!("what comes after line {lines} does not parse well; there {BY_LINES}");
        (source.output.line_start(lines)?, Some(note))
    } else {
        let cut = text.read < source.output.len();
        let note = || format!("only the first {} MiB were parsed; after them {BY_LINES}", most >> 20);
        (text.read, cut.then(note))
    };
    let (beginning, rest) =
        source.output.both(|| tree::items(language, fits), || definitions::outline(source, language, from));
    let Ok(beginning) = beginning else {
        items.append(definitions::outline(source, language, 0)?);
        return Ok(Some(format!("it does not parse well; {BY_LINES}")));
    };
    items.append(beginning);
    items.append(rest?);
    Ok(note)
}

#[cfg(test)]
mod tests {
    #[cfg(feature = "outline")]
    use crate::outline::tests::of;
    use crate::outline::tests::of_file;

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
