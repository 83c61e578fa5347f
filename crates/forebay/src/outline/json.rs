//! Paths of a JSON output, and the values at each: one pass over the bytes, in bounded memory.
//!
//! The paths make a tree. Objects that are used as maps, from ids or file names to values, would make it grow without
//! end, so their keys are merged into one path, as are the items of an array.

use crate::classify::json::locate::found;
use crate::classify::json::member;
use crate::outline::duplicates;
use crate::outline::duplicates::Twice;
use crate::outline::outliers::Greatest;
use crate::output::BLOCK;
use crate::{Output, Result};
use memchr::memchr2;
use serde::Serialize;

/// The shape of a JSON output.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Shape {
    /// Every path, in the order in which they first occur.
    pub paths: Vec<JsonPath>,
    /// How many documents there are.
    pub documents: u64,
    /// Whether all of it is JSON, and the last document is whole.
    pub whole: bool,
    /// Why it is not, and where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken: Option<BrokenOff>,
    /// Whether there are more paths than are given, or deeper ones.
    pub more: bool,
}

/// Where an output stops being JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BrokenOff {
    /// The byte.
    pub at: u64,
    /// Description of the error.
    pub why: &'static str,
}

/// Values at one path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JsonPath {
    /// The path, which is a jq filter.
    pub path: String,
    /// How often it occurs.
    pub count: u64,
    /// The types that occur, with how often: `null`, `boolean`, `number`, `string`, `array`, `object`.
    pub types: Vec<(&'static str, u64)>,
    /// The first few values that are neither arrays nor objects, as JSON, cut where they are long.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// All such values with their counts, if they are few and short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distinct: Option<Vec<(String, u64)>>,
    /// The least and the greatest number, as they are written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numbers: Option<(String, String)>,
    /// How many bytes the longest string has, as it is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest: Option<u64>,
    /// How many items the shortest and the longest array have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<(u64, u64)>,
    /// The keys of objects that are used as maps: how many the smallest and the largest one have, and the first few.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<Keys>,
    /// The byte where it first occurs.
    pub first: u64,
    /// How many objects could have it.
    #[serde(skip)]
    pub(crate) of: u64,
    /// In how many objects the outermost array or map lies whose members are one path, and how long the path to it is.
    #[serde(skip)]
    pub(crate) merged: Option<(usize, usize)>,
    /// Place of the first occurrence; then of the first occurrence of each value and of each type.
    #[serde(skip)]
    pub(crate) place: Place,
    #[serde(skip)]
    pub(crate) values: Vec<Vec<Place>>,
    #[serde(skip)]
    pub(crate) of_types: Vec<Place>,
    /// Places of numbers that are many times as large as the others.
    #[serde(skip)]
    pub(crate) outliers: Vec<Place>,
    /// Where values are that occur twice, though they tell records apart: both times.
    #[serde(skip)]
    pub(crate) twice: Vec<[Place; 2]>,
}

/// Where something is in an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The byte.
    pub(crate) at: u64,
    /// The byte where the item of the outermost array begins that has it, or the document.
    pub(crate) outer: u64,
    /// The byte where the item of the innermost array begins that has it, or the document.
    pub(crate) inner: u64,
    /// Which item of the outermost array that is, counted from 0.
    pub(crate) index: u64,
    /// The bytes where the keys begin that lead to it, from the outermost on; 0 for an item of an array.
    pub(crate) keys: [u64; NAMED],
}

/// Maximum nested objects whose keys are remembered.
const NAMED: usize = 6;

/// The keys of objects that are used as maps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Keys {
    /// How many the smallest object has.
    pub fewest: u64,
    /// How many the largest object has.
    pub most: u64,
    /// The first few.
    pub examples: Vec<String>,
}

/// No more paths are kept.
const MANY_PATHS: usize = 2_000;

/// Maximum depth of nesting. Deeper values are skipped.
const DEEPEST: usize = 64;

/// Maximum examples of each path.
const EXAMPLES: usize = 3;

/// Maximum characters of an example.
const EXAMPLE: usize = 60;

/// More values than these are not listed, and no more places of each are kept.
const DISTINCT: usize = 6;
const PLACES: usize = 4;

/// An object with more keys, and values of one type, is a map.
const MANY_KEYS: usize = 50;

/// An object with more keys is a map whatever is in it.
const TOO_MANY_KEYS: usize = 300;

/// Minimum keys for deciding that all of them look like ids.
const SOME_KEYS: usize = 5;

/// A string is kept in the buffer up to this length; of a longer one only its beginning.
const LONG: usize = 64 * 1024;

/// Goes through an output and describes its shape.
pub(crate) fn shape(output: &Output) -> Result<Shape> {
    let all = found(output)?.unwrap_or(0..output.len());
    let mut walk = Walk {
        text: Text { output, buffer: Vec::new(), start: all.start, at: 0, end: all.end },
        tree: Tree { nodes: vec![Node::new(0)], free: Vec::new(), more: false, told_apart: 0 },
        open: Vec::new(),
        documents: 0,
    };
    let broken = walk.documents()?.err();
    let mut tree = walk.tree;
    if tree.nodes[0].count == 0 {
        tree.nodes.clear();
    }
    let mut paths = Vec::new();
    if !tree.nodes.is_empty() {
        let root = Way { path: ".".to_owned(), depth: 0, merged: None, also: Also::Nothing };
        tree.describe(0, tree.nodes[0].count, root, &mut paths);
    }
    paths.sort_by_key(|path| path.first);
    Ok(Shape { paths, documents: walk.documents, whole: broken.is_none(), broken, more: tree.more })
}

const NULL: usize = 0;
const BOOLEAN: usize = 1;
const NUMBER: usize = 2;
const STRING: usize = 3;
const ARRAY: usize = 4;
const OBJECT: usize = 5;
const TYPES: [&str; 6] = ["null", "boolean", "number", "string", "array", "object"];

/// Node for values that are not kept.
const NOWHERE: usize = usize::MAX;

/// A value as it is written, how often it occurs, and where it does first.
type Distinct = (Vec<u8>, u64, Vec<Place>);

struct Node {
    /// Children by key, as it is written, in the order in which they came.
    keys: Vec<(Vec<u8>, usize)>,
    /// The child that comes next if this object is like the one before.
    hint: usize,
    /// The items of arrays, and the values of maps.
    each: Option<usize>,
    is_map: bool,
    map_keys: Vec<String>,
    members: Option<(u64, u64)>,
    first: u64,
    count: u64,
    types: [u64; 6],
    examples: Vec<String>,
    /// `None` once there are too many.
    distinct: Option<Vec<Distinct>>,
    place: Place,
    of_types: [Place; 6],
    least: Option<(f64, String)>,
    greatest: Option<(f64, String)>,
    greatest_at: Greatest<Place>,
    /// Of what tells records apart.
    twice: Option<Box<Twice<Place>>>,
    longest: u64,
    items: Option<(u64, u64)>,
}

impl Node {
    fn new(first: u64) -> Node {
        Node {
            keys: Vec::new(),
            hint: 0,
            each: None,
            is_map: false,
            map_keys: Vec::new(),
            members: None,
            first,
            count: 0,
            types: [0; 6],
            examples: Vec::new(),
            distinct: Some(Vec::new()),
            place: Place::default(),
            of_types: [Place::default(); 6],
            least: None,
            greatest: None,
            greatest_at: Greatest::default(),
            twice: None,
            longest: 0,
            items: None,
        }
    }

    fn see(&mut self, kind: usize, at: u64, place: impl Fn() -> Place) {
        if self.count == 0 {
            self.first = at;
            self.place = place();
        }
        if self.types[kind] == 0 {
            self.of_types[kind] = place();
        }
        self.count += 1;
        self.types[kind] += 1;
    }

    /// Takes note of a value that is neither an array nor an object.
    fn scalar(&mut self, raw: &[u8], length: u64, place: impl Fn() -> Place) {
        let short = length <= EXAMPLE as u64;
        if let Some(twice) = self.twice.as_mut().filter(|_| short && raw != b"null") {
            twice.take(raw, &place);
        }
        match &mut self.distinct {
            Some(distinct) if short => match distinct.iter().position(|(known, ..)| known == raw) {
                Some(known) => {
                    let (_, count, places) = &mut distinct[known];
                    *count += 1;
                    if places.len() < PLACES {
                        places.push(place());
                    }
                }
                None if distinct.len() < DISTINCT => distinct.push((raw.to_vec(), 1, vec![place()])),
                None => self.distinct = None,
            },
            Some(_) => self.distinct = None,
            None => {}
        }
        if self.examples.len() < EXAMPLES {
            let example = example(raw, length);
            if !self.examples.contains(&example) {
                self.examples.push(example);
            }
        }
    }

    fn number(&mut self, raw: &[u8], place: impl Fn() -> Place) {
        let value = quick_number(raw);
        self.greatest_at.take(value, place);
        if self.least.as_ref().is_none_or(|(least, _)| value < *least) {
            self.least = Some((value, String::from_utf8_lossy(raw).into_owned()));
        }
        if self.greatest.as_ref().is_none_or(|(greatest, _)| value > *greatest) {
            self.greatest = Some((value, String::from_utf8_lossy(raw).into_owned()));
        }
    }
}

/// Extends a range of counts to one from `least` to `most`.
fn widen(range: &mut Option<(u64, u64)>, least: u64, most: u64) {
    *range = Some(range.map_or((least, most), |(from, to)| (from.min(least), to.max(most))));
}

/// A value cut to what is shown of it.
fn example(raw: &[u8], length: u64) -> String {
    let text = String::from_utf8_lossy(&raw[..raw.len().min(4 * EXAMPLE)]).into_owned();
    match text.char_indices().nth(EXAMPLE) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None if length > raw.len() as u64 => format!("{text}…"),
        None => text,
    }
}

fn quick_number(raw: &[u8]) -> f64 {
    let (negative, digits) = match raw.split_first() {
        Some((b'-', digits)) => (true, digits),
        _ => (false, raw),
    };
    if digits.len() <= 15 && digits.iter().all(u8::is_ascii_digit) {
        let value = digits.iter().fold(0i64, |sum, digit| sum * 10 + i64::from(digit - b'0')) as f64;
        return if negative { -value } else { value };
    }
    std::str::from_utf8(raw).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

struct Tree {
    nodes: Vec<Node>,
    /// Nodes that were merged into others, to be used again.
    free: Vec<usize>,
    more: bool,
    /// Number of examined fields that identify records.
    told_apart: usize,
}

impl Tree {
    fn add(&mut self, at: u64) -> usize {
        if let Some(free) = self.free.pop() {
            self.nodes[free] = Node::new(at);
            return free;
        }
        if self.nodes.len() == MANY_PATHS {
            self.more = true;
            return NOWHERE;
        }
        self.nodes.push(Node::new(at));
        self.nodes.len() - 1
    }

    fn each(&mut self, node: usize, at: u64) -> usize {
        if node == NOWHERE {
            return NOWHERE;
        }
        match self.nodes[node].each {
            Some(each) => each,
            None => {
                let each = self.add(at);
                if each != NOWHERE {
                    self.nodes[node].each = Some(each);
                }
                each
            }
        }
    }

    /// The child of a node for a key, as it is written.
    fn child(&mut self, node: usize, key: &[u8], at: u64) -> usize {
        if node == NOWHERE {
            return NOWHERE;
        }
        let this = &mut self.nodes[node];
        if this.is_map {
            if this.map_keys.len() < EXAMPLES {
                let example = readable(key);
                if !this.map_keys.contains(&example) {
                    this.map_keys.push(example);
                }
            }
            return self.each(node, at);
        }
        // Objects that follow one another mostly have the same keys in the same order.
        if let Some((known, child)) = this.keys.get(this.hint)
            && known == key
        {
            this.hint += 1;
            return *child;
        }
        if let Some(place) = this.keys.iter().position(|(known, _)| known == key) {
            this.hint = place + 1;
            return this.keys[place].1;
        }
        if self.is_map_with(node, key) {
            self.merge_keys(node);
            return self.child(node, key, at);
        }
        let child = self.add(at);
        if child != NOWHERE {
            if self.told_apart < duplicates::FIELDS && duplicates::tells_apart(key) {
                self.told_apart += 1;
                self.nodes[child].twice = Some(Box::default());
            }
            let this = &mut self.nodes[node];
            this.keys.push((key.to_vec(), child));
            this.hint = this.keys.len();
        }
        child
    }

    /// Whether the keys of a node, with one more, are those of a map.
    fn is_map_with(&self, node: usize, key: &[u8]) -> bool {
        let keys = &self.nodes[node].keys;
        let number = keys.len() + 1;
        if number >= TOO_MANY_KEYS {
            return true;
        }
        if (SOME_KEYS..=MANY_KEYS).contains(&number) {
            return looks_like_an_id(key) && keys.iter().all(|(key, _)| looks_like_an_id(key));
        }
        if number <= MANY_KEYS {
            return false;
        }
        // Nine in ten of one type are alike.
        let mut types = [0; 6];
        for (_, child) in keys {
            let counts = &self.nodes[*child].types;
            let most = (0..6).max_by_key(|&kind| counts[kind]).unwrap_or(0);
            types[most] += 1;
        }
        types.iter().any(|&of_this| of_this * 10 >= keys.len() * 9)
    }

    /// Makes one path of all keys of a node.
    fn merge_keys(&mut self, node: usize) {
        let keys = std::mem::take(&mut self.nodes[node].keys);
        self.nodes[node].is_map = true;
        for (key, child) in keys {
            let this = &mut self.nodes[node];
            if this.map_keys.len() < EXAMPLES {
                this.map_keys.push(readable(&key));
            }
            match this.each {
                None => this.each = Some(child),
                Some(each) => self.merge(each, child),
            }
        }
    }

    /// Merges one node with all below it into another.
    fn merge(&mut self, into: usize, from: usize) {
        let other = std::mem::replace(&mut self.nodes[from], Node::new(0));
        self.free.push(from);
        let this = &mut self.nodes[into];
        this.first = this.first.min(other.first);
        let seen = |place, count| Seen { place, count };
        this.place = earlier(seen(this.place, this.count), seen(other.place, other.count));
        for kind in 0..this.types.len() {
            let known = seen(this.of_types[kind], this.types[kind]);
            this.of_types[kind] = earlier(known, seen(other.of_types[kind], other.types[kind]));
        }
        this.count += other.count;
        this.types.iter_mut().zip(other.types).for_each(|(count, more)| *count += more);
        this.longest = this.longest.max(other.longest);
        this.greatest_at.join(other.greatest_at);
        let looked_at = usize::from(this.twice.is_some()) + usize::from(other.twice.is_some());
        this.twice = match (this.twice.take(), other.twice) {
            (Some(mut twice), Some(more)) => {
                twice.join(*more);
                Some(twice)
            }
            _ => None,
        };
        // Others may be looked at in its place.
        self.told_apart -= looked_at - usize::from(this.twice.is_some());
        for example in other.examples {
            if this.examples.len() < EXAMPLES && !this.examples.contains(&example) {
                this.examples.push(example);
            }
        }
        this.distinct = match (this.distinct.take(), other.distinct) {
            (Some(mut distinct), Some(more)) => {
                for (value, count, places) in more {
                    match distinct.iter_mut().find(|(known, ..)| *known == value) {
                        Some((_, known, known_places)) => {
                            known_places.extend(places);
                            known_places.sort_by_key(|place| place.at);
                            known_places.truncate(PLACES);
                            *known += count;
                        }
                        None => distinct.push((value, count, places)),
                    }
                }
                (distinct.len() <= DISTINCT).then_some(distinct)
            }
            _ => None,
        };
        if let Some(least) = other.least
            && this.least.as_ref().is_none_or(|known| least.0 < known.0)
        {
            this.least = Some(least);
        }
        if let Some(greatest) = other.greatest
            && this.greatest.as_ref().is_none_or(|known| greatest.0 > known.0)
        {
            this.greatest = Some(greatest);
        }
        other.items.into_iter().for_each(|(least, most)| widen(&mut this.items, least, most));
        other.members.into_iter().for_each(|(least, most)| widen(&mut this.members, least, most));
        if let Some(each) = other.each {
            match this.each {
                None => this.each = Some(each),
                Some(known) => self.merge(known, each),
            }
        }
        if other.is_map && !self.nodes[into].is_map {
            self.merge_keys(into);
        }
        let first_keys = other.map_keys.into_iter();
        let this = &mut self.nodes[into];
        for key in first_keys {
            if this.map_keys.len() < EXAMPLES && !this.map_keys.contains(&key) {
                this.map_keys.push(key);
            }
        }
        for (key, child) in other.keys {
            let this = &mut self.nodes[into];
            if this.is_map {
                match this.each {
                    None => this.each = Some(child),
                    Some(each) => self.merge(each, child),
                }
                continue;
            }
            match this.keys.iter().find(|(known, _)| *known == key) {
                Some(&(_, known)) => self.merge(known, child),
                None => {
                    this.keys.push((key, child));
                    if this.keys.len() > TOO_MANY_KEYS {
                        self.merge_keys(into);
                    }
                }
            }
        }
    }

    /// Describes a node and all below it.
    fn describe(&self, node: usize, of: u64, way: Way, paths: &mut Vec<JsonPath>) {
        let Way { path, depth, merged, also } = way;
        let this = &self.nodes[node];
        let scalars = this.types[..ARRAY].iter().sum::<u64>();
        let types = TYPES.into_iter().zip(this.types).filter(|(_, count)| *count > 0).collect();
        let distinct = this.distinct.as_ref().filter(|_| scalars > 0).map(|distinct| {
            distinct
                .iter()
                .map(|(value, count, _)| (String::from_utf8_lossy(value).into_owned(), *count))
                .collect()
        });
        let keys = this.members.filter(|_| this.is_map);
        let described = JsonPath {
            path: path.clone(),
            count: this.count,
            types,
            examples: this.examples.clone(),
            distinct,
            numbers: this
                .least
                .clone()
                .zip(this.greatest.clone())
                .map(|(least, greatest)| (least.1, greatest.1)),
            longest: (this.types[STRING] > 0).then_some(this.longest),
            items: this.items,
            keys: keys.map(|(fewest, most)| Keys { fewest, most, examples: this.map_keys.clone() }),
            first: this.first,
            of,
            merged,
            place: this.place,
            values: this.distinct.iter().flatten().map(|(.., places)| places.clone()).collect(),
            of_types: (0..6).filter(|&kind| this.types[kind] > 0).map(|kind| this.of_types[kind]).collect(),
            outliers: this.greatest_at.outliers(),
            twice: this.twice.as_ref().map_or(Vec::new(), |twice| twice.places().to_vec()),
        };
        // A child that was made but whose value never came is nowhere.
        if this.count > 0 {
            paths.push(described);
        }
        let others = |fit: &[usize]| (0..6).any(|kind| this.types[kind] > 0 && !fit.contains(&kind));
        // Where something else than what has members is found too, the path passes over it.
        let optional = |fit: &[usize]| if others(fit) { "?" } else { "" };
        if let Some(each) = this.each {
            let optional = if also == Also::Nothing { optional(&[ARRAY, OBJECT]) } else { "?" };
            // Items of arrays and members of objects are told apart, and `[]` gives both.
            let both = this.types[OBJECT] > 0 && !this.is_map;
            let below = if both || also == Also::Others { Also::Others } else { Also::Nothing };
            let merged = merged.or(Some((depth, path.len())));
            let way = Way { path: format!("{path}[]{optional}"), depth: depth + 1, merged, also: below };
            self.describe(each, self.nodes[each].count, way, paths);
        }
        for (key, child) in &this.keys {
            let optional = if also == Also::Others { "?" } else { optional(&[OBJECT, NULL]) };
            let path = format!("{}{optional}", member(&path, &readable(key)));
            let here = self.nodes[*child].count == this.types[OBJECT] && this.types[NULL] == 0;
            let below = if here || also == Also::Others { also } else { Also::Null };
            self.describe(
                *child,
                this.types[OBJECT],
                Way { path, depth: depth + 1, merged, also: below },
                paths,
            );
        }
    }
}

/// How a node is reached.
struct Way {
    path: String,
    /// In how many arrays and objects it lies.
    depth: usize,
    /// See [`JsonPath::merged`].
    merged: Option<(usize, usize)>,
    also: Also,
}

/// Records of a path besides the values of its node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Also {
    Nothing,
    /// Nulls for missing values.
    Null,
    /// Values of other nodes.
    Others,
}

/// Place where something was seen first, and how often it was seen.
struct Seen {
    place: Place,
    count: u64,
}

/// The first of two places, of which one may not have been seen.
fn earlier(one: Seen, other: Seen) -> Place {
    match (one.count, other.count) {
        (0, _) => other.place,
        (_, 0) => one.place,
        _ if other.place.at < one.place.at => other.place,
        _ => one.place,
    }
}

/// A key as it is meant.
fn readable(raw: &[u8]) -> String {
    if raw.contains(&b'\\') {
        let quoted = [b"\"", raw, b"\""].concat();
        if let Ok(text) = serde_json::from_slice(&quoted) {
            return text;
        }
    }
    String::from_utf8_lossy(raw).into_owned()
}

/// Whether a key names one of many things, not a part of one thing: a number, a path, a date, a hash.
fn looks_like_an_id(key: &[u8]) -> bool {
    let digits = key.iter().filter(|byte| byte.is_ascii_digit()).count();
    let hex = key.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    !key.is_empty()
        && (key.iter().all(|byte| byte.is_ascii_digit() || b"-:.T_Z+".contains(byte)) && digits > 0
            || key.contains(&b'/')
            || key.contains(&b'@')
            || hex && key.len() >= 7 && digits > 0
            || key.len() >= 6 && digits * 2 >= key.len())
}

/// Bytes of an output, buffered so that no short token is split.
struct Text<'a> {
    output: &'a Output,
    buffer: Vec<u8>,
    start: u64,
    at: usize,
    /// Where it ends.
    end: u64,
}

impl Text<'_> {
    /// Reads more bytes, keeping those from `from` on; returns whether there were any.
    fn more(&mut self, from: usize) -> Result<bool> {
        self.buffer.drain(..from);
        self.start += from as u64;
        self.at -= from;
        let known = self.buffer.len();
        let from = self.start + known as u64;
        let wanted = usize::try_from(self.end.saturating_sub(from)).unwrap_or(BLOCK).min(BLOCK);
        self.buffer.resize(known + wanted, 0);
        let read = self.output.fill(from, &mut self.buffer[known..])?;
        self.buffer.truncate(known + read);
        Ok(read > 0)
    }

    /// The next byte that is not white space, which is not passed.
    fn next(&mut self) -> Result<Option<u8>> {
        loop {
            while let Some(&byte) = self.buffer.get(self.at) {
                if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                    return Ok(Some(byte));
                }
                self.at += 1;
            }
            if !self.more(self.at)? {
                return Ok(None);
            }
        }
    }

    fn offset(&self) -> u64 {
        self.start + self.at as u64
    }
}

/// A token in the buffer: where its beginning is, how long it is in all, and whether it has an end.
struct Token {
    from: usize,
    to: usize,
    length: u64,
    ended: bool,
}

struct Walk<'a> {
    text: Text<'a>,
    tree: Tree,
    /// The arrays and objects that are open.
    open: Vec<Open>,
    documents: u64,
}

struct Open {
    node: usize,
    object: bool,
    members: u64,
    /// The byte where the key of the last member begins.
    key: u64,
    /// The byte where it begins.
    start: u64,
}

/// Place of a value that begins at a byte, within the open containers. It may itself be an array or object.
fn place(open: &[Open], at: u64, holds: bool, document: u64) -> Place {
    let mut items =
        open.windows(2).filter(|pair| !pair[0].object).map(|pair| (pair[1].start, pair[0].members - 1));
    let mut inner = items.clone().next_back().map(|(start, _)| start);
    let mut outer = items.next();
    if let Some(array) = open.last().filter(|last| !last.object)
        && (holds || outer.is_none())
    {
        inner = Some(at);
        outer = outer.or(Some((at, array.members.saturating_sub(1))));
    }
    let start = open.first().map_or(at, |first| first.start);
    let (outer, index) = outer.unwrap_or((start, document));
    let mut keys = [0; NAMED];
    keys.iter_mut().zip(open).for_each(|(key, open)| *key = open.key);
    Place { at, outer, inner: inner.unwrap_or(start), index, keys }
}

type Step = std::result::Result<(), BrokenOff>;

impl Walk<'_> {
    fn wrong(&self, why: &'static str) -> Result<Step> {
        let why = if self.text.offset() >= self.text.output.len() { "it ends too early" } else { why };
        Ok(Err(BrokenOff { at: self.text.offset(), why }))
    }

    fn documents(&mut self) -> Result<Step> {
        if self.text.more(0)? && self.text.buffer.starts_with(b"\xef\xbb\xbf") {
            self.text.at = 3;
        }
        while self.text.next()?.is_some() {
            self.open.clear();
            let step = self.document()?;
            if step.is_err() {
                self.give_up();
                return Ok(step);
            }
            self.documents += 1;
        }
        Ok(Ok(()))
    }

    /// Closes the open containers where the bytes end, so that the part seen of them counts.
    fn give_up(&mut self) {
        while let Some(open) = self.open.pop() {
            self.closed(&open);
        }
    }

    fn closed(&mut self, open: &Open) {
        if open.node != NOWHERE {
            let node = &mut self.tree.nodes[open.node];
            node.hint = 0;
            widen(if open.object { &mut node.members } else { &mut node.items }, open.members, open.members);
        }
    }

    fn document(&mut self) -> Result<Step> {
        // The node of the value that comes next.
        let mut node = 0;
        loop {
            // A value begins here.
            let at = self.text.offset();
            let Some(byte) = self.text.next()? else { return self.wrong("a value must come here") };
            let at = at.max(self.text.offset());
            match byte {
                b'{' | b'[' if self.open.len() == DEEPEST => {
                    self.tree.more = true;
                    let kind = if byte == b'{' { OBJECT } else { ARRAY };
                    if node != NOWHERE {
                        let here = || place(&self.open, at, true, self.documents);
                        self.tree.nodes[node].see(kind, at, here);
                    }
                    if let Err(broken) = self.pass_over()? {
                        return Ok(Err(broken));
                    }
                }
                b'{' | b'[' => {
                    let object = byte == b'{';
                    if node != NOWHERE {
                        let here = || place(&self.open, at, true, self.documents);
                        self.tree.nodes[node].see(if object { OBJECT } else { ARRAY }, at, here);
                        self.tree.nodes[node].hint = 0;
                    }
                    self.text.at += 1;
                    self.open.push(Open { node, object, members: 0, key: 0, start: at });
                    let close = if object { b'}' } else { b']' };
                    if self.text.next()? != Some(close) {
                        match self.member(object, node)? {
                            Ok(next) => node = next,
                            Err(broken) => return Ok(Err(broken)),
                        }
                        continue;
                    }
                }
                _ => {
                    if let Err(broken) = self.scalar(byte, node, at)? {
                        return Ok(Err(broken));
                    }
                }
            }
            // A value has ended, or an empty array or object closes.
            loop {
                let Some(open) = self.open.last() else { return Ok(Ok(())) };
                let (object, parent) = (open.object, open.node);
                match self.text.next()? {
                    Some(b',') if open.members > 0 => {
                        self.text.at += 1;
                        match self.member(object, parent)? {
                            Ok(next) => node = next,
                            Err(broken) => return Ok(Err(broken)),
                        }
                        break;
                    }
                    Some(b'}') if object => {}
                    Some(b']') if !object => {}
                    _ if object => return self.wrong("',' or '}' must come here"),
                    _ => return self.wrong("',' or ']' must come here"),
                }
                self.text.at += 1;
                if let Some(open) = self.open.pop() {
                    self.closed(&open);
                }
            }
        }
    }

    /// Moves to the next member: skips its key, and finds the node of its value.
    fn member(&mut self, object: bool, parent: usize) -> Result<std::result::Result<usize, BrokenOff>> {
        if !object {
            if let Some(open) = self.open.last_mut() {
                open.members += 1;
            }
            let at = self.text.offset();
            return Ok(Ok(self.tree.each(parent, at)));
        }
        if self.text.next()? != Some(b'"') {
            return Ok(self.wrong("a key must come here")?.map(|()| NOWHERE));
        }
        let token = self.string()?;
        if !token.ended {
            return Ok(self.wrong("it ends too early")?.map(|()| NOWHERE));
        }
        let key = &self.text.buffer[token.from + 1..token.to - 1];
        // Keys that are written in another way may be the same.
        let plain = if key.contains(&b'\\') { Some(readable(key).into_bytes()) } else { None };
        let offset = self.text.start + token.from as u64;
        let node = match plain
            .map(|key| serde_json::Value::String(String::from_utf8_lossy(&key).into_owned()).to_string())
        {
            Some(key) => self.tree.child(parent, &key.as_bytes()[1..key.len() - 1], offset),
            None => self.tree.child(parent, key, offset),
        };
        if self.text.next()? != Some(b':') {
            return Ok(self.wrong("':' must come here")?.map(|()| NOWHERE));
        }
        self.text.at += 1;
        if let Some(open) = self.open.last_mut() {
            (open.members, open.key) = (open.members + 1, offset);
        }
        Ok(Ok(node))
    }

    /// Passes the string that begins here. Of a long one only the beginning stays in the buffer.
    fn string(&mut self) -> Result<Token> {
        let mut from = self.text.at;
        let mut scan = from + 1;
        let mut dropped = 0;
        loop {
            let rest = &self.text.buffer[scan.min(self.text.buffer.len())..];
            match memchr2(b'"', b'\\', rest) {
                Some(place) if rest[place] == b'"' => {
                    self.text.at = scan + place + 1;
                    let to = if dropped == 0 { self.text.at } else { from + LONG };
                    let length = dropped + (self.text.at - from) as u64;
                    return Ok(Token { from, to, length, ended: true });
                }
                Some(place) => {
                    scan += place + 2;
                    continue;
                }
                None => {}
            }
            let passed = self.text.buffer.len();
            if passed - from > 2 * LONG && scan <= passed {
                // What is in the middle of a long string is of no use.
                self.text.buffer.drain(from + LONG..);
                let gone = passed - (from + LONG);
                dropped += gone as u64;
                self.text.start += gone as u64;
                scan = from + LONG;
                // The beginning now seems to lie later than it does; only its length is asked for.
            } else {
                scan = scan.max(passed);
            }
            self.text.at = from;
            scan -= from;
            let more = self.text.more(from)?;
            from = 0;
            if !more {
                self.text.at = self.text.buffer.len();
                let to = self.text.at;
                return Ok(Token { from, to, length: dropped + to as u64, ended: false });
            }
        }
    }

    fn scalar(&mut self, byte: u8, node: usize, at: u64) -> Result<Step> {
        if byte == b'"' {
            let token = self.string()?;
            if !token.ended {
                return self.wrong("it ends too early");
            }
            if node != NOWHERE {
                let here = || place(&self.open, at, false, self.documents);
                let node = &mut self.tree.nodes[node];
                node.see(STRING, at, here);
                node.longest = node.longest.max(token.length - 2);
                node.scalar(&self.text.buffer[token.from..token.to], token.length, here);
            }
            return Ok(Ok(()));
        }
        let ends = |byte: &u8| {
            matches!(byte, b',' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t' | b'"' | b'[' | b'{' | b':')
        };
        let length = loop {
            match self.text.buffer[self.text.at..].iter().position(ends) {
                Some(length) => break length,
                None if self.text.buffer.len() - self.text.at > LONG => {
                    return self.wrong("no value can be written like this");
                }
                None => {
                    if !self.text.more(self.text.at)? {
                        break self.text.buffer.len() - self.text.at;
                    }
                }
            }
        };
        let raw = &self.text.buffer[self.text.at..self.text.at + length];
        let kind = match raw {
            b"null" => NULL,
            b"true" | b"false" => BOOLEAN,
            raw if is_number(raw) => NUMBER,
            _ => {
                // What is cut off may still become a value.
                if self.text.offset() + length as u64 >= self.text.output.len()
                    && length > 0
                    && !self.open.is_empty()
                {
                    self.text.at += length;
                    return self.wrong("it ends too early");
                }
                return self.wrong("no value can be written like this");
            }
        };
        if node != NOWHERE {
            let here = || place(&self.open, at, false, self.documents);
            let node = &mut self.tree.nodes[node];
            node.see(kind, at, here);
            node.scalar(raw, length as u64, here);
            if kind == NUMBER {
                node.number(raw, here);
            }
        }
        self.text.at += length;
        Ok(Ok(()))
    }

    /// Passes an array or object without looking inside.
    fn pass_over(&mut self) -> Result<Step> {
        let mut depth = 0u64;
        loop {
            match self.text.next()? {
                Some(b'{' | b'[') => {
                    depth += 1;
                    self.text.at += 1;
                }
                Some(b'}' | b']') => {
                    depth -= 1;
                    self.text.at += 1;
                    if depth == 0 {
                        return Ok(Ok(()));
                    }
                }
                Some(b'"') => {
                    if !self.string()?.ended {
                        return self.wrong("it ends too early");
                    }
                }
                Some(_) => self.text.at += 1,
                None => return self.wrong("it ends too early"),
            }
        }
    }
}

fn is_number(raw: &[u8]) -> bool {
    let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut rest = raw.strip_prefix(b"-").unwrap_or(raw);
    let whole = digits(rest);
    if whole == 0 || whole > 1 && rest[0] == b'0' {
        return false;
    }
    rest = &rest[whole..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let some = digits(fraction);
        if some == 0 {
            return false;
        }
        rest = &fraction[some..];
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent =
            exponent.strip_prefix(b"+").or_else(|| exponent.strip_prefix(b"-")).unwrap_or(exponent);
        return !exponent.is_empty() && digits(exponent) == exponent.len();
    }
    rest.is_empty()
}
