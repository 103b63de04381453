//! Custom resource definitions: what one says, when it is served, and the structural schemas of its versions.

mod definition;
mod flux;
mod rule;
mod structural;
mod synth;

pub use definition::Definition;
pub use flux::declare_flux_fields;
pub(crate) use rule::Rule;
pub use structural::Structural;
pub(crate) use structural::{Bound, Rules, ValueType};
pub use synth::CrdSketch;
pub(crate) use synth::SKETCH;
