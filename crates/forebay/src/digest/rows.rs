//! Chooses the rows of a compact rendering to show if not all of them fit.

use crate::compact::{Role, Row};
use crate::text::similarity::template;
use crate::weights::rows::{
    ALIKE_SHARE, BEST_OF_BLOCK, BLOCK_NORM, COMMON_SHARE, Ends, FADE, FILLED_GAP, FILLED_GAP_OF_FOLDER,
    MANY_ROWS, MARKER_TOKENS, MAX_GROUPS_SHARE, NAMES_OF_FOLDER, OUTER_RECORDS, PARTIAL_REACH, REACH,
    SHOWN_LIKE, SHOWN_LIKE_RECORDS, SIGNATURES, STATED_NAMES, UNUSUAL_ROW, UNUSUAL_SHARE,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

/// Rows to choose from, with their costs and scores.
pub(crate) struct RowChoice {
    /// Approximate tokens of each row.
    pub(crate) cost: Vec<f32>,
    pub(crate) score: Vec<f32>,
    kept: Vec<bool>,
    used: f32,
    budget: f32,
    /// Template of each row, if rows similar to chosen ones are skipped.
    templates: Vec<Like>,
    /// Number of chosen rows per template.
    shown: HashMap<Like, usize>,
    /// Maximum chosen rows per template.
    most_like: usize,
}

/// Template of a row: the same for rows that differ only in numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Like {
    template: u64,
    group: Option<u32>,
}

impl RowChoice {
    pub(crate) fn new(cost: Vec<f32>, score: Vec<f32>, budget: f32) -> RowChoice {
        let kept = vec![false; cost.len()];
        let (templates, shown) = Default::default();
        RowChoice { cost, score, kept, used: 0.0, budget, templates, shown, most_like: SHOWN_LIKE }
    }

    /// From now on, skips rows without a score that differ from several chosen ones only in numbers. Names of a
    /// listing are compared within their folder.
    pub(crate) fn without_like(&mut self, rows: &[Row], in_group: bool) {
        let like = |row: &Row| Like {
            template: template(row.text.trim_ascii()),
            group: row.group.filter(|_| in_group),
        };
        self.templates = rows.iter().map(like).collect();
    }

    /// Does the same for records, of which more are shown. Ids with digits distinguish records.
    pub(crate) fn without_like_records(&mut self, rows: &[Row]) {
        let like =
            |row: &Row| Like { template: without_numbers(&row.text), group: Some(u32::from(row.depth)) };
        self.templates = rows.iter().map(like).collect();
        self.most_like = SHOWN_LIKE_RECORDS;
    }

    /// Returns the chosen rows. Fills gaps that cost less than their marker.
    pub(crate) fn kept(mut self) -> Vec<bool> {
        for at in 1..self.kept.len().saturating_sub(1) {
            if !self.kept[at] && self.kept[at - 1] && self.kept[at + 1] && self.cost[at] <= FILLED_GAP {
                self.kept[at] = true;
            }
        }
        self.kept
    }

    fn len(&self) -> usize {
        self.cost.len()
    }

    /// The rows that are chosen so far.
    pub(crate) fn chosen(&self) -> &[bool] {
        &self.kept
    }

    /// Starts again with a budget that is smaller by `tokens`.
    pub(crate) fn restart(&mut self, tokens: f32) {
        self.kept.fill(false);
        self.shown.clear();
        self.used = 0.0;
        self.budget -= tokens;
    }

    /// Adds to the scores of rows.
    pub(crate) fn add(&mut self, scores: &[f32]) {
        self.score.iter_mut().zip(scores).for_each(|(score, more)| *score += more);
    }

    /// Raises the scores of unusual rows.
    pub(crate) fn prefer(&mut self, unusual: &[bool]) {
        for (score, _) in self.score.iter_mut().zip(unusual).filter(|(_, unusual)| **unusual) {
            *score += UNUSUAL_ROW;
        }
    }

    /// Cost of a row and of the marker that it may add.
    fn price(&self, at: usize) -> f32 {
        let beside = at > 0 && self.kept[at - 1] || self.kept.get(at + 1).is_some_and(|kept| *kept);
        self.cost[at] + if beside { 0.0 } else { MARKER_TOKENS }
    }

    /// Chooses the rows of the outermost tables, which distinguish the records, if they leave room.
    pub(crate) fn take_outer(&mut self, rows: &[Row]) {
        let outer: Vec<usize> = (0..self.len()).filter(|&at| rows[at].depth == 0).collect();
        let inner = self.len() - outer.len();
        let cost: f32 = outer.iter().map(|&at| self.cost[at] + MARKER_TOKENS).sum();
        if inner > 0 && cost <= self.budget * OUTER_RECORDS {
            outer.into_iter().for_each(|at| self.kept[at] = true);
            self.used += cost;
        }
    }

    /// Chooses a row if there is room and it adds information.
    fn take(&mut self, at: usize) -> bool {
        if let Some(template) = self.templates.get(at).copied() {
            let shown = self.shown.entry(template).or_default();
            if *shown >= self.most_like && self.score[at] <= 0.0 {
                return false;
            }
            *shown += 1;
        }
        self.take_anyway(at)
    }

    /// Chooses a row if there is room.
    fn take_anyway(&mut self, at: usize) -> bool {
        let price = self.price(at);
        let fits = !self.kept[at] && self.used + price <= self.budget;
        if fits {
            self.kept[at] = true;
            self.used += price;
        }
        fits
    }

    /// Chooses rows from the beginning, and then from the end.
    pub(crate) fn take_ends(&mut self, ends: Ends) {
        let take = |choice: &mut RowChoice, rows: &mut dyn Iterator<Item = usize>, room: f32| {
            let mut used = 0.0;
            for at in rows {
                used += choice.cost[at];
                if choice.kept[at] || used > room {
                    break;
                }
                choice.kept[at] = true;
                choice.used += choice.cost[at];
            }
        };
        let (count, budget) = (self.len(), self.budget);
        take(self, &mut (0..count), budget * ends.head);
        take(self, &mut (0..count).rev(), budget * ends.tail);
    }

    /// Chooses the best rows with the rows around them. The remaining room goes to the rows after the beginning.
    pub(crate) fn take_best(&mut self) {
        self.take_scored();
        for at in 0..self.len() {
            if !self.kept[at] && !self.take(at) {
                break;
            }
        }
    }

    /// Chooses the best rows with the rows around them.
    pub(crate) fn take_scored(&mut self) {
        let smooth = self.smooth(REACH);
        let mut order: Vec<usize> =
            (0..self.len()).filter(|&at| !self.kept[at] && smooth[at] > 0.0).collect();
        order.sort_by(|&a, &b| smooth[b].total_cmp(&smooth[a]).then(a.cmp(&b)));
        for at in order {
            self.take(at);
        }
    }

    /// Scores, with a share of each row's score given to its neighbours.
    fn smooth(&self, reach: usize) -> Vec<f32> {
        let mut smooth = self.score.clone();
        for distance in 1..=reach {
            let factor = FADE.powi(distance as i32);
            for (at, score) in self.score.iter().enumerate().filter(|(_, score)| **score > 0.0) {
                for near in [at.checked_sub(distance), Some(at + distance)].into_iter().flatten() {
                    if let Some(near) = smooth.get_mut(near) {
                        *near = near.max(score * factor);
                    }
                }
            }
        }
        smooth
    }

    /// Chooses the first line of each block if these lines distinguish the blocks, then whole blocks, the best first,
    /// then a part of the first block that does not fit.
    pub(crate) fn take_blocks(&mut self, blocks: &[Range<usize>], has_heads: bool) {
        let most = self.used + self.budget * SIGNATURES;
        for block in blocks.iter().filter(|_| has_heads) {
            let price = self.price(block.start);
            if !self.kept[block.start] && self.used + price <= most {
                self.kept[block.start] = true;
                self.used += price;
            }
        }
        let mut worth: Vec<(f32, usize)> = Vec::new();
        for (number, block) in blocks.iter().enumerate() {
            let cost: f32 = block.clone().filter(|&at| !self.kept[at]).map(|at| self.cost[at]).sum();
            if cost > 0.0 {
                let mut best: Vec<f32> = self.score[block.clone()].to_vec();
                best.sort_by(|a, b| b.total_cmp(a));
                let sum: f32 = best.iter().take(BEST_OF_BLOCK).sum();
                worth.push((sum / (BLOCK_NORM + cost.sqrt()), number));
            }
        }
        worth.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for (_, number) in worth {
            let block = blocks[number].clone();
            let cost: f32 = block.clone().filter(|&at| !self.kept[at]).map(|at| self.cost[at]).sum();
            if self.used + cost + MARKER_TOKENS <= self.budget {
                block.for_each(|at| self.kept[at] = true);
                self.used += cost + MARKER_TOKENS;
                continue;
            }
            let smooth = self.smooth(PARTIAL_REACH);
            let mut order: Vec<usize> = block.filter(|&at| !self.kept[at]).collect();
            order.sort_by(|&a, &b| smooth[b].total_cmp(&smooth[a]).then(a.cmp(&b)));
            for at in order {
                self.take(at);
            }
            break;
        }
    }

    /// Chooses names of a listing: those that the session mentions, then names of each folder in turn. The outermost
    /// folders come first, files that nobody reads last.
    pub(crate) fn take_names(&mut self, rows: &[Row], groups: &[Vec<u8>]) {
        let mut named: Vec<usize> = (0..self.len()).filter(|&at| self.score[at] > 0.0).collect();
        named.sort_by(|&a, &b| self.score[b].total_cmp(&self.score[a]).then(a.cmp(&b)));
        let room = self.budget * STATED_NAMES;
        for at in named {
            if self.used + self.price(at) <= room {
                self.take(at);
            }
        }
        let mut folders: Vec<Range<usize>> = Vec::new();
        let mut at = 0;
        while at < rows.len() {
            let end = (at..rows.len()).find(|&next| rows[next].group != rows[at].group).unwrap_or(rows.len());
            folders.push(at..end);
            at = end;
        }
        let rank = |folder: &Range<usize>| {
            let heading = rows[folder.start].group.map_or(&b""[..], |group| &groups[group as usize]);
            let depth = memchr::memchr_iter(b'/', heading).count();
            (is_unread(heading), is_aside(heading), depth, folder.start)
        };
        folders.sort_by_key(rank);
        for unread in [false, true] {
            for limit in [NAMES_OF_FOLDER, f32::INFINITY] {
                for folder in &folders {
                    let mut used = 0.0;
                    for at in folder.clone() {
                        let skipped = self.kept[at] || is_unread(&rows[at].text) && !unread;
                        if skipped {
                            continue;
                        }
                        used += self.cost[at];
                        if used > limit || self.used + self.price(at) > self.budget {
                            break;
                        }
                        self.take(at);
                    }
                }
            }
        }
        folders.into_iter().for_each(|folder| self.close_gaps(folder));
    }

    /// Shows the names between two shown names of a folder if their marker would cost as much.
    fn close_gaps(&mut self, folder: Range<usize>) {
        let mut last: Option<usize> = None;
        for at in folder {
            if !self.kept[at] {
                continue;
            }
            let gap = last.map_or(at..at, |last| last + 1..at);
            if self.cost[gap.clone()].iter().sum::<f32>() <= FILLED_GAP_OF_FOLDER {
                self.kept[gap].fill(true);
            }
            last = Some(at);
        }
    }

    /// Chooses matches of search results: the best of each file, then more of each, then their context lines.
    pub(crate) fn take_matches(&mut self, rows: &[Row]) {
        let mut order: Vec<usize> = (0..self.len()).filter(|&at| rows[at].role == Role::Item).collect();
        order.sort_by(|&a, &b| self.score[b].total_cmp(&self.score[a]).then(a.cmp(&b)));
        let mut best: Vec<usize> = Vec::new();
        let mut seen = HashSet::new();
        for &at in &order {
            if rows[at].group.is_none_or(|group| seen.insert(group)) {
                best.push(at);
            }
        }
        let room = self.budget * MAX_GROUPS_SHARE;
        for &at in &best {
            if self.used + self.price(at) <= room {
                self.take_anyway(at);
            }
        }
        for at in order {
            self.take(at);
        }
        let is_near = |at: usize| {
            (at.saturating_sub(3)..(at + 4).min(rows.len()))
                .filter(|&near| rows[near].role == Role::Item)
                .map(|near| near.abs_diff(at))
                .min()
                .unwrap_or(9)
        };
        let mut near: Vec<usize> = (0..self.len()).filter(|&at| rows[at].role != Role::Item).collect();
        near.sort_by_key(|&at| (is_near(at), at));
        for at in near {
            self.take(at);
        }
    }
}

/// Hash of a text in which all numbers that are separate words count as equal.
fn without_numbers(text: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for word in text.split(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'.' | b'-' | b'_')) {
        let is_number = word.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-'));
        (if is_number { &b"0"[..] } else { word }).hash(&mut hasher);
    }
    hasher.finish()
}

/// Records with a rare value in a column where most values repeat.
pub(crate) fn unusual_records(rows: &[Row]) -> Vec<bool> {
    let is_record = |row: &&Row| row.role == Role::Item;
    let cells = |row: &Row| -> Vec<String> {
        let text = String::from_utf8_lossy(&row.text);
        let mut cells: Vec<String> = text.trim().split(" | ").map(str::to_owned).collect();
        // A record with fewer or more fields than the others is unusual too.
        cells.insert(0, cells.len().to_string());
        cells
    };
    // Values of each column at each depth, with their counts.
    let mut columns: HashMap<(u16, usize), HashMap<String, usize>> = HashMap::new();
    for row in rows.iter().filter(is_record) {
        for (column, cell) in cells(row).into_iter().enumerate() {
            *columns.entry((row.depth, column)).or_default().entry(cell).or_default() += 1;
        }
    }
    let totals: HashMap<(u16, usize), (usize, usize)> = columns
        .iter()
        .map(|(at, values)| (*at, (values.values().sum(), values.values().copied().max().unwrap_or(0))))
        .collect();
    let is_rare = |at: (u16, usize), cell: &str| {
        let (total, most) = totals[&at];
        let count = columns[&at][cell];
        total >= MANY_ROWS
            && most as f32 >= total as f32 * COMMON_SHARE
            && count as f32 <= (total as f32 * UNUSUAL_SHARE).max(1.0)
    };
    rows.iter()
        .map(|row| {
            is_record(&row)
                && cells(row).iter().enumerate().any(|(column, cell)| is_rare((row.depth, column), cell))
        })
        .collect()
}

/// Counts of each value in the columns of a table that have few different values: `state: open × 41, closed`.
pub(crate) fn value_counts(rows: &[Row]) -> String {
    /// Maximum different values of a column, and maximum characters of a value.
    const VALUES: usize = 5;
    const LENGTH: usize = 24;
    let text = |row: &Row| String::from_utf8_lossy(&row.text).trim().to_owned();
    let is_head = |row: &&Row| row.role == Role::Heading && row.depth == 0 && text(row).contains(" rows");
    let mut heads = rows.iter().filter(is_head);
    let (Some(head), None) = (heads.next(), heads.next()) else { return String::new() };
    // The first record may begin at the start of the list.
    let head = text(head);
    let (head, first) = head.split_once('\n').unwrap_or((&head, ""));
    let names = head.rsplit_once(": ").map_or("", |(_, names)| names);
    let mut columns: Vec<BTreeMap<String, usize>> = vec![BTreeMap::new(); names.split(" | ").count()];
    let records = rows.iter().filter(|row| row.role == Role::Item && row.depth == 0).map(text);
    for row in std::iter::once(first.to_owned()).filter(|first| !first.is_empty()).chain(records) {
        for (column, cell) in
            columns.iter_mut().zip(row.split(" | ")).filter(|(column, _)| column.len() <= VALUES)
        {
            *column.entry(cell.to_owned()).or_default() += 1;
        }
    }
    let told = |(name, values): (&str, BTreeMap<String, usize>)| {
        let fits = |value: &String| value.chars().count() <= LENGTH;
        let repeats = values.values().any(|count| *count > 1);
        let has_few = (2..=VALUES).contains(&values.len()) && repeats && values.keys().all(fits);
        let counts = || values.iter().map(|(value, count)| format!("{value} × {count}")).collect::<Vec<_>>();
        has_few.then(|| format!("{name}: {}", counts().join(", ")))
    };
    names.split(" | ").zip(columns).filter_map(told).collect::<Vec<_>>().join("; ")
}

/// The largest changes in the output of `git diff --stat`, if it is one.
pub(crate) fn largest_changes(rows: &[Row]) -> Option<Vec<bool>> {
    /// Number of changes that count as large.
    const LARGEST: usize = 12;
    let change = |row: &Row| -> Option<u64> {
        let (_, counted) = std::str::from_utf8(&row.text).ok()?.rsplit_once(" | ")?;
        counted.split_whitespace().next()?.parse().ok()
    };
    let changes: Vec<Option<u64>> = rows.iter().map(change).collect();
    if rows.len() < MANY_ROWS || changes.iter().flatten().count() * 10 < rows.len() * 8 {
        return None;
    }
    let mut sizes: Vec<u64> = changes.iter().flatten().copied().collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let least = sizes[LARGEST.min(sizes.len()) - 1];
    Some(changes.iter().map(|change| change.is_some_and(|change| change >= least)).collect())
}

/// Lines with few similar ones, if most lines are similar to others: they differ only in numbers.
pub(crate) fn unusual_lines(rows: &[Row]) -> Option<Vec<bool>> {
    let templates: Vec<u64> = rows.iter().map(|row| template(row.text.trim_ascii())).collect();
    let mut counts: HashMap<u64, usize> = HashMap::new();
    for template in &templates {
        *counts.entry(*template).or_default() += 1;
    }
    let most = counts.values().copied().max().unwrap_or(0) as f32;
    let total = rows.len() as f32;
    if rows.len() < MANY_ROWS || most < total * ALIKE_SHARE {
        return None;
    }
    let is_rare = |template: &u64| counts[template] as f32 <= (total * UNUSUAL_SHARE).max(1.0);
    Some(templates.iter().map(is_rare).collect())
}

/// Whether some group with matches has no shown row.
pub(crate) fn hides_groups(rows: &[Row], kept: &[bool]) -> bool {
    let shown = shown_groups(rows, kept);
    rows.iter()
        .filter(|row| row.role == Role::Item)
        .filter_map(|row| row.group)
        .any(|group| !shown.contains(&group))
}

/// Groups with a shown row.
fn shown_groups(rows: &[Row], kept: &[bool]) -> HashSet<u32> {
    rows.iter().zip(kept).filter(|(_, kept)| **kept).filter_map(|(row, _)| row.group).collect()
}

/// Names of the groups without a shown row, with the number of their matches, in at most `tokens` tokens.
pub(crate) fn hidden_groups(rows: &[Row], groups: &[Vec<u8>], kept: &[bool], tokens: u64) -> String {
    let mut hidden: Vec<(u32, usize)> = Vec::new();
    let shown = shown_groups(rows, kept);
    for row in rows.iter().filter(|row| row.role == Role::Item) {
        match (row.group, hidden.last_mut()) {
            (Some(group), Some((last, count))) if group == *last => *count += 1,
            (Some(group), _) if !shown.contains(&group) => hidden.push((group, 1)),
            _ => {}
        }
    }
    let mut text = String::new();
    for (at, (group, count)) in hidden.iter().enumerate() {
        let name = String::from_utf8_lossy(&groups[*group as usize]);
        let next = format!("{}{} {count}", if at == 0 { "also in " } else { ", " }, name.trim_end());
        if crate::tokens::count(&text) + crate::tokens::count(&next) > tokens {
            text += &format!("{}{} more files", if at == 0 { "also in " } else { ", " }, hidden.len() - at);
            break;
        }
        text += &next;
    }
    crate::printable(&text)
}

/// Entries of a listing that show their rights, because these are unusual.
pub(crate) fn unusual_entries(rows: &[Row]) -> Vec<bool> {
    let has_rights = |row: &Row| {
        let mut words = row.text.rsplit(|&byte| byte == b' ');
        let (owner, rights) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        owner.contains(&b':') && rights.len() == 10 && b"-dlbcps".contains(&rights[0])
    };
    rows.iter().map(has_rights).collect()
}

/// Whether a folder is not part of the program itself: tests, documents, examples.
fn is_aside(heading: &[u8]) -> bool {
    const NAMES: &[&[u8]] = &[
        b"test",
        b"tests",
        b"testing",
        b"doc",
        b"docs",
        b"example",
        b"examples",
        b"benchmarks",
        b"build",
        b"dist",
        b"vendor",
        b"third_party",
        b"extern",
        b"fixtures",
        b"testdata",
        b"data",
    ];
    heading.split(|byte| b"/:".contains(byte)).any(|part| NAMES.contains(&part))
}

/// Whether a name is that of a file or folder that nobody reads: generated, compressed or an image.
fn is_unread(name: &[u8]) -> bool {
    const PARTS: &[&[u8]] = &[
        b"__pycache__",
        b".egg-info",
        b"node_modules",
        b".git/",
        b"/.git",
        b"LC_MESSAGES",
        b"/locale/",
        b".min.",
    ];
    const ENDS: &[&[u8]] = &[
        b".pyc", b".mo", b".po", b".png", b".jpg", b".jpeg", b".gif", b".svg", b".ico", b".woff", b".woff2",
        b".ttf", b".eot", b".class", b".o", b".so", b".a", b".map", b".gz", b".zip", b".pdf", b".fits",
        b".dat", b".npy", b".pkl", b".dbf", b".shx",
    ];
    let name = name.trim_ascii();
    PARTS.iter().any(|part| memchr::memmem::find(name, part).is_some())
        || ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(scores: &[f32], budget: f32) -> RowChoice {
        RowChoice::new(vec![10.0; scores.len()], scores.to_vec(), budget)
    }

    fn shown(choice: RowChoice) -> String {
        choice.kept().into_iter().map(|kept| if kept { '#' } else { '.' }).collect()
    }

    #[test]
    fn both_ends_and_the_best_row_with_its_neighbours_are_shown() {
        let mut scores = vec![0.0; 20];
        scores[12] = 3.0;
        let mut choice = choice(&scores, 100.0);
        choice.take_ends(Ends { head: 0.3, tail: 0.2 });
        choice.take_best();
        assert_eq!(shown(choice), "###.......####....##");
    }

    #[test]
    fn the_best_block_is_shown_whole_and_of_others_the_first_row() {
        let mut scores = vec![0.0; 20];
        scores[13] = 3.0;
        let mut choice = choice(&scores, 100.0);
        choice.take_blocks(&[0..5, 5..10, 10..15, 15..20], true);
        let shown = shown(choice);
        assert_eq!(&shown[10..15], "#####", "{shown}");
        assert!(!shown.starts_with("#####"), "{shown}");
    }

    #[test]
    fn every_file_shows_its_best_match_before_any_shows_two() {
        let rows: Vec<Row> = (0..9).map(|at| Row { group: Some(at / 3), ..Row::default() }).collect();
        let mut choice = choice(&[1.0, 5.0, 4.0, 0.0, 0.0, 1.0, 0.0, 2.0, 0.0], 90.0);
        choice.take_matches(&rows);
        let shown = shown(choice);
        assert!([1, 5, 7].iter().all(|&at| shown.as_bytes()[at] == b'#'), "{shown}");
    }

    fn row(text: &str, group: Option<u32>) -> Row {
        Row { text: text.into(), group, ..Row::default() }
    }

    #[test]
    fn a_record_with_a_rare_value_or_another_number_of_fields_is_unusual() {
        let mut rows: Vec<Row> = (0..200).map(|n| row(&format!("{n} | paid | Oslo\n"), None)).collect();
        rows[77] = row("77 | CORRUPT | Oslo\n", None);
        rows[99] = row("99 | paid\n", None);
        let unusual = unusual_records(&rows);
        let found: Vec<usize> = (0..200).filter(|&at| unusual[at]).collect();
        assert_eq!(found, [77, 99]);
    }

    #[test]
    fn entries_with_their_rights_are_unusual() {
        let rows = [" a.rs 12,", " b.rs 7 -rw-rw-rw- me:me,", " my: file 9,"].map(|text| row(text, Some(0)));
        assert_eq!(unusual_entries(&rows), [false, true, false]);
    }

    #[test]
    fn of_lines_that_are_alike_the_others_are_unusual() {
        let mut rows: Vec<Row> = (0..200).map(|n| row(&format!("copied file {n}\n"), None)).collect();
        assert_eq!(unusual_lines(&rows).unwrap().iter().filter(|unusual| **unusual).count(), 0);
        rows[150] = row("3 files were skipped\n", None);
        let unusual = unusual_lines(&rows).unwrap();
        assert_eq!((unusual[150], unusual[149]), (true, false));
        let different: Vec<Row> = (0..200).map(|n| row(&"x".repeat(n), None)).collect();
        assert_eq!(unusual_lines(&different), None);
    }

    #[test]
    fn files_without_a_shown_match_are_named_with_the_number_of_their_matches() {
        let groups = [&b"a.rs\n"[..], b"b.rs\n", b"c.rs\n"].map(<[u8]>::to_vec);
        let rows: Vec<Row> = [0, 0, 1, 1, 1, 2].map(|group| row("1:x\n", Some(group))).to_vec();
        let mut kept = vec![true, false, false, false, false, false];
        assert_eq!(hidden_groups(&rows, &groups, &kept, 100), "also in b.rs 3, c.rs 1");
        assert_eq!(hidden_groups(&rows, &groups, &kept, 3), "also in 2 more files");
        assert!(hides_groups(&rows, &kept));
        kept = vec![true, false, false, true, false, true];
        assert_eq!(hidden_groups(&rows, &groups, &kept, 100), "");
        assert!(!hides_groups(&rows, &kept));
    }

    #[test]
    fn names_near_the_top_come_before_tests_and_before_what_nobody_reads() {
        let groups =
            ["src/:", "src/deep/:", "tests/:", "node_modules/x/:"].map(|name| name.as_bytes().to_vec());
        let rows: Vec<Row> = [3, 2, 1, 0].map(|group| row(" a.rs", Some(group))).to_vec();
        let shown_with = |budget: f32| {
            let mut choice = choice(&[0.0; 4], budget);
            choice.take_names(&rows, &groups);
            shown(choice)
        };
        assert_eq!(shown_with(20.0), "...#");
        assert_eq!(shown_with(30.0), "..##");
        assert_eq!(shown_with(40.0), ".###");
        assert_eq!(shown_with(60.0), "####");
    }

    #[test]
    fn values_of_columns_with_few_of_them_are_counted() {
        let mut rows =
            vec![Row { role: Role::Heading, ..row("5 rows (all: kind=user): id | vip | state\n", None) }];
        rows.extend((0..5).map(|n| {
            row(&format!("u{n} | {} | {}\n", u8::from(n == 3), if n < 2 { "open" } else { "closed" }), None)
        }));
        assert_eq!(
            value_counts(&rows[..4]),
            "state: closed × 1, open × 2",
            "a column with one value says nothing"
        );
        rows.push(row("u5 | 0 | open\n", None));
        assert_eq!(value_counts(&rows), "vip: 0 × 5, 1 × 1; state: closed × 3, open × 3");
        assert_eq!(value_counts(&rows[1..]), "");
        rows[0] = Row { role: Role::Heading, ..row("6 rows: id | vip | state\nu9 | 1 | open\n", None) };
        assert_eq!(value_counts(&rows), "vip: 0 × 5, 1 × 2; state: closed × 3, open × 4");
    }

    #[test]
    fn the_largest_changes_of_a_list_of_changes_are_found() {
        let line =
            |n: u64| row(&format!(" src/part_{n}.rs | {} +++--\n", if n == 40 { 900 } else { n % 7 }), None);
        let rows: Vec<Row> = (0..60).map(line).collect();
        let largest = largest_changes(&rows).unwrap();
        assert!(largest[40] && largest[6] && !largest[0]);
        assert_eq!(largest_changes(&rows[..5]), None);
        let prose: Vec<Row> = (0..60).map(|n| row(&format!("sentence {n}\n"), None)).collect();
        assert_eq!(largest_changes(&prose), None);
    }
}
