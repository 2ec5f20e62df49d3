//! All faults of a rule at once, each with its place.

#[derive(Default)]
pub struct Faults(Vec<String>);

impl Faults {
    pub fn add(&mut self, place: &str, line: usize, fault: impl std::fmt::Display) {
        self.0.push(format!("{place}:{}: {fault}", line + 1));
    }

    pub fn add_about(&mut self, thing: &str, fault: impl std::fmt::Display) {
        self.0.push(format!("{thing}: {fault}"));
    }

    #[track_caller]
    pub fn none(self) {
        assert!(self.0.is_empty(), "\n{}\n", self.0.join("\n"));
    }
}
