//! Text made safe for a terminal or a shell, or short for a message.

/// Escapes the control characters of a text, except newlines.
pub fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() && c != '\n' { printable.extend(c.escape_default()) } else { printable.push(c) }
    }
    printable
}

/// Cuts a text to at most `most` characters: its beginning and its end. An error says what is wrong in one of them,
/// whatever it repeats in between.
pub fn shortened(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub(1);
    let head: String = text.chars().take(kept - kept / 2).collect();
    let tail: String = text.chars().skip(count - kept / 2).collect();
    format!("{head}…{tail}")
}

/// Returns a word for a shell, in quotes unless it is plain.
pub fn shell_word(word: &str) -> String {
    if !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+:@%,=".contains(c)) {
        word.to_owned()
    } else {
        shell_quoted(word)
    }
}

/// Returns a word for a shell, in quotes.
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

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        for (most, text) in [(9, "beginning"), (8, "begi…ing"), (3, "b…g"), (2, "b…"), (1, "…"), (0, "…")]
        {
            assert_eq!(shortened("beginning", most), text);
        }
        assert_eq!(shortened("漢字🎉漢字", 3), "漢…字");
    }
}
