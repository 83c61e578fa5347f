//! A jq filter: parsed, rewritten so that it cannot run for ever, compiled and run.
//!
//! jaq has no limits of its own. So the parsed filter, and the standard library with it, is rewritten before it is
//! compiled: wherever a filter can give more than it takes (iteration, `,`, `..`, folds, recursion), and wherever it
//! makes or goes through a value of any size, the rewriting inserts a native filter that uses the [`Fuel`] of the run.
//! When the fuel is used up, that filter ends the run in a way that `try` cannot catch. Tail calls, paths and updates
//! stay as they are.

use crate::query::json::jq::fuel::Fuel;
use crate::query::json::jq::matches::Parts;
use crate::query::json::jq::parse;
use crate::query::json::jq::write;
use crate::{Error, Result};
use jaq_core::box_iter::box_once;
use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Def, Pattern, Term};
use jaq_core::load::{self, Arena, File, Lexer, Loader, Parser};
use jaq_core::ops::Math;
use jaq_core::path::{Opt, Part, Path};
use jaq_core::{Ctx, DataT, Exn, Lut, Native, Vars, data::HasLut, native::Fun};
use jaq_json::Val;
use std::fmt::Write as _;
use std::ops::ControlFlow;

pub(crate) type Tree<'s> = Term<&'s str>;

/// Maximum bytes of a filter.
const LONGEST: usize = 64 * 1024;

/// The main filter is a definition, so that it can be compiled from a tree.
const MAIN: &str = "forebay_main";

/// Names for the filters that a definition takes, each call of which is counted. No definition takes more.
const ARGUMENTS: [&str; 8] = ["!0", "!1", "!2", "!3", "!4", "!5", "!6", "!7"];

/// Exit code of a run whose fuel is used up. Filters have no `halt` of their own to be confused with it.
const USED_UP: i32 = i32::MIN;

/// Filters that reach outside of the output, with the error for each.
const OUTSIDE: [(&str, &str); 15] = [
    ("env", "filters cannot read the environment"),
    ("$ENV", "filters cannot read the environment"),
    ("now", "filters have no clock"),
    ("localtime", "filters have no local time; use gmtime"),
    ("strflocaltime", "filters have no local time; use strftime"),
    ("input", "filters are run for each document by itself"),
    ("inputs", "filters are run for each document by itself"),
    ("input_filename", "an output has no file name"),
    ("input_line_number", "the line of each result is given with it"),
    ("halt", "filters cannot end the program; use limit or first"),
    ("halt_error", "filters cannot end the program; use error"),
    ("debug_empty", "filters cannot print"),
    ("stderr_empty", "filters cannot print"),
    ("get_search_list", "there are no modules"),
    ("modulemeta", "there are no modules"),
];

/// Parses a filter.
pub(crate) fn tree(code: &str) -> Result<Tree<'_>> {
    if code.len() > LONGEST {
        return Err(Error::BadQuery(format!("the filter has more than {LONGEST} bytes")));
    }
    if code.trim().is_empty() {
        return Err(Error::BadQuery("the filter is empty; '.' gives the whole document".to_owned()));
    }
    let tokens = Lexer::new(code).lex().map_err(|errors| {
        let (expected, found) = &errors[0];
        let expected = match expected {
            load::lex::Expect::Delim(open) if !["(", "[", "{", "\""].contains(open) => "closing delimiter",
            expected => expected.as_str(),
        };
        bad(code, found, &format!("expected {expected}"))
    })?;
    if let Some(load::lex::Token(word @ ("import" | "include" | "module"), _)) = tokens.first() {
        return Err(bad(code, word, "filters cannot load modules"));
    }
    Parser::new(&tokens).parse(|parser| parser.term()).map_err(|errors| {
        let (expected, found) = &errors[0];
        let found = found.map_or(&code[code.len()..], |token| token.0);
        bad(code, found, &format!("expected {}", expected.as_str()))
    })
}

/// The error of a filter that is wrong at `part`, which is a slice of it.
fn bad(code: &str, part: &str, why: &str) -> Error {
    let at = (part.as_ptr().addr()).wrapping_sub(code.as_ptr().addr());
    // Names of the library are not in the text of the filter.
    if at > code.len() {
        return Error::BadQuery(format!("the filter does not parse: {why}: {part}\n    {code}"));
    }
    let line_start = code[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = code[line_start..].lines().next().unwrap_or_default();
    let column = code[line_start..at].chars().count();
    let width = part.lines().next().unwrap_or_default().chars().count().max(1);
    let carets = "^".repeat(width.min(line.chars().count().saturating_sub(column).max(1)));
    Error::BadQuery(format!(
        "the filter does not parse: {why}\n    {line}\n    {}{carets}",
        " ".repeat(column)
    ))
}

/// The data that native filters use.
#[derive(Clone, Copy)]
pub(crate) struct Reach<'a> {
    lut: &'a Lut<Machine>,
    fuel: &'a Fuel,
}

/// The types of a run.
pub(crate) struct Machine;

impl DataT for Machine {
    type V<'a> = Val;
    type Data<'a> = Reach<'a>;
}

impl<'a> HasLut<'a, Machine> for Reach<'a> {
    fn lut(&self) -> &'a Lut<Machine> {
        self.lut
    }
}

/// A filter that can be run.
pub(crate) struct Program {
    filter: jaq_core::Filter<Machine>,
}

/// The end of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It gave all its results.
    Done,
    /// The caller wanted no more results.
    Enough,
    /// It raised an error.
    Failed(String),
    /// It was stopped.
    Stopped(String),
}

impl Program {
    /// Compiles a tree that was parsed from `code`.
    pub(crate) fn compile<'s>(code: &'s str, tree: Tree<'s>) -> Result<Program> {
        let mut many = false;
        let library = jaq_core::defs()
            .chain(jaq_std::defs())
            .chain(jaq_json::defs())
            .filter(|def| !OUTSIDE.iter().any(|(name, _)| *name == def.name))
            .filter(|def| !matches!(def.name, "debug" | "stderr"))
            .chain(load::parse(include_str!("defs.jq"), |parser| parser.defs()).unwrap_or_default());
        visit(&tree, &mut |term| {
            if let Term::Def(defs, _) = term {
                many |= defs.iter().any(|def| def.args.len() > ARGUMENTS.len());
            }
        });
        if many {
            let most = ARGUMENTS.len();
            return Err(Error::BadQuery(format!(
                "a definition of the filter takes more than {most} arguments"
            )));
        }
        let main = Def { name: MAIN, args: Vec::new(), body: tree };
        let mut defs: Vec<Def<&'s str>> = Vec::new();
        for def in library {
            defs.push(definition(def));
        }
        defs.push(definition(main));
        let arena = Arena::default();
        let modules = Loader::new(defs)
            .load(&arena, File { code: MAIN, path: () })
            .map_err(|_| Error::BadQuery(format!("the filter does not parse: {code}")))?;
        let filter =
            jaq_core::Compiler::default().with_funs(natives()).compile(modules).map_err(|errors| {
                let Some((name, undefined)) = errors.iter().flat_map(|(_, errors)| errors).next() else {
                    return Error::BadQuery(format!("the filter does not compile: {code}"));
                };
                let why = match (OUTSIDE.iter().find(|(outside, _)| outside == name), undefined) {
                    (Some((_, why)), _) => (*why).to_owned(),
                    (None, jaq_core::compile::Undefined::Filter(0)) => "there is no such filter".to_owned(),
                    (None, jaq_core::compile::Undefined::Filter(arity)) => {
                        format!(
                            "there is no such filter with {arity} argument{}",
                            if *arity == 1 { "" } else { "s" }
                        )
                    }
                    (None, undefined) => format!("there is no such {}", undefined.as_str()),
                };
                bad(code, name, &why)
            })?;
        Ok(Program { filter })
    }

    /// Runs it on a value and passes each result to `take`.
    pub(crate) fn run(&self, input: Val, fuel: &Fuel, mut take: impl FnMut(Val) -> ControlFlow<()>) -> End {
        let reach = Reach { lut: &self.filter.lut, fuel };
        let ctx = Ctx::<Machine>::new(reach, Vars::new([]));
        for result in self.filter.id.run((ctx, input)) {
            match result {
                Ok(value) => {
                    if take(value).is_break() {
                        return End::Enough;
                    }
                }
                Err(exception) => {
                    return match exception.get_err() {
                        Ok(error) => End::Failed(message(error, fuel)),
                        Err(_) => End::Stopped(fuel.why().unwrap_or_else(|| "it ended itself".to_owned())),
                    };
                }
            }
        }
        match fuel.why() {
            Some(why) => End::Stopped(why),
            None => End::Done,
        }
    }
}

/// A writer that takes the first bytes of a text and refuses the rest.
struct Beginning {
    text: String,
    room: usize,
}

impl std::fmt::Write for Beginning {
    fn write_str(&mut self, part: &str) -> std::fmt::Result {
        let room = self.room - self.text.len();
        self.text.push_str(&part[..part.floor_char_boundary(room)]);
        if part.len() > room { Err(std::fmt::Error) } else { Ok(()) }
    }
}

/// The text of an error, short enough to be read.
fn message(error: jaq_core::Error<Val>, fuel: &Fuel) -> String {
    const SHOWN: usize = 300;
    // An error names the wrong value, and its print may be endless.
    let mut beginning = Beginning { text: String::new(), room: 8 * SHOWN };
    if write!(beginning, "{error}").is_err() {
        let shown: String = beginning.text.chars().take(SHOWN).collect();
        return format!("{}…", shown.trim_start_matches('"'));
    }
    let value = error.into_val();
    let text = match &value {
        Val::TStr(text) => String::from_utf8_lossy(text).into_owned(),
        value => write::write(value, SHOWN as u64 + 1, fuel).text,
    };
    match text.char_indices().nth(SHOWN) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

fn used_up<'a>() -> Exn<'a, Val> {
    Exn::halt(USED_UP)
}

/// The error for a number as the key of an object. jaq would look it up, and find nothing.
fn no_number<'a>() -> Exn<'a, Val> {
    Exn::from(jaq_core::Error::str("Cannot index object with number"))
}

/// A native filter that passes its input on while a condition holds, also in paths and updates. The condition is
/// usually that there is fuel.
macro_rules! passing {
    (|$fuel:ident, $value:ident| $counted:expr) => {
        passing!(|$fuel, $value| $counted, used_up())
    };
    (|$fuel:ident, $value:ident| $holds:expr, $wrong:expr) => {
        Native::<Machine>::new(|cv| {
            let ($fuel, $value) = (cv.0.data().fuel, &cv.1);
            box_once(if $holds { Ok(cv.1) } else { Err($wrong) })
        })
        .with_paths(|cv| {
            let ($fuel, $value) = (cv.0.data().fuel, &cv.1.0);
            box_once(if $holds { Ok(cv.1) } else { Err($wrong) })
        })
        .with_update(|cv, update| {
            let ($fuel, $value) = (cv.0.data().fuel, &cv.1);
            if $holds { update(cv.1) } else { box_once(Err($wrong)) }
        })
    };
}

/// A native operation on two values that is counted first.
macro_rules! operator {
    (|$fuel:ident, $left:ident, $right:ident| $counted:expr, $result:expr) => {
        Native::<Machine>::new(|cv| {
            let (mut ctx, _) = cv;
            let ($right, $left) = (ctx.pop_var(), ctx.pop_var());
            let $fuel = ctx.data().fuel;
            box_once(if $counted { ($result).map_err(Exn::from) } else { Err(used_up()) })
        })
    };
}

/// A native filter that gives parts of a string around the matches of a pattern.
macro_rules! searching {
    ($parts:expr) => {
        Native::<Machine>::new(|cv| {
            let (mut ctx, input) = cv;
            let (flags, pattern) = (ctx.pop_var(), ctx.pop_var());
            box_once(searched(&input, &pattern, &flags, $parts, ctx.data().fuel))
        })
    };
}

fn searched<'a>(
    input: &Val,
    pattern: &Val,
    flags: &Val,
    parts: Parts,
    fuel: &Fuel,
) -> std::result::Result<Val, Exn<'a, Val>> {
    let text = |value: &Val| match value {
        Val::TStr(text) => Ok((**text).clone()),
        value => Err(Exn::from(jaq_core::Error::typ(value.clone(), "string"))),
    };
    let [input, pattern, flags] = [text(input)?, text(pattern)?, text(flags)?];
    let [pattern, flags] = [&pattern, &flags].map(|text| String::from_utf8_lossy(text));
    let pattern = fuel.pattern(&pattern, &flags).map_err(Exn::from)?;
    pattern.parts(&input, parts, fuel).ok_or_else(used_up)
}

/// The error for the range of a value that is not a number.
fn not_numeric<'a>() -> Exn<'a, Val> {
    Exn::from(jaq_core::Error::str("Range bounds must be numeric"))
}

/// The native filters: those that count, then those of jaq that do not reach outside of the output.
fn natives() -> impl Iterator<Item = Fun<Machine>> {
    let counting = [
        ("!step", [].into(), passing!(|fuel, _value| fuel.step())),
        ("!nest", [].into(), passing!(|fuel, _value| fuel.nest())),
        ("!made", [].into(), passing!(|fuel, value| fuel.made(value))),
        ("!built", [].into(), passing!(|fuel, value| fuel.built(value))),
        ("!weigh", [].into(), passing!(|fuel, value| fuel.weigh(value))),
        ("!object", [].into(), passing!(|fuel, value| fuel.object(value))),
        ("!written", [].into(), passing!(|fuel, value| write::count_written(value, fuel))),
        ("!looked_at", [].into(), passing!(|fuel, value| fuel.looked_at(value))),
        ("!exploded", [].into(), passing!(|fuel, value| fuel.exploded(value))),
        ("!number", [].into(), passing!(|_fuel, value| matches!(value, Val::Num(_)), not_numeric())),
        ("!listed", [].into(), passing!(|_fuel, value| !matches!(value, Val::Obj(_)), no_number())),
        (
            "!add",
            jaq_core::native::v(2),
            Native::new(|cv| {
                let (mut ctx, input) = cv;
                // The input is often the left side of the sum, and it grows in place only where nothing else holds it.
                drop(input);
                let (right, left) = (ctx.pop_var(), ctx.pop_var());
                box_once(if ctx.data().fuel.sum(&left, &right) {
                    (left + right).map_err(Exn::from)
                } else {
                    Err(used_up())
                })
            }),
        ),
        (
            "!mul",
            jaq_core::native::v(2),
            operator!(|fuel, left, right| fuel.product(&left, &right), left * right),
        ),
        (
            "!sub",
            jaq_core::native::v(2),
            operator!(|fuel, left, right| fuel.difference(&left, &right), left - right),
        ),
        (
            "!div",
            jaq_core::native::v(2),
            operator!(|fuel, left, right| fuel.quotient(&left, &right), left / right),
        ),
        ("matches", jaq_core::native::v(2), searching!(Parts { between: false, matches: true })),
        ("split_matches", jaq_core::native::v(2), searching!(Parts { between: true, matches: true })),
        ("split_", jaq_core::native::v(2), searching!(Parts { between: true, matches: false })),
        (
            "!contained",
            jaq_core::native::v(1),
            Native::new(|cv| {
                let (mut ctx, input) = cv;
                let wanted = ctx.pop_var();
                box_once(if ctx.data().fuel.contained(&input, &wanted) { Ok(input) } else { Err(used_up()) })
            }),
        ),
        // The parser of this library limits the depth.
        (
            "fromjson",
            [].into(),
            Native::new(|cv| {
                let (ctx, input) = cv;
                box_once(match &input {
                    Val::TStr(text) => {
                        if ctx.data().fuel.spend(text.len() as u64 / 4) {
                            parse::parse(text, 0..text.len()).map_err(|wrong| {
                                let why = format!("not JSON at byte {}: {}", wrong.at, wrong.why);
                                Exn::from(jaq_core::Error::str(why))
                            })
                        } else {
                            Err(used_up())
                        }
                    }
                    _ => Err(Exn::from(jaq_core::Error::typ(input, "string"))),
                })
            }),
        ),
        (
            "tojson",
            [].into(),
            Native::new(|cv| {
                let (ctx, input) = cv;
                let fuel = ctx.data().fuel;
                let written = write::write(&input, Fuel::LONGEST as u64 + 1, fuel);
                box_once(if fuel.goes_on() && fuel.text(written.text.len()) {
                    Ok(Val::utf8_str(written.text))
                } else {
                    Err(used_up())
                })
            }),
        ),
    ];
    let theirs = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
    let ours: Vec<&str> = counting.iter().map(|(name, ..)| *name).collect();
    let theirs = theirs
        .filter(|(name, ..)| !OUTSIDE.iter().any(|(outside, _)| outside == name))
        .filter(|(name, ..)| !ours.contains(name));
    counting.into_iter().chain(theirs.collect::<Vec<_>>())
}

/// `left | right`.
pub(crate) fn pipe<'s>(left: Tree<'s>, right: Tree<'s>) -> Tree<'s> {
    Term::BinOp(Box::new(left), BinaryOp::Pipe(None), Box::new(right))
}

/// `value as $name | then`.
fn bind<'s>(value: Tree<'s>, name: &'s str, then: Tree<'s>) -> Tree<'s> {
    Term::BinOp(Box::new(value), BinaryOp::Pipe(Some(Pattern::Var(name))), Box::new(then))
}

/// The counting filter for an operation, if there is one.
fn native(math: Math) -> Option<&'static str> {
    match math {
        Math::Add => Some("!add"),
        Math::Sub => Some("!sub"),
        Math::Mul => Some("!mul"),
        Math::Div => Some("!div"),
        Math::Rem => None,
    }
}

fn call(name: &str) -> Tree<'_> {
    Term::Call(name, Vec::new())
}

fn definition(def: Def<&str>) -> Def<&str> {
    let recursive = calls(&def.body, def.name);
    let takes_filters = def.args.iter().any(|arg| !arg.starts_with('$'));
    let body = counted(def.body);
    match (recursive, takes_filters) {
        (false, _) => Def { body, ..def },
        (true, false) => Def { body: pipe(call("!step"), body), ..def },
        (true, true) => stepping(Def { body: pipe(call("!nest"), body), ..def }),
    }
}

/// A definition in which each call of a filter parameter is a step. If it passes such a filter on to itself, each
/// call goes through all earlier ones.
fn stepping(mut def: Def<&str>) -> Def<&str> {
    let mut inner = Vec::new();
    for (arg, renamed) in def.args.iter_mut().zip(ARGUMENTS).filter(|(arg, _)| !arg.starts_with('$')) {
        let body = pipe(call("!step"), call(renamed));
        inner.push(Def { name: std::mem::replace(arg, renamed), args: Vec::new(), body });
    }
    Def { body: Term::Def(inner, Box::new(def.body)), ..def }
}

/// Whether a filter of this name is called anywhere in a tree.
fn calls(tree: &Tree, name: &str) -> bool {
    let mut found = false;
    visit(tree, &mut |tree| found |= matches!(tree, Term::Call(called, _) if *called == name));
    found
}

/// Passes a tree and all trees below it to `take`.
pub(crate) fn visit<'t, 's>(tree: &'t Tree<'s>, take: &mut impl FnMut(&'t Tree<'s>)) {
    fn pattern<'t, 's>(of: &'t Pattern<&'s str>, take: &mut impl FnMut(&'t Tree<'s>)) {
        match of {
            Pattern::Var(_) => {}
            Pattern::Arr(patterns) => patterns.iter().for_each(|inner| pattern(inner, take)),
            Pattern::Obj(members) => members.iter().for_each(|(key, inner)| {
                visit(key, take);
                pattern(inner, take);
            }),
        }
    }
    take(tree);
    match tree {
        Term::Id | Term::Recurse | Term::Num(_) | Term::Break(_) | Term::Var(_) | Term::Arr(None) => {}
        Term::Str(_, parts) => parts.iter().for_each(|part| {
            if let StrPart::Term(inner) = part {
                visit(inner, take);
            }
        }),
        Term::Arr(Some(inner)) | Term::Neg(inner) | Term::Label(_, inner) => visit(inner, take),
        Term::Obj(members) => members.iter().for_each(|(key, value)| {
            visit(key, take);
            value.iter().for_each(|value| visit(value, take));
        }),
        Term::BinOp(left, op, right) => {
            visit(left, take);
            if let BinaryOp::Pipe(Some(of)) = op {
                pattern(of, take);
            }
            visit(right, take);
        }
        Term::Fold(_, over, of, parts) => {
            visit(over, take);
            pattern(of, take);
            parts.iter().for_each(|part| visit(part, take));
        }
        Term::TryCatch(tried, caught) => {
            visit(tried, take);
            caught.iter().for_each(|caught| visit(caught, take));
        }
        Term::IfThenElse(cases, otherwise) => {
            for (condition, then) in cases {
                visit(condition, take);
                visit(then, take);
            }
            otherwise.iter().for_each(|otherwise| visit(otherwise, take));
        }
        Term::Def(defs, inner) => {
            defs.iter().for_each(|def| visit(&def.body, take));
            visit(inner, take);
        }
        Term::Call(_, args) => args.iter().for_each(|arg| visit(arg, take)),
        Term::Path(of, Path(parts)) => {
            visit(of, take);
            for (part, _) in parts {
                match part {
                    Part::Index(index) => visit(index, take),
                    Part::Range(from, to) => from.iter().chain(to).for_each(|bound| visit(bound, take)),
                }
            }
        }
    }
}

/// The same filter, with counting filters inserted.
fn counted(tree: Tree) -> Tree {
    fn inside(mut tree: Box<Tree>) -> Box<Tree> {
        *tree = counted(std::mem::take(&mut *tree));
        tree
    }
    match tree {
        Term::Id | Term::Num(_) | Term::Break(_) | Term::Var(_) | Term::Arr(None) => tree,
        Term::Recurse => pipe(Term::Recurse, call("!step")),
        Term::Str(format, parts) => {
            let mut grows = format.is_some();
            let parts = parts.into_iter().map(|part| match part {
                StrPart::Term(inner) => {
                    grows = true;
                    // A value in a string is written out as often as it is reached.
                    StrPart::Term(pipe(counted(inner), call("!written")))
                }
                part => part,
            });
            let text = Term::Str(format, parts.collect());
            if grows { pipe(text, call("!made")) } else { text }
        }
        Term::Arr(Some(inner)) => pipe(Term::Arr(Some(inside(inner))), call("!built")),
        Term::Obj(members) if members.is_empty() => Term::Obj(members),
        Term::Obj(members) => {
            let members = members.into_iter().map(|(key, value)| (counted_key(key), value.map(counted)));
            pipe(Term::Obj(members.collect()), call("!object"))
        }
        Term::Neg(inner) => Term::Neg(inside(inner)),
        Term::Label(name, inner) => Term::Label(name, inside(inner)),
        Term::BinOp(left, op, right) => operation(counted(*left), op, counted(*right)),
        Term::Fold(name, over, of, parts) => {
            let parts = parts.into_iter().enumerate().map(|(number, part)| match number {
                1 => pipe(call("!step"), counted(part)),
                _ => counted(part),
            });
            Term::Fold(name, inside(over), counted_pattern(of), parts.collect())
        }
        Term::TryCatch(tried, caught) => Term::TryCatch(inside(tried), caught.map(inside)),
        Term::IfThenElse(cases, otherwise) => {
            let cases = cases.into_iter().map(|(condition, then)| (counted(condition), counted(then)));
            Term::IfThenElse(cases.collect(), otherwise.map(inside))
        }
        Term::Def(defs, inner) => Term::Def(defs.into_iter().map(definition).collect(), inside(inner)),
        Term::Call(name, args) => {
            let args: Vec<Tree> = args.into_iter().map(counted).collect();
            called(name, args)
        }
        Term::Path(of, Path(parts)) => {
            let goes_through = parts.iter().any(|(part, _)| matches!(part, Part::Range(None, None)));
            let copies = parts
                .iter()
                .any(|(part, _)| matches!(part, Part::Range(Some(_), _) | Part::Range(_, Some(_))));
            let parts = parts.into_iter().map(|(part, optional)| {
                let part = match part {
                    Part::Index(index) => Part::Index(counted(index)),
                    Part::Range(from, to) => Part::Range(from.map(counted), to.map(counted)),
                };
                (part, optional)
            });
            let mut path = indexed(inside(of), parts.collect());
            if copies {
                path = pipe(path, call("!made"));
            }
            if goes_through { pipe(path, call("!step")) } else { path }
        }
    }
}

/// A call whose arguments are counted already.
fn called<'s>(name: &'s str, args: Vec<Tree<'s>>) -> Tree<'s> {
    let each = |counting: &'static str, args: Vec<Tree<'s>>| {
        Term::Call(name, args.into_iter().map(|arg| pipe(arg, call(counting))).collect())
    };
    match (name, args.len()) {
        // Values other than numbers grow with each step, without a counted sum.
        ("range", 3) => pipe(each("!number", args), call("!step")),
        // These compare or write out all of their input, and of the keys of a sort.
        ("sort" | "tobytes", 0) => pipe(call("!weigh"), pipe(call(name), call("!made"))),
        ("sort_by" | "group_by" | "min_by_or_empty" | "max_by_or_empty" | "bsearch", 1) => {
            pipe(call("!weigh"), pipe(each("!weigh", args), call("!made")))
        }
        // Each position is compared with all of the wanted value.
        ("contains" | "indices", 1) => {
            let wanted = || vec![Term::Var("$!wanted")];
            let looked_for = pipe(Term::Call("!contained", wanted()), Term::Call(name, wanted()));
            bind(args.into_iter().next().unwrap_or(Term::Id), "$!wanted", pipe(looked_for, call("!made")))
        }
        ("explode", 0) => pipe(call("!exploded"), call(name)),
        (
            "implode" | "keys_unsorted" | "key_values" | "reverse" | "ascii_downcase" | "ascii_upcase"
            | "escape_sh" | "escape_html" | "unescape_html" | "encode_uri" | "decode_uri" | "encode_base64"
            | "decode_base64",
            0,
        ) => pipe(call("!made"), pipe(call(name), call("!made"))),
        ("length" | "trim" | "ltrim" | "rtrim", 0) => pipe(call("!looked_at"), call(name)),
        ("startswith" | "endswith" | "ltrimstr" | "rtrimstr" | "strftime" | "strptime", 1) => {
            pipe(call("!looked_at"), each("!looked_at", args))
        }
        _ => Term::Call(name, args),
    }
}

/// A path that never looks up a number in an object.
fn indexed<'s>(mut of: Box<Tree<'s>>, parts: Vec<(Part<Tree<'s>>, Opt)>) -> Tree<'s> {
    let is_number = |part: &Part<Tree>| match part {
        Part::Index(Term::Num(_)) => true,
        Part::Index(Term::Neg(inner)) => matches!(**inner, Term::Num(_)),
        _ => false,
    };
    let mut after = Vec::new();
    for (part, optional) in parts {
        if is_number(&part) {
            let before =
                if after.is_empty() { *of } else { Term::Path(of, Path(std::mem::take(&mut after))) };
            let listed = match optional {
                Opt::Optional => Term::TryCatch(Box::new(call("!listed")), None),
                Opt::Essential => call("!listed"),
            };
            of = Box::new(pipe(before, listed));
        }
        after.push((part, optional));
    }
    Term::Path(of, Path(after))
}

/// A key of an object: a name alone must stay a name.
fn counted_key(key: Tree) -> Tree {
    match key {
        Term::Var(_) => key,
        Term::Str(_, ref parts) if !parts.iter().any(|part| matches!(part, StrPart::Term(_))) => key,
        key => counted(key),
    }
}

fn counted_pattern(of: Pattern<&str>) -> Pattern<&str> {
    match of {
        Pattern::Var(name) => Pattern::Var(name),
        Pattern::Arr(patterns) => Pattern::Arr(patterns.into_iter().map(counted_pattern).collect()),
        Pattern::Obj(members) => Pattern::Obj(
            members.into_iter().map(|(key, inner)| (counted(key), counted_pattern(inner))).collect(),
        ),
    }
}

/// An operation whose sides are counted already.
fn operation<'s>(left: Tree<'s>, op: BinaryOp<&'s str>, right: Tree<'s>) -> Tree<'s> {
    let plainly = |left, op, right| Term::BinOp(Box::new(left), op, Box::new(right));
    match op {
        BinaryOp::Pipe(Some(of)) => plainly(left, BinaryOp::Pipe(Some(counted_pattern(of))), right),
        BinaryOp::Comma => plainly(left, op, pipe(call("!step"), right)),
        BinaryOp::Math(math) if native(math).is_some() => {
            Term::Call(native(math).unwrap_or_default(), vec![left, right])
        }
        BinaryOp::Math(_) => pipe(plainly(left, op, right), call("!made")),
        BinaryOp::Cmp(_) if is_scalar(&left) || is_scalar(&right) => plainly(left, op, right),
        BinaryOp::Cmp(_) => plainly(pipe(left, call("!weigh")), op, right),
        BinaryOp::UpdateMath(math) if native(math).is_some() => {
            let name = native(math).unwrap_or_default();
            let update = Term::Call(name, vec![Term::Id, Term::Var("$!with")]);
            let updated = pipe(plainly(left, BinaryOp::Update, update), call("!built"));
            bind(right, "$!with", updated)
        }
        BinaryOp::Assign | BinaryOp::Update | BinaryOp::UpdateMath(_) | BinaryOp::UpdateAlt => {
            pipe(plainly(left, op, right), call("!built"))
        }
        BinaryOp::Pipe(None) | BinaryOp::Alt | BinaryOp::Or | BinaryOp::And => plainly(left, op, right),
    }
}

/// Whether comparing with a tree takes constant time.
fn is_scalar(tree: &Tree) -> bool {
    match tree {
        Term::Num(_)
        | Term::Arr(None)
        | Term::Call("true" | "false" | "null" | "nan" | "infinite" | "length", _) => true,
        Term::Obj(members) => members.is_empty(),
        Term::Str(None, parts) => !parts.iter().any(|part| matches!(part, StrPart::Term(_))),
        _ => false,
    }
}
