//! Durations.

use std::any::Any;
use std::cmp::Ordering;

use cel::ExecutionError;
use cel::common::traits::{Adder, Comparer, Subtractor};
use cel::common::types::{DURATION_TYPE, Type};
use cel::common::value::{CowVal, StaticVal, Val};

/// A duration in nanoseconds, as Go keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span(pub(super) i64);

impl Span {
    /// Reads Go's spelling: `1h30m`, `-1.5s`.
    pub(super) fn parse(text: &str) -> Option<Span> {
        let duration: firstpass_flux::Duration = text.parse().ok()?;
        Some(Span(duration.as_nanos()))
    }
}

impl Val for Span {
    fn get_type(&self) -> &Type {
        <Self as Val>::cel_type()
    }

    fn cel_type() -> &'static Type {
        &DURATION_TYPE
    }

    fn as_adder<'b, 'v>(&'b self) -> Option<&'b (dyn Adder + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn as_comparer(&self) -> Option<&dyn Comparer> {
        Some(self)
    }

    fn as_subtractor<'b, 'v>(&'b self) -> Option<&'b (dyn Subtractor + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn equals(&self, other: &dyn Val) -> bool {
        other.downcast_ref::<Span>() == Some(self)
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v>
    where
        Self: 'v,
    {
        Box::new(*self)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl StaticVal for Span {}

fn other(value: &dyn Val) -> Result<i64, ExecutionError> {
    value
        .downcast_ref::<Span>()
        .map(|span| span.0)
        .ok_or_else(|| ExecutionError::function_error("duration", "not a duration"))
}

fn span<'b, 'v>(nanos: Option<i64>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let nanos = nanos.ok_or_else(|| ExecutionError::function_error("duration", "integer overflow"))?;
    Ok(CowVal::owned(Span(nanos)))
}

impl Adder for Span {
    fn add<'b, 'v>(&'b self, rhs: &(dyn Val + 'v)) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        let rhs = rhs.downcast_ref::<Span>().map(|span| span.0);
        let rhs = rhs.ok_or_else(|| ExecutionError::function_error("duration", "not a duration"))?;
        span(self.0.checked_add(rhs))
    }
}

impl Subtractor for Span {
    fn sub<'b, 'v>(&'b self, rhs: &(dyn Val + 'v)) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        let rhs = rhs.downcast_ref::<Span>().map(|span| span.0);
        let rhs = rhs.ok_or_else(|| ExecutionError::function_error("duration", "not a duration"))?;
        span(self.0.checked_sub(rhs))
    }
}

impl Comparer for Span {
    fn compare(&self, rhs: &dyn Val) -> Result<Ordering, ExecutionError> {
        Ok(self.0.cmp(&other(rhs)?))
    }
}
