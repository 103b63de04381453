//! What is this object: identity, field paths, origins, kstatus.
