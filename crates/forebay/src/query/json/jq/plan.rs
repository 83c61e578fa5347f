//! The plan of a filter for a large document: the part that can run piece by piece.
//!
//! A filter is split at its pipes. The paths that it begins with (`.items`, `.[3]`) are followed in the bytes, and
//! where it then goes through all members (`.[]`, `map`, `[.[] | …]`, `first(.[] | …)`), each member is read by itself.

use crate::query::json::jq::program::{Tree, pipe, visit};
use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::Term;
use jaq_core::path::{Part, Path};
use jaq_json::Val;

/// A step of a path that is followed in the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    /// From the end if it is negative.
    Index(i64),
}

/// The plan for one document.
pub(crate) struct Plan<'s> {
    /// The path to the value that the rest works on.
    pub steps: Vec<Step>,
    /// The filter in parts that are piped: first one for each step.
    atoms: Vec<Tree<'s>>,
    /// Number of steps outside of brackets and calls.
    outside: usize,
    pub then: Then<'s>,
    wrap: Vec<jaq_core::load::parse::Def<&'s str>>,
}

/// The use of the value that the path leads to.
pub(crate) enum Then<'s> {
    /// It is parsed as a whole for the filter.
    Whole(Tree<'s>),
    /// Only the list of its members is read.
    Members(Tree<'s>),
    /// The members from one number to another are read together.
    Slice { from: u64, to: u64, filter: Tree<'s> },
    /// Each member is read by itself.
    Each { filter: Tree<'s>, limit: Option<u64>, after: After<'s> },
}

/// The use of the results for all members.
pub(crate) enum After<'s> {
    /// They are the results.
    Nothing,
    /// They make an array.
    Array,
    /// They make an array, which is the input of this filter.
    Filter(Tree<'s>),
    /// Their number is the input of this filter.
    Count(Tree<'s>),
}

/// Filters whose meaning the plan relies on. A filter that redefines one is not split.
const KNOWN: [&str; 9] = ["map", "first", "limit", "length", "keys", "keys_unsorted", "has", "type", "last"];

/// The plan of a filter.
pub(crate) fn plan<'s>(tree: &Tree<'s>) -> Plan<'s> {
    let mut redefined = false;
    visit(tree, &mut |tree| {
        if let Term::Def(defs, _) = tree {
            redefined |= defs.iter().any(|def| KNOWN.contains(&def.name));
        }
    });
    let whole = || Plan {
        steps: Vec::new(),
        atoms: Vec::new(),
        outside: 0,
        then: Then::Whole(tree.clone()),
        wrap: Vec::new(),
    };
    if redefined {
        return whole();
    }
    match tree {
        Term::Def(defs, inner) => Plan { wrap: defs.clone(), ..plan_of(flat(inner)) },
        tree => plan_of(flat(tree)),
    }
}

impl<'s> Plan<'s> {
    /// The filter from its step of this number on, and its input where that step finds `value`.
    ///
    /// A step inside of brackets cannot run without them, so there the value is put back to its place.
    pub(crate) fn step_onwards(&self, number: usize, value: Val) -> (Tree<'s>, Val) {
        let outside = number.min(self.outside);
        let value = self.steps[outside..number].iter().rev().fold(value, |value, step| match step {
            Step::Key(key) => Val::obj([(Val::from(key.clone()), value)].into_iter().collect()),
            Step::Index(at) => {
                let nulls = usize::try_from(at.unsigned_abs()).unwrap_or(usize::MAX).min(MANY_NULLS);
                let nulls = std::iter::repeat_n(Val::Null, nulls);
                match at {
                    0.. => nulls.chain([value]).collect(),
                    _ => [value].into_iter().chain(nulls.skip(1)).collect(),
                }
            }
        });
        (self.with_definitions(join(&self.atoms[outside..])), value)
    }

    /// A tree of the plan, with the definitions that it needs.
    pub(crate) fn with_definitions(&self, tree: Tree<'s>) -> Tree<'s> {
        if self.wrap.is_empty() { tree } else { Term::Def(self.wrap.clone(), Box::new(tree)) }
    }

    /// Whether it needs the whole document.
    pub(crate) fn is_whole(&self) -> bool {
        self.steps.is_empty() && matches!(self.then, Then::Whole(_))
    }
}

fn join<'s>(atoms: &[Tree<'s>]) -> Tree<'s> {
    let mut atoms = atoms.iter().rev().cloned();
    let last = atoms.next().unwrap_or(Term::Id);
    atoms.fold(last, |joined, atom| pipe(atom, joined))
}

/// A filter as parts that are piped one into the next.
pub(crate) fn flat<'s>(tree: &Tree<'s>) -> Vec<Tree<'s>> {
    match tree {
        Term::Id => Vec::new(),
        Term::BinOp(left, jaq_core::load::parse::BinaryOp::Pipe(None), right) => {
            let mut atoms = flat(left);
            atoms.extend(flat(right));
            atoms
        }
        Term::Path(of, Path(parts)) if parts.iter().all(|(part, _)| is_constant(part)) => {
            let mut atoms = flat(of);
            atoms.extend(parts.iter().map(|part| Term::Path(Box::new(Term::Id), Path(vec![part.clone()]))));
            atoms
        }
        tree => vec![tree.clone()],
    }
}

fn is_constant(part: &Part<Tree>) -> bool {
    let constant = |tree: &Tree| text(tree).is_some() || integer(tree).is_some();
    match part {
        Part::Index(index) => constant(index),
        Part::Range(from, to) => from.iter().chain(to).all(constant),
    }
}

pub(crate) fn text(tree: &Tree) -> Option<String> {
    let Term::Str(None, parts) = tree else { return None };
    parts
        .iter()
        .map(|part| match part {
            StrPart::Str(text) => Some((*text).to_owned()),
            StrPart::Char(character) => Some(character.to_string()),
            StrPart::Term(_) => None,
        })
        .collect()
}

pub(crate) fn integer(tree: &Tree) -> Option<i64> {
    match tree {
        Term::Num(digits) => digits.parse().ok(),
        Term::Neg(inner) => integer(inner).map(|integer| -integer),
        _ => None,
    }
}

fn the_part<'t, 's>(atom: &'t Tree<'s>) -> Option<&'t Part<Tree<'s>>> {
    match atom {
        Term::Path(of, Path(parts)) if matches!(**of, Term::Id) && parts.len() == 1 => Some(&parts[0].0),
        _ => None,
    }
}

/// Maximum length of an array that a value is put back into.
const MANY_NULLS: usize = 1 << 24;

/// Lowest index that is followed in the bytes: as many members are remembered from the end.
const FROM_THE_END: i64 = -1000;

fn plan_of(atoms: Vec<Tree<'_>>) -> Plan<'_> {
    let mut steps = Vec::new();
    for atom in &atoms {
        let step = match the_part(atom) {
            Some(Part::Index(index)) => text(index)
                .map(Step::Key)
                .or_else(|| integer(index).filter(|&at| at >= FROM_THE_END).map(Step::Index)),
            _ => None,
        };
        match step {
            Some(step) => steps.push(step),
            None => break,
        }
    }
    let here = steps.len();
    let rest = &atoms[(here + 1).min(atoms.len())..];
    let then = match atoms.get(here) {
        None => Then::Whole(Term::Id),
        Some(atom) => match (the_part(atom), atom) {
            (Some(Part::Range(None, None)), _) => {
                Then::Each { filter: join(rest), limit: None, after: After::Nothing }
            }
            (Some(Part::Range(from, to)), _) => {
                let bound = |bound: &Option<Tree>, default| match bound {
                    None => Some(default),
                    Some(tree) => integer(tree).and_then(|bound| u64::try_from(bound).ok()),
                };
                match (bound(from, 0), bound(to, u64::MAX)) {
                    (Some(from), Some(to)) => Then::Slice { from, to, filter: join(rest) },
                    _ => Then::Whole(join(&atoms[here..])),
                }
            }
            (_, Term::Call("map", args)) if args.len() == 1 => {
                Then::Each { filter: args[0].clone(), limit: None, after: after(rest) }
            }
            (_, Term::Arr(Some(inner))) => match plan_of(flat(inner)) {
                Plan { steps: more, then: Then::Each { filter, limit, after: After::Nothing }, .. } => {
                    steps.extend(more);
                    Then::Each { filter, limit, after: after(rest) }
                }
                _ => Then::Whole(join(&atoms[here..])),
            },
            (_, Term::Call(name @ ("first" | "limit"), args)) if !args.is_empty() => {
                let (limit, inner) = match (*name, &args[..]) {
                    ("first", [inner]) => (Some(1), inner),
                    ("limit", [limit, inner]) => {
                        (integer(limit).and_then(|limit| u64::try_from(limit).ok()), inner)
                    }
                    _ => (None, &args[0]),
                };
                match (limit, plan_of(flat(inner))) {
                    (
                        Some(limit),
                        Plan {
                            steps: more,
                            then: Then::Each { filter, limit: None, after: After::Nothing },
                            ..
                        },
                    ) => {
                        let after = if rest.is_empty() {
                            After::Nothing
                        } else {
                            let each = Term::Path(
                                Box::new(Term::Id),
                                Path(vec![(Part::Range(None, None), jaq_core::path::Opt::Essential)]),
                            );
                            After::Filter(pipe(each, join(rest)))
                        };
                        steps.extend(more);
                        Then::Each { filter, limit: Some(limit), after }
                    }
                    _ => Then::Whole(join(&atoms[here..])),
                }
            }
            (_, Term::Call("length" | "keys" | "keys_unsorted" | "type", args)) if args.is_empty() => {
                Then::Members(join(&atoms[here..]))
            }
            (_, Term::Call("has", args))
                if args.len() == 1 && (text(&args[0]).is_some() || integer(&args[0]).is_some()) =>
            {
                Then::Members(join(&atoms[here..]))
            }
            _ => Then::Whole(join(&atoms[here..])),
        },
    };
    Plan { steps, atoms, outside: here, then, wrap: Vec::new() }
}

fn after<'s>(rest: &[Tree<'s>]) -> After<'s> {
    match rest.first() {
        None => After::Array,
        Some(Term::Call("length", args)) if args.is_empty() => After::Count(join(&rest[1..])),
        Some(_) => After::Filter(join(rest)),
    }
}
