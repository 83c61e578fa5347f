//! The outputs of one session: replies to the model, answers to queries, and the record of both.
//!
//! Everything that serves a model uses [`Outputs`]. It resolves names inside its session only, so the outputs of other
//! sessions do not exist for it. It fits replies into the room that is left. It records queries, so that an answer that
//! repeats an earlier one says so.

use crate::accounting::Notice;
use crate::clock::Clock;
use crate::event::{self, Answered, FellBack, Replied, SoFar};
use crate::query::search::Searched;
use crate::query::{Found, fitted, search};
use crate::reply::Reply;
use crate::reply::shown::ShownView;
use crate::request::tool_call;
use crate::store::{Reservation, Rooms};
use crate::text::count::grouped;
use crate::view::{Canvas, CompactForm};
use crate::{
    Bounds, Budget, Error, Event, Excerpt, Formats, Handle, InUse, Masking, Output, Part, Piece, Preset,
    Query, Record, Result, Room, Session, Settings, State, Store, Surface, What, Window, excerpt, tokens,
};
use serde_json::Map;
use std::ops::Range;
use std::sync::Arc;

/// Bytes at the end of a session's events that are searched for earlier queries.
const REMEMBERED: u64 = 128 * 1024;

/// Maximum bytes of an output whose tokens are counted only for the log: about 5 ms of work. Of a larger one the log has
/// the upper bound, unless the view counted them.
const COUNTED_FOR_LOG: u64 = 256 * 1024;

/// Maximum outputs that the error about an unknown handle lists.
const NAMED: usize = 8;

/// The outputs of one session.
pub struct Outputs<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) session: Session,
    pub(crate) now: Clock<'a>,
    window: Window,
    pub(crate) bounds: Option<Arc<dyn Bounds>>,
    formats: Formats,
    masking: Masking,
    rooms: Option<&'a dyn Rooms>,
}

/// Budget of the note that an answer gives nothing new.
const NOTE: Budget = Budget { tokens: 40, bytes: 200, lines: Some(1) };

/// Maximum ranges that are recorded of an answer drawn from many places.
const PLACES: usize = 32;

/// Maximum attempts to reserve tokens while other processes reserve them too. After that the smallest views are
/// given.
const ATTEMPTS: usize = 16;

impl<'a> Outputs<'a> {
    /// The outputs of a session, with the caller's clock.
    pub fn new(store: &'a dyn Store, session: Session, now: Clock<'a>) -> Outputs<'a> {
        let (window, bounds, formats, masking, rooms) = Default::default();
        Outputs { store, session, now, window, bounds, formats, masking, rooms }
    }

    /// The same outputs for a model with this context window. Replies and answers are counted from now on.
    pub fn within(self, window: Window) -> Outputs<'a> {
        Outputs { window, ..self }
    }

    /// The same outputs, with tokens in use counted by `rooms` instead of the store.
    pub fn counted_in(self, rooms: &'a dyn Rooms) -> Outputs<'a> {
        Outputs { rooms: Some(rooms), ..self }
    }

    /// The same outputs with limits on queries. They also hold for filters that a model writes, but not for extraction
    /// as a whole, whose time depends on the models.
    pub fn bounded_by(self, bounds: Arc<dyn Bounds>) -> Outputs<'a> {
        Outputs { bounds: Some(bounds), ..self }
    }

    /// The same outputs, whose lines are recognised by these formats in queries.
    pub fn knowing(self, formats: &Formats) -> Outputs<'a> {
        Outputs { formats: formats.clone(), ..self }
    }

    /// The same outputs, with secrets masked by this masking.
    pub fn masked_by(self, masking: &Masking) -> Outputs<'a> {
        Outputs { masking: masking.clone(), ..self }
    }

    /// What finds and masks secrets.
    pub fn masking(&self) -> &Masking {
        &self.masking
    }

    /// An output, opened for one query that begins now.
    fn for_query(&self, handle: &Handle) -> Result<Output> {
        Ok(self.opened(handle)?.with_bounds(self.bounds.as_ref()).for_one_query())
    }

    fn opened(&self, handle: &Handle) -> Result<Output> {
        Ok(self.store.open(handle)?.knowing(&self.formats).masked_by(&self.masking))
    }

    /// Replies to a call: returns the output or a view of it, as [`preview`](crate::preview) does, and records that the
    /// model got it. Its tokens are reserved, the view is stored beside the output so that it can be verified, and the
    /// session's events list it.
    pub fn reply(&self, output: &Output, settings: &Settings) -> Result<Reply> {
        let mut replies = self.reply_to_all(&[output], settings)?;
        Ok(replies.remove(0))
    }

    /// Replies to several calls at once. The replies are fitted into the room together.
    pub fn reply_to_all(&self, outputs: &[&Output], settings: &Settings) -> Result<Vec<Reply>> {
        // If the tokens in use cannot be read, the limits alone decide.
        let mut room = self.room().unwrap_or(Room::Unknown);
        let mut attempt = 1;
        let replies = loop {
            if attempt == ATTEMPTS {
                // Other processes may have taken the tokens that were left, so the views must be as small as possible.
                room = room.left().map_or(room, |_| Room::NotReserved(0));
            }
            let replies = crate::preview_all(outputs, settings, room)?;
            let cost = replies.iter().map(|reply| reply.tokens).sum();
            // The smallest views are given even if they do not fit, because every call needs a reply.
            let force = attempt == ATTEMPTS || room.left().is_some_and(|left| cost > left);
            match self.take_room(cost, force).unwrap_or(None) {
                None => break replies,
                Some(left) => room = Room::NotReserved(left),
            }
            attempt += 1;
        };
        for (output, reply) in outputs.iter().zip(&replies) {
            self.given(output, reply, settings)?;
        }
        Ok(replies)
    }

    /// Tokens that are left in the model's context.
    pub fn room(&self) -> Result<Room> {
        Ok(match self.window.context_window {
            0 => Room::Unknown,
            _ => self.window.left(self.in_use()?.total()),
        })
    }

    /// Tokens of the model's context that are in use.
    pub fn in_use(&self) -> Result<InUse> {
        self.rooms().in_use(&self.session)
    }

    /// Sets the number of tokens in use. Replies and answers from now on are added to it.
    pub fn set_used_tokens(&self, used: u64) -> Result<()> {
        self.rooms().set_in_use(&self.session, InUse { reported: used, given: 0 })?;
        self.log(What::RoomReported { used });
        Ok(())
    }

    /// Records that a person was shown secrets of an output.
    pub fn secrets_revealed(&self, output: &Output, secrets: u64) {
        self.log(What::SecretsRevealed { id: output.record().handle.id().to_owned(), secrets });
    }

    /// Reserves tokens atomically. If they are not left and `force` is not set, returns how many are.
    fn take_room(&self, tokens: u64, force: bool) -> Result<Option<u64>> {
        let Room::Tokens(most) = self.window.left(0) else { return Ok(None) };
        let reserved = self.rooms().reserve(&self.session, Reservation { tokens, most, force })?;
        Ok((!reserved.is_made).then(|| most.saturating_sub(reserved.in_use.total())))
    }

    fn rooms(&self) -> &dyn Rooms {
        self.rooms.unwrap_or(self.store)
    }

    /// Records the reply that the model got for an output.
    fn given(&self, output: &Output, reply: &Reply, settings: &Settings) -> Result<()> {
        let record = output.record();
        let id = record.handle.id().to_owned();
        let baseline = output.tokens_up_to(settings.host.shown_tokens)?;
        let (characters, bytes) = match &reply.folded {
            Some(folded) => (crate::size::characters(&folded.text), folded.text.len() as u64),
            None => (record.size.characters, record.size.bytes),
        };
        let output_tokens = match &reply.folded {
            Some(_) if settings.preset == Preset::Handle || output.len() <= COUNTED_FOR_LOG => {
                Some(output.tokens()?.0)
            }
            _ => None,
        };
        let replied = Replied {
            id: id.clone(),
            reason: reply.folded.as_ref().map(|folded| folded.reason),
            characters,
            bytes,
            tokens: reply.tokens,
            baseline: baseline.map_or(settings.host.shown_tokens, |(tokens, _)| tokens),
            output_tokens,
            made_by: reply.folded.as_ref().and_then(|_| settings.view_maker()),
            so_far: output.is_growing().then_some(SoFar { size: record.size, exit: record.exit }),
        };
        let Some(folded) = &reply.folded else {
            self.log(What::OutputPassed(replied));
            return Ok(());
        };
        if record.lost.is_none() {
            // The reply is given even if its view cannot be stored.
            let given = ShownView {
                view: folded.view.clone(),
                text: String::from_utf8_lossy(&folded.text).into_owned(),
                growing: output.is_growing(),
                handle: None,
            };
            let _ =
                serde_json::to_vec(&given).map(|json| self.store.attach(&record.handle, Part::View, &json));
            if settings.preset == Preset::Handle
                && let Err(error) = self.store.link(&record.handle)
            {
                // Its message says that the handle is a path under the root.
                let (from, to) = ("handle that is a path".to_owned(), "handle".to_owned());
                self.fell_back(FellBack { id: id.clone(), from, to, why: error.to_string() });
            }
        }
        self.log(What::ViewGiven(replied));
        if let Some(notice) = Notice::of(record, folded.reason, output_tokens) {
            notice.emit();
        }
        if let Some(why) = &folded.shrunk {
            let from = settings.preset.to_string();
            self.fell_back(FellBack { id, from, to: "smaller view".to_owned(), why: why.clone() });
        }
        Ok(())
    }

    pub(crate) fn log(&self, what: What) {
        Event { what, at: (self.now)() }.log(self.store, &self.session);
    }

    /// Records that a fallback was given in place of the intended reply.
    pub(crate) fn fell_back(&self, fell_back: FellBack) {
        fell_back.emit(&self.session);
        self.log(What::FellBack(fell_back));
    }

    /// Whether the model got a view in place of any output, so that there is more to read.
    pub fn has_folded(&self) -> Result<bool> {
        for id in self.store.ids(&self.session, "")? {
            let view = self.store.open_part(&Handle::new(self.session.clone(), &id)?, Part::View);
            // A sweep may remove the output meanwhile.
            if view.is_ok_and(|view| view.size().is_ok_and(|size| size > 0)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Finds the output that a handle, an id or a unique prefix of an id names. Outputs of other sessions are not found,
    /// and the error lists outputs of this one.
    pub fn find(&self, text: &str) -> Result<Handle> {
        let not_here = || Error::NotHere { wanted: crate::handle::shown(text), there: self.there() };
        // The store is not even asked about another session.
        let id = match text.split_once('/') {
            Some((session, id)) if session == self.session.as_str() => id,
            Some(_) => return Err(not_here()),
            None => text,
        };
        if id.contains('/') {
            return Err(not_here());
        }
        match self.store.find(id, &self.session) {
            Err(Error::NotFound { .. } | Error::BadName { .. }) => Err(not_here()),
            found => found,
        }
    }

    /// Opens an output for reading.
    pub fn open(&self, text: &str) -> Result<Output> {
        self.opened(&self.find(text)?)
    }

    /// Opens an output for one query, which begins now and has the limits of these outputs.
    pub fn open_for_query(&self, text: &str) -> Result<Output> {
        self.for_query(&self.find(text)?)
    }

    /// The records of the outputs, oldest first.
    pub fn list(&self) -> Result<Vec<Record>> {
        self.store.list(&self.session)
    }

    /// The outputs as text, newest first, as many as fit.
    pub fn listing(&self, budget: Budget) -> Result<String> {
        let budget = self.within_room(budget);
        let records = self.list()?;
        let lines: Vec<String> =
            records.iter().rev().map(|record| line(&self.masking.record(record))).collect();
        let print = |count: usize| {
            let head = match records.len() {
                0 => "[no outputs are kept in this session yet]\n".to_owned(),
                1 => "[1 output]\n".to_owned(),
                many if count < many => format!("[{} outputs, the newest {count}]\n", grouped(many as u64)),
                many => format!("[{} outputs, newest first]\n", grouped(many as u64)),
            };
            head + &lines[..count].concat()
        };
        let text = print(fitted(lines.len(), budget, |count| print(count).into_bytes()));
        self.record_answer(Answered::text("", "list", Map::new(), budget, &text));
        Ok(text)
    }

    /// Budget of a query: at most the remaining room, but never below [`Budget::LEAST`].
    pub(crate) fn within_room(&self, budget: Budget) -> Budget {
        let left = self.room().ok().and_then(Room::left).unwrap_or(u64::MAX).max(Budget::LEAST.tokens);
        Budget { tokens: budget.tokens.min(left), ..budget }
    }

    /// Records an answer that did not come from [`answer`](Outputs::answer). Its tokens are counted as in use.
    pub fn record_answer(&self, answered: Answered) {
        self.count(answered.tokens);
        self.log(What::QueryAnswered(answered));
    }

    /// Counts tokens as in use. An error is ignored, because the answer matters more than the count.
    pub(crate) fn count(&self, tokens: u64) {
        let _ = self.take_room(tokens, true);
    }

    /// Answers a query about an output and records the answer. If the answer has nothing new, it says so.
    pub fn answer(&self, text: &str, query: &Query, budget: Budget, surface: &Surface) -> Result<Excerpt> {
        let budget = self.within_room(budget);
        let handle = self.find(text)?;
        let output = self.for_query(&handle)?.on(surface);
        let call = tool_call::call_of(&handle, query);
        let before = self.answered(&handle);
        let same = |old: &&Answered| {
            old.query == call.name
                && old.arguments == call.arguments
                && old.length == output.len()
                && old.budget >= budget.tokens
        };
        let asked = before.iter().filter(same).count();
        // A repeated query leaves room for the note from the start, so that it need not run twice.
        let room = if asked > 0 { budget.less(NOTE) } else { budget };
        let mut answer = match said(&output, query, room) {
            Err(error) if room != budget && !matches!(error, Error::Stopped(_)) => {
                said(&output, query, budget)?
            }
            answer => answer?,
        };
        let mut shown: Vec<Range<u64>> =
            before.iter().flat_map(|old| old.shown.iter().map(|&(start, end)| start..end)).collect();
        let note = match asked {
            0 => {
                let given = ShownView::of(self.store, &handle).ok().flatten();
                let view = given.as_ref().map_or(&[][..], |given| given.view.pieces());
                // Text rendered as a terminal shows it has all its words, and so have lines in a compact form; the text
                // of a page lacks the tags, and a table the names of its fields.
                let seen = |piece: &&Piece| {
                    matches!(
                        piece,
                        Piece::Verbatim(_)
                            | Piece::Rendered {
                                on: Canvas::Screen
                                    | Canvas::Quoted
                                    | Canvas::Compact(CompactForm::Lines | CompactForm::Numbered),
                                ..
                            }
                    )
                };
                shown.extend(view.iter().filter(seen).map(|piece| piece.range().clone()));
                (answer.found == Found::Bytes && covers(shown, &answer.shown))
                    .then(|| "all of this was shown before".to_owned())
            }
            1 => Some("asked before: nothing here is new".to_owned()),
            times => Some(format!("asked {times} times before: nothing here is new")),
        };
        if let Some(note) = note {
            let on = match &answer.next {
                Some(_) => "; go on with the next part, or ask something else",
                None => "; ask something else",
            };
            answer = noted(&output, query, budget, answer, &format!("[{note}{on}]\n"));
        }
        let tokens = tokens::count_bytes(&answer.text);
        // The answer to a filter or a question comes from these bytes without showing all of them.
        let ranges = answer.shown.iter().map(|range| (range.start, range.end));
        let (shown, drawn_from) = match answer.found {
            Found::Bytes => (ranges.collect(), Vec::new()),
            _ => (Vec::new(), ranges.take(PLACES).collect()),
        };
        self.record_answer(Answered {
            id: handle.id().to_owned(),
            query: call.name.to_owned(),
            arguments: call.arguments,
            length: output.len(),
            shown,
            drawn_from,
            budget: budget.tokens,
            bytes: answer.text.len() as u64,
            tokens,
        });
        Ok(answer)
    }

    /// The lines with all of `words` in any output, newest output first.
    pub fn search(&self, words: &str, budget: Budget, surface: &Surface) -> Result<Searched> {
        let budget = self.within_room(budget);
        let records = self.list()?;
        let stop = self.bounds.as_ref().map(|bounds| bounds.begin()).unwrap_or_default();
        let newest_first = |number: usize| {
            let record = &records[records.len() - 1 - number];
            Ok(self.opened(&record.handle)?.on(surface).ended_by(&stop))
        };
        let searched = search(records.len(), newest_first, words, budget)?;
        stop.check()?;
        let arguments = Map::from_iter([("words".to_owned(), words.into())]);
        self.record_answer(Answered::text("", "search", arguments, budget, &searched.text));
        Ok(searched)
    }

    /// Earlier answers about an output, as far back as events are searched.
    fn answered(&self, handle: &Handle) -> Vec<Answered> {
        let end = event::last_lines(self.store, &self.session, REMEMBERED).unwrap_or_default();
        end.split(|&byte| byte == b'\n')
            // Most lines are about other outputs, so only lines with this id are parsed.
            .filter(|line| memchr::memmem::find(line, handle.id().as_bytes()).is_some())
            .filter(|line| memchr::memmem::find(line, b"query-answered").is_some())
            .filter_map(|line| match Event::parse(line)?.what {
                What::QueryAnswered(answered) => Some(answered),
                _ => None,
            })
            .filter(|answered| answered.id == handle.id())
            .collect()
    }

    /// The newest outputs, for the error about an unknown handle.
    fn there(&self) -> Vec<String> {
        let records = self.list().unwrap_or_default();
        records.iter().rev().take(NAMED).map(|record| record.handle.short()).collect()
    }
}

/// Answers a query in the encoding of its reader's surface. Tools return text, in which invalid UTF-8 is longer.
fn said(output: &Output, query: &Query, budget: Budget) -> Result<Excerpt> {
    let mut room = budget;
    loop {
        let answer = excerpt(output, query, room)?;
        let text = match output.surface() {
            Surface::Shell { .. } => return Ok(answer),
            Surface::Tools { .. } | Surface::Files => {
                String::from_utf8_lossy(&answer.text).into_owned().into_bytes()
            }
        };
        if budget.holds(&text) {
            return Ok(Excerpt { text, ..answer });
        }
        if room.tokens == 0 {
            return Err(Error::BadQuery("the budget is too small for any answer to this".to_owned()));
        }
        room = Budget { tokens: room.tokens / 2, bytes: room.bytes / 2, ..room };
    }
}

/// The answer with a note after it, shortened if both do not fit.
fn noted(output: &Output, query: &Query, budget: Budget, answer: Excerpt, note: &str) -> Excerpt {
    let with = |answer: &Excerpt| [answer.text.as_slice(), note.as_bytes()].concat();
    if budget.holds(&with(&answer)) {
        return Excerpt { text: with(&answer), ..answer };
    }
    match said(output, query, budget.less(NOTE)) {
        Ok(smaller) if budget.holds(&with(&smaller)) => Excerpt { text: with(&smaller), ..smaller },
        _ => answer,
    }
}

/// One output in a list.
fn line(record: &Record) -> String {
    let state = match (&record.state, record.exit) {
        (State::Growing, _) => ", still growing".to_owned(),
        (State::CutShort(_), _) => ", cut short".to_owned(),
        (State::Complete, Some(exit)) => format!(", {exit}"),
        (State::Complete, None) => String::new(),
    };
    let args = record.call.args.as_deref().unwrap_or_default();
    let args: String = crate::printable(args).replace('\n', " ").chars().take(80).collect();
    let bytes = grouped(record.size.bytes);
    let size = match record.state {
        State::Growing => format!("{bytes} bytes so far"),
        _ => format!("{} lines, {bytes} bytes", grouped(record.size.lines)),
    };
    let call = format!("{} {args}", record.call.full_name());
    format!("{} · {} · {size}{state}\n", record.handle.short(), call.trim_end())
}

/// Whether the ranges in `shown` cover all of `wanted`.
fn covers(mut shown: Vec<Range<u64>>, wanted: &[Range<u64>]) -> bool {
    shown.sort_by_key(|range| range.start);
    let inside = |wanted: &Range<u64>| {
        let mut at = wanted.start;
        for range in &shown {
            if range.start <= at && range.end > at {
                at = range.end;
            }
        }
        at >= wanted.end
    };
    !wanted.is_empty() && wanted.iter().all(inside)
}
