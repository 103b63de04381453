//! What does Kubernetes know of a kind: scope, list merge keys, defaults, immutable fields.
