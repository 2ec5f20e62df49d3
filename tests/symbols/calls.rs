//! A function that is only found inlined, and one that is never.

#[inline(always)]
fn square(x: u64) -> u64 {
    std::hint::black_box(x) * x
}

#[inline(never)]
fn work(values: &[u64]) -> u64 {
    values.iter().map(|x| square(*x)).sum()
}

fn main() {
    println!("{}", work(&[1, 2, 3]));
}
