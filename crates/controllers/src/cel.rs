//! CEL expressions of Flux specs: `healthCheckExprs` and `readyExpr` (F-125, F-533).

use std::sync::Arc;

use cel::{Context, Env, Program};
use serde_json::Value;

/// A compiled expression.
pub(crate) struct Expression {
    program: Program,
    environment: Arc<Env>,
}

impl Expression {
    /// Compiles an expression; the error is the parser's.
    pub(crate) fn compile(text: &str) -> Result<Expression, String> {
        let environment = Arc::new(Env::stdlib());
        let program = environment
            .compile(text)
            .map_err(|error| error.to_string().replace('\n', " "))?;
        Ok(Expression { program, environment })
    }

    /// Evaluates it; the top-level fields of `variables` are its variables. An error is one of evaluation, such as a
    /// missing key.
    pub(crate) fn is_true(&self, variables: &Value) -> Result<bool, String> {
        let mut context = Context::with_env(Arc::clone(&self.environment));
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
    fn expressions_see_the_fields_of_an_object() {
        let object =
            json!({"status": {"phase": "Deployed", "conditions": [{"type": "Ready", "status": "True"}]}});
        let table = [
            ("status.phase == 'Deployed'", Ok(true)),
            ("status.phase == 'Error'", Ok(false)),
            (
                "status.conditions.exists(e, e.type == 'Ready' && e.status == 'True')",
                Ok(true),
            ),
            (
                "status.conditions.filter(e, e.type == 'Ready').all(e, e.status == 'True')",
                Ok(true),
            ),
            ("has(status.observedGeneration)", Ok(false)),
        ];
        for (text, value) in table {
            assert_eq!(
                Expression::compile(text).unwrap().is_true(&object),
                value,
                "{text}"
            );
        }
        assert!(
            Expression::compile("status.missing == 1")
                .unwrap()
                .is_true(&object)
                .is_err()
        );
        assert!(
            Expression::compile("status.phase")
                .unwrap()
                .is_true(&object)
                .is_err()
        );
        assert!(Expression::compile("status.phase ==").is_err());
    }
}
