//! Limits on a filter's steps, memory and stack, counted without a clock.
//!
//! One unit is a step of the filter, or 16 bytes that it makes. [`program`](super::program) rewrites filters so that
//! everything that repeats or makes something is counted.

use crate::Stop;
use crate::query::json::jq::regexes::Pattern;
use jaq_json::{Num, Val};
use std::cell::{Cell, RefCell};

/// Stack of a thread that runs filters, in bytes. Only the part in use takes memory.
pub(crate) const STACK: usize = 1024 * 1024 * 1024;

/// Bytes of the stack that calls may take; the rest is for dropping, comparing and printing their values.
const CALLS: usize = STACK / 8;

/// Maximum nested calls of a filter that passes filters to itself. Each may hold the one before, so dropping the last
/// drops all of them, recursively.
const NESTED: u32 = 2_000_000;

/// Maximum depth of a value that a filter makes.
const DEEPEST: usize = 200_000;

/// Maximum bits of an integer.
const MANY_BITS: u64 = 1 << 20;

/// Maximum compiled patterns in the cache: filters use the same few for each value.
const PATTERNS: usize = 8;

/// Number of new arrays and objects of which one has its depth measured.
const MEASURED: u32 = 4096;

/// Fuel that is left for one run of a filter.
pub(crate) struct Fuel {
    left: Cell<u64>,
    given: Cell<u64>,
    /// Stack address at which the run began.
    base: usize,
    built: Cell<u32>,
    nested: Cell<u32>,
    why: Cell<Option<&'static str>>,
    /// Stop flag of the caller.
    stop: Stop,
    patterns: RefCell<Vec<((String, String), Pattern)>>,
}

impl Fuel {
    /// Maximum bytes of a string that a filter makes.
    pub(crate) const LONGEST: usize = 32 * 1024 * 1024;

    /// Fuel for runs that begin about here on the stack, on a thread with [`STACK`]. Raising the flag ends the run.
    pub(crate) fn new(stop: &Stop) -> Fuel {
        Fuel {
            stop: stop.clone(),
            patterns: RefCell::default(),
            left: Cell::new(0),
            given: Cell::new(0),
            base: here(),
            built: Cell::new(0),
            nested: Cell::new(0),
            why: Cell::new(None),
        }
    }

    /// Sets the fuel of the next run.
    pub(crate) fn refill(&self, units: u64) {
        self.left.set(units);
        self.given.set(units);
        self.nested.set(0);
        self.why.set(None);
    }

    /// Units used since the last refill.
    pub(crate) fn used(&self) -> u64 {
        self.given.get() - self.left.get()
    }

    /// Why the run was stopped, if it was.
    pub(crate) fn why(&self) -> Option<String> {
        let why = self.why.get()?;
        Some(self.stop.why().unwrap_or(why).to_owned())
    }

    /// Whether the run may continue.
    pub(crate) fn goes_on(&self) -> bool {
        self.why.get().is_none()
    }

    fn stop(&self, why: &'static str) -> bool {
        self.why.set(Some(why));
        self.left.set(0);
        false
    }

    /// Uses units; returns whether the run may continue.
    pub(crate) fn spend(&self, units: u64) -> bool {
        match self.left.get().checked_sub(units) {
            Some(left) if self.why.get().is_none() => {
                self.left.set(left);
                true
            }
            _ if self.why.get().is_some() => false,
            _ => self.stop("it takes too many steps or too much memory"),
        }
    }

    /// Counts one step; returns whether the run may continue.
    pub(crate) fn step(&self) -> bool {
        if self.stop.is_raised() {
            return self.stop("its caller ended it");
        }
        // Calls that are not in tail position are on the stack.
        if self.base.abs_diff(here()) > CALLS {
            return self.stop("it calls itself too deep");
        }
        self.spend(1)
    }

    /// Counts one step of a filter that takes filters and calls itself; returns whether the run may continue.
    pub(crate) fn nest(&self) -> bool {
        let nested = self.nested.get() + 1;
        self.nested.set(nested);
        if nested > NESTED {
            return self.stop("it calls itself too often with filters as arguments");
        }
        self.step()
    }

    /// Counts a string of this many bytes before it is made.
    pub(crate) fn text(&self, length: usize) -> bool {
        if length > Fuel::LONGEST {
            return self.stop("it makes a string of more than 32 MiB");
        }
        self.spend(length as u64 / 16)
    }

    /// Counts a new value, without its contents.
    pub(crate) fn made(&self, value: &Val) -> bool {
        match value {
            Val::TStr(text) | Val::BStr(text) => self.text(text.len()),
            Val::Arr(items) => self.spend(items.len() as u64),
            Val::Obj(members) => self.spend(members.len() as u64 * 4),
            _ => true,
        }
    }

    /// Counts all contents of a value, as often as they are reached, before an operation visits all of them.
    pub(crate) fn weigh(&self, value: &Val) -> bool {
        let mut nodes = 0;
        let whole = self.weigh_inside(value, 0, &mut nodes);
        whole && self.spend(nodes / 8)
    }

    fn weigh_inside(&self, value: &Val, depth: usize, nodes: &mut u64) -> bool {
        if depth > DEEPEST {
            return self.stop("it makes a value that is nested too deep");
        }
        *nodes += match value {
            // Eight nodes are a unit, and so are 16 bytes.
            Val::TStr(text) | Val::BStr(text) => 1 + text.len() as u64 / 2,
            _ => 1,
        };
        if *nodes / 8 > self.left.get() {
            return self.stop("it takes too many steps or too much memory");
        }
        match value {
            Val::Arr(items) => items.iter().all(|item| self.weigh_inside(item, depth + 1, nodes)),
            Val::Obj(members) => members.iter().all(|(key, value)| {
                is_plain(key) && self.weigh_inside(value, depth + 1, nodes)
                    || self.weigh_inside(key, depth + 1, nodes) && self.weigh_inside(value, depth + 1, nodes)
            }),
            _ => true,
        }
    }

    /// Counts a new array or object, and sometimes measures its depth.
    pub(crate) fn built(&self, value: &Val) -> bool {
        let built = self.built.get().wrapping_add(1);
        self.built.set(built);
        if built.is_multiple_of(MEASURED) { self.weigh(value) } else { self.spend(2) }
    }

    /// Counts an object that a filter constructs: about 64 bytes for each member, and 128 for itself.
    pub(crate) fn object(&self, value: &Val) -> bool {
        let members = if let Val::Obj(members) = value { members.len() as u64 } else { 0 };
        self.built(value) && self.spend(4 + 4 * members)
    }

    /// Counts going through a string that is only read.
    pub(crate) fn looked_at(&self, value: &Val) -> bool {
        match value {
            Val::TStr(text) | Val::BStr(text) => self.spend(text.len() as u64 / 64),
            _ => true,
        }
    }

    /// Counts the numbers of an exploded string: 16 bytes each.
    pub(crate) fn exploded(&self, value: &Val) -> bool {
        match value {
            Val::TStr(text) | Val::BStr(text) => self.spend(text.len() as u64),
            _ => true,
        }
    }

    /// Counts a search for everything of one value in the other.
    pub(crate) fn contained(&self, value: &Val, wanted: &Val) -> bool {
        let (mut nodes, mut times) = (0, 0);
        if !self.weigh_inside(value, 0, &mut nodes) || !self.weigh_inside(wanted, 0, &mut times) {
            return false;
        }
        match (value, wanted) {
            (Val::Arr(_) | Val::Obj(_), Val::Arr(_) | Val::Obj(_)) => {
                self.spend(nodes.saturating_mul(times) / 8)
            }
            _ => self.spend((nodes + times) / 8),
        }
    }

    /// A pattern, compiled once.
    pub(crate) fn pattern(&self, pattern: &str, flags: &str) -> Result<Pattern, jaq_core::Error<Val>> {
        let mut patterns = self.patterns.borrow_mut();
        let known = patterns.iter().find(|((one, other), _)| one == pattern && other == flags);
        if let Some((_, compiled)) = known {
            return Ok(compiled.clone());
        }
        let compiled = Pattern::new(pattern, flags)?;
        if patterns.len() == PATTERNS {
            patterns.remove(0);
        }
        patterns.push(((pattern.to_owned(), flags.to_owned()), compiled.clone()));
        Ok(compiled)
    }

    /// Counts a difference before it is made.
    pub(crate) fn difference(&self, left: &Val, right: &Val) -> bool {
        match (left, right) {
            (Val::Arr(_), Val::Arr(_)) => self.weigh(left) && self.weigh(right),
            _ => self.integers(left, right),
        }
    }

    /// Counts a quotient before it is made: for strings, the parts between separators, of about 64 bytes each.
    pub(crate) fn quotient(&self, left: &Val, right: &Val) -> bool {
        match (left, right) {
            (Val::TStr(text), Val::TStr(by)) | (Val::BStr(text), Val::BStr(by)) => {
                let parts = if by.is_empty() {
                    text.len()
                } else {
                    memchr::memmem::find_iter(text, &by[..]).count() + 1
                };
                self.spend(text.len() as u64 / 16 + parts as u64 * 4)
            }
            _ => self.integers(left, right),
        }
    }

    /// Counts a sum before it is made.
    pub(crate) fn sum(&self, left: &Val, right: &Val) -> bool {
        match (left, right) {
            (Val::TStr(left) | Val::BStr(left), Val::TStr(right) | Val::BStr(right)) => {
                let copied = if left.is_unique() { right.len() } else { left.len() + right.len() };
                left.len() + right.len() <= Fuel::LONGEST && self.spend(copied as u64 / 16 + 1)
                    || self.text(left.len() + right.len())
            }
            (Val::Arr(left), Val::Arr(right)) => {
                let kept = jaq_json::Rc::strong_count(left) == 1;
                self.spend(if kept { right.len() } else { left.len() + right.len() } as u64 + 1)
            }
            (Val::Obj(left), Val::Obj(right)) => {
                let kept = jaq_json::Rc::strong_count(left) == 1;
                self.spend(if kept { right.len() } else { left.len() + right.len() } as u64 * 4 + 1)
            }
            _ => self.integers(left, right),
        }
    }

    /// Counts a product before it is made.
    pub(crate) fn product(&self, left: &Val, right: &Val) -> bool {
        match (left, right) {
            (Val::TStr(text) | Val::BStr(text), Val::Num(times))
            | (Val::Num(times), Val::TStr(text) | Val::BStr(text)) => {
                let times = match times {
                    Num::Int(times) => usize::try_from(*times).unwrap_or(0),
                    // Only an integer repeats a string, and a big one repeats it too often.
                    _ => usize::MAX,
                };
                self.text(text.len().saturating_mul(times))
            }
            (Val::Obj(_), Val::Obj(_)) => self.weigh(left) && self.weigh(right),
            _ => self.integers(left, right),
        }
    }

    fn integers(&self, left: &Val, right: &Val) -> bool {
        let bits = |value: &Val| match value {
            Val::Num(Num::BigInt(integer)) => integer.bits(),
            _ => 64,
        };
        let bits = bits(left) + bits(right);
        if bits > MANY_BITS {
            return self.stop("it makes an integer of more than a million bits");
        }
        bits <= 128 || self.spend(bits / 16)
    }
}

fn is_plain(value: &Val) -> bool {
    !matches!(value, Val::Arr(_) | Val::Obj(_))
}

/// Approximate current stack address.
#[inline(never)]
fn here() -> usize {
    let mark = 0u8;
    std::hint::black_box(std::ptr::from_ref(&mark)).addr()
}
