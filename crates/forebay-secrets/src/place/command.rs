//! Passwords in the options of commands: `curl -u user:password`, `mysql -ppassword`, `sshpass -p password`.

use crate::placeholder::is_placeholder;
use crate::randomness::Shape;
use crate::text::line_start;
use std::ops::Range;

/// Programs with a `-p` whose password follows directly.
const ATTACHED: &[&[u8]] = &[b"mysql", b"mariadb", b"mysqldump", b"mysqladmin", b"7z", b"unzip", b"zip"];

/// Programs with a `-p` whose password follows after a blank.
const APART: &[&[u8]] = &[
    b"sshpass",
    b"docker login",
    b"podman login",
    b"helm registry login",
    b"oc login",
    b"az login",
    b"mongo",
    b"mongosh",
    b"smbclient",
    b"redis-cli",
    b"cf login",
    b"skopeo login",
    b"buildah login",
    b"nmcli",
];

/// Programs with a `-u` that takes a name, a colon and a password.
const USERS: &[&[u8]] = &[b"curl", b"http ", b"https ", b"wget", b"ab ", b"siege"];

/// The password after the option at `at`, which is ` -u` or ` -p`.
pub(crate) fn find(text: &[u8], at: usize) -> Option<Range<usize>> {
    let option = text[at + 2];
    let from = at + 3;
    let command = &text[line_start(text, at, 400)..at];
    let names = |programs: &[&[u8]]| programs.iter().any(|program| runs(command, program));
    let blank = text.get(from) == Some(&b' ');
    let value = match option {
        b'u' | b'U' if names(USERS) => {
            let argument = argument(text, from + usize::from(blank))?;
            let colon = memchr::memchr(b':', &text[argument.clone()])?;
            argument.start + colon + 1..argument.end
        }
        b'p' if !blank && names(ATTACHED) => argument(text, from).filter(|value| {
            !text[value.clone()].iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'-')
        })?,
        b'p' if blank && names(APART) => argument(text, from + 1)?,
        _ => return None,
    };
    let content = &text[value.clone()];
    let shape = Shape::of(content);
    let plausible =
        content.len() >= 5 && !(shape.is_number() && content.len() < 8) && !content.starts_with(b"-");
    (plausible && !is_placeholder(content) && shape.distinct >= 4).then_some(value)
}

/// Whether a command line runs a program.
fn runs(command: &[u8], program: &[u8]) -> bool {
    let mut places = memchr::memmem::find_iter(command, program);
    places.any(|at| {
        let before = at.checked_sub(1).is_none_or(|before| {
            !command[before].is_ascii_alphanumeric() && !matches!(command[before], b'-' | b'_' | b'.')
        });
        let after =
            command.get(at + program.len()).is_none_or(|byte| *byte == b' ' || program.ends_with(b" "));
        before && after
    })
}

/// The argument at `at` without its quotes.
fn argument(text: &[u8], at: usize) -> Option<Range<usize>> {
    let rest = &text[at..text.len().min(at + 512)];
    let (skip, ends): (usize, &[u8]) = match rest {
        [b'"', ..] => (1, b"\"\n"),
        [b'\'', ..] => (1, b"'\n"),
        _ => (0, b" \t\r\n\"'`|;&<>)\\"),
    };
    let length = rest[skip..].iter().position(|byte| ends.contains(byte)).unwrap_or(rest.len() - skip);
    (length > 0).then_some(at + skip..at + skip + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_with_passwords_are_those_of_their_programs() {
        let table = [
            ("curl -u deploy:9xQk7mPz2Lw https://host", Some("9xQk7mPz2Lw")),
            ("curl -s -u 'deploy:9xQk 7mPz2Lw' https://host", Some("9xQk 7mPz2Lw")),
            ("mysql -u root -p9xQk7mPz2Lw app", Some("9xQk7mPz2Lw")),
            ("sshpass -p 9xQk7mPz2Lw ssh host", Some("9xQk7mPz2Lw")),
            ("sshpass -p '9xQk7mPz2Lw' ssh host", Some("9xQk7mPz2Lw")),
            ("curl -u \"$USER:$PASSWORD\" https://host", None),
            ("curl -u <user:password> https://host", None),
            ("mysql -u root -p app", None),
            ("mkdir -p deploy/9xQk7mPz2Lw", None),
            ("docker run -p 8080:80 nginx", None),
            ("git push -u origin:9xQk7mPz2Lw", None),
        ];
        for (text, want) in table {
            let found =
                (0..text.len() - 3).filter(|at| matches!(&text.as_bytes()[*at..*at + 3], b" -u" | b" -p"));
            let found: Vec<&str> =
                found.filter_map(|at| find(text.as_bytes(), at)).map(|range| &text[range]).collect();
            assert_eq!(found, want.into_iter().collect::<Vec<_>>(), "{text}");
        }
    }
}
