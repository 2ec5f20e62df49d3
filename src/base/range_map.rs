//! Sorted, non-overlapping ranges: the value that covers an address.

/// Built once from any order; where ranges overlap, the earlier start keeps its bytes.
#[derive(Clone, Debug)]
pub struct RangeMap<T> {
    entries: Vec<Entry<T>>,
}

#[derive(Clone, Debug)]
struct Entry<T> {
    start: u64,
    end: u64,
    value: T,
}

impl<T> Default for RangeMap<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
        }
    }
}

impl<T> RangeMap<T> {
    pub fn new(ranges: impl IntoIterator<Item = (u64, u64, T)>) -> Self {
        let mut entries: Vec<Entry<T>> = ranges
            .into_iter()
            .filter(|(start, end, _)| start < end)
            .map(|(start, end, value)| Entry { start, end, value })
            .collect();
        entries.sort_by_key(|entry| entry.start);
        let mut covered = 0;
        entries.retain_mut(|entry| {
            entry.start = entry.start.max(covered);
            covered = covered.max(entry.end);
            entry.start < entry.end
        });
        Self { entries }
    }

    /// The range that covers `at`, with its value.
    pub fn find(&self, at: u64) -> Option<(u64, u64, &T)> {
        let index = self.entries.partition_point(|entry| entry.start <= at);
        let entry = self.entries.get(index.checked_sub(1)?)?;
        (at < entry.end).then_some((entry.start, entry.end, &entry.value))
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (u64, u64, &T)> {
        self.entries
            .iter()
            .map(|entry| (entry.start, entry.end, &entry.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookup_respects_both_ends_and_gaps() {
        let map = RangeMap::new([(20, 30, 'b'), (10, 15, 'a'), (40, 40, 'x')]);
        let at = |address| map.find(address).map(|(_, _, value)| *value);
        assert_eq!(at(9), None);
        assert_eq!(at(10), Some('a'));
        assert_eq!(at(14), Some('a'));
        assert_eq!(at(15), None);
        assert_eq!(at(29), Some('b'));
        assert_eq!(at(30), None);
        assert_eq!(at(40), None);
    }

    #[test]
    fn an_overlap_is_cut_not_kept() {
        let map = RangeMap::new([(10, 30, 'a'), (20, 40, 'b'), (12, 14, 'c')]);
        assert_eq!(map.find(25), Some((10, 30, &'a')));
        assert_eq!(map.find(35), Some((30, 40, &'b')));
        assert_eq!(map.len(), 2);
    }
}
