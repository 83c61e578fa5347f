//! The room in a model's context: the tokens that are left, and how replies are fitted into them.
//!
//! A caller that knows how many tokens are in use reports them; otherwise the tokens of replies and answers are added up.
//! The count is part of the session's state in the store, so that processes share it and reserve tokens atomically.

use crate::limits::Room;
use crate::reply::{Folded, Reply, preview};
use crate::text::count::count;
use crate::{Output, Preset, Reason, Result, Settings, presets, view};

/// Returns what a model would get for several outputs at once, without any effect. Each gets the reply that it would get
/// alone, if all of them fit together. If not, the outputs whose folding saves most are folded, and then the largest views
/// are made smaller.
pub fn preview_all(outputs: &[&Output], settings: &Settings, room: Room) -> Result<Vec<Reply>> {
    let mut replies: Vec<Reply> =
        outputs.iter().map(|output| preview(output, settings, room)).collect::<Result<_>>()?;
    let Some(left) = room.left() else { return Ok(replies) };
    let cost = |replies: &[Reply]| replies.iter().map(|reply| reply.tokens).sum::<u64>();
    if cost(&replies) <= left {
        return Ok(replies);
    }
    let reason = match room {
        Room::NotReserved(_) => Reason::ReserveFailed,
        _ => Reason::TokenBudget,
    };
    let cause = format!("{} for {}", cause(room), count("output", outputs.len() as u64));
    let smaller = |number: usize, room: Room, replies: &[Reply]| -> Result<Option<Reply>> {
        let now = &replies[number];
        let reason = now.folded.as_ref().map_or(reason, |folded| folded.reason.min(reason));
        let folded = Folded::for_room(outputs[number], settings, room, reason, &cause)?;
        Ok(Some(Reply::folded(now.size, folded)).filter(|reply| reply.tokens < now.tokens))
    };
    // A tool that bypasses Forebay gets its output unchanged, however little room there is.
    let fixed: Vec<bool> = outputs
        .iter()
        .map(|output| output.lost().is_empty() && settings.bypasses(&output.record().call))
        .collect();
    let mut foldable = Vec::new();
    for number in (0..replies.len()).filter(|&number| replies[number].folded.is_none() && !fixed[number]) {
        if let Some(reply) = smaller(number, room, &replies)? {
            foldable.push((replies[number].tokens - reply.tokens, number, reply));
        }
    }
    foldable.sort_by_key(|(saved, number, _)| (std::cmp::Reverse(*saved), *number));
    for (_, number, reply) in foldable {
        if cost(&replies) > left {
            replies[number] = reply;
        }
    }
    if cost(&replies) <= left {
        return Ok(replies);
    }
    // The larger replies get the part of its share that a smaller one does not need.
    let mut order: Vec<usize> = (0..replies.len()).collect();
    order.sort_by_key(|&number| replies[number].tokens);
    let mut rest = left;
    for (place, number) in order.iter().copied().enumerate() {
        let share = rest / (order.len() - place) as u64;
        if replies[number].tokens > share
            && !fixed[number]
            && let Some(reply) = smaller(number, Room::Tokens(share), &replies)?
        {
            replies[number] = reply;
        }
        rest = rest.saturating_sub(replies[number].tokens);
    }
    Ok(replies)
}

/// The cause of a view smaller than the preset's.
pub(crate) fn cause(room: Room) -> String {
    match room {
        Room::Unknown => String::new(),
        Room::Tokens(left) => format!("{} left in the context", are(left)),
        Room::NotReserved(left) => {
            format!("tokens could not be reserved, and {} left in the context", are(left))
        }
    }
}

/// Attempts to make a view with masks fit its budget.
const ATTEMPTS: usize = 6;

/// Tokens of a mask.
const MASK_TOKENS: u64 = 20;

impl Folded {
    /// The view of an output that fits the room: the preset's, a smaller one, or one line.
    pub(crate) fn for_room(
        output: &Output,
        settings: &Settings,
        room: Room,
        reason: Reason,
        cause: &str,
    ) -> Result<Folded> {
        let output = &output.clone().masked_by(&settings.masking);
        let printed = |view: view::View| -> Result<Folded> {
            let view = view.masked(output)?;
            Ok(Folded { reason, text: view.print(output)?, view, shrunk: None })
        };
        let mut meant = printed(presets::fold(output, settings)?)?;
        // A mask may be longer than its secret.
        let budget = settings.digest.budget;
        let mut smaller = settings.clone();
        let exceeds = |folded: &Folded| {
            settings.preset == Preset::Digest && !folded.view.masks.is_empty() && !budget.holds(&folded.text)
        };
        for _ in 0..ATTEMPTS {
            if !exceeds(&meant) {
                break;
            }
            let room = &mut smaller.digest.budget;
            room.tokens =
                room.tokens.saturating_sub(meant.tokens().saturating_sub(budget.tokens) + MASK_TOKENS);
            room.bytes = room
                .bytes
                .saturating_sub((meant.text.len() as u64).saturating_sub(budget.bytes) + 4 * MASK_TOKENS);
            meant = printed(presets::fold(output, &smaller)?)?;
        }
        if exceeds(&meant) {
            meant = printed(presets::smallest(output, settings.preset, "masks of secrets leave no room")?)?;
        }
        let Some(left) = room.left().filter(|&left| meant.tokens() > left) else { return Ok(meant) };
        let smallest = || printed(presets::smallest(output, settings.preset, cause)?);
        let mut digest = settings.clone();
        digest.digest.budget.tokens = left;
        let smaller = match settings.preset {
            // The preset shows nothing of the output, however much room there is.
            Preset::Handle => smallest()?,
            _ => Some(printed(presets::smaller(output, &digest)?)?)
                .filter(|smaller| smaller.tokens() <= left)
                .map_or_else(smallest, Ok)?,
        };
        Ok(Folded { shrunk: Some(cause.to_owned()), ..smaller })
    }
}

/// `1 token is`, `2 tokens are`.
fn are(tokens: u64) -> String {
    format!("{} {}", count("token", tokens), if tokens == 1 { "is" } else { "are" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{self, Event, What};
    use crate::handle::Session;
    use crate::limits::Window;
    use crate::store::keep::keep;
    use crate::store::rooms::InUse;
    use crate::{Call, DiskStore, MemoryStore, Outputs, Preset, Store, Timestamp};
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    const WINDOW: Window = Window { context_window: 10_000, output_reserve: 1_000, safety_buffer: 500 };

    fn numbered(lines: u64) -> String {
        (1..=lines).map(|line| format!("line {line} of a long output\n")).collect()
    }

    fn put(store: &dyn Store, id: &str, text: &str) -> Output {
        let call = Call::new(Session::safe("s"), id, "make", Timestamp::UNIX_EPOCH);
        keep(store, &call, &mut text.as_bytes(), &|| Timestamp::UNIX_EPOCH).unwrap()
    }

    fn outputs(store: &dyn Store) -> Outputs<'_> {
        Outputs::new(store, Session::safe("s"), &|| Timestamp::UNIX_EPOCH).within(WINDOW)
    }

    fn happened(store: &MemoryStore) -> Vec<What> {
        let mut happened = Vec::new();
        event::for_each(store, &Session::safe("s"), |Event { what, .. }| happened.push(what)).unwrap();
        happened
    }

    #[test]
    fn the_room_is_the_window_less_reserves_and_tokens_in_use() {
        let table = [(0, 8_500), (8_000, 500), (8_500, 0), (9_999, 0), (u64::MAX, 0)];
        for (used, left) in table {
            assert_eq!(WINDOW.left(used), Room::Tokens(left), "{used} in use");
        }
        assert_eq!(Window { context_window: 0, ..WINDOW }.left(1), Room::Unknown);
    }

    #[test]
    fn replies_and_answers_count_as_in_use_until_the_caller_sets_the_count() {
        let store = MemoryStore::default();
        let outputs = outputs(&store);
        let small = put(&store, "small1", &numbered(50));
        let large = put(&store, "large1", &numbered(50_000));
        let first = outputs.reply(&small, &Settings::default()).unwrap();
        assert!(first.folded.is_none());
        assert_eq!(outputs.in_use().unwrap(), InUse { reported: 0, given: first.tokens });
        let second = outputs.reply(&large, &Settings::default()).unwrap();
        let view = second.folded.unwrap();
        assert_eq!(
            second.tokens,
            crate::tokens::count_bytes(&view.text),
            "what is set aside is the view's own size"
        );
        let read = outputs
            .answer(
                "large1",
                &crate::Query::Tail(3),
                Settings::default().excerpt_budget(),
                &crate::Surface::default(),
            )
            .unwrap();
        let handed = first.tokens + second.tokens + crate::tokens::count_bytes(&read.text);
        assert_eq!(outputs.room().unwrap(), Room::Tokens(8_500 - handed));
        outputs.set_used_tokens(3_000).unwrap();
        assert_eq!(outputs.room().unwrap(), Room::Tokens(5_500));
        assert!(happened(&store).contains(&What::RoomReported { used: 3_000 }));
    }

    #[test]
    fn an_unreadable_count_prevents_no_reply_and_can_be_set_again() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(folder.path());
        let outputs = outputs(&store);
        outputs.set_used_tokens(1).unwrap();
        std::fs::write(folder.path().join("s/state.json"), "{bad").unwrap();
        assert!(outputs.room().unwrap_err().to_string().contains("forebay room --used"));
        let small = put(&store, "small1", &numbered(5));
        assert!(outputs.reply(&small, &Settings::default()).unwrap().folded.is_none());
        outputs.set_used_tokens(500).unwrap();
        assert_eq!(outputs.room().unwrap(), Room::Tokens(8_000));
    }

    #[test]
    fn a_preview_has_no_effect() {
        let store = MemoryStore::default();
        let outputs = outputs(&store);
        let large = put(&store, "large1", &numbered(50_000));
        let before = happened(&store);
        let room = outputs.room().unwrap();
        let looked = preview(&large, &Settings::default(), room).unwrap();
        assert_eq!((happened(&store), outputs.in_use().unwrap()), (before, InUse::default()));
        assert!(crate::reply::shown::ShownView::of(&store, &large.record().handle).unwrap().is_none());
        let given = outputs.reply(&large, &Settings::default()).unwrap();
        assert_eq!(looked.folded.unwrap().text, given.folded.unwrap().text);
    }

    fn check(used: u64, expected: Expect) {
        let store = MemoryStore::default();
        let outputs = outputs(&store);
        outputs.set_used_tokens(used).unwrap();
        let output = put(&store, "output", &numbered(200));
        let reply = outputs.reply(&output, &Settings::default()).unwrap();
        let text = match &reply.folded {
            Some(folded) => format!("{}\n{}", folded.reason, String::from_utf8_lossy(&folded.text)),
            None => "passes\n".to_owned(),
        };
        assert!(reply.tokens <= outputs.window_left(used) || text.lines().count() <= 2, "{text}");
        expected.assert_eq(&text);
    }

    impl Outputs<'_> {
        fn window_left(&self, used: u64) -> u64 {
            WINDOW.left(used).left().unwrap()
        }
    }

    #[test]
    fn a_view_fits_the_room_or_is_one_line_with_the_cause() {
        check(
            0,
            expect![[r#"
            passes
        "#]],
        );
        check(
            8_400,
            expect![[r#"
                token_budget
                [view of 200 lines]
                line 1 of a long output
                line 2 of a long output
                line 3 of a long output
                line 4 of a long output
                line 5 of a long output
                line 6 of a long output
                line 7 of a long output
                line 8 of a long output
                [… forebay read s/output --lines 9:198]
                line 199 of a long output
                line 200 of a long output
            "#]],
        );
        check(
            8_440,
            expect![[r#"
                token_budget
                [view of 200 lines]
                line 1 of a long output
                line 2 of a long output
                line 3 of a long output
                line 4 of a long output
                [… forebay read s/output --lines 5:199]
                line 200 of a long output
            "#]],
        );
        check(
            8_499,
            expect![[r#"
            token_budget
            [200 lines, 5,092 bytes not shown: 1 token is left in the context: forebay read s/output --lines 1:200]
        "#]],
        );
        check(
            20_000,
            expect![[r#"
            token_budget
            [200 lines, 5,092 bytes not shown: 0 tokens are left in the context: forebay read s/output --lines 1:200]
        "#]],
        );
    }

    #[test]
    fn every_preset_gives_a_smaller_view_where_its_own_does_not_fit() {
        // No two lines are alike: of such lines the digest would show few.
        let words = |n: u64| format!("{n:b}").replace('0', "no ").replace('1', "yes ");
        let text: String = (1..6_000).map(|n| format!("{}is said\n", words(n))).collect();
        for preset in [Preset::HeadTail, Preset::Materialize, Preset::Recovery, Preset::Digest] {
            let store = MemoryStore::default();
            let outputs = outputs(&store);
            outputs.set_used_tokens(8_300).unwrap();
            let output = put(&store, "output", &text);
            let settings = Settings { preset, ..Settings::default() };
            let reply = outputs.reply(&output, &settings).unwrap();
            let folded = reply.folded.unwrap();
            assert!(reply.tokens <= 200 && reply.tokens > 100, "{preset}: {} tokens", reply.tokens);
            assert_eq!(folded.shrunk.as_deref(), Some("200 tokens are left in the context"), "{preset}");
            assert!(crate::verify(&folded.view, &output).unwrap().is_empty());
            let cause = happened(&store).into_iter().find_map(|what| match what {
                What::FellBack(fell_back) => Some((fell_back.from, fell_back.why)),
                _ => None,
            });
            assert_eq!(cause, Some((preset.to_string(), "200 tokens are left in the context".to_owned())));
        }
    }

    #[test]
    fn of_outputs_that_fit_one_by_one_but_not_together_those_are_folded_whose_folding_saves_most() {
        let store = MemoryStore::default();
        let outputs = outputs(&store);
        let sizes = [20, 290, 330, 40, 310];
        let put: Vec<Output> = (0..sizes.len())
            .map(|number| {
                put(&store, &format!("output-{number}"), &format!("{number}\n{}", numbered(sizes[number])))
            })
            .collect();
        let all: Vec<&Output> = put.iter().collect();
        let alone = |output: &&Output| preview(output, &Settings::default(), Room::Tokens(4_000)).unwrap();
        let alone: Vec<Reply> = all.iter().map(alone).collect();
        assert!(alone.iter().all(|reply| reply.folded.is_none()), "each fits alone");
        let room = alone.iter().map(|reply| reply.tokens).sum::<u64>() - 100;
        outputs.set_used_tokens(8_500 - room).unwrap();
        let replies = outputs.reply_to_all(&all, &Settings::default()).unwrap();
        let folded: Vec<bool> = replies.iter().map(|reply| reply.folded.is_some()).collect();
        assert_eq!(folded, [false, false, true, false, false]);
        assert_eq!(replies[2].folded.as_ref().unwrap().reason, Reason::TokenBudget);
        let left = outputs.room().unwrap().left().unwrap();
        assert_eq!(left, room - replies.iter().map(|reply| reply.tokens).sum::<u64>());
        for output in &put {
            assert!(!output.read(0..10).unwrap().is_empty(), "no stored copy goes");
        }
    }

    #[test]
    fn reservations_of_many_at_once_never_take_more_than_there_is() {
        let store = MemoryStore::default();
        let given: u64 = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16)
                .map(|number| {
                    let store = &store;
                    scope.spawn(move || {
                        let output =
                            put(store, &format!("output-{number}"), &format!("{number}\n{}", numbered(200)));
                        outputs(store).reply(&output, &Settings::default()).unwrap()
                    })
                })
                .collect();
            let replies: Vec<Reply> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
            let one_line = |reply: &Reply| {
                reply
                    .folded
                    .as_ref()
                    .is_some_and(|folded| String::from_utf8_lossy(&folded.text).lines().count() == 1)
            };
            replies.iter().filter(|reply| !one_line(reply)).map(|reply| reply.tokens).sum()
        });
        assert!(given <= 8_500, "{given} tokens were given of 8,500");
        assert!(given > 6_000, "{given} tokens were given of 8,500");
    }

    #[test]
    fn a_failed_reservation_is_the_stated_cause() {
        let store = MemoryStore::default();
        let output = put(&store, "output", &numbered(200));
        let table = [
            (Room::NotReserved(5_000), None),
            (Room::NotReserved(300), Some(Reason::ReserveFailed)),
            (Room::Tokens(300), Some(Reason::TokenBudget)),
        ];
        for (room, reason) in table {
            let reply = preview(&output, &Settings::default(), room).unwrap();
            assert_eq!(reply.folded.map(|folded| folded.reason), reason, "{room:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn together_they_fit_wherever_one_line_each_does(
            sizes in proptest::collection::vec(0u64..400, 1..6),
            left in 0u64..6_000,
        ) {
            let store = MemoryStore::default();
            let put: Vec<Output> = sizes
                .iter()
                .enumerate()
                .map(|(number, lines)| put(&store, &format!("output-{number}"), &format!("{number}\n{}", numbered(*lines))))
                .collect();
            let all: Vec<&Output> = put.iter().collect();
            let replies = preview_all(&all, &Settings::default(), Room::Tokens(left)).unwrap();
            let cost: u64 = replies.iter().map(|reply| reply.tokens).sum();
            let smallest = all.len() as u64 * 60;
            prop_assert!(cost <= left.max(smallest), "{cost} tokens of {left}");
            for (output, reply) in put.iter().zip(&replies) {
                if let Some(folded) = &reply.folded {
                    prop_assert!(crate::verify(&folded.view, output).unwrap().is_empty());
                }
            }
        }
    }
}
