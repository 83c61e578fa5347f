//! Logs, shown by the templates of their lines. Logs of services show failures first.

use crate::classify::form::{self, Form};
use crate::digest::ends::Parts;
use crate::digest::failures;
use crate::digest::plan::{Plan, Wanted};
use crate::digest::probe::Probe;
use crate::view::units;
use crate::weights::folding::Shares;
use crate::{Budget, Result};

/// Plans the view of a service's log that repeats itself. Such a log always reports some failures: they come first,
/// with their context, and then rare lines.
pub(crate) fn recognize_entries<'p>(
    probe: &'p Probe<'p>,
    wanted: &Wanted,
    budget: Budget,
) -> Result<Option<Plan<'p>>> {
    let output = probe.output;
    if probe.form()? != Form::Log || wanted.exclusive || !form::is_entries(output)? {
        return Ok(None);
    }
    let templates = probe.templates()?;
    if !templates.are_alike() {
        return Ok(None);
    }
    let failures = probe.failures()?;
    let first =
        failures::worst(output, budget, probe.weighted(failures.units.clone()), failures.signal.highest)?;
    let outliers = units::at(output, &templates.rare())?;
    Ok(Some(Plan::Ends(Parts { first, outliers, ..Parts::new(Shares::of(Form::Log), templates) })))
}

/// Plans the view of any other log.
pub(crate) fn recognize<'p>(probe: &'p Probe<'p>, _: &Wanted, _: Budget) -> Result<Option<Plan<'p>>> {
    if probe.form()? != Form::Log {
        return Ok(None);
    }
    let templates = probe.templates()?;
    let outliers = units::at(probe.output, &templates.rare())?;
    Ok(Some(Plan::Ends(Parts { outliers, ..Parts::new(Shares::of(Form::Log), templates) })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;

    #[test]
    fn a_log_of_a_service_tells_each_trouble_once_and_how_it_began() {
        let mut text = "2024-05-01 10:00:00 INFO started as worker 3\n".to_owned();
        for n in 0..2_000 {
            let said = if n % 90 == 50 { "WARN request failed: timeout" } else { "INFO request done" };
            text += &format!("2024-05-01 10:{:02}:{:02} {said}, {n} ms\n", n / 60 % 60, n % 60);
        }
        let output = output_of(text.as_bytes());
        let budget = Budget { tokens: 500, bytes: 4_000, lines: None };
        let probe = Probe::new(&output);
        let wanted = Wanted::default();
        let plan = recognize_entries(&probe, &wanted, budget).unwrap().unwrap();
        let view = plan.view(&output, &wanted, budget).unwrap().print(&output).unwrap();
        let view = String::from_utf8(view).unwrap();
        assert!(view.contains("INFO started as worker 3\n"), "{view}");
        assert_eq!(view.matches("WARN request failed: timeout, ").count(), 2, "{view}");
        assert!(view.contains("\n× 22 in 52–1942: WARN request failed: timeout, # ms]"), "{view}");
    }
}
