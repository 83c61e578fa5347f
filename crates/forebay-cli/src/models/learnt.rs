//! Facts about models and their servers, kept between runs in one small file.
//!
//! The file is a cache: a broken, foreign or unwritable one is ignored. Reports of servers are requested again. Facts
//! that come only from errors, usage and probes would each cost a failed request.

use forebay::model::ToolCalls;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::ops::RangeInclusive;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum bytes read of the file; an entry has some 300.
const LARGEST: u64 = 512 * 1_024;

/// Maximum models in the file: more than anybody uses, and far less than [`LARGEST`].
const MOST: usize = 256;

/// Maximum bytes of the name of an entry.
const LONGEST_NAME: usize = 1_024;

/// Windows that are believed, in tokens: no model has a smaller or a larger one.
const WINDOWS: RangeInclusive<u64> = 256..=100_000_000;

/// Plausible token ratios. A server that does not count cached tokens, or that cuts the prompt off, reports less;
/// scripts other than Latin may have three.
const RATIOS: RangeInclusive<f64> = 0.5..=4.0;

/// Slots that are believed.
const SLOTS: RangeInclusive<u64> = 1..=1_024;

/// Share of the way that the token ratio goes back when a text has fewer tokens. Texts differ by a third, so the
/// largest of some recent ones counts: after five such texts two thirds of the way are gone.
const BACK: f64 = 0.2;

/// Seconds of a day.
const DAY: i64 = 86_400;

/// Facts about one model at one server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Facts {
    /// When something was learnt last, in seconds since 1970.
    learnt: i64,
    /// Time of the last request to a remote server's report, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<i64>,
    /// Name of the model that the server runs, by the server's own word.
    #[serde(skip_serializing_if = "Option::is_none")]
    served: Option<String>,
    /// Window that the server reports, in the model's tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    reported: Option<u64>,
    /// Where the server reports it.
    #[serde(skip_serializing_if = "String::is_empty")]
    reported_in: String,
    /// Window named in an error, which takes precedence over the reported one.
    #[serde(skip_serializing_if = "Option::is_none")]
    overflowed: Option<u64>,
    /// Maximum concurrent requests of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    slots: Option<u64>,
    /// The model's tokens for each that Forebay counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    token_ratio: Option<f64>,
    /// How the model calls tools, as a probe showed.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<ToolCalls>,
    /// Tokens of a prompt read in a second, as seen last.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_speed: Option<f64>,
    /// Tokens of an answer written in a second, as seen last.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer_speed: Option<f64>,
}

/// Report of a server about a model and itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    /// Name of the model that it runs.
    pub(super) served: Option<String>,
    /// Window, in the model's tokens.
    pub(super) window: Option<u64>,
    /// Where it says so.
    pub(super) place: &'static str,
    /// Maximum concurrent requests of the server.
    pub(super) slots: Option<u64>,
    /// Whether its template takes tools.
    pub(super) takes_tools: Option<bool>,
    /// Whether the window is only the least that such a server has.
    pub(super) is_guess: bool,
}

impl Facts {
    /// Window of the model, if it is known.
    pub(crate) fn window(&self) -> Option<u64> {
        self.overflowed.or(self.reported)
    }

    /// Where the window is from.
    pub(crate) fn window_from(&self) -> &str {
        match self.overflowed {
            Some(_) => "from an error",
            None => &self.reported_in,
        }
    }

    pub(crate) fn slots(&self) -> Option<u64> {
        self.slots
    }

    pub(crate) fn token_ratio(&self) -> Option<f64> {
        self.token_ratio
    }

    pub(crate) fn tool_calls(&self) -> Option<ToolCalls> {
        self.tool_calls
    }

    /// Tokens of a prompt read in a second, and of an answer written, as seen last.
    pub(crate) fn speeds(&self) -> (Option<f64>, Option<f64>) {
        (self.prompt_speed, self.answer_speed)
    }

    /// Stores a server's report.
    pub(super) fn report(&mut self, report: &Report) {
        if let Some(served) = &report.served {
            if self.served.as_ref().is_some_and(|known| known != served) {
                // Another model behind the same name has another tokenizer and another template.
                *self = Facts::default();
            }
            self.served = Some(served.clone());
        }
        let window = report.window.filter(|window| WINDOWS.contains(window));
        // What was reported once is better than the least that there could be.
        if let Some(window) = window.filter(|_| !report.is_guess || self.reported.is_none()) {
            if self.reported != Some(window) {
                self.overflowed = None;
            }
            self.reported = Some(window);
            report.place.clone_into(&mut self.reported_in);
        }
        self.slots = report.slots.filter(|slots| SLOTS.contains(slots)).or(self.slots);
    }

    /// Whether the report of a server is less than a day old, which is recent enough for one with a long list of
    /// models.
    pub(super) fn is_fresh(&self) -> bool {
        let age = self.asked.map(|asked| jiff::Timestamp::now().as_second().saturating_sub(asked));
        self.reported.is_some() && age.is_some_and(|age| (0..DAY).contains(&age))
    }

    pub(super) fn asked_now(&mut self) {
        self.asked = Some(jiff::Timestamp::now().as_second());
    }

    /// Takes the window that an error named.
    pub(super) fn overflow(&mut self, window: u64) {
        if WINDOWS.contains(&window) {
            self.overflowed = Some(window);
        }
    }

    /// Updates the token ratio from the server's count of a text with `counted` tokens. `guess` is the initial ratio.
    /// It rises at once, and falls in steps.
    pub(super) fn count(&mut self, counted: u64, tokens: u64, guess: f64) {
        let ratio = tokens as f64 / counted.max(1) as f64;
        if !RATIOS.contains(&ratio) {
            return;
        }
        let known = self.token_ratio.unwrap_or(guess);
        let ratio = if ratio >= known { ratio } else { known - (known - ratio) * BACK };
        // A thousandth more or less is no reason to write a file.
        let ratio = (ratio * 1_000.0).round() / 1_000.0;
        self.token_ratio = Some(ratio);
    }

    pub(super) fn probed(&mut self, tool_calls: ToolCalls) {
        self.tool_calls = Some(tool_calls);
    }

    pub(super) fn speed(&mut self, prompt: Option<f64>, answer: Option<f64>) {
        let rounded = |speed: f64| (speed * 10.0).round() / 10.0;
        let plausible = |speed: &f64| speed.is_finite() && *speed > 0.0;
        self.prompt_speed = prompt.filter(plausible).map(rounded).or(self.prompt_speed);
        self.answer_speed = answer.filter(plausible).map(rounded).or(self.answer_speed);
    }

    /// Facts as a file has them, without those that cannot be.
    fn believed(mut self) -> Facts {
        self.reported = self.reported.filter(|window| WINDOWS.contains(window));
        self.overflowed = self.overflowed.filter(|window| WINDOWS.contains(window));
        self.slots = self.slots.filter(|slots| SLOTS.contains(slots));
        self.token_ratio = self.token_ratio.filter(|ratio| RATIOS.contains(ratio));
        self
    }
}

/// All that was learnt, as it is in the file and as it has changed since.
#[derive(Debug)]
pub(super) struct Learnt {
    file: Option<PathBuf>,
    /// Guards the facts, which threads that read chunks at the same time add to.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    is_read: bool,
    models: BTreeMap<String, Facts>,
    changed: BTreeSet<String>,
}

impl Learnt {
    /// Contents of the file, read when first needed.
    pub(super) fn new(file: Option<PathBuf>) -> Learnt {
        Learnt { file, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.is_read {
            state.is_read = true;
            state.models = self.file.as_deref().map(read).unwrap_or_default();
        }
        state
    }

    /// Facts about a model.
    pub(super) fn of(&self, name: &str) -> Facts {
        self.state().models.get(name).cloned().unwrap_or_default()
    }

    /// Changes the facts about a model.
    pub(super) fn learn(&self, name: &str, change: impl FnOnce(&mut Facts)) {
        let mut state = self.state();
        let before = state.models.get(name).cloned().unwrap_or_default();
        let mut after = before.clone();
        change(&mut after);
        if after != before && name.len() <= LONGEST_NAME {
            after.learnt = jiff::Timestamp::now().as_second();
            state.models.insert(name.to_owned(), after);
            state.changed.insert(name.to_owned());
        }
    }
}

/// Changes are written once, when the extraction is over.
impl Drop for Learnt {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = self.file.as_deref().filter(|_| !state.changed.is_empty()) else { return };
        // Others may have written since.
        let mut models = read(file);
        for name in &state.changed {
            if let Some(facts) = state.models.remove(name) {
                models.insert(name.clone(), facts);
            }
        }
        let mut oldest: Vec<(i64, String)> =
            models.iter().map(|(name, facts)| (facts.learnt, name.clone())).collect();
        oldest.sort();
        for (_, name) in oldest.iter().take(models.len().saturating_sub(MOST)) {
            models.remove(name);
        }
        // Without the file the next extraction learns again.
        let _ = write(file, &models);
    }
}

fn read(file: &Path) -> BTreeMap<String, Facts> {
    let text = || -> io::Result<String> {
        // A link or a pipe that somebody else put there is not opened.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
        let file = OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(file)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.uid() != rustix::process::getuid().as_raw() {
            return Err(io::Error::other("it is not a file of this user"));
        }
        let mut text = String::new();
        file.take(LARGEST).read_to_string(&mut text)?;
        Ok(text)
    };
    let models: BTreeMap<String, Value> =
        text().ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let entry = |(name, value): (String, Value)| {
        let facts: Facts = serde_json::from_value(value).ok()?;
        Some((name, facts.believed()))
    };
    models.into_iter().filter_map(entry).collect()
}

fn write(file: &Path, models: &BTreeMap<String, Facts>) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    // Such a file has the mode 0600 from the beginning.
    let mut temporary = tempfile::Builder::new().prefix(".models").tempfile_in(folder)?;
    serde_json::to_writer_pretty(&mut temporary, models)?;
    temporary.write_all(b"\n")?;
    temporary.persist(file).map(drop).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn report(window: u64) -> Report {
        Report { window: Some(window), place: "/props", ..Report::default() }
    }

    #[test]
    fn facts_are_kept_by_one_who_learns_for_the_next_who_asks() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cache/forebay/models.json");
        let learnt = Learnt::new(Some(file.clone()));
        assert_eq!(learnt.of("http://a m").window(), None);
        learnt.learn("http://a m", |facts| facts.overflow(8_192));
        let other = Learnt::new(Some(file.clone()));
        other.learn("http://b m", |facts| facts.report(&report(4_096)));
        drop((learnt, other));
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(file.parent().unwrap()).unwrap().mode() & 0o777, 0o700);
        let learnt = Learnt::new(Some(file.clone()));
        assert_eq!(
            (learnt.of("http://a m").window(), learnt.of("http://b m").window()),
            (Some(8_192), Some(4_096))
        );
        assert_eq!(learnt.of("http://a m").window_from(), "from an error");
        assert_eq!(learnt.of("http://b m").window_from(), "/props");
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_is_broken_or_cannot_be_written_is_as_good_as_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("models.json");
        let huge = format!("{{\"a\": {{\"served\": \"{}\"}}}}", "x".repeat(LARGEST as usize));
        let cases = ["", "{", "[]", "{\"a\": 7}", "{\"a\": {\"reported\": -1}}", huge.as_str()];
        for broken in cases {
            fs::write(&file, broken).unwrap();
            assert_eq!(Learnt::new(Some(file.clone())).of("a"), Facts::default(), "{broken:.20}");
        }
        // One entry that cannot be read costs no other, and what no server has is not believed.
        let odd = "{\"a\": 7, \"b\": {\"reported\": 1, \"token_ratio\": 900, \"slots\": 0}, \"c\": {\"slots\": 2, \"later\": []}}";
        fs::write(&file, odd).unwrap();
        let learnt = Learnt::new(Some(file.clone()));
        assert_eq!((learnt.of("b"), learnt.of("c").slots()), (Facts::default(), Some(2)));
        // A link is neither read nor written through.
        let target = folder.path().join("target");
        fs::write(&target, "{\"a\": {\"slots\": 2}}").unwrap();
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink(&target, &file).unwrap();
        let learnt = Learnt::new(Some(file));
        assert_eq!(learnt.of("a"), Facts::default());
        drop(learnt);
        let nowhere = Learnt::new(Some(target.join("below/a/file/models.json")));
        nowhere.learn("a", |facts| facts.overflow(8_192));
        assert_eq!(nowhere.of("a").window(), Some(8_192));
        drop(nowhere);
        assert_eq!(fs::read_to_string(target).unwrap(), "{\"a\": {\"slots\": 2}}");
    }

    #[test]
    fn the_file_has_no_more_models_than_anybody_uses() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("models.json");
        let learnt = Learnt::new(Some(file.clone()));
        for number in 0..MOST + 20 {
            learnt.learn(&format!("http://a m{number}"), |facts| facts.overflow(8_192));
        }
        learnt.learn(&"x".repeat(LONGEST_NAME + 1), |facts| facts.overflow(8_192));
        drop(learnt);
        assert_eq!(read(&file).len(), MOST);
        assert!(fs::metadata(&file).unwrap().len() < LARGEST);
    }

    #[test]
    fn the_window_of_an_error_counts_until_the_server_reports_another() {
        let mut facts = Facts::default();
        facts.report(&report(8_192));
        facts.overflow(4_096);
        facts.report(&report(8_192));
        assert_eq!((facts.window(), facts.window_from()), (Some(4_096), "from an error"));
        facts.report(&Report::default());
        assert_eq!(facts.window(), Some(4_096));
        facts.report(&report(16_384));
        assert_eq!((facts.window(), facts.window_from()), (Some(16_384), "/props"));
        // The least that a server could have does not replace what it had.
        facts.report(&Report { is_guess: true, ..report(4_096) });
        assert_eq!(facts.window(), Some(16_384));
        for odd in [0, 255, u64::MAX] {
            facts.overflow(odd);
            facts.report(&report(odd));
        }
        assert_eq!(facts.window(), Some(16_384));
    }

    #[test]
    fn another_model_behind_the_same_name_is_learnt_anew() {
        let mut facts = Facts::default();
        let served = |name: &str| Report { served: Some(name.to_owned()), ..report(8_192) };
        facts.report(&served("a.gguf"));
        facts.count(1_000, 1_400, 1.5);
        facts.probed(ToolCalls::Text);
        facts.report(&served("a.gguf"));
        assert_eq!(facts.tool_calls(), Some(ToolCalls::Text));
        facts.report(&served("b.gguf"));
        assert_eq!((facts.tool_calls(), facts.token_ratio(), facts.window()), (None, None, Some(8_192)));
    }

    #[test]
    fn the_token_ratio_goes_up_at_once_and_down_by_steps() {
        let mut facts = Facts::default();
        let seen: Vec<Option<f64>> = [1_300, 1_300, 1_600, 1_300, 10, 9_000]
            .into_iter()
            .map(|tokens| {
                facts.count(1_000, tokens, 1.5);
                facts.token_ratio()
            })
            .collect();
        // What cannot be is left out.
        assert_eq!(seen, [Some(1.46), Some(1.428), Some(1.6), Some(1.54), Some(1.54), Some(1.54)]);
    }
}
