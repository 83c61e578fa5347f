//! Distinguishes machine-made values from words, numbers and names.

/// Cost in bits of each letter after another letter in English words and names of code, at most 9, measured over 30
/// MB of documentation and source code. Rows and columns are in alphabetical order.
const BIGRAMS: [&[u8; 26]; 26] = [
    b"95449769596353959342667769",
    b"37673899369279389457399959",
    b"39583793594489289463599989",
    b"47741778299587389647579969",
    b"47435579798553856234967579",
    b"38773369299467299465499969",
    b"48882864399564489446489989",
    b"29992999399868399574599979",
    b"56455557997442369543959795",
    b"39792998595989368849289989",
    b"59771688399684789737676989",
    b"49852689399398379855588949",
    b"25972989399658439956499989",
    b"49433639497686479833567969",
    b"76447769696542549354454899",
    b"39873997599399349354499969",
    b"78779998999898988669097999",
    b"38652769396755389544578959",
    b"59582895397677559742498969",
    b"49672793399689469345597959",
    b"55464659599343749333999999",
    b"29991979399989599988999999",
    b"39983893299794399358996999",
    b"36463596399879729972898679",
    b"65674778499553329533876977",
    b"48880999499779599969899966",
];

/// Average cost of a pair of letters, in tenths of a bit, above which a run of letters is not a word. Nineteen of
/// twenty random runs of twelve letters cost more than 52, as do names such as `xmlhttp`; `postgresql` costs 50.
const WORD_COST: usize = 51;

/// The same limit for runs of four letters, which look like words by chance more often.
const SHORT_WORD_COST: usize = 43;

/// Statistics of a value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    pub(crate) length: usize,
    pub(crate) digits: usize,
    pub(crate) lower: usize,
    pub(crate) upper: usize,
    /// Bytes that are neither letters nor digits.
    pub(crate) symbols: usize,
    /// Letters a to f, of either case.
    hex_letters: usize,
    /// Number of different bytes.
    pub(crate) distinct: usize,
    /// Bytes in runs of letters that look like words.
    pub(crate) in_words: usize,
    /// Entropy of the bytes in tenths of a bit.
    pub(crate) entropy: usize,
}

impl Shape {
    pub(crate) fn of(value: &[u8]) -> Shape {
        let mut shape = Shape { length: value.len(), ..Shape::default() };
        let mut counts = [0u16; 256];
        for byte in value {
            counts[usize::from(*byte)] = counts[usize::from(*byte)].saturating_add(1);
            match byte {
                b'0'..=b'9' => shape.digits += 1,
                b'a'..=b'z' => shape.lower += 1,
                b'A'..=b'Z' => shape.upper += 1,
                _ => shape.symbols += 1,
            }
            shape.hex_letters += usize::from(matches!(byte, b'a'..=b'f' | b'A'..=b'F'));
        }
        shape.distinct = counts.iter().filter(|count| **count > 0).count();
        let share = |count: &u16| f64::from(*count) / value.len() as f64;
        let bits = |share: f64| -share * share.log2();
        shape.entropy =
            (counts.iter().filter(|count| **count > 0).map(|count| bits(share(count))).sum::<f64>() * 10.0)
                as usize;
        shape.in_words = runs(value).filter(|run| is_word(run)).map(<[u8]>::len).sum();
        shape
    }

    /// Letters of either case.
    pub(crate) fn letters(&self) -> usize {
        self.lower + self.upper
    }

    /// Whether it is a hexadecimal number with digits and letters.
    pub(crate) fn is_hex(&self) -> bool {
        self.digits + self.hex_letters == self.length
            && self.digits > 0
            && self.hex_letters > 0
            && (self.lower == 0 || self.upper == 0)
    }

    /// Whether all of it is digits.
    pub(crate) fn is_number(&self) -> bool {
        self.digits == self.length
    }
}

/// The runs of letters of one case, or of one capital and small letters.
fn runs(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.chunk_by(|one, next| {
        one.is_ascii_alphabetic()
            && next.is_ascii_alphabetic()
            && (one.is_ascii_lowercase() == next.is_ascii_lowercase() || next.is_ascii_lowercase())
    })
}

/// Whether a run of letters looks like a word.
fn is_word(run: &[u8]) -> bool {
    if run.len() < 4 || !run[0].is_ascii_alphabetic() {
        return false;
    }
    // Random text in two cases has runs such as `QWRTe`, words do not.
    if run.len() > 2
        && run[0].is_ascii_uppercase()
        && run[1].is_ascii_uppercase()
        && run[run.len() - 1].is_ascii_lowercase()
    {
        return is_word(&run[run.iter().take_while(|byte| byte.is_ascii_uppercase()).count() - 1..]);
    }
    let letter = |byte: u8| usize::from(byte.to_ascii_lowercase() - b'a');
    let cost = |pair: &[u8; 2]| usize::from(BIGRAMS[letter(pair[0])][letter(pair[1])] - b'0');
    let cost: usize = run.array_windows::<2>().map(cost).sum();
    let limit = if run.len() < 6 { SHORT_WORD_COST } else { WORD_COST };
    cost * 10 <= limit * (run.len() - 1)
}

/// Whether a value looks machine-made.
pub(crate) fn is_random(value: &[u8]) -> bool {
    let shape = Shape::of(value);
    let length = shape.length;
    // Long values may have more symbols: Django generates secret keys with fourteen of them.
    let symbols = if length < 30 { 3 } else { 2 };
    if length < 8 || shape.distinct * 5 < length.min(40) || shape.symbols * symbols > length {
        return false;
    }
    if shape.is_number() {
        return length >= 24 && shape.distinct >= 7;
    }
    if shape.is_hex() {
        return shape.entropy >= 24 && shape.distinct >= 6;
    }
    let entropy = if length < 12 { 24 } else { 29 };
    if shape.entropy < entropy || shape.letters() == 0 {
        return false;
    }
    let mixed = shape.lower > 0 && shape.upper > 0;
    if shape.digits == 0 {
        // Random text without a digit has one case and no symbols, or both cases.
        let plain = mixed || shape.symbols == 0;
        return plain && length >= if mixed { 14 } else { 16 } && shape.in_words * 4 <= length;
    }
    // Short values are more often words with numbers than random.
    if length < 16 && (shape.digits < 2 || shape.letters() < 2 || shape.symbols > 0 && shape.upper == 0) {
        return false;
    }
    // Long random text has runs that look like words by chance, and names have few digits.
    let limit = if length >= 24 && mixed && shape.digits * 8 >= length { 45 } else { 30 };
    shape.in_words * 100 <= length * limit && !is_identifier(value, &shape)
}

/// Whether a value is a name of short parts with few digits, such as `gss_krb5_rfc1964_data`.
fn is_identifier(value: &[u8], shape: &Shape) -> bool {
    let mut parts = value.split(|byte| !byte.is_ascii_alphanumeric());
    let few_digits = shape.digits * 3 < shape.length && parts.clone().all(|part| part.len() <= 10);
    let mut number = |part: &[u8]| part.len() <= 4 || part.iter().all(u8::is_ascii_digit);
    (2..=6).contains(&shape.symbols) && shape.upper == 0 && (few_digits || parts.all(&mut number))
}

/// Whether a value is a UUID.
pub(crate) fn is_uuid(value: &[u8]) -> bool {
    let fits = |(at, byte): (usize, &u8)| {
        if matches!(at, 8 | 13 | 18 | 23) { *byte == b'-' } else { byte.is_ascii_hexdigit() }
    };
    value.len() == 36 && value.iter().enumerate().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_values_are_random_and_words_and_names_are_not() {
        let random = [
            "2aadbf8c160ade1e",
            "CZbQyzaCfWiRRMBS",
            "fw51mtnnwbm4kera86t8hvjji",
            "WWYL1LH4F3S3NIO6JQYCP9WOYIKG0R49",
            "359590731820397769842712995653971326",
            "3lyTWqHMt5UySny2drdPYheRTEzrNux8Cn5JWFHL",
            "9y5etze3pnemosm9k",
            "qXvbtzkwpdlmhrsgjfcn",
            "mm37h(s90rg^=@9xl!#o)&**-@p08-%%j2tmf=a!(^nf1#-vr^",
        ];
        for value in random {
            assert!(is_random(value.as_bytes()), "{value}: {:?}", Shape::of(value.as_bytes()));
        }
        let not = [
            "SalesResults-1.2",
            "authentication",
            "invalid-secret-format",
            "placeholder-consumer-key",
            "node_modules/react-dom",
            "generateAccessTokenFromCredentials",
            "1234567890",
            "aaaaaaaaaaaaaaaaaaaaaaaa",
            "application/json",
            "kubernetes-v1-28",
            "gss_krb5_rfc1964_keydata",
            "Ed25519PublicKey",
            "cmp2-qat-1208358310",
            "foo.bar.acme.com",
            "2026-01-01T10:00:00Z",
        ];
        for value in not {
            assert!(!is_random(value.as_bytes()), "{value}: {:?}", Shape::of(value.as_bytes()));
        }
    }

    #[test]
    fn a_uuid_has_its_dashes_in_their_places() {
        assert!(is_uuid(b"123e4567-e89b-12d3-a456-426614174222"));
        assert!(!is_uuid(b"123e4567e-89b-12d3-a456-426614174222"));
        assert!(!is_uuid(b"123e4567-e89b-12d3-a456-42661417422g"));
    }
}
