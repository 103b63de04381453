//! What does Flux's variable substitution make of a text? Pure.
