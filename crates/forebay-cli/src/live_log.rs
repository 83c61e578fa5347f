//! Log lines and accounting entries on standard error as they happen: the flag `--log`.
//!
//! `forebay events` later prints the same forms from the events of a session.

use crate::args::LogForm;
use crate::print;
use forebay::accounting::log_line;
use forebay::store::disk::Observer;
use forebay::{Event, Ledger, Session};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// A listener that prints the events of all sessions in one form.
pub(crate) fn observer(form: LogForm) -> Observer {
    let ledgers: Mutex<HashMap<Session, Ledger>> = Mutex::default();
    Arc::new(move |session: &Session, lines: &[u8]| {
        // A store may log several events at once, a line each.
        for line in lines.split(|&byte| byte == b'\n') {
            let Some(event) = Event::parse(line) else { continue };
            let mut ledgers = ledgers.lock().unwrap_or_else(PoisonError::into_inner);
            let ledger = ledgers.entry(session.clone()).or_insert_with(|| Ledger::new(session.clone()));
            let entry = ledger.take(&event);
            // A server may run for months: a session without an open call takes no memory.
            if ledger.is_empty() {
                ledgers.remove(session);
            }
            drop(ledgers);
            let text = match form {
                LogForm::Lines => log_line(&event, session, entry.as_ref()),
                LogForm::Accounting => entry.and_then(|entry| serde_json::to_string(&entry.accounting).ok()),
            };
            if let Some(text) = text {
                print::err(&format!("{text}\n"));
            }
        }
    })
}
