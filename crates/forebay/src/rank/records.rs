//! Worth of the records of a JSON output for a question: by the terms that they have, and by the path to them.

use crate::classify::json::records::Records;
use crate::rank::question::{Aim, Question};
use crate::rank::scan::{Scanned, bits, scan};
use crate::rank::score::told;
use crate::rank::{READ_WHOLE, extremes, json_members, members};
use crate::{Output, Result};

/// Bytes of records that are scanned together.
const BATCH: usize = 8 * 1024 * 1024;

/// Share of what a term tells that only the path to a record has.
const ABOVE: f32 = 0.5;

/// Factor for a record that has a phrase of the question which stands in quotes there.
const QUOTED: f32 = 2.0;

/// Scores of records for a question; 0 for those without any of its words.
pub(crate) fn weights(output: &Output, question: &str, found: &Records) -> Result<Vec<f32>> {
    let asked = Question::new(question);
    // A state or a field may be called by a word of failure.
    let question = if asked.aim == Aim::Trouble { asked } else { asked.of_words() };
    let count = found.records.len();
    let mut weights = vec![0.0; count];
    if question.terms.is_empty() && !question.trouble {
        return Ok(weights);
    }
    let mut terms = vec![0u64; count + found.lists.len()];
    let mut quoted = vec![false; count];
    let mut at = 0;
    while at < terms.len() {
        let (mut text, mut starts, first) = (Vec::new(), Vec::new(), at);
        while at < terms.len() && (text.len() < BATCH || starts.is_empty()) {
            starts.push(text.len() as u64);
            match found.records.get(at) {
                Some(record) => text.extend(output.read(record.range.clone())?),
                None => text.extend(found.lists[at - count].path.bytes()),
            }
            // A record is one line here, whatever lines it has.
            let line = starts.last().map_or(0, |start| *start as usize);
            text[line..].iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
            if at < count && !question.quoted.is_empty() {
                let lower = String::from_utf8_lossy(&text[line..]).to_lowercase();
                quoted[at] = question.quoted.iter().any(|phrase| lower.contains(phrase));
            }
            text.push(b'\n');
            at += 1;
        }
        let text = Output::new(output.record().clone(), Box::new(text), Box::new(Vec::new()), None)?;
        let Some(scanned) = scan(&text, &question)? else { return Ok(weights) };
        for seen in scanned.seen {
            let line = first + starts.partition_point(|start| *start <= seen.start) - 1;
            terms[line] |= seen.terms;
            if let Some(weight) = weights.get_mut(line) {
                *weight = seen.trouble.max(*weight);
            }
        }
    }
    let mut having = vec![0; question.terms.len()];
    terms[..count].iter().for_each(|terms| bits(*terms).for_each(|term| having[term] += 1));
    let of_records = Scanned { seen: Vec::new(), units: count as u64, having };
    let told = told(&of_records, &question);
    for (at, record) in found.records.iter().enumerate() {
        let above = terms[count + record.list];
        weights[at] += told(terms[at]) + ABOVE * told(above & !terms[at]);
        if quoted[at] {
            weights[at] *= QUOTED;
        }
    }
    if extremes::is_asked(&question) && output.len() <= READ_WHOLE {
        add_extremes(output, &question, found, &mut weights)?;
    }
    Ok(weights)
}

/// Adds what members are worth that have the most or the least of something.
fn add_extremes(output: &Output, question: &Question, found: &Records, weights: &mut [f32]) -> Result<()> {
    let all = json_members::members(&output.read(found.all.clone())?);
    for unit in members::units(&all, &output.derived(&all.text)?, question)? {
        let at = found.all.start + all.text.origin(&unit.range).start;
        if let Some(weight) = weights.get_mut(found.at(at)) {
            *weight = weight.max(unit.worth);
        }
    }
    Ok(())
}
