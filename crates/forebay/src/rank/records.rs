//! Scores of the records of a JSON output for a question: by their terms and by the path to them.

use crate::classify::json::records::Records;
use crate::rank::question::{Aim, Question};
use crate::rank::scan::{Scanned, bits, scan};
use crate::rank::score::term_weights;
use crate::rank::{extremes, json_members, members};
use crate::weights::{bounds, records as weights};
use crate::{Output, Result};

/// Scores of records for a question; 0 for those without any of its words.
pub(crate) fn scores(output: &Output, question: &str, found: &Records) -> Result<Vec<f32>> {
    let asked = Question::new(question);
    // The name of a state or a field can be a failure word.
    let question = if asked.aim == Aim::Failure { asked } else { asked.with_failure_as_words() };
    let count = found.records.len();
    let mut scores = vec![0.0; count];
    if question.terms.is_empty() && !question.mentions_failure {
        return Ok(scores);
    }
    let mut terms = vec![0u64; count + found.lists.len()];
    let mut quoted = vec![false; count];
    let mut at = 0;
    while at < terms.len() {
        let (mut text, mut starts, first) = (Vec::new(), Vec::new(), at);
        while at < terms.len() && (text.len() < weights::BATCH_BYTES || starts.is_empty()) {
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
        let Some(scanned) = scan(&text, &question)? else { return Ok(scores) };
        for seen in scanned.seen {
            let line = first + starts.partition_point(|start| *start <= seen.start) - 1;
            terms[line] |= seen.terms;
            if let Some(score) = scores.get_mut(line) {
                *score = seen.failure_weight.max(*score);
            }
        }
    }
    let mut having = vec![0; question.terms.len()];
    terms[..count].iter().for_each(|terms| bits(*terms).for_each(|term| having[term] += 1));
    let of_records = Scanned { seen: Vec::new(), units: count as u64, having };
    let told = term_weights(&of_records, &question);
    for (at, record) in found.records.iter().enumerate() {
        let above = terms[count + record.list];
        scores[at] += told(terms[at]) + weights::TERMS_OF_PATH * told(above & !terms[at]);
        if quoted[at] {
            scores[at] *= weights::QUOTED_PHRASE;
        }
    }
    if extremes::is_asked(&question) && output.len() <= bounds::LARGE {
        add_extremes(output, &question, found, &mut scores)?;
    }
    Ok(scores)
}

/// Adds the scores of members with extreme values.
fn add_extremes(output: &Output, question: &Question, found: &Records, scores: &mut [f32]) -> Result<()> {
    let all = json_members::members(&output.read(found.all.clone())?);
    for unit in members::units(&all, &output.derived(&all.text)?, question)? {
        let at = found.all.start + all.text.origin(&unit.range).start;
        if let Some(score) = scores.get_mut(found.at(at)) {
            *score = score.max(unit.score);
        }
    }
    Ok(())
}
