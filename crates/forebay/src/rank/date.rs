//! Dates that questions name, in the forms in which outputs write them.

/// Names of the months.
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Day or month of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Date {
    year: Option<u16>,
    month: usize,
    day: Option<u8>,
}

/// Returns the forms, in lower case, in which outputs write the dates of a question.
pub(crate) fn forms(question: &str) -> Vec<String> {
    let words: Vec<&str> = question
        .split(|sign: char| sign.is_whitespace() || sign == ',')
        .map(|word| word.trim_matches(|sign: char| !sign.is_alphanumeric()))
        .filter(|word| !word.is_empty() && *word != "of")
        .collect();
    let written = (0..words.len()).filter_map(|at| written_out(&words, at));
    written.chain(words.iter().filter_map(|word| in_numbers(word))).flat_map(Date::forms).collect()
}

/// Reads the date whose month is the word at `at`: `15 March 2015`, `March 15th, 2015`, `March 2015`.
fn written_out(words: &[&str], at: usize) -> Option<Date> {
    let word = words[at].to_ascii_lowercase();
    let is_month = |month: &&str| word == **month || word.len() == 3 && month.starts_with(&word);
    let month = MONTHS.iter().position(is_month)? + 1;
    let word = |at: Option<usize>| at.and_then(|at| words.get(at)).copied();
    let before = word(at.checked_sub(1)).and_then(day);
    let behind = word(Some(at + 1)).and_then(day);
    let year = word(Some(at + 1 + usize::from(before.is_none() && behind.is_some()))).and_then(year);
    let day = before.or(behind);
    // `may` alone is an ordinary word.
    (day.is_some() || year.is_some()).then_some(Date { year, month, day })
}

/// Reads a date in numbers: `2015-03-15`, `2015/03/15`.
fn in_numbers(word: &str) -> Option<Date> {
    let parts: Vec<&str> = word.split(['-', '/']).collect();
    let [first, month, last] = parts[..] else { return None };
    let month = month.parse().ok().filter(|month| (1..=12).contains(month))?;
    Some(Date { year: Some(year(first)?), month, day: Some(day(last)?) })
}

/// Reads a day of a month: `5`, `05`, `5th`.
fn day(word: &str) -> Option<u8> {
    let digits = word.trim_end_matches(|sign: char| sign.is_ascii_alphabetic());
    let ending = &word[digits.len()..];
    let day = digits.parse().ok().filter(|day| (1..=31).contains(day) && digits.len() <= 2)?;
    matches!(ending, "" | "st" | "nd" | "rd" | "th").then_some(day)
}

fn year(word: &str) -> Option<u16> {
    word.parse().ok().filter(|year| word.len() == 4 && (1900..2200).contains(year))
}

impl Date {
    fn forms(self) -> Vec<String> {
        let Date { year, month, day } = self;
        let name = MONTHS[month - 1];
        let short = &name[..3];
        match (year, day) {
            (Some(year), Some(day)) => vec![
                format!("{year}-{month:02}-{day:02}"),
                format!("{year}/{month:02}/{day:02}"),
                format!("{year}{month:02}{day:02}"),
                format!("{day:02}/{short}/{year}"),
                format!("{day:02}-{short}-{year}"),
                format!("{day:02} {short} {year}"),
                format!("{day} {short} {year}"),
                format!("{day} {name} {year}"),
                format!("{short} {day} {year}"),
                format!("{short} {day:02} {year}"),
                format!("{short} {day:2} "),
                format!("{short} {day}, {year}"),
                format!("{name} {day}, {year}"),
                format!("{month:02}/{day:02}/{year}"),
                format!("{day:02}.{month:02}.{year}"),
            ],
            (Some(year), None) => vec![
                format!("{year}-{month:02}"),
                format!("{year}/{month:02}"),
                format!("{short}/{year}"),
                format!("{short} {year}"),
                format!("{name} {year}"),
            ],
            (None, Some(day)) => vec![
                format!("-{month:02}-{day:02}"),
                format!("/{month:02}/{day:02}"),
                format!("{day:02}/{short}"),
                format!("{day} {short}"),
                format!("{day} {name}"),
                format!("{short} {day:2}"),
                format!("{short} {day:02}"),
                format!("{name} {day}"),
            ],
            (None, None) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_known_however_a_question_writes_it() {
        for question in [
            "How much did it rain on 15 March 2015?",
            "what happened on March 15, 2015",
            "the 15th of March 2015",
            "Mar 15 2015",
            "on 2015-03-15?",
            "on 2015/03/15",
        ] {
            let forms = forms(question);
            for form in ["2015-03-15", "2015/03/15", "mar 15 2015", "15/mar/2015", "15 mar 2015"] {
                assert!(forms.contains(&form.to_owned()), "{question}: {form}");
            }
        }
        for (question, form) in [
            ("in March 2015", "2015-03"),
            ("on 5 March", "-03-05"),
            ("on 5 March", "mar  5"),
            ("on May 31st", "/05/31"),
        ] {
            assert!(forms(question).contains(&form.to_owned()), "{question}: {form}");
        }
    }

    #[test]
    fn what_is_no_date_has_no_forms() {
        for question in ["it may fail", "may 45 of them", "version 1-2-3", "2015", "in 15 days", "1/2", ""] {
            assert!(forms(question).is_empty(), "{question}");
        }
    }
}
