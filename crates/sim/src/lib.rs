//! Virtual clock, seeded schedule, trace, stall analysis.
