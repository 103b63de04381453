//! Where do the repository's bytes come from: work tree, overlay, memory.
