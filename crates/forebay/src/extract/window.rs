//! Tokens that one request may have: by a setting, by the report of the model's server, or learned from an overflow.

use crate::model::Model;
use crate::settings::Extract as Settings;

/// Window in tokens if neither a setting nor a server names one: the smallest window of the hosted models that are
/// used for this, 128,000, less a quarter for vocabularies that need more tokens for the same text.
const USUAL: u64 = 100_000;

/// Smallest context that a reading is planned with after overflows: the prompt alone has about half of it.
const SMALLEST: u64 = 1_024;

/// Divisor of the context for the longest answer, so that the rest is left to read.
const ANSWER: u64 = 4;

/// Window up to which a model counts as small: reading a long output then takes many calls.
const SMALL: u64 = 32_768;

/// Room of one request, in tokens as Forebay counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// Tokens of the prompt and the answer together.
    pub(crate) context: u64,
    /// Tokens of the answer.
    pub(crate) answer: u64,
    /// Number of concurrent requests.
    pub(crate) at_once: u64,
    /// Whether a model of the list is known to have a small window.
    pub(crate) is_small: bool,
}

/// A request that was longer than a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overflow {
    /// Tokens of the prompt as Forebay counts them.
    pub(crate) sent: u64,
    /// Tokens of the prompt by the server's count, if it reports them.
    pub(crate) tokens: Option<u64>,
    /// The window, if the server reports it.
    pub(crate) window: Option<u64>,
}

impl Window {
    /// The room that all of `models` have. The setting wins; without one it is the smallest known window.
    pub(crate) fn of(settings: &Settings, models: &[&dyn Model]) -> Window {
        let profiles: Vec<_> = models.iter().map(|model| model.profile()).collect();
        let known = profiles.iter().filter_map(|profile| {
            let ratio = if profile.token_ratio.is_finite() { profile.token_ratio.max(0.1) } else { 1.0 };
            profile.window.map(|window| (window as f64 / ratio) as u64)
        });
        let smallest = known.min();
        let context = match settings.context_tokens {
            0 => smallest.unwrap_or(USUAL).max(SMALLEST),
            set => set,
        };
        let slots = profiles.iter().filter_map(|profile| profile.slots).min().unwrap_or(u64::MAX);
        Window {
            context,
            answer: settings.output_tokens.min(context / ANSWER),
            at_once: settings.parallel.min(slots).max(1),
            is_small: smallest.is_some_and(|window| window <= SMALL),
        }
    }

    /// A smaller room after an overflow, or `None` if it cannot be made smaller.
    pub(crate) fn after(self, overflow: Overflow) -> Option<Window> {
        let measured = match (overflow.window, overflow.tokens) {
            // The next prompt has other text, so its ratio may be a little worse.
            (Some(window), Some(tokens)) if tokens > 0 => {
                (window as f64 * overflow.sent as f64 / tokens as f64 * 0.95) as u64
            }
            (Some(window), _) => window.min(self.context) / 3 * 2,
            (None, _) => self.context / 2,
        };
        let context = measured.min(self.context / 100 * 95).max(SMALLEST);
        (context < self.context).then(|| Window {
            context,
            answer: self.answer.min(context / ANSWER),
            ..self
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Answer, ModelError, Profile, Prompt};

    struct Known(Profile);

    impl Model for Known {
        fn name(&self) -> &str {
            "known"
        }

        fn answer(&self, _: &Prompt) -> Result<Answer, ModelError> {
            Err(ModelError::Lasting("it is only known".to_owned()))
        }

        fn profile(&self) -> Profile {
            self.0
        }
    }

    fn settings(context_tokens: u64, output_tokens: u64) -> Settings {
        Settings { context_tokens, output_tokens, ..crate::Settings::default().extract }
    }

    #[test]
    fn the_setting_wins_and_without_it_the_smallest_known_window_counts() {
        let profile = |window, token_ratio, slots| Known(Profile { window, token_ratio, slots });
        let unknown = profile(None, 1.5, None);
        let small = profile(Some(8_192), 1.6, Some(1));
        let large = profile(Some(131_072), 1.0, Some(3));
        let table: [(u64, &[&dyn Model], u64, u64); 5] = [
            (0, &[&unknown], USUAL, 4),
            (0, &[&small], 5_120, 1),
            (0, &[&large, &small, &unknown], 5_120, 1),
            (0, &[&large], 131_072, 3),
            (6_000, &[&large], 6_000, 3),
        ];
        for (set, models, context, at_once) in table {
            let window = Window::of(&settings(set, 300), models);
            assert_eq!((window.context, window.at_once), (context, at_once));
        }
        assert_eq!(Window::of(&settings(0, 8_192), &[&small]).answer, 1_280);
        assert!(Window::of(&settings(0, 300), &[&small]).is_small);
        assert!(!Window::of(&settings(0, 300), &[&large]).is_small);
    }

    #[test]
    fn an_overflow_makes_the_window_smaller_by_the_figures_of_the_server() {
        let window = Window { context: 10_000, answer: 300, at_once: 4, is_small: false };
        let table = [
            (Overflow { sent: 9_000, tokens: Some(12_000), window: Some(8_192) }, Some(5_836)),
            (Overflow { sent: 9_000, tokens: None, window: Some(8_192) }, Some(5_460)),
            (Overflow { sent: 9_000, tokens: None, window: None }, Some(5_000)),
            // A server that contradicts itself still makes it smaller.
            (Overflow { sent: 9_000, tokens: Some(1), window: Some(8_192) }, Some(9_500)),
            (Overflow { sent: 9_000, tokens: Some(90_000), window: Some(512) }, Some(SMALLEST)),
        ];
        for (overflow, expected) in table {
            assert_eq!(window.after(overflow).map(|window| window.context), expected, "{overflow:?}");
        }
        let least = Window { context: SMALLEST, ..window };
        assert_eq!(least.after(Overflow { sent: 1, tokens: None, window: None }), None);
    }
}
