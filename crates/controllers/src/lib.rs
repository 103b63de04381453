//! Flux's and the workload controllers as state machines: event and time in, requests and a wake-up time out.
