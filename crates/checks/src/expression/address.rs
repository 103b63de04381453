//! Helpers for addresses and networks.

use std::net::IpAddr;
use std::sync::Arc;

use cel::common::ast::{CallExpr, Expr};
use cel::extractors::This;
use cel::parser::Macro;
use cel::{Context, Env, ExecutionError};

/// What `cidr(n).contains(a)` is rewritten to: `contains` of the standard library belongs to texts and lists.
const CONTAINS: &str = "firstpass_cidr_contains";

/// `cidr(n).contains(a)` becomes one call. On any other target the word keeps its meaning.
pub(crate) fn add_macros(environment: &mut Env) -> Result<(), String> {
    for word in ["contains", "containsIP"] {
        let expand = Macro::receiver(word, 1, |helper, target, arguments| {
            let is_cidr = target.as_ref().is_some_and(|target| match &target.expr {
                Expr::Call(call) => call.func_name == "cidr" && call.target.is_none() && call.args.len() == 1,
                _ => false,
            });
            if !is_cidr {
                return Ok(None);
            }
            let Some((target, argument)) = target.take().zip(arguments.pop()) else {
                return Ok(None);
            };
            let Expr::Call(mut network) = target.expr else {
                return Ok(None);
            };
            network.args.push(argument);
            Ok(Some(helper.next_expr(Expr::Call(CallExpr {
                func_name: CONTAINS.to_owned(),
                target: None,
                args: network.args,
            }))))
        });
        environment.add_macro(expand).map_err(|error| error.to_string())?;
    }
    Ok(())
}

pub(crate) fn add_functions(context: &mut Context<'_, '_>) -> Result<(), String> {
    let ip = |text: Arc<String>| -> Result<Arc<String>, ExecutionError> {
        address("ip", &text).map(|address| Arc::new(address.to_string()))
    };
    let between = |This(this): This<Arc<String>>, first: Arc<String>, last: Arc<String>| {
        let [address, first, last] = [
            address("between", &this)?,
            address("between", &first)?,
            address("between", &last)?,
        ];
        if address.is_ipv4() != first.is_ipv4() || address.is_ipv4() != last.is_ipv4() {
            let message = format!("`{address}`, `{first}` and `{last}` are not of one family");
            return Err(ExecutionError::function_error("between", message));
        }
        Ok((first..=last).contains(&address))
    };
    let contains = |network: Arc<String>, other: Arc<String>| -> Result<bool, ExecutionError> {
        let other = address("cidr", &other)?;
        let (base, bits) = network_of(&network)?;
        Ok(base.is_ipv4() == other.is_ipv4() && prefix(base, bits) == prefix(other, bits))
    };
    let add = |error: cel::DeclarationError| error.to_string();
    context.add_function("ip", ip).map_err(add)?;
    context
        .add_function("isIP", |text: Arc<String>| text.parse::<IpAddr>().is_ok())
        .map_err(add)?;
    context.add_function("between", between).map_err(add)?;
    context.add_function(CONTAINS, contains).map_err(add)
}

fn address(function: &str, text: &str) -> Result<IpAddr, ExecutionError> {
    let error = || ExecutionError::function_error(function, format!("`{text}` is no address"));
    text.parse().map_err(|_| error())
}

fn network_of(text: &str) -> Result<(IpAddr, u32), ExecutionError> {
    let error =
        || ExecutionError::function_error("cidr", format!("`{text}` is no network such as 10.0.0.0/24"));
    let (base, bits) = text.split_once('/').ok_or_else(error)?;
    let base: IpAddr = base.parse().map_err(|_| error())?;
    let bits: u32 = bits.parse().map_err(|_| error())?;
    let most = if base.is_ipv4() { 32 } else { 128 };
    if bits > most {
        Err(error())
    } else {
        Ok((base, bits))
    }
}

/// The first bits of an address.
fn prefix(address: IpAddr, bits: u32) -> u128 {
    let (value, width) = match address {
        IpAddr::V4(address) => (u128::from(u32::from(address)), 32),
        IpAddr::V6(address) => (u128::from(address), 128),
    };
    value.checked_shr(width - bits).unwrap_or_default()
}
