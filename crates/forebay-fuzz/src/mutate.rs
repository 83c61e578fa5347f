//! Mutations of samples, determined by a seed.

/// Maximum bytes of a mutated input: enough for what the parsers keep between two places of it, and fast.
const LONGEST: usize = 16 * 1024;

/// A generator of mutated inputs.
pub struct Mutator {
    state: u64,
    samples: Vec<Vec<u8>>,
    words: &'static [&'static str],
}

impl Mutator {
    /// A generator with this seed.
    pub fn new(seed: u64, samples: Vec<Vec<u8>>, words: &'static [&'static str]) -> Mutator {
        Mutator { state: seed, samples, words }
    }

    /// The next input: a sample with one to eight changes.
    pub fn input(&mut self) -> Vec<u8> {
        let number = self.below(self.samples.len());
        let mut input = self.samples[number].clone();
        for _ in 0..=self.below(8) {
            self.change(&mut input);
        }
        input.truncate(LONGEST);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.below(input.len() + 1);
        let end = (at + self.below(32)).min(input.len());
        match self.below(9) {
            0 => input.truncate(at),
            1 => drop(input.drain(at..end)),
            2 => input.extend_from_within(at..end),
            3 => {
                let copy = input[at..end].to_vec();
                insert(input, at, &copy.repeat(1 + self.below(20)));
            }
            4 => {
                let other = self.below(self.samples.len());
                let from = self.below(self.samples[other].len() + 1);
                input.truncate(at);
                input.extend_from_slice(&self.samples[other][from..]);
            }
            5 => input[at..end].iter_mut().for_each(|byte| *byte ^= 1 << (at % 8)),
            6 => {
                let byte = self.below(256) as u8;
                insert(input, at, &[byte]);
            }
            7 => {
                let numbers =
                    ["0", "1", "-1", "9", "255", "65536", "4294967296", "18446744073709551615", "1e400"];
                let number = numbers[self.below(numbers.len())];
                // In place of one that is there, if one follows.
                let from = input[at..].iter().position(u8::is_ascii_digit).map_or(at, |digit| at + digit);
                let digits = input[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                input.splice(from..from + digits, number.bytes());
            }
            _ => {
                let word = self.words[self.below(self.words.len())];
                insert(input, at, word.as_bytes());
            }
        }
    }

    /// A number below `end`, by SplitMix64.
    fn below(&mut self, end: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end.max(1) as u64) as usize
    }
}

fn insert(input: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    input.splice(at..at, bytes.iter().copied());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_inputs_and_they_differ() {
        let inputs = |seed| {
            let mut mutator = Mutator::new(seed, vec![b"some words".to_vec()], &["<p>"]);
            (0..50).map(|_| mutator.input()).collect::<Vec<_>>()
        };
        assert_eq!(inputs(1), inputs(1));
        assert_ne!(inputs(1), inputs(2));
        let distinct: std::collections::BTreeSet<_> = inputs(1).into_iter().collect();
        assert!(distinct.len() > 25, "{}", distinct.len());
    }
}
