//! The scanner as a caller sees it.

#![expect(clippy::unwrap_used, reason = "a test that cannot make its scanner fails")]

use forebay_secrets::{Allowlist, NamedValue, Scanner, UserRules};

/// A value that no rule knows.
const VALUE: &str = "s9Kd82kfQ7mPz2LwVb4Tn8Rd";

fn scanner() -> Scanner {
    Scanner::new([7; 32])
}

fn masked(scanner: &Scanner, text: &str) -> String {
    String::from_utf8(scanner.masked(text.as_bytes()).into_owned()).unwrap()
}

#[test]
fn settings_with_secrets_are_masked_and_others_stay() {
    let table = [
        ("DEPLOY_TOKEN=@", "DEPLOY_TOKEN=[token]"),
        ("declare -x API_KEY=\"@\"", "declare -x API_KEY=\"[api key]\""),
        ("  client_secret: @", "  client_secret: [secret]"),
        ("{\"clientSecret\":\"@\",\"n\":1}", "{\"clientSecret\":\"[secret]\",\"n\":1}"),
        ("{\\\"authToken\\\": \\\"@\\\"}", "{\\\"authToken\\\": \\\"[token]\\\"}"),
        ("<add key=\"SmtpPassword\" value=\"@\" />", "<add key=\"SmtpPassword\" value=\"[password]\" />"),
        ("<apiToken>\n  @\n</apiToken>", "<apiToken>\n  [token]\n</apiToken>"),
        ("serve --api-key @ --port 80", "serve --api-key [api key] --port 80"),
        ("GET /v1?page=2&access_token=@&n=1 200", "GET /v1?page=2&access_token=[token]&n=1 200"),
        ("X-Api-Key: @", "X-Api-Key: [api key]"),
        ("Host=db;Username=app;Password=@;Pool=4", "Host=db;Username=app;Password=[password];Pool=4"),
        ("//npm.example/:_authToken=@", "//npm.example/:_authToken=[token]"),
        ("machine git.example login app password @", "machine git.example login app password [password]"),
        ("Unseal Key 1: @", "Unseal Key 1: [key]"),
        ("\u{1b}[32mAPP_KEY\u{1b}[0m=1 API_KEY=@", "\u{1b}[32mAPP_KEY\u{1b}[0m=1 API_KEY=[api key]"),
        ("- name: DB_PASSWORD\n  value: @", "- name: DB_PASSWORD\n  value: [password]"),
        ("let token: &str = \"@\";", "let token: &str = \"[token]\";"),
    ];
    let short = regex::Regex::new(r"\[secret: ([^,]+), 24 characters, #\w{4}\]").unwrap();
    for (text, want) in table {
        let shown = masked(&scanner(), &text.replace('@', VALUE));
        assert_eq!(short.replace_all(&shown, "[$1]"), want);
    }
    let harmless = [
        "MAX_TOKENS=100",
        "TOKEN: ${{ secrets.TOKEN }}",
        "token = os.environ[\"TOKEN\"]",
        "password = settings.database.password",
        "cache_key: s9Kd82kfQ7mPz2LwVb4Tn8Rd",
        "public_key = \"s9Kd82kfQ7mPz2LwVb4Tn8Rd\"",
        "etag: \"s9Kd82kfQ7mPz2LwVb4Tn8Rd\"",
        "commit 7e435a7ca50cf374bd6fa88cd181bf3beabfb0b7",
        "password: ENC[AES256_GCM,data:s9Kd82kfQ7mPz2LwVb4Tn8Rd,type:str]",
        "if (token !== expectedToken) throw new Error('invalid token');",
        "--password <PASSWORD>   password of the user",
        "    --- PASS: TestAlpha/#01 (0.00s)",
    ];
    for text in harmless {
        assert_eq!(masked(&scanner(), text), text);
    }
}

#[test]
fn equal_values_have_equal_tags_in_every_form() {
    let scanner = scanner().with_values([NamedValue { name: "APP".to_owned(), value: VALUE.into() }]);
    let encoded = "czlLZDgya2ZRN21QejJMd1ZiNFRuOFJk";
    let texts = [
        VALUE.to_owned(),
        format!("TOKEN={VALUE}"),
        format!("x {encoded} y"),
        format!("kind: Secret\ndata:\n  a: {encoded}\n"),
        "s9Kd82kfQ7\n    mPz2LwVb4Tn8Rd".to_owned(),
    ];
    let tags =
        texts.map(|text| scanner.scan(text.as_bytes()).iter().map(|secret| secret.tag).collect::<Vec<_>>());
    assert!(tags.iter().all(|own| own.len() == 1 && *own == tags[0]), "{tags:?}");
    let other = Scanner::new([8; 32]).scan(format!("TOKEN={VALUE}").as_bytes());
    assert_ne!(other[0].tag, tags[0][0], "the key has no part in the tag");
}

#[test]
fn a_value_that_was_found_is_found_everywhere() {
    let text = format!("+ '[' -n {VALUE} ']'\n+ docker run -e APP_TOKEN={VALUE} app\n");
    assert_eq!(scanner().scan(text.as_bytes()).len(), 2);
    assert_eq!(scanner().scan(text.lines().next().unwrap().as_bytes()), []);
}

#[test]
fn known_values_have_the_names_that_callers_give() {
    let value = |name: &str| NamedValue { name: name.to_owned(), value: b"correct horse".to_vec() };
    let shown = |name: &str| masked(&scanner().with_values([value(name)]), "say: correct horse!");
    assert!(shown("MY_PASSPHRASE").starts_with("say: [secret: MY_PASSPHRASE, 13 characters, #"));
    assert!(shown("]\n").starts_with("say: [secret: known value, 13 characters, #"));
}

#[test]
fn rules_of_users_find_what_built_in_ones_do_not() {
    let rules =
        "service = 'acme'\n[[secret]]\nname = 'pin'\npattern = 'pin-([0-9]{6})'\nsamples = ['pin-{d6}']\n";
    let scanner = scanner().with_rules(UserRules::parse(rules).unwrap());
    assert!(masked(&scanner, "a pin-394817 b").starts_with("a pin-[secret: acme pin, 6 characters, #"));
}

#[test]
fn allowed_values_are_shown() {
    let text = format!("TOKEN={VALUE}");
    let fingerprint = scanner().fingerprint(VALUE.as_bytes());
    for list in [fingerprint.to_string(), "/s9Kd.*/".to_owned()] {
        let scanner = scanner().with_allowed(Allowlist::parse(&list).unwrap());
        assert_eq!(masked(&scanner, &text), text);
        assert_ne!(masked(&scanner, &text.replace("s9", "t7")), text.replace("s9", "t7"));
    }
}

#[test]
fn a_long_key_is_masked_far_from_its_first_line() {
    let line = "MHcCAQEEIAJxIlB7t45cK07n9/YGcS6RBPYmlmV2gsaACBeyzuhZoAoGCCqGSM49\n";
    let key = format!(
        "{}\n{}{}\n",
        ["-----BEGIN RSA", "PRIVATE KEY-----"].join(" "),
        line.repeat(600),
        "-----END RSA"
    );
    let text = "log line without anything\n".repeat(4_000) + &key + &"more log\n".repeat(20_000);
    let middle = text.find(line).unwrap() + 300 * line.len() + 20;
    let shown = scanner().masked_range(text.as_bytes(), middle..middle + 2 * line.len()).into_owned();
    let shown = String::from_utf8(shown).unwrap();
    assert_eq!(shown.lines().count(), 3);
    assert!(shown.lines().all(|line| line.starts_with("[secret: ")), "{shown}");
}

#[test]
fn what_a_mask_makes_look_like_a_secret_is_masked_too() {
    let once = masked(&scanner(), "tokenBearer 0a0AAa0A0aaaf1Secret://:5432:00Aa00aAAPRIVATE KEY-----");
    assert!(!once.contains("0a0AAa0A0aaaf1Secret"), "{once}");
    assert_eq!(masked(&scanner(), &once), once);
}
