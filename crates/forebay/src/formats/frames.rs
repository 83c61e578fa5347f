//! Calls in stack traces.

use crate::formats::Role;
use crate::formats::matcher::Matcher;
use crate::text::gutter::without_gutter;
use memchr::memmem;
use std::sync::LazyLock;

/// Whether a line is a call in any stack trace.
pub(crate) fn is_frame(line: &[u8]) -> bool {
    static FRAMES: LazyLock<Matcher> = LazyLock::new(|| Matcher::of(&[Role::Frame]));
    FRAMES.is_match(without_gutter(line))
}

/// Whether a line is a call inside a language's runtime or a test runner. It says less than the calls of the program.
pub(crate) fn is_of_runtime(line: &[u8]) -> bool {
    static RUNTIME: LazyLock<Matcher> =
        LazyLock::new(|| Matcher::of(&[Role::RuntimeFrame, Role::RunnerFrame]));
    RUNTIME.is_match(line) && is_frame(line)
}

/// Whether a line is a call by which Java's reflection reaches a method.
pub(crate) fn is_reflection(line: &[u8]) -> bool {
    memmem::find(line, b".reflect.").is_some() && is_frame(line)
}

/// Whether a line is a call in a stack trace that begins with the innermost one.
pub(crate) fn is_call(line: &[u8]) -> bool {
    is_frame(line) && !is_inward(line)
}

/// Whether a line is a call in a stack trace that ends with the error, as Python's do.
pub(crate) fn is_inward(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"File \"")
}

/// Whether a line only marks a place in the line above: `    ^^^~~~`, `   |    ^^^`.
pub(crate) fn is_mark(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.contains(&b'^') && line.iter().all(|byte| matches!(byte, b'^' | b'~' | b' ' | b'|'))
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
