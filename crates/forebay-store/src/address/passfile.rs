//! The password file of PostgreSQL's own tools: `~/.pgpass`, or the file that `PGPASSFILE` names.

use crate::address::Environment;
use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

/// Connection whose password is looked up.
pub(crate) struct Wanted<'a> {
    pub(crate) host: &'a str,
    pub(crate) port: u16,
    pub(crate) database: &'a str,
    pub(crate) user: &'a str,
}

/// The password that the file has for a connection. A file that others may read is ignored, as `psql` does.
pub(crate) fn password(wanted: &Wanted<'_>, environment: &Environment) -> Option<String> {
    let path = match environment.get("PGPASSFILE") {
        Some(path) => PathBuf::from(path),
        None => PathBuf::from(environment.get("HOME")?).join(".pgpass"),
    };
    let mode = fs::metadata(&path).ok()?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!("{} is ignored, because others may read it; run `chmod 600` on it", path.display());
        return None;
    }
    find(&fs::read_to_string(&path).ok()?, wanted)
}

/// The password of the first line that matches.
fn find(text: &str, wanted: &Wanted<'_>) -> Option<String> {
    let port = wanted.port.to_string();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(fields).find_map(|fields| {
        let [host, line_port, database, user, password] = <[String; 5]>::try_from(fields).ok()?;
        let pairs =
            [(host, wanted.host), (line_port, &port), (database, wanted.database), (user, wanted.user)];
        pairs.iter().all(|(pattern, value)| pattern == "*" || pattern == value).then_some(password)
    })
}

/// Fields of a line, separated by colons. A backslash escapes the next character.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        let last = fields.len() - 1;
        match character {
            '\\' => fields[last].extend(characters.next()),
            ':' => fields.push(String::new()),
            _ => fields[last].push(character),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_matches_gives_the_password() {
        let wanted = Wanted { host: "db", port: 5432, database: "main", user: "me" };
        let table = [
            ("db:5432:main:me:hush", Some("hush")),
            ("*:*:*:*:any", Some("any")),
            ("# a comment\n\nother:5432:main:me:no\ndb:*:main:me:yes\n*:*:*:*:later", Some("yes")),
            (r"db:5432:main:me:a\:b\\c", Some(r"a:b\c")),
            ("db:5433:main:me:no", None),
            ("db:5432:main:you:no", None),
            ("db:5432:main:me", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(find(text, &wanted).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_file_that_others_may_read_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pass");
        fs::write(&path, "*:*:*:*:hush").unwrap();
        let environment = Environment::from([("PGPASSFILE", path.to_str().unwrap())]);
        let wanted = Wanted { host: "db", port: 5432, database: "main", user: "me" };
        for (mode, expected) in [(0o600, Some("hush")), (0o640, None), (0o604, None)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(password(&wanted, &environment).as_deref(), expected, "{mode:o}");
        }
    }
}
