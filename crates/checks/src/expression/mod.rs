//! CEL expressions of invariants, with helpers for addresses:
//!
//! | call | is |
//! |---|---|
//! | `ip(a)` | the address `a`, an error if it is none |
//! | `isIP(a)` | whether it is one |
//! | `ip(a).between(b, c)` | whether `a` lies in `b..c`, both ends included |
//! | `cidr(n).contains(a)`, `cidr(n).containsIP(a)` | whether `a` lies in the network `n` |

mod address;

use std::sync::Arc;

use cel::{Context, Env, Program};
use firstpass_apiserver::cel::ends_soon;
use serde_json::Value;

/// A compiled expression.
pub(crate) struct Expression {
    program: Program,
    environment: Arc<Env>,
}

impl Expression {
    /// Compiles an expression; the error is the parser's, in one line.
    pub(crate) fn compile(text: &str) -> Result<Expression, String> {
        let mut environment = Env::stdlib();
        address::add_macros(&mut environment)?;
        let environment = Arc::new(environment);
        let program = environment
            .compile(text)
            .map_err(|error| error.to_string().replace('\n', " "))?;
        Ok(Expression { program, environment })
    }

    /// Evaluates it; the top-level fields of `variables` are its variables.
    /// An error says what keeps it from having a truth value, such as a missing key.
    pub(crate) fn is_true(&self, variables: &Value) -> Result<bool, String> {
        ends_soon(self.program.expression(), [variables])?;
        let mut context = Context::with_env(Arc::clone(&self.environment));
        address::add_functions(&mut context)?;
        for (name, value) in variables.as_object().into_iter().flatten() {
            context
                .add_variable(name.as_str(), value)
                .map_err(|error| error.to_string())?;
        }
        match self.program.execute(&context) {
            Ok(cel::Value::Bool(value)) => Ok(value),
            Ok(other) => Err(format!("evaluates to {}, not to a truth value", other.type_of())),
            Err(error) => Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn addresses_are_compared_as_numbers() {
        let values = json!({"vars": {"VIP": "10.0.0.9", "START": "10.0.0.10", "STOP": "10.0.0.100", "SIX": "fd00::1:9", "NAME": "web"}});
        let is = |text: &str| Expression::compile(text).unwrap().is_true(&values);
        let table = [
            ("ip(vars.VIP).between(vars.START, vars.STOP)", Ok(false)),
            ("ip('10.0.0.99').between(vars.START, vars.STOP)", Ok(true)),
            ("ip(vars.START).between(vars.START, vars.START)", Ok(true)),
            ("cidr('10.0.0.0/28').contains(vars.VIP)", Ok(true)),
            ("cidr('10.0.0.0/28').containsIP(vars.STOP)", Ok(false)),
            ("cidr('10.0.0.0/28').contains(ip(vars.VIP))", Ok(true)),
            ("cidr('0.0.0.0/0').contains('203.0.113.1')", Ok(true)),
            ("cidr('fd00::/96').contains(vars.SIX)", Ok(true)),
            ("cidr('fd00::/16').contains(vars.VIP)", Ok(false)),
            ("isIP(vars.VIP) && !isIP(vars.NAME)", Ok(true)),
            // The word keeps its meaning for texts and lists.
            ("vars.NAME.contains('eb') && ['a'].exists(x, x == 'a')", Ok(true)),
            ("ip('10.0.0.010') == '10.0.0.10'", Err(())),
            ("ip(vars.NAME) == 'web'", Err(())),
            ("cidr('10.0.0.0').contains(vars.VIP)", Err(())),
            ("cidr('10.0.0.0/33').contains(vars.VIP)", Err(())),
            ("ip(vars.VIP).between('fd00::1', 'fd00::2')", Err(())),
        ];
        for (text, expected) in table {
            assert_eq!(is(text).map_err(|_| ()), expected, "{text}");
        }
    }
}
