//! Repository chores in Rust.

fn main() {}
