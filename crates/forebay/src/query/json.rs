//! Queries on JSON: a jq filter, and the shape of a document.
//!
//! Both go through an output of any size in blocks, so that memory is bounded by the answer and by single values, not
//! by the output.

#[cfg(feature = "json")]
pub(crate) mod jq;
#[cfg(feature = "json")]
mod masked;
pub(crate) mod print;
#[cfg(feature = "json")]
pub(crate) mod together;
pub(crate) mod tree;

#[cfg(test)]
#[cfg(feature = "json")]
mod tests;

pub(crate) use print::{shape as shape_excerpt, values as values_excerpt};
#[cfg(feature = "json")]
pub(crate) use together::together;

#[cfg(feature = "json")]
use crate::classify::form::Form;
#[cfg(feature = "json")]
use crate::classify::stdout::Stdout;
#[cfg(feature = "json")]
use crate::query::json::jq::{results::ResultLimits, run};
use crate::request::filter::{Filter, Values};
use crate::{Output, Result};
#[cfg(feature = "json")]
use std::ops::Range;

/// Runs a jq filter on each document of an output, here or where the caller's [`Bounds`](crate::Bounds) run it.
pub(crate) fn bounded(output: &Output, wanted: &Filter, enough: u64) -> Result<Values> {
    #[cfg(feature = "json")]
    let wanted = &Filter { masks: masked::masks(output, &wanted.filter)?, ..wanted.clone() };
    match output.bounds().and_then(|bounds| bounds.filter(output, wanted, enough, output.stop())) {
        Some(values) => values,
        None => here(output, wanted, enough, THREADS),
    }
}

/// Runs a jq filter on an output, with the documents of JSON lines as one array, within the caller's bounds. Returns up to
/// `enough` bytes of its results.
#[cfg(feature = "json")]
pub(crate) fn run_filter(output: &Output, code: &str, enough: u64) -> Result<Values> {
    bounded(
        output,
        &Filter { filter: code.to_owned(), skip: 0, max: u64::MAX, together: true, masks: Vec::new() },
        enough,
    )
}

/// Runs a jq filter on an output in this process, in one thread, and returns up to `enough` bytes of its results.
///
/// For processes that exist to run one filter: each thread reserves a gigabyte of address space for its stack, so a limit on
/// that space is a limit on memory only where the number of threads is known.
pub fn values(output: &Output, wanted: &Filter, enough: u64) -> Result<Values> {
    here(output, wanted, enough, 1)
}

/// Maximum threads that go through a large output.
const THREADS: usize = 8;

/// Runs a jq filter on each document of an output. Returns results from number `skip` on, up to `max` results and `enough`
/// bytes.
#[cfg(all(test, feature = "json"))]
pub(crate) fn filter(output: &Output, filter: &str, skip: u64, max: u64, enough: u64) -> Result<Values> {
    run::run(output, filter, ResultLimits { skip, max, enough, threads: THREADS })
}

/// Reads the first value of an output. An output that is not JSON is the same error as for a filter.
pub(crate) fn check(output: &Output) -> Result<()> {
    #[cfg(feature = "json")]
    run::run(output, ".", ResultLimits { skip: 0, max: 1, enough: 64, threads: 1 })?;
    #[cfg(not(feature = "json"))]
    if !crate::query::is_json(output)? {
        return Err(crate::Error::BadQuery("the output is not JSON: search it with grep".to_owned()));
    }
    Ok(())
}

/// Runs a jq filter in this process: on standard output by itself, if that is JSON and standard error has something too.
#[cfg(feature = "json")]
fn here(output: &Output, wanted: &Filter, enough: u64, threads: usize) -> Result<Values> {
    let Filter { skip, max, .. } = *wanted;
    let run = |output: &Output| run::run(output, &wanted.filter, ResultLimits { skip, max, enough, threads });
    let stdout = Stdout::of(output)?.filter(|stdout| stdout.form == Form::Json);
    let source = stdout.as_ref().map_or(output, |stdout| &stdout.output);
    let masks: Vec<_> = match &stdout {
        None => wanted.masks.clone(),
        Some(stdout) => {
            let within = |range| stdout.text.within(range);
            let moved = |range: Range<usize>| range.start as u64..range.end as u64;
            wanted.masks.iter().map(|(range, mask)| (moved(within(range)), mask.clone())).collect()
        }
    };
    let masked = if masks.is_empty() { None } else { Some(masked::text(source, &masks)?) };
    let with_masks = masked.as_ref().map(|text| source.derived(text)).transpose()?;
    let source = &with_masks.map_or(source.clone(), |masked| masked.ended_by(source.stop()));
    let mut values = if wanted.together { run(&together(source)?) } else { run(source) }?;
    if let Some(text) = &masked {
        for value in &mut values.values {
            value.at = value.at.take().map(|at| text.origin(&at));
        }
    }
    if let Some(stdout) = &stdout {
        for value in &mut values.values {
            value.at = value.at.take().map(|at| stdout.text.origin(&at));
            value.line = match &value.at {
                Some(at) => Some(output.newlines_before(at.start)? + 1),
                None => None,
            };
        }
    }
    Ok(values)
}

#[cfg(not(feature = "json"))]
fn here(_: &Output, _: &Filter, _: u64, _: usize) -> Result<Values> {
    let why = "this build has no jq filters: leave the filter out to see the shape of the JSON, or search with grep";
    Err(crate::Error::BadQuery(why.to_owned()))
}
