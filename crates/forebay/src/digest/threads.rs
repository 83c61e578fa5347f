//! Thread dumps: threads with the same calls are a group, and threads of small groups are outliers.

use crate::classify::form::Form;
use crate::digest::ends::Parts;
use crate::digest::failures;
use crate::digest::plan::{Plan, Wanted};
use crate::digest::probe::Probe;
use crate::digest::summarize::Summarize;
use crate::formats::frames::is_frame;
use crate::text::count::{count, grouped};
use crate::view::Summary;
use crate::view::print::Gap;
use crate::weights::folding::{
    CALLS_OF_GROUP, FAILURES_OF_DUMP, INNERMOST_CALLS, LINES_BEFORE_THREADS, MAX_THREADS, MIN_THREADS,
    RARE_GROUP, STACKS_PERCENT, Shares, THREADS_PER_OUTLIER,
};
use crate::{Budget, Output, Result, tokens};
use std::collections::HashMap;
use std::ops::Range;

/// Plans the view of a thread dump.
pub(crate) fn recognize<'p>(
    probe: &'p Probe<'p>,
    wanted: &Wanted,
    budget: Budget,
) -> Result<Option<Plan<'p>>> {
    // The calls in a dump look like a program.
    let may_be_dump =
        matches!(probe.form()?, Form::Code(_) | Form::Matches | Form::TestRun | Form::Text | Form::Log);
    if wanted.exclusive || !may_be_dump {
        return Ok(None);
    }
    let Some(threads) = probe.whole()?.and_then(Threads::of) else { return Ok(None) };
    // Failures outside of the stacks explain the dump.
    let failures = probe.failures()?;
    let units = failures.units.iter().filter(|unit| !threads.hold(unit.range.start)).cloned().collect();
    let part = Budget { tokens: budget.tokens / FAILURES_OF_DUMP, ..budget };
    let first = failures::worst(probe.output, part, units, failures.signal.highest)?;
    let outliers = threads.outliers();
    Ok(Some(Plan::Ends(Parts { first, outliers, ..Parts::new(Shares::THREADS, threads) })))
}

/// Words in the innermost calls or the notes of a thread that waits for a lock.
const BLOCKED: &[&str] = &["mutex", "Mutex", "BLOCKED", "waiting to lock", "lock_wait", "semacquire"];

/// Title above the locks that a Java thread holds.
const LOCKED: &str = "Locked ownable synchronizers:";

/// Threads of a program.
pub(crate) struct Threads {
    threads: Vec<Thread>,
    /// Indexes of threads with the same calls, the largest group first.
    groups: Vec<Vec<usize>>,
}

/// One thread.
#[derive(Default)]
struct Thread {
    heading: Range<u64>,
    /// Functions, the innermost first, each with its range.
    calls: Vec<(String, Range<u64>)>,
    /// Lines about locks and states.
    notes: Vec<Range<u64>>,
    is_blocked: bool,
    /// Offset of the thread's end.
    end: u64,
}

impl Threads {
    /// Parses an output that consists almost only of threads.
    pub(crate) fn of(bytes: &[u8]) -> Option<Threads> {
        let mut threads: Vec<Thread> = Vec::new();
        let (mut at, mut lines, mut inside, mut is_open) = (0, 0, 0, false);
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            let range = at..at + line.len() as u64;
            at = range.end;
            let text = String::from_utf8_lossy(line);
            let text = text.trim_end();
            lines += usize::from(!text.is_empty());
            if is_heading(text) {
                threads.push(Thread {
                    end: range.end,
                    heading: range,
                    is_blocked: waits(text),
                    ..Thread::default()
                });
                is_open = true;
            } else if text.is_empty() {
                is_open = false;
            } else if text.trim_start() == LOCKED {
                // After an empty line, jstack lists the locks of the thread.
                is_open = !threads.is_empty();
            } else if let Some(thread) = threads.last_mut().filter(|_| is_open) {
                is_open = thread.take(text, range);
            }
            inside += usize::from(is_open);
            // Any other output is not read to its end.
            if lines > LINES_BEFORE_THREADS && threads.is_empty() {
                return None;
            }
        }
        let calling = threads.iter().filter(|thread| !thread.calls.is_empty()).count();
        if calling < MIN_THREADS || calling * 2 < threads.len() || inside * 100 < lines * STACKS_PERCENT {
            return None;
        }
        let mut groups: HashMap<Vec<&str>, Vec<usize>> = HashMap::new();
        for (number, thread) in threads.iter().enumerate() {
            let calls = thread.calls.iter().map(|(function, _)| function.as_str()).collect();
            groups.entry(calls).or_default().push(number);
        }
        let mut groups: Vec<Vec<usize>> = groups.into_values().collect();
        groups.sort_by_key(|group| (std::cmp::Reverse(group.len()), group[0]));
        Some(Threads { threads, groups })
    }

    /// Lines of threads of small groups, except the calls that most threads have. Threads that wait for a lock come
    /// first.
    fn outliers(&self) -> Vec<Range<u64>> {
        let mut having: HashMap<&str, usize> = HashMap::new();
        for thread in &self.threads {
            let mut functions: Vec<&str> = thread.calls.iter().map(|(function, _)| &**function).collect();
            functions.sort_unstable();
            functions.dedup();
            functions.iter().for_each(|function| *having.entry(function).or_default() += 1);
        }
        let is_rare =
            |group: &Vec<usize>| group.len() <= RARE_GROUP.max(self.threads.len() / THREADS_PER_OUTLIER);
        let mut outliers: Vec<(bool, bool, bool, usize, usize, usize)> = Vec::new();
        for group in &self.groups {
            let is_common = !is_rare(group);
            let key = |(place, &number): (usize, &usize)| {
                let Thread { calls, is_blocked, .. } = &self.threads[number];
                let is_own = calls.iter().any(|(function, _)| !is_of_library(function));
                (!is_own, is_common, !is_blocked, place, group.len(), number)
            };
            // One thread of a large group is shown if it calls functions of the program.
            let calling =
                group.iter().enumerate().filter(|(_, number)| !self.threads[**number].calls.is_empty());
            let keys = calling.map(key).take(if is_common { 1 } else { usize::MAX });
            outliers.extend(keys.filter(|(is_of_library, is_common, ..)| !is_common || !is_of_library));
        }
        outliers.sort_unstable();
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for (is_of_library, is_common, .., number) in outliers.into_iter().take(MAX_THREADS) {
            let thread = &self.threads[number];
            let own = |(function, _): &&(String, _)| {
                (is_common || having[&**function] * 2 <= self.threads.len())
                    && (is_of_library || !is_of_runtime_package(function))
            };
            let calls = thread.calls.iter().filter(own).map(|(_, lines)| lines).take(INNERMOST_CALLS);
            let mut lines: Vec<&Range<u64>> = calls.chain(&thread.notes).collect();
            lines.sort_by_key(|lines| lines.start);
            let mut part = thread.heading.clone();
            for lines in lines {
                if lines.start == part.end {
                    part.end = lines.end;
                } else {
                    ranges.push(std::mem::replace(&mut part, lines.clone()));
                }
            }
            ranges.push(part);
        }
        ranges
    }

    /// Whether an offset is inside a thread.
    pub(crate) fn hold(&self, at: u64) -> bool {
        let next = self.threads.partition_point(|thread| thread.heading.start <= at);
        self.threads[..next].last().is_some_and(|thread| at < thread.end)
    }
}

impl Summarize for Threads {
    /// Groups of threads with the calls of each, the largest first.
    fn summary(&self, _: &Output, gap: &Gap, room: u64) -> Result<Option<Summary>> {
        let mut summary = Summary::uncounted().saying(count("thread", self.threads.len() as u64));
        for group in &self.groups {
            let calls = calls_of(&self.threads[group[0]].calls);
            let line = format!("× {}: {calls}", grouped(group.len() as u64));
            if summary.tokens(gap) + tokens::count(&format!("\n{line}")) > room {
                break;
            }
            summary.list.push(line);
        }
        if summary.list.is_empty() {
            return Ok(None);
        }
        let more = self.groups.len() - summary.list.len();
        if more > 0 {
            summary.list.push(format!("and {}", count("other group", more as u64)));
        }
        Ok(Some(summary))
    }
}

/// Innermost calls of a thread. If they are in a library, only the first of them, followed by the calls of the
/// program.
fn calls_of(calls: &[(String, Range<u64>)]) -> String {
    let own = calls.iter().position(|(function, _)| !is_of_library(function)).unwrap_or(0);
    let innermost = if own > 1 { calls.first() } else { None };
    let from = if own > 1 { own } else { 0 };
    let names =
        calls[from..].iter().take(CALLS_OF_GROUP - usize::from(own > 1)).map(|(function, _)| shown(function));
    let names: Vec<&str> =
        innermost.into_iter().flat_map(|(function, _)| [shown(function), "…"]).chain(names).collect();
    let more = if calls.len() - from > CALLS_OF_GROUP { " ← …" } else { "" };
    if names.is_empty() { "no calls".to_owned() } else { names.join(" ← ") + more }
}

impl Thread {
    /// Parses a line; returns whether it belongs to the thread.
    fn take(&mut self, line: &str, range: Range<u64>) -> bool {
        let (text, waits) = (line.trim_start(), waits(line));
        // Go prints the location of a call below it, and gdb its variables.
        let is_place = line.starts_with('\t') && (text.contains(".go:") || text.contains(".s:"));
        let is_variable = line.starts_with("        ") || text == "No locals.";
        if is_place {
            let last = self.calls.last_mut().filter(|(_, lines)| lines.end == range.start);
            last.into_iter().for_each(|(_, lines)| lines.end = range.end);
        } else if is_variable || text == "- None" {
            // This line belongs to the thread but carries no information.
        } else if text.starts_with("- ") || text.starts_with("java.lang.Thread.State:") {
            self.is_blocked |= waits;
            self.notes.push(range.clone());
        } else {
            let Some(function) = function(line) else { return text.starts_with("created by ") };
            self.is_blocked |= waits && self.calls.len() < INNERMOST_CALLS;
            self.calls.push((function, range.clone()));
        }
        self.end = range.end;
        true
    }
}

/// Whether a line mentions that a thread waits for a lock.
fn waits(line: &str) -> bool {
    BLOCKED.iter().any(|word| line.contains(word))
}

/// Whether a function belongs to the runtime of a language, which has its own threads.
fn is_of_runtime_package(function: &str) -> bool {
    ["runtime.", "java.lang.ref.", "jdk.internal."].iter().any(|package| function.starts_with(package))
}

/// Whether a function belongs to the standard library of a language.
fn is_of_library(function: &str) -> bool {
    let packages = ["java.", "javax.", "jdk.", "sun.", "runtime.", "sync.", "syscall.", "internal/poll."];
    packages.iter().any(|package| function.starts_with(package))
}

/// Whether a line is the heading of a thread, as gdb, Python, py-spy, Java and Go write it.
fn is_heading(line: &str) -> bool {
    let begins = |word: &str| {
        line.strip_prefix(word).is_some_and(|rest| rest.starts_with(|sign: char| sign.is_ascii_digit()))
    };
    let is_java = || {
        line.starts_with('"')
            && (line.contains("\" #") || line.contains("\" daemon") || line.contains("\" os_prio="))
            && line.contains(" nid=")
    };
    let is_spied = || line.contains(" (idle)") || line.contains(" (active");
    (begins("Thread ") || begins("Current thread "))
        && (line.contains(" (") && line.ends_with("):") || is_spied())
        || begins("goroutine ") && line.ends_with("]:")
        || is_java()
}

/// Function in a line of a stack, without its arguments and its location.
fn function(line: &str) -> Option<String> {
    let call = line.trim_start();
    if line == call && call.ends_with(')') && !call.starts_with('#') {
        // `sync.(*Mutex).Lock(0xc00001)`
        return Some(call[..call.rfind('(')?].to_owned());
    }
    // `wait (threading.py:312)`, as py-spy prints it.
    if let Some((function, place)) = call.split_once(" (").filter(|_| line != call && call.ends_with(')')) {
        let number = place.trim_end_matches(')').rsplit(':').next().unwrap_or_default();
        if place.contains(':') && !function.contains(' ') && number.bytes().all(|byte| byte.is_ascii_digit())
        {
            return Some(function.to_owned());
        }
    }
    if call.starts_with("created by ") || !is_frame(line.as_bytes()) {
        return None;
    }
    if let Some(rest) = call.strip_prefix('#') {
        let rest = rest.trim_start_matches(|sign: char| sign.is_ascii_digit()).trim_start();
        let rest = rest
            .split_once(" in ")
            .filter(|(address, _)| address.starts_with("0x"))
            .map_or(rest, |(_, rest)| rest);
        return Some(rest.split(" (").next().unwrap_or(rest).to_owned());
    }
    if let Some(rest) = call.strip_prefix("at ") {
        return Some(rest.split('(').next().unwrap_or(rest).to_owned());
    }
    Some(call.chars().filter(|sign| !sign.is_ascii_digit()).collect())
}

/// Short name of a function: the last word of `File "a.py", line in f`.
fn shown(function: &str) -> &str {
    function.strip_prefix("File ").and_then(|call| call.rsplit(' ').next()).unwrap_or(function)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::summarize::summary_of;
    use crate::store::memory::output_of;

    fn outliers(text: &str) -> (Vec<String>, String) {
        let output = output_of(text.as_bytes());
        let threads = Threads::of(text.as_bytes()).unwrap();
        let shown = threads
            .outliers()
            .iter()
            .map(|range| text[range.start as usize..range.end as usize].to_owned())
            .collect();
        (shown, summary_of(&threads, &output, 200).unwrap())
    }

    #[test]
    fn threads_that_do_something_else_are_told_from_those_that_do_the_same() {
        let gdb = |n: u32, calls: &str| {
            format!(
                "Thread {n} (Thread 0x7f{n:02} (LWP {n}) \"d\"):\n#0  0x{n:02} in __futex_wait (private=0) at futex.c:57\n        err = 1\n{calls}#9  0x01 in clone3 () at clone3.S:81\n\n"
            )
        };
        let waits = "#1  0x02 in wait_job (j=0x7f) at d.c:14\nNo locals.\n";
        let blocked = "#1  ___pthread_mutex_lock (mutex=0x55 <accounts>) at lock.c:93\n#2  0x03 in transfer (from=17) at d.c:11\n";
        let text: String = (0..20).map(|n| gdb(n, if n == 7 { blocked } else { waits })).collect();
        let (shown, said) = outliers(&text);
        // A thread of the largest group comes after them.
        let (first, others) = shown.split_at(2);
        assert_eq!(first, ["Thread 7 (Thread 0x7f07 (LWP 7) \"d\"):\n", blocked]);
        assert!(others[0].starts_with("Thread 0 ") && others.len() == 3, "{others:?}");
        assert_eq!(
            said,
            "20 threads\n× 19: __futex_wait ← wait_job ← clone3\n× 1: __futex_wait ← ___pthread_mutex_lock ← transfer ← clone3"
        );
    }

    #[test]
    fn a_dump_of_java_with_its_locks_is_told_by_the_calls_of_the_program() {
        let thread = |n: u32, calls: &str, locks: &str| {
            format!(
                "\"exec-{n}\" #{n} daemon prio=5 os_prio=0 cpu=0.3ms tid=0x7f nid=0x5 waiting\n   java.lang.Thread.State: WAITING (parking)\n{calls}\tat java.lang.Thread.run(Thread.java:840)\n\n   Locked ownable synchronizers:\n\t- {locks}\n\n"
            )
        };
        let waits = "\tat jdk.internal.misc.Unsafe.park(Native Method)\n\tat java.util.concurrent.Semaphore.acquire(S.java:3)\n\tat Shop$Pool.borrow(Shop.java:4)\n";
        let sleeps =
            "\tat java.lang.Thread.sleep(Native Method)\n\tat Shop$Repository.slowQuery(Shop.java:7)\n";
        let held = "<0x07> (a java.util.concurrent.locks.ReentrantLock)";
        let text: String = (0..30)
            .map(|n| if n == 4 { thread(n, sleeps, held) } else { thread(n, waits, "None") })
            .collect();
        let (shown, said) = outliers(&text);
        let shown = shown.concat();
        assert!(
            shown.starts_with("\"exec-4\"") && shown.contains("slowQuery") && shown.contains(held),
            "{shown}"
        );
        assert!(
            shown.contains("\"exec-0\"") && !shown.contains("\"exec-1\"") && !shown.contains("None"),
            "{shown}"
        );
        assert!(said.contains("× 29: jdk.internal.misc.Unsafe.park ← … ← Shop$Pool.borrow"), "{said}");
    }

    #[test]
    fn the_dumps_of_other_languages_are_read_too() {
        let python = |n: u32| {
            let does = if n == 3 { "a.py\", line 8 in transfer" } else { "queue.py\", line 171 in get" };
            format!(
                "Thread 0x00{n} (most recent call first):\n  File \"{does}\n  File \"threading.py\", line 982 in run\n\n"
            )
        };
        let go = |n: u32| {
            let does = if n == 3 {
                "sync.(*Mutex).Lock(...)\n\t/go/src/sync/mutex.go:90\nmain.transfer(0x1)\n\t/d.go:5 +0x1d\n"
            } else {
                "main.worker(0x2)\n\t/d.go:4 +0x1d\n"
            };
            format!(
                "goroutine {n} [chan receive]:\nruntime.gopark(0x1, 0x2)\n\t/go/src/runtime/proc.go:363 +0xd6\n{does}created by main.main\n\t/d.go:7 +0x65\n\n"
            )
        };
        let java = |n: u32| {
            let does = if n == 3 {
                "   java.lang.Thread.State: BLOCKED (on object monitor)\n\tat D.transfer(D.java:3)\n\t- waiting to lock <0x07> (a java.lang.Object)\n"
            } else {
                "   java.lang.Thread.State: WAITING (parking)\n\tat jdk.internal.misc.Unsafe.park(Native Method)\n"
            };
            format!(
                "\"worker-{n}\" #{n} prio=5 os_prio=0 tid=0x7f nid=0x5 waiting\n{does}\tat java.lang.Thread.run(Thread.java:833)\n\n"
            )
        };
        let spied = |n: u32| {
            let does = if n == 3 {
                "transfer (app/bank.py:42)"
            } else {
                "wait (threading.py:312)\n    get (queue.py:171)"
            };
            format!("Thread {n} (idle): \"worker\"\n    {does}\n    run (threading.py:982)\n")
        };
        let table: [(String, &str, &str); 4] = [
            (
                (0..20).map(spied).collect(),
                "Thread 3 (idle): \"worker\"\n    transfer (app/bank.py:42)\n",
                "× 19: wait ← get ← run",
            ),
            (
                (0..20).map(python).collect(),
                "Thread 0x003 (most recent call first):\n  File \"a.py\", line 8 in transfer\n",
                "× 19: get ← run",
            ),
            (
                (0..20).map(go).collect(),
                "sync.(*Mutex).Lock(...)\n\t/go/src/sync/mutex.go:90\nmain.transfer(0x1)\n\t/d.go:5 +0x1d\n",
                "× 19: runtime.gopark ← main.worker",
            ),
            (
                (0..20).map(java).collect(),
                "\"worker-3\" #3 prio=5 os_prio=0 tid=0x7f nid=0x5 waiting\n   java.lang.Thread.State: BLOCKED (on object monitor)\n\tat D.transfer(D.java:3)\n\t- waiting to lock <0x07> (a java.lang.Object)\n",
                "× 19: jdk.internal.misc.Unsafe.park ← java.lang.Thread.run",
            ),
        ];
        for (text, shown, said) in table {
            let (parts, groups) = outliers(&text);
            assert!(parts.iter().any(|part| part == shown), "{parts:?}");
            assert!(groups.contains(said), "{groups}");
        }
    }

    #[test]
    fn a_few_stacks_in_a_log_are_no_dump() {
        let stack = "goroutine 1 [running]:\nmain.f(0x1)\n\t/d.go:4 +0x1d\n\n";
        let log: String = (0..200).map(|n| format!("step {n} is done\n")).collect();
        let workers: String =
            (0..200).map(|n| format!("Thread {n} (worker-{n}): processed a batch\n")).collect();
        let stamped: String =
            (0..200).map(|n| format!("\"10:00:{n}\" level=info nid={n} tid={n}\n")).collect();
        for text in [stack.repeat(7), log + &stack.repeat(9), workers, stamped] {
            assert!(Threads::of(text.as_bytes()).is_none());
        }
    }
}
