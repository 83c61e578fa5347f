//! Folding of `tools/call` results that do not fit: every block is stored whole, and a view takes its place.
//!
//! A result that fits is not touched. Of one that does not, the large blocks are kept one by one, and small ones that are
//! too many are kept together. Images stay. Structured content goes into the store, because a host that finds some
//! shows the model nothing else. All other fields of the result stay as they are.

use crate::error::{Error, Result};
use crate::message::{Message, Part, Spool};
use crate::result::{Block, BlockKind, CallResult};
use crate::text::{Decoded, Unescaped};
use forebay::store::Rooms;
use forebay::{
    Call, Clock, End, Limits, Output, Outputs, Preset, Room, Secrets, Session, Settings, Size, Store, Stream,
    Surface, Writer, decide, fresh_id, keep, tokens,
};
use serde_json::json;
use std::io::Read;
use std::ops::Range;

/// Maximum bytes of a text that is measured: a larger one exceeds every limit.
const WEIGHED: u64 = 8 * 1024 * 1024;

/// Bytes that are searched for secrets at once, and bytes that the next search has again.
const SCANNED: u64 = 1024 * 1024;
const SCAN_OVERLAP: u64 = 8 * 1024;

/// A block is large if it alone takes more than this share of what fits.
const LARGE_SHARE: u64 = 4;

/// How the tokens of a text are counted; beyond the limit, only that it is exceeded.
#[derive(Clone, Copy)]
enum Counting {
    /// Never too low, for a part of the price.
    AtMost,
    Exactly,
}

/// The context of folding a result.
pub(crate) struct Fold<'a> {
    pub(crate) store: &'a dyn Store,
    /// The count of the tokens in use, which may be that of many machines.
    pub(crate) rooms: &'a dyn Rooms,
    pub(crate) session: Session,
    pub(crate) settings: &'a Settings,
    /// The limits of a result.
    pub(crate) limits: Limits,
    /// How calls in a view are written.
    pub(crate) surface: Surface,
    pub(crate) spool: &'a Spool,
    /// Whether the client takes links to resources.
    pub(crate) links: bool,
    pub(crate) now: Clock<'a>,
}

/// The call that a result answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Called {
    pub(crate) tool: String,
    pub(crate) server: Option<String>,
    /// Verbatim JSON.
    pub(crate) args: Option<String>,
    /// The name of the client that calls.
    pub(crate) client: String,
    /// Whether it takes links to resources.
    pub(crate) links: bool,
}

/// A part of the new content, in the order of the old.
enum Item<'a> {
    /// A block that stays as it is.
    Stays(&'a Block),
    /// Blocks stored as one output, usually a single block.
    Kept { blocks: Vec<&'a Block>, output: usize },
    /// The structured content, kept as it is written.
    Structured { output: usize },
}

impl Fold<'_> {
    /// Whether a result passes as it is, as far as its size tells.
    pub(crate) fn fits(&self, message: &Message, at: Range<u64>, called: &Called) -> Result<bool> {
        let call = self.call(called)?;
        if self.has_secrets(message, at.clone(), &call)? {
            return Ok(false);
        }
        let may_bypass = self.settings.is_off() || !self.settings.bypass.is_empty();
        if may_bypass && self.settings.bypasses(&call) {
            return Ok(true);
        }
        if self.settings.room.context_window > 0 {
            return Ok(false);
        }
        if self.cannot_be_too_much(message) {
            return Ok(true);
        }
        let result = CallResult::of(message, at)?;
        let kind =
            result.fields.iter().find(|field| field.name == "resultType").map(|field| field.value.clone());
        if kind.and_then(|range| message.string(range)).is_some_and(|kind| kind != "complete") {
            // It is a step of a conversation between the two, and no output.
            return Ok(true);
        }
        // To count tokens costs more than all the rest, and nearly always a bound says as much.
        for counted in [Counting::AtMost, Counting::Exactly] {
            let sizes = self.weighed(message, &result, counted)?;
            let structured = result.structured.clone();
            let structured = structured.map(|range| self.weigh_text(message, range, counted)).transpose()?;
            let fits = |size: &Size| decide(size, &self.limits, Room::Unknown).is_none();
            if fits(&total(&sizes)) && structured.as_ref().is_none_or(fits) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The message in place of one whose result does not fit; `None` if nothing is gained and it passes as it is.
    pub(crate) fn folded(
        &self,
        message: &Message,
        at: Range<u64>,
        called: &Called,
    ) -> Result<Option<Message>> {
        let result = CallResult::of(message, at.clone())?;
        let sizes = self.weighed(message, &result, Counting::Exactly)?;
        self.answer(message, at, &result, &sizes, &self.call(called)?)
    }

    /// Whether a part of a message has secrets. Text in JSON strings is searched with its escapes, which scanners know.
    fn has_secrets(&self, message: &Message, at: Range<u64>, call: &Call) -> Result<bool> {
        if self.settings.masking.mode(call) == Secrets::Off {
            return Ok(false);
        }
        for start in (at.start..at.end).step_by(SCANNED as usize) {
            let end = at.end.min(start + SCANNED + SCAN_OVERLAP);
            let mut text = Vec::new();
            message.reader(start..end).read_to_end(&mut text)?;
            if self.settings.masking.has_secrets(call, &text) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn weighed(&self, message: &Message, result: &CallResult, counted: Counting) -> Result<Vec<Size>> {
        result.blocks.iter().map(|block| self.weigh(message, block, counted)).collect()
    }

    /// Whether so few bytes cannot be more than any limit, whatever they are.
    fn cannot_be_too_much(&self, message: &Message) -> bool {
        let Limits { bytes, characters, lines, tokens } = self.limits;
        let least = [bytes, characters, lines, tokens].into_iter().flatten().min().unwrap_or(u64::MAX);
        message.len() <= least
    }

    fn call(&self, called: &Called) -> Result<Call> {
        let mut call = Call::new(
            self.session.clone(),
            fresh_id(crate::random::random()?),
            called.tool.as_str(),
            (self.now)(),
        );
        call.server.clone_from(&called.server);
        call.args.clone_from(&called.args);
        Ok(call)
    }

    /// The part of a block that the model would read.
    fn weigh(&self, message: &Message, block: &Block, counted: Counting) -> Result<Size> {
        match &block.kind {
            BlockKind::Text { text } | BlockKind::ResourceText { text, .. } => {
                self.weigh_text(message, inside(text), counted)
            }
            // A host that does not know what to do with bytes gives the model their base64.
            BlockKind::ResourceBlob { blob, .. } => Ok(all(blob.end - blob.start)),
            BlockKind::Audio { data, .. } => Ok(all(data.end - data.start)),
            // Images are weighed by the host, and links are short.
            BlockKind::Other => Ok(Size::default()),
        }
    }

    fn weigh_text(&self, message: &Message, range: Range<u64>, counted: Counting) -> Result<Size> {
        if range.end - range.start > WEIGHED {
            return Ok(all(range.end - range.start));
        }
        let mut text = Vec::with_capacity(usize::try_from(range.end - range.start).unwrap_or(0));
        Unescaped::new(message.reader(range)).read_to_end(&mut text)?;
        // Many a server writes in another encoding than it should, and its client takes it.
        let text = String::from_utf8_lossy(&text);
        let limit = self.limits.tokens.unwrap_or(0);
        let tokens = match counted {
            Counting::AtMost => tokens::most(&text, limit),
            Counting::Exactly => tokens::count_up_to(&text, limit),
        };
        Ok(Size {
            bytes: text.len() as u64,
            // As the limits of the preset count them.
            characters: match self.settings.preset {
                Preset::Materialize => forebay::size::utf16_units(text.as_bytes()),
                _ => text.chars().count() as u64,
            },
            lines: text.lines().count() as u64,
            tokens: tokens.unwrap_or(limit + 1),
            ..Size::default()
        })
    }

    fn answer(
        &self,
        message: &Message,
        at: Range<u64>,
        result: &CallResult,
        sizes: &[Size],
        call: &Call,
    ) -> Result<Option<Message>> {
        let (items, kept) = self.keep(message, result, sizes, call)?;
        if kept.iter().any(|output| output.record().lost.is_some()) {
            return Err(Error::NotKept(call.full_name()));
        }
        let outputs = Outputs::new(self.store, self.session.clone(), self.now)
            .within(self.settings.room)
            .counted_in(self.rooms);
        let replies =
            outputs.reply_to_all(&kept.iter().collect::<Vec<_>>(), &self.forced(kept.len() as u64))?;
        if replies.iter().all(|reply| reply.folded.is_none()) {
            return Ok(None);
        }
        let mut content = Content { message, links: self.links, parts: Vec::new() };
        for item in items {
            let output = match item {
                Item::Stays(block) => {
                    content.push([Part::Old(block.range.clone())]);
                    continue;
                }
                Item::Kept { output, .. } | Item::Structured { output } => output,
            };
            let folded = replies[output].folded.as_ref().map(|folded| String::from_utf8_lossy(&folded.text));
            match (&item, folded) {
                (Item::Kept { blocks, .. }, None) => {
                    blocks.iter().for_each(|block| content.push([Part::Old(block.range.clone())]));
                    continue;
                }
                (Item::Kept { blocks, .. }, Some(view)) => match blocks[..] {
                    [block] => content.view_of(block, &view),
                    _ => content.text(&view),
                },
                (_, Some(view)) => content.text(&view),
                (_, None) => {
                    let output = &kept[output];
                    content.text(&String::from_utf8_lossy(&output.read(0..output.len())?));
                }
            }
            content.link(&kept[output]);
        }
        let parts = content.within(at, result);
        Ok(Some(message.composed(&parts, self.spool)?))
    }

    /// Stores the blocks that do not stay, and returns the new content.
    fn keep<'a>(
        &self,
        message: &Message,
        result: &'a CallResult,
        sizes: &[Size],
        call: &Call,
    ) -> Result<(Vec<Item<'a>>, Vec<Output>)> {
        let large = |size: &Size| decide(size, &share(&self.limits, LARGE_SHARE), Room::Unknown).is_some();
        let counted = self.settings.room.context_window > 0;
        let has_secrets =
            |block: &Block| self.has_secrets(message, block.range.clone(), call).unwrap_or(true);
        let is_kept = |block: &Block, size: &Size| {
            block.kind != BlockKind::Other && (counted || large(size) || has_secrets(block))
        };
        let foldable = |block: &Block, size: &Size| {
            matches!(block.kind, BlockKind::Text { .. } | BlockKind::ResourceText { .. })
                && !is_kept(block, size)
        };
        let blocks = || result.blocks.iter().zip(sizes);
        let small: Vec<&Block> =
            blocks().filter(|(block, size)| foldable(block, size)).map(|(block, _)| block).collect();
        let sum = total(blocks().filter(|(block, size)| foldable(block, size)).map(|(_, size)| size));
        // Small blocks that come to more than a view may cost are kept together: a view each would cost more than they do.
        let together = decide(&sum, &share(&self.limits, 2), Room::Unknown).is_some() && small.len() > 1;

        let (mut items, mut kept) = (Vec::new(), Vec::new());
        let mut joined = false;
        for (block, size) in blocks() {
            let blocks = match (is_kept(block, size), together && foldable(block, size)) {
                (true, _) => vec![block],
                (false, true) if joined => continue,
                (false, true) => {
                    joined = true;
                    small.clone()
                }
                (false, false) => {
                    items.push(Item::Stays(block));
                    continue;
                }
            };
            kept.push(match blocks[..] {
                [block] => self.keep_block(message, block, call)?,
                _ => self.keep_together(message, &blocks, call)?,
            });
            items.push(Item::Kept { blocks, output: kept.len() - 1 });
        }
        if joined && let Some(content) = result.fields.iter().find(|field| field.name == "content") {
            // Where one block ends and the next begins is told only by the content itself.
            self.keep_from(&mut message.reader(content.value.clone()), call)?;
        }
        // What a text says already is kept with it. Were it kept again without being shown, a later output of the same
        // bytes would be said to be known.
        if let Some(range) =
            result.structured.clone().filter(|range| !repeats(message, result, range.clone()))
        {
            kept.push(self.keep_from(&mut message.reader(range), call)?);
            items.push(Item::Structured { output: kept.len() - 1 });
        }
        Ok((items, kept))
    }

    fn keep_block(&self, message: &Message, block: &Block, call: &Call) -> Result<Output> {
        match &block.kind {
            BlockKind::Text { text } | BlockKind::ResourceText { text, .. } => {
                self.keep_from(&mut Unescaped::new(message.reader(inside(text))), call)
            }
            BlockKind::ResourceBlob { blob: data, .. } | BlockKind::Audio { data, .. } => {
                let base64 = || Unescaped::new(message.reader(inside(data)));
                // Bytes are kept as bytes if their base64 can be made from them again, and as its text otherwise.
                match std::io::copy(&mut Decoded::new(base64()), &mut std::io::sink()) {
                    Ok(_) => self.keep_from(&mut Decoded::new(base64()), call),
                    Err(_) => self.keep_from(&mut base64(), call),
                }
            }
            BlockKind::Other => self.keep_from(&mut message.reader(block.range.clone()), call),
        }
    }

    /// Stores the texts of several blocks as one output, each on separate lines.
    fn keep_together(&self, message: &Message, blocks: &[&Block], call: &Call) -> Result<Output> {
        let mut writer = Writer::begin(self.store, &self.fresh(call)?);
        for block in blocks {
            if let BlockKind::Text { text } | BlockKind::ResourceText { text, .. } = &block.kind {
                let mut source = Unescaped::new(message.reader(inside(text)));
                while writer.read_from(Stream::Stdout, &mut source)? > 0 {}
            }
            if !writer.ends_a_line() {
                writer.write(Stream::Stdout, b"\n");
            }
        }
        let output = writer.finish(End { at: Some((self.now)()), ..End::default() });
        Ok(output.on(&self.surface))
    }

    fn keep_from(&self, source: &mut dyn Read, call: &Call) -> Result<Output> {
        Ok(keep(self.store, &self.fresh(call)?, source, self.now)?.on(&self.surface))
    }

    /// The call under a unique id, so that a prefix identifies its output.
    fn fresh(&self, call: &Call) -> Result<Call> {
        let mut call = call.clone();
        call.id = fresh_id(crate::random::random()?);
        Ok(call)
    }

    /// Settings for folding what was found too large. Several views share the budget of one.
    fn forced(&self, count: u64) -> Settings {
        let mut settings = self.settings.clone();
        settings.bypass.clear();
        let least = forebay::Budget::LEAST;
        let limit = self.limits.tokens.unwrap_or(u64::MAX).max(least.tokens);
        let budget = &mut settings.digest.budget;
        let share = |whole: u64, least: u64| (whole / count.max(1)).max(least * 4).min(whole);
        budget.tokens = share(budget.tokens.min(limit), least.tokens);
        budget.bytes = share(budget.bytes, least.bytes);
        if settings.preset == Preset::Digest && settings.room.context_window == 0 {
            // What is smaller than its view would be stays as it is.
            settings.digest.tokens = budget.tokens;
            settings.digest.tools.clear();
        }
        settings
    }
}

/// The new content, as it is put together.
struct Content<'a> {
    message: &'a Message,
    links: bool,
    parts: Vec<Part>,
}

impl Content<'_> {
    fn push(&mut self, block: impl IntoIterator<Item = Part>) {
        self.parts.push(Part::text(if self.parts.is_empty() { "[" } else { "," }));
        self.parts.extend(block);
    }

    fn text(&mut self, text: &str) {
        self.push([Part::text(json!({ "type": "text", "text": text }).to_string())]);
    }

    /// Replaces a block by its view. A text keeps its annotations; for a resource, its URI and media type come before
    /// the view.
    fn view_of(&mut self, block: &Block, view: &str) {
        let said = |range: &Option<Range<u64>>| range.clone().and_then(|range| self.message.string(range));
        match &block.kind {
            BlockKind::Text { text } => self.push([
                Part::Old(block.range.start..text.start),
                Part::text(json!(view).to_string()),
                Part::Old(text.end..block.range.end),
            ]),
            BlockKind::ResourceText { uri, media_type, .. }
            | BlockKind::ResourceBlob { uri, media_type, .. } => {
                let what: Vec<String> = [said(uri), said(media_type)].into_iter().flatten().collect();
                self.text(&format!("[resource {}]\n{view}", forebay::shortened(&what.join(" · "), 300)));
            }
            BlockKind::Audio { media_type, .. } => {
                let what = said(media_type).unwrap_or_default();
                self.text(&format!("[audio {}]\n{view}", forebay::shortened(&what, 100)));
            }
            BlockKind::Other => self.push([Part::Old(block.range.clone())]),
        }
    }

    /// A link to a kept output, for clients that can follow it.
    fn link(&mut self, output: &Output) {
        if !self.links {
            return;
        }
        let record = output.record();
        let link = json!({
            "type": "resource_link",
            "uri": crate::resources::uri(&record.handle),
            "name": record.handle.short(),
            "description": format!("the whole output of {}", forebay::shortened(&record.call.full_name(), 100)),
            "mimeType": record.kind.media_type(),
            "size": output.len(),
        });
        self.push([Part::text(link.to_string())]);
    }

    /// The whole message: the old one with this content, and without structured content.
    fn within(self, at: Range<u64>, result: &CallResult) -> Vec<Part> {
        let mut content = Some(self.parts);
        let mut parts = vec![Part::Old(0..at.start), Part::text("{")];
        for field in result.fields.iter().filter(|field| field.name != "structuredContent") {
            let value = match field.name.as_str() {
                "content" => match content.take() {
                    Some(content) => content.into_iter().chain([Part::text("]")]).collect(),
                    // Written twice, it is shown once: all of it is in the first.
                    None => continue,
                },
                _ => vec![Part::Old(field.value.clone())],
            };
            let comma = if parts.len() > 2 { "," } else { "" };
            parts.extend([Part::text(comma), Part::Old(field.label())]);
            parts.extend(value);
        }
        if let Some(content) = content {
            let comma = if parts.len() > 2 { "," } else { "" };
            parts.push(Part::text(format!("{comma}\"content\":")));
            parts.extend(content);
            parts.push(Part::text("]"));
        }
        parts.extend([Part::text("}"), Part::Old(at.end..self.message.len())]);
        parts
    }
}

/// Whether the structured content has the same contents as a text: its JSON, or the text as the single field
/// `result`.
fn repeats(message: &Message, result: &CallResult, structured: Range<u64>) -> bool {
    let texts = || {
        result.blocks.iter().filter_map(|block| match &block.kind {
            BlockKind::Text { text } => Some(inside(text)),
            _ => None,
        })
    };
    let text = |range| std::io::BufReader::new(Unescaped::new(message.reader(range)));
    let wrapped = crate::scan::fields_of(message.reader(structured.clone()), structured.start)
        .ok()
        .and_then(|fields| <[_; 1]>::try_from(fields).ok())
        .filter(|[field]| field.name == "result")
        .map(|[field]| inside(&field.value));
    texts().any(|range| {
        let as_json = same(Tokens::new(text(range.clone())), Tokens::new(message.reader(structured.clone())));
        let as_result = wrapped.clone().is_some_and(|inner| same(text(range).bytes(), text(inner).bytes()));
        as_json || as_result
    })
}

/// Whether two texts are equal. An unreadable text is not equal to any other.
fn same(
    one: impl Iterator<Item = std::io::Result<u8>>,
    other: impl Iterator<Item = std::io::Result<u8>>,
) -> bool {
    let mut other = other.map(std::io::Result::ok);
    let same_start = one.map(std::io::Result::ok).all(|byte| byte.is_some() && other.next() == Some(byte));
    same_start && other.next().is_none()
}

/// The bytes of JSON without the white space between its parts.
struct Tokens<R> {
    bytes: std::io::Bytes<R>,
    in_string: bool,
    escaped: bool,
}

impl<R: std::io::BufRead> Tokens<R> {
    fn new(input: R) -> Tokens<R> {
        Tokens { bytes: input.bytes(), in_string: false, escaped: false }
    }
}

impl<R: std::io::BufRead> Iterator for Tokens<R> {
    type Item = std::io::Result<u8>;

    fn next(&mut self) -> Option<std::io::Result<u8>> {
        let (in_string, escaped) = (self.in_string, self.escaped);
        let byte = self.bytes.find(|byte| in_string || !byte.as_ref().is_ok_and(u8::is_ascii_whitespace))?;
        match byte {
            Ok(b'"') if !escaped => self.in_string = !in_string,
            Ok(b'\\') if in_string => self.escaped = !escaped,
            _ => {}
        }
        self.escaped &= !escaped;
        Some(byte)
    }
}

/// A string without its quotes.
fn inside(string: &Range<u64>) -> Range<u64> {
    string.start + 1..string.end.saturating_sub(1).max(string.start + 1)
}

/// Size of `bytes` bytes with unknown contents.
fn all(bytes: u64) -> Size {
    Size { bytes, characters: bytes, lines: 1, tokens: bytes, ..Size::default() }
}

fn total<'a>(sizes: impl IntoIterator<Item = &'a Size>) -> Size {
    sizes.into_iter().fold(Size::default(), |sum, size| Size {
        bytes: sum.bytes + size.bytes,
        characters: sum.characters + size.characters,
        lines: sum.lines + size.lines,
        tokens: sum.tokens + size.tokens,
        ..sum
    })
}

/// The limits of a part of a result.
fn share(limits: &Limits, parts: u64) -> Limits {
    let share = |limit: Option<u64>| limit.map(|limit| limit / parts);
    Limits {
        bytes: share(limits.bytes),
        characters: share(limits.characters),
        lines: share(limits.lines),
        tokens: share(limits.tokens),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay::{MemoryStore, Timestamp};
    use serde_json::Value;

    /// The folded result of a message in a file, and the sizes of the outputs that were stored.
    fn folded(result: &str) -> (Option<Value>, Vec<u64>) {
        let (store, settings) = (MemoryStore::default(), Settings::default());
        let spool = Spool::new(std::env::temp_dir(), u64::MAX);
        let session = Session::safe("s");
        let fold = Fold {
            store: &store,
            rooms: &store,
            session: session.clone(),
            settings: &settings,
            limits: settings.limits("tool"),
            surface: Surface::Tools { prefix: "output_".to_owned() },
            spool: &spool,
            links: true,
            now: &|| Timestamp::UNIX_EPOCH,
        };
        let message = Message::from(result.to_owned());
        let message = message.composed(&[Part::Old(message.all())], &spool).unwrap();
        let called = Called { tool: "tool".to_owned(), ..Called::default() };
        let fits = fold.fits(&message, message.all(), &called).unwrap();
        let folded = (!fits).then(|| fold.folded(&message, message.all(), &called).unwrap().unwrap());
        let kept = Outputs::new(&store, session, &|| Timestamp::UNIX_EPOCH).list().unwrap();
        let mut kept: Vec<u64> = kept.iter().map(|record| record.size.bytes).collect();
        kept.sort_unstable();
        (folded.map(|folded| folded.value(folded.all()).unwrap()), kept)
    }

    #[test]
    fn a_result_of_very_many_blocks_is_folded_as_one() {
        let blocks = [r#"{"type":"text","text":"x"}"#; 200_000].join(",");
        let (view, kept) = folded(&format!(r#"{{"content":[{blocks}],"isError":true}}"#));
        let view = view.unwrap();
        assert_eq!((view["content"].as_array().unwrap().len(), &view["isError"]), (2, &json!(true)));
        assert_eq!(
            kept,
            [400_000, blocks.len() as u64 + 2],
            "the texts, a line each, and the content itself"
        );
    }

    #[test]
    fn fields_with_names_of_any_length_and_spelling_stay_and_what_is_large_is_folded() {
        let (long, text) = ("n".repeat(1_000), "word ".repeat(10_000));
        let result = format!(r#"{{"{long}":1.50,"c\u006fntent":[{{"type":"text","t\u0065xt":"{text}"}}]}}"#);
        let (view, kept) = folded(&result);
        let view = view.unwrap();
        assert_eq!((view[&long].to_string(), kept), ("1.5".to_owned(), vec![text.len() as u64]));
        assert!(view["content"][0]["text"].as_str().unwrap().len() < 12_000, "{view}");
    }

    #[test]
    fn whether_a_result_fits_is_told_exactly_where_a_bound_does_not_tell() {
        // No word of it is a token, so that a bound is far from what they are.
        let text = |words: usize| "qzxjv ".repeat(words);
        let tokens = |words: usize| tokens::count(&text(words));
        let most = (1..4_000).rev().find(|&words| tokens(words) <= 4_000).unwrap();
        assert!(tokens::most(&text(most), 4_000).unwrap() > 4_000);
        let result = |words: usize| format!(r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#, text(words));
        assert_eq!(folded(&result(most)), (None, Vec::new()), "it fits");
        assert_eq!(folded(&result(most + 1)).1.len(), 1);
    }

    #[test]
    fn structured_content_repeats_a_text_only_if_it_says_the_same() {
        let table = [
            (r#""{\n \"a\": \"x y\" }""#, r#"{"a":"x y"}"#, true),
            (r#""{\"a\": \"xy\"}""#, r#"{"a":"x y"}"#, false),
            (r#""{\"a\": \"q\\\" z\"}""#, r#"{"a":"q\" z"}"#, true),
            (r#""{\"a\": 1}""#, r#"{"a":1,"b":2}"#, false),
            (r#""two  words\n""#, r#"{"result":"two  words\n"}"#, true),
            (r#""two words\n""#, r#"{"result":"two  words\n"}"#, false),
            (r#""two words""#, r#"{"result":"two words","more":1}"#, false),
        ];
        for (text, structured, expected) in table {
            let result = format!(
                r#"{{"content":[{{"type":"text","text":{text}}}],"structuredContent":{structured}}}"#
            );
            let message = Message::from(result);
            let result = CallResult::of(&message, message.all()).unwrap();
            let range = result.structured.clone().unwrap();
            assert_eq!(repeats(&message, &result, range), expected, "{text} {structured}");
        }
    }
}
