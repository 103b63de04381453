//! What does the text say, and where: parse as go-yaml reads, emit as Kubernetes tools write.
