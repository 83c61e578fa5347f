//! What holds for every text.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its own text fails")]

use forebay_secrets::{NamedValue, Scanner, mask, mask_range};
use proptest::prelude::*;
use std::ops::Range;

/// Characters of the made-up secrets.
const DRAWN: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghjkmnpqrstuvwxyz23456789";

/// A value that is passed to the scanner.
const KNOWN: &str = "kV9x$Qm2/Rt7Wz";

/// Texts in which `@` stands for a secret of 32 characters and `#` for a line of a key.
const TEMPLATES: &[&str] = &[
    "APP_TOKEN=@\n",
    "    \"api_key\": \"@\",\n",
    "{\\\"client_secret\\\": \\\"@\\\"}\n",
    "postgres://app:@@db.internal:5432/app\n",
    "> Authorization: Bearer @\n",
    "+ curl -fsS -u deploy:@ https://api.example.net\n",
    "<add key=\"ServiceToken\" value=\"@\"/>\n",
    "\u{1b}[32mINFO\u{1b}[0m login with access_token=@ ok\n",
    "-----BEGIN RSA PRIVATE KEY-----\n#\n#\n#\n-----END RSA PRIVATE KEY-----\n",
    "+-----BEGIN PRIVATE KEY-----\n+#\n+#\n+-----END PRIVATE KEY-----\n",
    "\"key\": \"-----BEGIN EC PRIVATE KEY-----\\n#\\n#\\n-----END EC PRIVATE KEY-----\\n\"\n",
    "npm_config_password = \"@\" # of the cache\n",
    "kV9x$Qm2/Rt7Wz and kV9x$\nQm2/Rt7Wz\n",
    "MAX_TOKENS=100 and ${{ secrets.TOKEN }}\n",
    "error[E0308]: mismatched types at src/auth/token.rs:197:35\n",
    "sha256:53829097c2b159d151584051b26794833afa7a78d20a9434c319c0c9e58dfba1\n",
    "password: \n",
    "token=[secret: github token, 40 characters, #k3f9]\n",
    "é ü 日本語 \\ \" ' ` { ( [ < token key\n",
];

/// A text, and the secrets in it.
#[derive(Clone, Debug)]
struct Text {
    text: String,
    secrets: Vec<String>,
}

fn scanner() -> Scanner {
    let known = NamedValue { name: "KNOWN".to_owned(), value: KNOWN.into() };
    Scanner::new([7; 32]).with_values([known])
}

fn drawn(length: usize) -> impl Strategy<Value = String> {
    // A value of the same letter would be no secret, so a failing one is not made simpler.
    let letters = prop::collection::vec(prop::sample::select(DRAWN), length - 2).no_shrink();
    let value = letters.prop_map(|letters| format!("q{}7", String::from_utf8(letters).unwrap()));
    // One value in thousands looks like words by chance. What holds here is that its place changes nothing.
    value.prop_filter("looks like words", |value| {
        !scanner().scan(format!("APP_TOKEN={value}").as_bytes()).is_empty()
    })
}

fn text() -> impl Strategy<Value = Text> {
    let line = (
        prop::sample::select(TEMPLATES),
        prop::collection::vec(drawn(32), 4),
        prop::collection::vec(drawn(64), 3),
    );
    prop::collection::vec(line, 1..12).prop_map(|lines| {
        let mut all = Text { text: String::new(), secrets: vec![KNOWN.to_owned()] };
        for (template, mut short, mut long) in lines {
            let mut user_info = template.contains("://app:");
            for sign in template.chars() {
                let secret = match sign {
                    '@' if user_info || !template.contains("://app:") => short.pop(),
                    '#' if template.contains("BEGIN") => long.pop(),
                    _ => None,
                };
                user_info &= sign != '@';
                match secret {
                    Some(secret) => {
                        all.text.push_str(&secret);
                        all.secrets.push(secret);
                    }
                    None => all.text.push(sign),
                }
            }
        }
        all
    })
}

/// The text without masks.
fn without_masks(text: &[u8]) -> Vec<u8> {
    let masks = regex::bytes::Regex::new(r"\[secret: [^\]\n]*\]").unwrap();
    masks.replace_all(text, &b"\0"[..]).into_owned()
}

/// Some part of six bytes of a secret that is in a text.
fn leak<'a>(secrets: &'a [String], text: &[u8]) -> Option<&'a str> {
    let text = without_masks(text);
    let parts = secrets.iter().flat_map(|secret| (0..secret.len() - 5).map(|at| &secret[at..at + 6]));
    parts.into_iter().find(|part| text.windows(6).any(|window| window == part.as_bytes()))
}

fn ordered(one: prop::sample::Index, other: prop::sample::Index, length: usize) -> Range<usize> {
    let (one, other) = (one.index(length + 1), other.index(length + 1));
    one.min(other)..one.max(other)
}

proptest! {
    #[test]
    fn no_secret_stays_in_a_masked_text(text in text()) {
        let masked = scanner().masked(text.text.as_bytes()).into_owned();
        prop_assert_eq!(leak(&text.secrets, &masked), None, "{}", String::from_utf8_lossy(&masked));
    }

    #[test]
    fn what_is_not_masked_is_not_changed(text in text()) {
        let bytes = text.text.as_bytes();
        let secrets = scanner().scan(bytes);
        let pieces: Vec<Range<usize>> = secrets.iter().flat_map(|secret| secret.pieces.clone()).collect();
        prop_assert!(pieces.iter().all(|piece| !piece.is_empty() && piece.end <= bytes.len()));
        prop_assert!(pieces.windows(2).all(|two| two[0].end <= two[1].start), "{pieces:?}");
        let mut kept = Vec::new();
        let mut at = 0;
        for piece in pieces {
            prop_assert!(!bytes[piece.clone()].contains(&b'\n'));
            kept.extend_from_slice(&bytes[at..piece.start]);
            kept.push(0);
            at = piece.end;
        }
        kept.extend_from_slice(&bytes[at..]);
        prop_assert_eq!(without_masks(&mask(bytes, &secrets)), without_masks(&kept));
    }

    #[test]
    fn a_masked_text_has_no_secrets(text in text()) {
        let masked = scanner().masked(text.text.as_bytes()).into_owned();
        let again = scanner().masked(&masked).into_owned();
        prop_assert_eq!(String::from_utf8_lossy(&again), String::from_utf8_lossy(&masked));
    }

    #[test]
    fn a_range_shows_what_the_whole_text_shows(text in text(), one: prop::sample::Index, other: prop::sample::Index) {
        let bytes = text.text.as_bytes();
        let range = ordered(one, other, bytes.len());
        let shown = scanner().masked_range(bytes, range.clone()).into_owned();
        prop_assert_eq!(leak(&text.secrets, &shown), None, "{}", String::from_utf8_lossy(&shown));
        let whole = mask_range(bytes, &scanner().scan(bytes), range).into_owned();
        prop_assert_eq!(shown, whole);
    }

    #[test]
    fn a_text_is_the_ranges_between_its_cuts(text in text(), cuts: [prop::sample::Index; 3]) {
        let bytes = text.text.as_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        for cut in cuts.windows(2) {
            let shown = scanner().masked_range(bytes, cut[0]..cut[1]).into_owned();
            prop_assert_eq!(leak(&text.secrets, &shown), None);
        }
    }

    #[test]
    fn any_bytes_are_scanned(bytes in prop::collection::vec(any::<u8>(), 0..400), tail in prop::sample::select(TEMPLATES)) {
        let text = [&*bytes, tail.as_bytes()].concat();
        let masked = scanner().masked(&text).into_owned();
        prop_assert_eq!(scanner().masked(&masked).into_owned(), masked);
    }

    #[test]
    fn signs_of_assignments_in_any_order_are_scanned(text in r#"((api|key|token|secret|password|auth|Bearer |://|kind|-----BEGIN|-----END|PRIVATE KEY-----|data|Secret| -p| -u|cookie: |:5432:|\[secret: )|[a-zA-Z0-9]{1,20}|[ \t\n\r=:"'`\\@/.,;|<>(){}&%+-]){0,60}"#) {
        let masked = scanner().masked(text.as_bytes()).into_owned();
        let again = scanner().masked(&masked).into_owned();
        prop_assert_eq!(String::from_utf8_lossy(&again), String::from_utf8_lossy(&masked));
    }
}
