//! Each format is read back by somebody who has not written it, and shown as a person would see it.

mod gate;
mod github;
mod junit;
mod markdown;
mod report;
mod sarif;
