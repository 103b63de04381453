//! The Flux API: typed objects, defaults, conditions, reasons, and what differs between versions.
