//! One CEL rule of a schema: an entry of `x-kubernetes-validations`.

use firstpass_object::ObjectExt;
use serde_json::Value;

/// A rule.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rule {
    /// The expression that has to be true.
    pub(crate) expression: String,
    /// What is said when it is not.
    pub(crate) message: Option<String>,
    /// An expression that gives the message.
    pub(crate) message_expression: Option<String>,
    /// Where the error is put, from the value on: `.spec.replicas`.
    pub(crate) field_path: Option<String>,
    /// `reason`: how the error is classed.
    pub(crate) reason: Option<String>,
    /// `optionalOldSelf`: `oldSelf` is an optional, and the rule holds for new values as well.
    pub(crate) optional_old_self: bool,
}

impl Rule {
    pub(super) fn read(rule: &Value) -> Rule {
        let text = |field: &str| {
            rule.text_at(&[field])
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        Rule {
            expression: text("rule").unwrap_or_default(),
            message: text("message"),
            message_expression: text("messageExpression"),
            field_path: text("fieldPath"),
            reason: text("reason"),
            optional_old_self: rule.get("optionalOldSelf") == Some(&Value::Bool(true)),
        }
    }

    /// The rule as messages name it.
    pub(crate) fn described(&self) -> &str {
        self.message.as_deref().unwrap_or(&self.expression).trim()
    }
}
