//! The binary `firstpass`: arguments, wiring, exit codes.

fn main() {}
