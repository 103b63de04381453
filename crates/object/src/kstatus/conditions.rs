//! The conditions of an object, read once.

use serde_json::Value;

use crate::ObjectExt;

/// One condition; fields that are missing are empty.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Condition<'a> {
    /// `type`.
    pub(super) name: &'a str,
    pub(super) status: &'a str,
    pub(super) reason: &'a str,
    pub(super) message: &'a str,
}

/// All conditions in stored order, which matters (F-512).
#[derive(Clone, Debug)]
pub(super) struct Conditions<'a>(Vec<Condition<'a>>);

impl<'a> Conditions<'a> {
    /// Reads them; conditions of another shape are an error, as they are to kstatus.
    pub(super) fn of(object: &'a Value) -> Result<Conditions<'a>, String> {
        let conditions = match object.at(&["status", "conditions"]) {
            None | Some(Value::Null) => return Ok(Conditions(Vec::new())),
            Some(Value::Array(conditions)) => conditions,
            Some(_) => return Err("status.conditions is no list".to_owned()),
        };
        conditions
            .iter()
            .map(Condition::read)
            .collect::<Result<_, _>>()
            .map(Conditions)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Condition<'a>> {
        self.0.iter()
    }

    pub(super) fn find(&self, name: &str) -> Option<&Condition<'a>> {
        self.iter().find(|condition| condition.name == name)
    }
}

impl<'a> Condition<'a> {
    fn read(condition: &'a Value) -> Result<Condition<'a>, String> {
        let text = |field: &str| match condition.get(field) {
            None | Some(Value::Null) => Ok(""),
            Some(Value::String(text)) => Ok(text.as_str()),
            Some(_) => Err(format!("status.conditions: `{field}` is no text")),
        };
        if !condition.is_object() {
            return Err("status.conditions: an item is no map".to_owned());
        }
        Ok(Condition {
            name: text("type")?,
            status: text("status")?,
            reason: text("reason")?,
            message: text("message")?,
        })
    }

    pub(super) fn is(&self, status: &str) -> bool {
        self.status == status
    }
}
