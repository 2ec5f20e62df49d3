//! Names that look like a mistyped one.

/// As many are offered.
const OFFERED: usize = 3;
/// Longer names are not compared: the work grows with the product of both lengths.
const LONGEST: usize = 64;

/// The names nearest to `name`, best first: those that differ in a third of its letters at most.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Vec<String> {
    let wanted: Vec<char> = name.chars().take(LONGEST + 1).collect();
    let most = wanted.len().div_ceil(3).min(4);
    if wanted.is_empty() || wanted.len() > LONGEST {
        return Vec::new();
    }
    let mut best: Vec<(usize, usize, &str)> = Vec::new();
    for candidate in candidates {
        if candidate.len() > 4 * LONGEST {
            continue;
        }
        let letters: Vec<char> = candidate.chars().collect();
        let near = letters.len().abs_diff(wanted.len()) <= most;
        if !near || best.iter().any(|(_, _, known)| *known == candidate) {
            continue;
        }
        let edits = distance(&wanted, &letters, |x, y| x.eq_ignore_ascii_case(&y));
        if edits <= most {
            // A difference of case alone costs nothing, but the same case is nearer.
            let strict = distance(&wanted, &letters, |x, y| x == y);
            best.push((edits, strict, candidate));
            best.sort_unstable();
            best.truncate(OFFERED);
        }
    }
    // Beside a name that differs by a slip, one that differs by more is noise.
    let nearest = best.first().map_or(0, |(edits, _, _)| *edits);
    best.into_iter()
        .filter(|(edits, _, _)| *edits == nearest)
        .map(|(_, _, name)| name.to_owned())
        .collect()
}

/// Edits that turn `a` into `b`: letters put in, left out, replaced, or two neighbours swapped.
fn distance(a: &[char], b: &[char], same: fn(char, char) -> bool) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &y) in b.iter().enumerate() {
            let replaced = last[j] + usize::from(!same(x, y));
            let mut cost = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && same(x, b[j - 1]) && same(a[i - 1], y) {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, candidates: &[&str], offered: &[&str]) {
        assert_eq!(nearest(name, candidates.iter().copied()), offered);
    }

    #[test]
    fn near_names_are_offered_best_first() {
        check("mian", &["printf", "main", "mine", "min"], &["main", "min"]);
        check("Main", &["main"], &["main"]);
        check("mian", &["MIN", "main"], &["main", "MIN"]);
        check("wrok", &["work", "work", "worker"], &["work"]);
        check("x", &["y", "ab", "abc"], &["y"]);
        check("completely_else", &["main"], &[]);
        check("", &["a"], &[]);
        check(&"a".repeat(1000), &["a"], &[]);
    }
}
