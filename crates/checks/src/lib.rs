//! Which rules does the repository break? One file and one page per rule.
