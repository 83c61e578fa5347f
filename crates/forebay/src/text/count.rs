//! Numbers and counts as text.

/// A number with its thousands separated by commas: `1,204`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a count with its noun: `1 line`, `2 lines`, `3 matches`.
pub fn count(noun: &str, number: u64) -> String {
    let ending = match number {
        1 => "",
        _ if noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{} {noun}{ending}", grouped(number))
}

/// Returns a count with its noun: `1 row`, `1,204 rows`, `2 entries`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let noun = match count {
        1 => noun.to_owned(),
        _ if noun.ends_with("ch") => format!("{noun}es"),
        _ => noun.strip_suffix('y').map_or_else(|| format!("{noun}s"), |stem| format!("{stem}ies")),
    };
    format!("{} {noun}", crate::text::count::grouped(count))
}
