//! Plans of views, as recognizers make them.

#[cfg(test)]
use crate::classify::form::Form;
use crate::digest::ends::{self, Parts};
use crate::digest::probe::Probe;
use crate::view::View;
use crate::{Budget, Output, Result, rank};
use std::ops::Range;

/// Plans the view of an output of one kind; `None` leaves it to later recognizers.
pub(crate) type Recognizer = for<'p> fn(&'p Probe<'p>, &Wanted, Budget) -> Result<Option<Plan<'p>>>;

/// Plan of a view.
pub(crate) enum Plan<'p> {
    /// The view itself, with its frame.
    View(View),
    /// Both ends, outliers and a summary.
    Ends(Parts<'p>),
}

impl Plan<'_> {
    /// Builds the view. The wanted ranges are shown before all others.
    pub(crate) fn view(self, output: &Output, wanted: &Wanted, budget: Budget) -> Result<View> {
        match self {
            Plan::View(view) => Ok(view),
            Plan::Ends(parts) => {
                let first = [&wanted.ranges[..], &parts.first].concat();
                ends::fold(output, budget, &Parts { first, ..parts })
            }
        }
    }
}

/// Parts of an output that its call requests.
#[derive(Default)]
pub(crate) struct Wanted {
    /// Words to search for: the intent of the call, or the tests that it names.
    pub(crate) text: Option<String>,
    /// Whether the text is the intent of the call. Tests named by a command are wanted only in the output of a run.
    pub(crate) is_intent: bool,
    /// Ranges to show besides what a view shows anyway.
    pub(crate) ranges: Vec<Range<u64>>,
    /// Whether only the wanted parts are shown, because they leave no room for the rest of the output.
    pub(crate) exclusive: bool,
}

impl Wanted {
    /// Wanted parts of an output, within a budget.
    pub(crate) fn of(output: &Output, budget: Budget) -> Result<Wanted> {
        let call = &output.record().call;
        let Some(text) = call.wanted(output.formats()) else { return Ok(Wanted::default()) };
        let is_intent = call.intent.as_ref() == Some(&text);
        let (ranges, exclusive) = match rank::wanted_part(output, &text, budget)? {
            rank::WantedPart::Nothing => return Ok(Wanted::default()),
            rank::WantedPart::Ranges(ranges) => {
                let exclusive = ranges.is_empty();
                (ranges, exclusive)
            }
            rank::WantedPart::Words => (Vec::new(), true),
        };
        Ok(Wanted { text: Some(text), is_intent, ranges, exclusive })
    }

    /// The intent of the call, if it is wanted.
    pub(crate) fn intent(&self) -> Option<&str> {
        self.text.as_deref().filter(|_| self.is_intent)
    }
}

/// View of a text of some form that a recognizer claims. It is true, and within its budget.
#[cfg(test)]
pub(crate) fn shown(recognize: Recognizer, text: &str, form: Form, tokens: u64) -> String {
    let output = crate::store::memory::output_of(text.as_bytes());
    let budget = Budget { tokens, bytes: tokens * 8, lines: None };
    let wanted = Wanted::default();
    let probe = Probe::with_form(&output, form);
    let plan = recognize(&probe, &wanted, budget).unwrap().unwrap();
    let view = plan.view(&output, &wanted, budget).unwrap();
    assert_eq!(crate::verify(&view, &output).unwrap(), vec![]);
    let text = view.print(&output).unwrap();
    assert!(budget.holds(&text));
    String::from_utf8(text).unwrap()
}
