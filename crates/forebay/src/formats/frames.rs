//! Which lines are calls of a stack trace, in the forms of many languages.

use crate::text::gutter::{depth, without_gutter};
use aho_corasick::AhoCorasick;
use memchr::memmem;
use std::sync::LazyLock;

/// How calls begin: Java, JavaScript, C# and Rust's places; Python; OCaml; Go.
const BEGINNING: &[&str] = &["at ", "File \"", "Called from ", "Raised at ", "Re-raised at ", "created by "];

/// What only calls have in them: Ruby; Haskell and Perl; Lua. Before it stands a place.
const HAVING: &[&str] =
    &[":in `", ":in '", ", called at ", ") called at ", ": in function ", ": in upvalue ", ": in main chunk"];

/// Whether a line is a call in any stack trace.
pub(crate) fn is_frame(line: &[u8]) -> bool {
    let call = without_gutter(line).trim_ascii_start();
    BEGINNING.iter().any(|with| call.starts_with(with.as_bytes()))
        || HAVING.iter().any(|with| memmem::find(call, with.as_bytes()).is_some())
        || is_numbered(call)
        || depth(line) > 0 && (is_rust(call) || is_go(call) || is_elixir(call))
}

/// What only calls inside of a language's own runtime have in them: of Rust, Java and Go, and where C begins.
const RUNTIME: &[&str] = &[
    "at /rustc/",
    ": core::",
    ": std::",
    ": __rustc::",
    ": rust_begin_unwind",
    "java.lang.Thread.run(",
    "java.util.concurrent.",
    "/go/src/runtime/",
    "/go/src/testing/",
    "libc_start",
];

/// What only calls have in them by which a runner comes to a test: of Ruby, Java, JavaScript and Python.
const RUNNERS: &[&str] = &[
    "/gems/rspec-core-",
    "/gems/minitest-",
    "at org.junit.runners.",
    "at org.junit.platform.",
    "at org.junit.jupiter.engine.",
    "at org.apache.maven.surefire.",
    "at org.gradle.api.internal.tasks.testing.",
    "/node_modules/mocha/",
    "/node_modules/jest-circus/",
    "/node_modules/jest-jasmine2/",
    "/node_modules/jest-runner/",
    "-packages/_pytest/",
    "-packages/pluggy/",
];

/// Whether a call is one inside of a language's own runtime or of what runs tests: it tells less than those of the program.
pub(crate) fn is_of_runtime(line: &[u8]) -> bool {
    #[expect(clippy::expect_used, reason = "the words are part of the program, and tests look for them")]
    static FINDER: LazyLock<AhoCorasick> =
        LazyLock::new(|| AhoCorasick::new(RUNTIME.iter().chain(RUNNERS)).expect("words of this file"));
    FINDER.is_match(line) && is_frame(line)
}

/// Whether a call is one by which Java calls a method that it does not know.
pub(crate) fn is_reflection(line: &[u8]) -> bool {
    memmem::find(line, b".reflect.").is_some() && is_frame(line)
}

/// Whether a line is a call in a stack trace that begins with the innermost one.
pub(crate) fn is_call(line: &[u8]) -> bool {
    is_frame(line) && !is_inward(line)
}

/// Whether a line is a call in a stack trace that ends with what went wrong.
pub(crate) fn is_inward(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"File \"")
}

/// Whether a line only marks a place in the one above it: `    ^^^~~~`, `   |    ^^^`.
pub(crate) fn is_mark(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.contains(&b'^') && line.iter().all(|byte| matches!(byte, b'^' | b'~' | b' ' | b'|'))
}

/// `#3 0x45 in main`, `#1  main () at main.c:3`, `#0 /srv/a.php(12): f()`. Builds number their steps so too.
fn is_numbered(call: &[u8]) -> bool {
    call.strip_prefix(b"#").is_some_and(|rest| {
        let digits = digits(rest);
        let call = rest[digits..].trim_ascii_start();
        let begins = [&b"0x"[..], b"/", b"{main}", b"[internal"].iter().any(|with| call.starts_with(with));
        digits > 0 && (begins || memmem::find(call, b") at ").is_some())
    })
}

/// `3: core::panicking::panic_fmt`.
fn is_rust(call: &[u8]) -> bool {
    let name = call[digits(call)..].strip_prefix(b": ").filter(|_| digits(call) > 0);
    name.is_some_and(|name| memmem::find(name, b"::").is_some())
}

/// `/srv/main.go:12 +0x1d`.
fn is_go(call: &[u8]) -> bool {
    memmem::find(call, b".go:").is_some_and(|at| memmem::find(&call[at..], b" +0x").is_some())
}

/// `(shop 0.1.0) lib/shop.ex:3: Shop.total/1`.
fn is_elixir(call: &[u8]) -> bool {
    let place = call.strip_prefix(b"(").and_then(|call| Some(&call[memmem::find(call, b") ")? + 2..]));
    place.is_some_and(|place| {
        [&b".ex:"[..], b".exs:", b".erl:"].iter().any(|ending| memmem::find(place, ending).is_some())
    })
}

/// How many digits a text begins with.
fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_marks_a_place_is_known() {
        for (line, expected) in
            [("    ^^^~~~", true), ("  |   ^", true), ("  | ---", false), ("a ^ b", false), ("", false)]
        {
            assert_eq!(is_mark(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn calls_of_a_runtime_and_of_runners_are_told_from_those_of_a_program() {
        for (line, expected) in [
            ("   1: core::panicking::panic_fmt", true),
            ("             at /rustc/5980761/library/core/src/panicking.rs:80:14", true),
            ("\tat java.base/java.lang.Thread.run(Thread.java:829)", true),
            ("\tat java.base/java.util.concurrent.FutureTask.run(FutureTask.java:264)", true),
            ("\tat java.base/java.io.FileInputStream.open(FileInputStream.java:219)", false),
            ("\tat java.base/java.lang.reflect.Method.invoke(Method.java:566)", false),
            ("\tat org.junit.runners.ParentRunner.run(ParentRunner.java:363)", true),
            ("\tat org.junit.Assert.fail(Assert.java:88)", false),
            (
                "     # /var/lib/gems/3.1.0/gems/rspec-core-3.12.0/lib/rspec/core/example.rb:263:in `run'",
                true,
            ),
            ("    at run (/app/node_modules/jest-circus/build/run.js:12:3)", true),
            ("  File \"/usr/lib/python3/dist-packages/_pytest/python.py\", line 195, in call", true),
            ("\t/usr/local/go/src/runtime/panic.go:884 +0x212", true),
            ("    #1 0x7efe in __libc_start_call_main ../sysdeps/libc_start_call_main.h:58", true),
            ("   3: bytes::bytes_mut::BytesMut::split_to", false),
            ("\tat shop.Cart.total(Cart.java:12)", false),
            ("error: std::fs is not found", false),
        ] {
            assert_eq!(is_of_runtime(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn a_call_in_a_stack_trace_is_told_from_what_looks_like_one() {
        for (line, expected) in [
            ("    at Module.load (module.js:3)", true),
            ("  File \"a.py\", line 3, in f", true),
            ("    #0 0x45508 in main /src/a.c:12:3", true),
            ("#1  main (argc=1) at main.c:3", true),
            ("#0 /srv/a.php(12): f()", true),
            ("#2 {main}", true),
            ("\tfrom /srv/shop.rb:12:in `total'", true),
            ("     # ./spec/shop_spec.rb:3:in 'block (2 levels) in <top>'", true),
            ("  17: std::rt::lang_start_internal", true),
            ("\t/srv/main.go:12 +0x1d", true),
            ("created by main.serve in goroutine 1", true),
            ("    (shop 0.1.0) lib/shop.ex:3: Shop.total/1", true),
            ("\tmain::total(3) called at shop.pl line 12", true),
            ("  error, called at src/Shop.hs:12:3 in main:Shop", true),
            ("\tshop.lua:3: in function 'total'", true),
            ("Called from Shop.total in file \"shop.ml\", line 3, characters 2-9", true),
            ("#12 [build 3/5] RUN make", false),
            ("#12 0.345 make: *** [all] Error 2", false),
            ("#12 ERROR: it did not work", false),
            ("# a comment", false),
            ("3: use std::fs;", false),
            ("shop.go:12:3: undefined: total", false),
            ("  (see lib/shop.rs)", false),
        ] {
            assert_eq!(is_frame(line.as_bytes()), expected, "{line}");
        }
    }
}
