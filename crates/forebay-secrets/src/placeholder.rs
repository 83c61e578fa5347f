//! Values in place of a secret: placeholders, references, masks and ciphertext.

use crate::randomness::is_random;
use crate::text::{contains_ignore_case, starts_with_ignore_case};

/// Lower-case texts that mark any value that contains them as a placeholder.
const PARTS: &[&str] = &[
    "example",
    "xxxx",
    "placeholder",
    "redacted",
    "changeme",
    "change-me",
    "change_me",
    "changeit",
    "dummy",
    "****",
    "....",
    "insert",
    "replace",
    "your-",
    "your_",
    "yourown",
    "yoursecret",
    "yourtoken",
    "yourkey",
    "yourapi",
    "yourpass",
    "my-secret",
    "mysecret",
    "my_secret",
    "0000000000",
    "1111111111",
    "1234567890",
    "0123456789",
    "23456789abc",
    "abcdefgh",
    "abcdef12",
    "abcdef01",
    "deadbeef",
    "todo",
    "fixme",
    "lorem",
    "foobar",
    "sample",
    "fake",
    "mock",
    "notreal",
    "not-real",
    "notsecret",
    "not-a-",
    "not_a_",
    "invalid",
    "<",
    ">",
    "•••",
    "…",
    "___",
    "---",
    "sanitized",
    "censored",
    "removed",
    "hidden",
    "test-token",
    "test_token",
    "testtoken",
    "test-key",
    "test_key",
    "testkey",
    "test-secret",
    "test_secret",
    "testsecret",
    "testpass",
    "test_pass",
    "test-pass",
    "some-",
    "some_",
    "secret-value",
    "secret_value",
    "secretvalue",
    "-here",
    "_here",
    "optional",
    "required",
    "undefined",
    "supersecret",
    "super-secret",
    "super_secret",
    "topsecret",
    "default",
    "password",
    "passw0rd",
    "p4ssw0rd",
    "p@ssw0rd",
    "p@ssword",
    "s3cr3t",
    "s3cret",
    "secret123",
    "secret1",
    "qwerty",
    "letmein",
    "hunter2",
    "correcthorse",
    "correct-horse",
    "placeholder",
    "loremipsum",
    "whatever",
    "asdf",
    "token-",
    "apikey",
    "api-key",
    "api_key",
    "access-key",
    "secret-key",
    "secretkey",
    "accesskey",
    "client-secret",
    "access-token",
    "accesstoken",
    "null",
    "none",
    "hmac-sha",
    "\\x",
];

/// Parts that mark even a value in a known form as a sample. They are few and long, because random text contains
/// short words by chance.
const PARTS_OF_TOKENS: &[&str] = &[
    "example",
    "xxxxx",
    "placeholder",
    "redacted",
    "changeme",
    "your_",
    "your-",
    "*****",
    ".....",
    "000000000",
    "111111111",
    "aaaaaaaa",
    "1234567890",
    "0123456789",
    "abcdefghij",
    "abcdef0123456",
    "abcdef1234567",
    "deadbeefdeadbeef",
    "<",
    "notreal",
    "dummy-",
    "dummy_",
    "fake-",
    "fake_",
    "invalid",
    "sample",
    "insert",
];

/// Lower-case words that are not secrets as a whole value.
const WORDS: &[&str] = &[
    "secret",
    "token",
    "pass",
    "passwd",
    "pwd",
    "key",
    "value",
    "string",
    "test",
    "testing",
    "admin",
    "root",
    "user",
    "guest",
    "username",
    "login",
    "foo",
    "bar",
    "baz",
    "demo",
    "true",
    "false",
    "yes",
    "no",
    "on",
    "off",
    "nil",
    "na",
    "n/a",
    "empty",
    "unset",
    "unknown",
    "missing",
    "masked",
    "tbd",
    "abc",
    "abc123",
    "1234",
    "12345",
    "123456",
    "1234567",
    "12345678",
    "123456789",
    "postgres",
    "mysql",
    "redis",
    "rabbitmq",
    "minio",
    "minioadmin",
    "sa",
    "oracle",
    "elastic",
    "mongo",
    "toor",
    "hidden",
    "encrypted",
    "auto",
    "bearer",
    "basic",
    "prompt",
    "stdin",
    "file",
    "env",
    "vault",
    "keyring",
    "text",
    "hash",
    "private",
    "public",
    "str",
    "int",
    "bool",
    "bytes",
    "object",
    "any",
    "optional",
    "number",
    "self",
    "this",
    "config",
    "settings",
    "mypass",
    "pass123",
    "pass1234",
    "test123",
    "test1234",
    "admin123",
    "root123",
    "user123",
    "x",
    "y",
    "z",
    "a",
    "b",
    "c",
    "1",
    "0",
    "hunter",
    "tokens",
    "password1",
    "example",
    "sys",
    "strict",
    "required",
    "enabled",
    "disabled",
    "always",
    "never",
    "trust",
    "md5",
    "scram-sha-256",
    "plain",
];

/// Whether a value is a placeholder for a secret.
pub(crate) fn is_placeholder(value: &[u8]) -> bool {
    let trimmed = value.trim_ascii();
    trimmed.is_empty()
        || is_reference(trimmed)
        || is_ciphertext(trimmed)
        || is_public_key(trimmed)
        || is_repetition(trimmed)
        || WORDS.iter().any(|word| trimmed.eq_ignore_ascii_case(word.as_bytes()))
        || PARTS.iter().any(|part| contains_part(trimmed, part.as_bytes()))
}

/// Whether a value contains a part. Random text contains words of four letters by chance, so those must be separate
/// words.
fn contains_part(value: &[u8], part: &[u8]) -> bool {
    // `apikey_` can be the beginning of a random value.
    const PREFIXES: &[&[u8]] = &[
        b"apikey",
        b"api-key",
        b"api_key",
        b"token-",
        b"client-secret",
        b"secret-key",
        b"access-token",
        b"access-key",
        b"secretkey",
        b"accesskey",
        b"accesstoken",
    ];
    if PREFIXES.contains(&part)
        && value.len() >= part.len() + 24
        && value[..part.len()].eq_ignore_ascii_case(part)
    {
        return !is_random(&value[part.len()..]);
    }
    if part.len() > 5 || !part.iter().all(u8::is_ascii_alphabetic) || part == b"xxxx" {
        return contains_ignore_case(value, part);
    }
    let is_word = |at: usize| {
        let word = &value[at..at + part.len()];
        let one_case =
            word[1..].iter().all(u8::is_ascii_lowercase) || word.iter().all(u8::is_ascii_uppercase);
        let before = at.checked_sub(1).map(|before| value[before]);
        let starts = before.is_none_or(|before| {
            !before.is_ascii_alphabetic() || before.is_ascii_lowercase() && word[0].is_ascii_uppercase()
        });
        let ends = value.get(at + part.len()).is_none_or(|after| {
            !after.is_ascii_alphabetic() || after.is_ascii_uppercase() && word[1].is_ascii_lowercase()
        });
        word.eq_ignore_ascii_case(part) && one_case && starts && ends
    };
    (0..(value.len() + 1).saturating_sub(part.len())).any(is_word)
}

/// Whether a text in a known form is a placeholder.
pub(crate) fn is_placeholder_token(value: &[u8]) -> bool {
    is_repetition(value) || PARTS_OF_TOKENS.iter().any(|part| contains_ignore_case(value, part.as_bytes()))
}

/// Whether a value refers to a secret stored elsewhere, as `${TOKEN}` and `op://vault/item` do.
pub(crate) fn is_reference(value: &[u8]) -> bool {
    const STARTS: &[&[u8]] = &[
        b"op://",
        b"vault:",
        b"ssm:",
        b"arn:",
        b"env.",
        b"env:",
        b"process.env",
        b"os.environ",
        b"os.getenv",
        b"system.getenv",
        b"secrets.",
        b"var.",
        b"vars.",
        b"local.",
        b"data.",
        b"config.",
        b"file:",
        b"file://",
        b"ref+",
        b"keyring:",
        b"projects/",
        b"!vault",
        b"!ref",
        b"self.",
        b"this.",
        b"settings.",
        b"params.",
        b"args.",
        b"options.",
        b"props.",
        b"req.",
        b"request.",
        b"ctx.",
        b"context.",
        b"[secret",
        b"sha256:",
        b"awssm",
        b"gcpsm",
        b"doppler://",
        b"bws:",
        b"azurekeyvault",
        b"secretref",
        b"@microsoft.keyvault",
        b"lookup(",
        b"valuefrom",
        b"bao:",
        b"infisical://",
        b"akv://",
        b"gcp-secret",
        b"aws-sm",
        b"k8s:",
        b"sops:",
        b"conjur",
        b"[redacted",
        b"[filtered",
        b"[masked",
        b"[hidden",
        b"[secure",
        b"(sensitive",
        b"(known after",
    ];
    match value {
        [b'$' | b'`', ..] => !value.starts_with(b"$2") && !value.starts_with(b"$argon"),
        [b'%', .., b'%']
        | [b'{', .., b'}']
        | [b'<', .., b'>']
        | [b'@', b'@', ..]
        | [b'#', b'{', ..]
        | [b'_', b'_', .., b'_', b'_'] => true,
        [b'&', b'l', b't', ..] => true,
        _ => {
            STARTS.iter().any(|start| starts_with_ignore_case(value, start))
                || memchr::memmem::find(value, b"${").is_some()
                || memchr::memmem::find(value, b"{{").is_some()
                || memchr::memmem::find(value, b"$(").is_some()
        }
    }
}

/// Whether a value is encrypted or hashed.
pub(crate) fn is_ciphertext(value: &[u8]) -> bool {
    const STARTS: &[&[u8]] = &[
        b"ENC[",
        b"ENC(",
        b"vault:v",
        b"$ANSIBLE_VAULT",
        b"$1$",
        b"$2a$",
        b"$2b$",
        b"$2y$",
        b"$5$",
        b"$6$",
        b"$7$",
        b"$y$",
        b"$argon2",
        b"$pbkdf2",
        b"$scrypt",
        b"pbkdf2_",
        b"pbkdf2:",
        b"{SSHA",
        b"{SHA",
        b"{MD5",
        b"{bcrypt}",
        b"{cipher}",
        b"sha1:",
        b"sha256:",
        b"sha384-",
        b"sha512-",
        b"sha256-",
        b"sha512:",
        b"md5:",
        b"scrypt:",
        b"argon2",
        b"AGE-ENCRYPTED",
        b"-----BEGIN AGE",
        b"-----BEGIN PGP MESSAGE",
        b"AgA",
        b"AgB",
        b"CiQA",
        b"AQICAH",
        b"SCRAM-SHA-",
    ];
    STARTS.iter().any(|start| value.starts_with(start)) && (!value.starts_with(b"Ag") || value.len() > 300)
}

/// Whether a value is a public key or a certificate in base64.
fn is_public_key(value: &[u8]) -> bool {
    const STARTS: &[&[u8]] = &[
        b"MIIBIjANBgkqhkiG9w0BAQEFAAOC",
        b"MIICIjANBgkqhkiG9w0BAQEFAAOC",
        b"MIGfMA0GCSqGSIb3DQEBAQUAA4GN",
        b"MFkwEwYHKoZIzj0CAQYI",
        b"MCowBQYDK2VwAyEA",
        b"AAAAB3NzaC1",
        b"AAAAC3NzaC1",
        b"AAAAE2VjZHNh",
        b"ssh-",
        b"LS0tLS1CRUdJTiBDRVJU",
        b"LS0tLS1CRUdJTiBQVUJM",
    ];
    STARTS.iter().any(|start| value.starts_with(start))
}

/// Whether one byte makes up most of a value, or its letters and digits count up, as in `abc123def456` and `a1B2c3`.
fn is_repetition(value: &[u8]) -> bool {
    if value.len() < 8 {
        return false;
    }
    let mut counts = [0u32; 256];
    value.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let most = counts.iter().max().copied().unwrap_or(0) as usize;
    let rising = value.array_windows::<2>().filter(|pair| pair[1].wrapping_sub(pair[0]) <= 1).count();
    most * 2 > value.len() || rising * 10 >= (value.len() - 1) * 7 || counts_up(value)
}

/// Whether the letters of a value follow each other in the alphabet, and its digits count up too.
fn counts_up(value: &[u8]) -> bool {
    let letters = value.iter().filter(|byte| byte.is_ascii_alphabetic()).map(u8::to_ascii_lowercase);
    let digits = value.iter().filter(|byte| byte.is_ascii_digit());
    let mut tail: Vec<u8> = letters.collect();
    // A prefix before the value itself is ignored.
    let skipped = tail.len().saturating_sub(value.len() / 2 + 1);
    tail.drain(..skipped.min(tail.len()));
    let digits: Vec<u8> = digits.map(|digit| digit - b'0').collect();
    let mostly = |count: usize, of: usize| of >= 8 && count * 10 >= of * 9;
    let letters = tail
        .array_windows::<2>()
        .filter(|pair| pair[1].wrapping_sub(pair[0]) <= 1 || pair[1] == b'a')
        .count();
    let digits_up = digits.array_windows::<2>().filter(|pair| pair[1] == (pair[0] + 1) % 10).count();
    mostly(digits_up, digits.len().saturating_sub(1)) && letters * 10 >= tail.len().saturating_sub(1) * 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_and_references_are_told_from_values() {
        let placeholders = [
            "changeme",
            "xxxxxxxxxxxxxxxx",
            "XXXX-XXXX-XXXX",
            "<your-api-key>",
            "${TOKEN}",
            "$TOKEN",
            "$(cat token.txt)",
            "${{ secrets.TOKEN }}",
            "{token}",
            "@@TOKEN@@",
            "process.env.API_KEY",
            "op://vault/item/field",
            "null",
            "********",
            "YOUR_API_KEY",
            "%DB_PASSWORD%",
            "[REDACTED]",
            "ENC[AES256_GCM,data:p8,iv:q,tag:r,type:str]",
            "$2b$12$abc",
            "fake123456x",
            "aFakeToken9",
            "aaaaaaaaaa1111111111bbbbbbbbbb2222222222",
            "",
            "  ",
            "[secret: github token, 40 characters, #k3f9]",
        ];
        for value in placeholders {
            assert!(is_placeholder(value.as_bytes()), "{value}");
        }
        for value in [
            "qSA638EFHcJ29rfAKE2QWGDQ",
            "B27rAUFdBnTPfyNdCUWuc",
            "2aadbf8c160ade1e",
            "Tr0ub4dor&3",
            "qaN3I0M0HXG86Q",
        ] {
            assert!(!is_placeholder(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn samples_of_known_forms_are_placeholders_and_drawn_ones_are_not() {
        assert!(is_placeholder_token(b"AKIAIOSFODNN7EXAMPLE"));
        assert!(is_placeholder_token(b"ghs_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"));
        assert!(!is_placeholder_token(b"lin_api_2thngjik222gkiihzivh242LU7zvkdvdgB14B41S"));
    }
}
