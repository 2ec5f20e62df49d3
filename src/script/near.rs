//! "Did you mean": the known names that look like a mistaken one.

/// Names longer than this are not compared: the cost grows with the square.
const LONGEST: usize = 64;

/// The closest of `names`, when one is close enough to be meant.
pub fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    if length > LONGEST {
        return None;
    }
    let allowed = (length / 3).clamp(1, 3);
    names
        .into_iter()
        .filter(|candidate| candidate.chars().count() <= LONGEST)
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Edits between two names: insert, delete, replace, swap neighbours; case does not count.
fn distance(a: &str, b: &str) -> usize {
    let fold = |text: &str| -> Vec<char> { text.chars().flat_map(char::to_lowercase).collect() };
    let (a, b) = (fold(a), fold(b));
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, &from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &to) in b.iter().enumerate() {
            let mut best = (above[j] + usize::from(from != to))
                .min(above[j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && from == b[j - 1] && a[i - 1] == to {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: Option<&str>) {
        let names = ["registers", "flags", "pc", "sp", "memory", "symbol_at"];
        assert_eq!(nearest(name, names), expected, "{name}");
    }

    #[test]
    fn typing_mistakes_are_recognised() {
        check("regsiters", Some("registers"));
        check("register", Some("registers"));
        check("symbolAt", Some("symbol_at"));
        check("PC", Some("pc"));
        check("flgas", Some("flags"));
    }

    #[test]
    fn what_is_far_away_is_not_suggested() {
        check("stack", None);
        check("", None);
        check(&"x".repeat(1_000), None);
    }
}
