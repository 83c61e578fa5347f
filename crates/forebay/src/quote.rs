//! Text made safe for whoever takes it: a terminal, a shell.

/// A text with the characters escaped that would act on a terminal; newlines stay.
pub fn printable(text: &str) -> String {
    let escape = |c: char| -> String {
        match c.is_control() && c != '\n' {
            true => c.escape_default().to_string(),
            false => c.to_string(),
        }
    };
    text.chars().map(escape).collect()
}

/// A word as a shell takes it: as it is where that is plain, else in quotes.
pub fn shell_word(word: &str) -> String {
    match !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+:@%,=".contains(c)) {
        true => word.to_owned(),
        false => shell_quoted(word),
    }
}

/// A word in quotes, whatever is in it.
pub(crate) fn shell_quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_comes_through_a_shell_as_it_was() {
        for word in ["", "plain", "a b", "it's", "$HOME `x` \\ \"y\"", "*", "-x=1"] {
            let line = format!("printf %s {}", shell_word(word));
            let ran = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
            assert_eq!(String::from_utf8(ran.stdout).unwrap(), word, "{line}");
        }
    }
}
