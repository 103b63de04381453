//! What would Flux apply: repository and cluster entry to `RenderedCluster`.
