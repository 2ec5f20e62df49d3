//! Panics two calls deep: an index past the end. Exits 101.

#[inline(never)]
fn pick(values: &[u32], index: usize) -> u32 {
    values[index] // mark: panic
}

fn main() {
    let values = vec![1, 2, 3];
    let index = std::env::args().count() + 2;
    println!("picking {index}");
    println!("{}", pick(&values, index)); // mark: call
}
