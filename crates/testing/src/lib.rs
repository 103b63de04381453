//! A whole Flux repository in a string, and where the shared test inputs are. For tests only.
