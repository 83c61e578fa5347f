//! The plan of a reading: strategy, chunks, calls and tokens, before any model reads.

use crate::extract::asking::{Asking, Failure};
use crate::extract::attempt::Attempt;
use crate::extract::chunked::Cost;
use crate::extract::extraction::{Extraction, Mode, Models};
use crate::extract::prompts::Prompts;
use crate::extract::strategy::Strategy;
use crate::extract::window::Window;
use crate::extract::wrapper::Wrapper;
use crate::{Error, Output, Result};
use serde::Serialize;
use std::sync::{Mutex, atomic::AtomicBool};

/// A reading as it would be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Plan {
    /// The strategy.
    pub strategy: Strategy,
    /// The models, in the order in which they are tried.
    pub models: Vec<String>,
    /// Tokens that one request may have, its answer included.
    pub context_tokens: u64,
    /// Number of concurrent requests.
    pub parallel: u64,
    /// Chunks of the output; `None` if an agent reads and searches.
    pub chunks: Option<u64>,
    /// Calls of a model: the number for chunks, the maximum for an agent.
    pub calls: u64,
    /// Tokens sent to models; `None` if they depend on the calls of an agent.
    pub tokens: Option<u64>,
}

/// Plans the reading of an output. Nothing is read by a model; a client may ask its server for the window.
pub fn plan(output: &Output, wanted: &Extraction, models: &Models) -> Result<Plan> {
    let settings = wanted.settings;
    let names = models.list.iter().map(|model| model.name().to_owned()).collect();
    let window = Window::of(settings, models.list);
    let mut plan = Plan {
        strategy: Strategy::Truncate,
        models: names,
        context_tokens: window.context,
        parallel: window.at_once,
        chunks: None,
        calls: 0,
        tokens: Some(0),
    };
    if models.list.is_empty() || wanted.mode == Mode::Truncate {
        if wanted.mode == Mode::Auto {
            plan.strategy = Strategy::Ask;
        }
        return Ok(plan);
    }
    // As long as a nonce that is drawn.
    let wrapper = Wrapper::new("0".repeat(24));
    let prompts = Prompts::new(output, wanted.instructions, &wrapper, 1_000)?;
    let asking = Asking {
        output,
        models: models.list,
        wrapper: &wrapper,
        window,
        spent: Mutex::default(),
        abandoned: AtomicBool::new(false),
    };
    let attempt = Attempt { output, wanted, models, prompts: &prompts, asking: &asking };
    let has_long_lines = attempt.has_long_lines()?;
    let chunked = attempt.chunked(has_long_lines, wanted.mode == Mode::FullChunked);
    let failed = |failure: Failure| match failure {
        Failure::Broken(error) => error,
        Failure::Failed(why) | Failure::TooLong { why, .. } | Failure::Stopped { why, .. } => {
            Error::BadQuery(why)
        }
    };
    let cut = chunked.cut().map_err(failed)?;
    let searches =
        wanted.mode == Mode::ReadGrep || (wanted.mode == Mode::Auto && cut.is_none() && !has_long_lines);
    if searches {
        let strategy = Strategy::ReadGrep;
        return Ok(Plan { strategy, parallel: 1, calls: settings.max_turns, tokens: None, ..plan });
    }
    let Cost { chunks, tokens } = chunked.cost(cut).map_err(failed)?;
    plan.strategy = Strategy::FullChunked;
    plan.chunks = Some(chunks);
    plan.calls = chunks + u64::from(chunks > 1);
    plan.tokens = Some(tokens);
    Ok(plan)
}
