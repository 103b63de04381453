//! The embedded Kubernetes API server, as a plain state machine.
