//! A struct, a trait and a loop; built as a debug and as a release program. Exits 0.

struct Counter {
    name: String,
    value: u64,
}

trait Bump {
    fn bump(&mut self, by: u64) -> u64;
}

impl Bump for Counter {
    #[inline(never)]
    fn bump(&mut self, by: u64) -> u64 {
        self.value += by; // mark: bump
        self.value
    }
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(3); // mark: main
    let mut counter = Counter { name: "hello".to_owned(), value: 0 };
    for round in 1..=rounds {
        let value = counter.bump(round); // mark: call
        println!("round {round} value {value}");
    }
    println!("{} {}", counter.name, counter.value); // mark: done
}
