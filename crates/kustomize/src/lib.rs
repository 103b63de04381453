//! What does `kustomize build` make of a directory? Pure: bytes in, objects out.
