//! Outliers: numbers far above the others.

/// Largest numbers that are kept. The last of them counts as usual.
const KEPT: usize = 3;

/// Minimum numbers among which there are outliers, and how many times the usual number an outlier is.
const NUMBERS: u64 = 20;
const FAR: f64 = 5.0;

/// Largest of some numbers, in descending order, each with its place.
#[derive(Clone, Debug)]
pub(crate) struct Greatest<P> {
    kept: Vec<(f64, P)>,
    /// Count of all numbers.
    count: u64,
}

impl<P> Default for Greatest<P> {
    fn default() -> Greatest<P> {
        Greatest { kept: Vec::new(), count: 0 }
    }
}

impl<P: Copy> Greatest<P> {
    pub(crate) fn take(&mut self, value: f64, place: impl FnOnce() -> P) {
        self.count += 1;
        let before = self.kept.iter().take_while(|(kept, _)| *kept >= value).count();
        if before < KEPT && value > 0.0 {
            self.kept.insert(before, (value, place()));
            self.kept.truncate(KEPT);
        }
    }

    /// Adds the numbers of another part of the output.
    pub(crate) fn join(&mut self, more: Greatest<P>) {
        let count = self.count + more.count;
        more.kept.into_iter().for_each(|(value, place)| self.take(value, || place));
        self.count = count;
    }

    /// Returns the places of the outliers.
    pub(crate) fn outliers(&self) -> Vec<P> {
        let usual = self.kept.get(KEPT - 1).map_or(f64::INFINITY, |(value, _)| *value);
        let far = |(value, _): &&(f64, P)| self.count >= NUMBERS && *value >= usual * FAR;
        self.kept.iter().filter(far).map(|(_, place)| *place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stands_out_that_is_many_times_what_is_usual() {
        let table = [
            (vec![(7, 2.2)], vec![7]),
            (vec![(7, 2.2), (30, 3.1)], vec![30, 7]),
            // Three numbers of about the same size are usual.
            (vec![(7, 2.2), (30, 3.1), (31, 2.9)], vec![]),
            (vec![(7, 0.1)], vec![]),
            (vec![(7, -9.0)], vec![]),
            (vec![(7, f64::NAN)], vec![]),
            (vec![], vec![]),
        ];
        for (odd, expected) in table {
            let value = |at: usize| {
                let odd = odd.iter().find(|(place, _)| *place == at);
                odd.map_or(0.02 + (at % 9) as f64 / 1_000.0, |(_, value)| *value)
            };
            let mut all = Greatest::default();
            (0..40).for_each(|at| all.take(value(at), || at));
            assert_eq!(all.outliers(), expected, "{odd:?}");
            let (mut first, mut second) = (Greatest::default(), Greatest::default());
            (0..20).for_each(|at| first.take(value(at), || at));
            (20..40).for_each(|at| second.take(value(at), || at));
            first.join(second);
            assert_eq!(first.outliers(), expected, "joined: {odd:?}");
        }
    }

    #[test]
    fn of_few_numbers_none_stands_out() {
        let mut few = Greatest::default();
        (0..19).for_each(|at| few.take(if at == 3 { 500.0 } else { 1.0 }, || at));
        assert_eq!(few.outliers(), [] as [i32; 0]);
        few.take(1.0, || 19);
        assert_eq!(few.outliers(), [3]);
    }
}
