//! The functions that expressions may call.
//!
//! Upstream: cel-go's `ext` packages; `k8s.io/apiserver/pkg/cel/library`; fluxcd/pkg `runtime/cel/expression.go`.

mod addresses;
mod lists;
mod quantities;
mod texts;

use cel::common::value::{CowVal, StaticVal, Val};
use cel::{DeclarationError, Env, ExecutionError, extensions};

/// What a function gives.
type Answer<'b, 'v> = Result<CowVal<'b, 'v>, ExecutionError>;

/// Flux: the standard library, optionals, strings, sets. Encoders are left out: nothing here needs them.
pub(super) fn flux() -> Env {
    extend(Env::stdlib(), |env| {
        env.add_extension(extensions::strings)?;
        texts::standard(env)?;
        lists::sets(env)
    })
}

/// Kubernetes: all of that and its own types.
pub(super) fn kubernetes() -> Env {
    extend(Env::stdlib(), |env| {
        env.add_extension(extensions::strings)?;
        env.add_extension(extensions::lists)?;
        env.add_extension(extensions::math)?;
        texts::standard(env)?;
        texts::kubernetes(env)?;
        lists::sets(env)?;
        lists::kubernetes(env)?;
        addresses::kubernetes(env)?;
        quantities::kubernetes(env)
    })
}

/// Declarations are made once and never clash, which a test holds: it evaluates in both environments.
fn extend(mut env: Env, declare: impl FnOnce(&mut Env) -> Result<(), DeclarationError>) -> Env {
    if let Err(error) = declare(&mut env) {
        unreachable!("the functions of an environment are declared once: {error:?}");
    }
    env
}

fn fail<T>(function: &str, message: impl Into<String>) -> Result<T, ExecutionError> {
    Err(ExecutionError::function_error(function, message.into()))
}

/// An argument as the Rust type that the overload was declared with.
fn argument<'b, T: StaticVal>(args: &'b [CowVal<'_, '_>], index: usize) -> Result<&'b T, ExecutionError> {
    args.get(index)
        .and_then(|value| value.downcast_ref::<T>())
        .ok_or_else(|| ExecutionError::function_error("call", "unexpected type of an argument"))
}

/// A text argument.
fn text<'b>(args: &'b [CowVal<'_, '_>], index: usize) -> Result<&'b str, ExecutionError> {
    args.get(index)
        .and_then(|value| <&str>::try_from(&**value).ok())
        .ok_or_else(|| ExecutionError::function_error("call", "an argument is no text"))
}

fn owned<'b, 'v>(value: impl Val + 'v) -> Answer<'b, 'v> {
    Ok(CowVal::owned(value))
}
