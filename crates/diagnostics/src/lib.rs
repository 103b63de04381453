//! What is wrong, where, why, and what to do: the finding, and the report made of findings.
