//! The results, for people and for programs.

use std::fmt::Write as _;

pub enum Goal {
    AtMost(f64),
    /// Of the floor's rate.
    RatioAtLeast(f64),
}

pub struct Row {
    pub work: &'static str,
    pub floor: Option<f64>,
    pub product: f64,
    pub goal: Goal,
}

impl Row {
    fn ratio(&self) -> Option<f64> {
        self.floor.map(|floor| self.product / floor)
    }

    fn is_met(&self) -> bool {
        match self.goal {
            Goal::AtMost(limit) => self.product <= limit,
            Goal::RatioAtLeast(least) => self.ratio().is_some_and(|ratio| ratio >= least),
        }
    }
}

pub fn text(rows: &[Row]) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:<56} {:>10} {:>10} {:>7} {:>8}  met",
        "work", "raw floor", "llmdbg", "ratio", "goal"
    );
    for row in rows {
        let goal = match row.goal {
            Goal::AtMost(limit) => format!("<= {limit}"),
            Goal::RatioAtLeast(least) => format!(">= {least}"),
        };
        let _ = writeln!(
            text,
            "{:<56} {:>10} {:>10} {:>7} {goal:>8}  {}",
            row.work,
            row.floor.map_or("-".into(), number),
            number(row.product),
            row.ratio()
                .map_or("-".into(), |ratio| format!("{ratio:.3}")),
            if row.is_met() { "yes" } else { "no" },
        );
    }
    text
}

/// Rates as whole numbers, durations and sizes with two places.
fn number(value: f64) -> String {
    if value >= 1e3 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}

pub fn json(rows: &[Row]) -> String {
    let rows: Vec<String> = rows
        .iter()
        .map(|row| {
            let (kind, goal) = match row.goal {
                Goal::AtMost(limit) => ("at_most", limit),
                Goal::RatioAtLeast(least) => ("ratio_at_least", least),
            };
            // The names have neither quotes nor backslashes.
            format!(
                "  {{\"work\": \"{}\", \"floor\": {}, \"llmdbg\": {}, \"ratio\": {}, \"{kind}\": {goal}, \"met\": {}}}",
                row.work,
                row.floor.map_or("null".into(), |floor| floor.to_string()),
                row.product,
                row.ratio().map_or("null".into(), |ratio| ratio.to_string()),
                row.is_met(),
            )
        })
        .collect();
    format!("[\n{}\n]\n", rows.join(",\n"))
}
