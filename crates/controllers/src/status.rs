//! Writing conditions the way Flux does (F-009).

use firstpass_apiserver::Time;
use firstpass_flux::names::condition;
use serde_json::{Map, Value, json};

use crate::kustomization::{Failure, Retry};

/// Messages are cut at this many bytes (F-009).
const MESSAGE_BYTES_MAX: usize = 32_768;

/// The status of a Flux object while a controller works on it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Status(Map<String, Value>);

impl Status {
    /// The status of an object as it is stored.
    pub(crate) fn of(object: &Value) -> Status {
        Status(
            object
                .get("status")
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default(),
        )
    }

    /// Whether it is the status of an object as it is stored.
    pub(crate) fn is_of(&self, object: &Value) -> bool {
        object.get("status").and_then(Value::as_object) == Some(&self.0)
    }

    /// A field of the status.
    pub(crate) fn get(&self, field: &str) -> Option<&Value> {
        self.0.get(field)
    }

    /// Sets a field of the status.
    pub(crate) fn set(&mut self, field: &str, value: Value) {
        self.0.insert(field.to_owned(), value);
    }

    /// A condition's `status`, or empty.
    pub(crate) fn condition_status(&self, kind: &str) -> &str {
        self.condition_field(kind, "status")
    }

    /// A field of a condition, or empty.
    pub(crate) fn condition_field(&self, kind: &str, field: &str) -> &str {
        let found = self.conditions().iter().find(|present| present["type"] == kind);
        found
            .and_then(|present| present[field].as_str())
            .unwrap_or_default()
    }

    /// The generation that a condition was set for; −1 if there is no such condition.
    pub(crate) fn condition_generation(&self, kind: &str) -> i64 {
        let found = self.conditions().iter().find(|present| present["type"] == kind);
        found
            .and_then(|present| present["observedGeneration"].as_i64())
            .unwrap_or(-1)
    }

    /// Sets a condition. Setting Reconciling removes Stalled and the other way round; Stalled, Reconciling and Ready
    /// come first.
    pub(crate) fn set_condition(
        &mut self,
        kind: &str,
        status: &str,
        reason: &str,
        message: &str,
        generation: i64,
        now: Time,
    ) {
        match kind {
            condition::RECONCILING => self.remove_condition(condition::STALLED),
            condition::STALLED => self.remove_condition(condition::RECONCILING),
            _ => {}
        }
        let since = match self.conditions().iter().find(|present| present["type"] == kind) {
            Some(present) if present["status"] == status => present["lastTransitionTime"].clone(),
            _ => Value::String(now.timestamp()),
        };
        let value = json!({
            "type": kind,
            "status": status,
            "reason": reason,
            "message": cut(message),
            "observedGeneration": generation,
            "lastTransitionTime": since,
        });
        let mut conditions = self.take_conditions();
        conditions.retain(|present| present["type"] != kind);
        conditions.push(value);
        conditions.sort_by_key(|present| {
            (
                rank(present["type"].as_str().unwrap_or_default()),
                present["type"].to_string(),
            )
        });
        self.set("conditions", Value::Array(conditions));
    }

    /// Says why a look came to nothing: not Ready, and stalled where it is not repeated.
    pub(crate) fn refuse(&mut self, failure: &Failure, generation: i64, now: Time) {
        let (reason, message) = (failure.reason, &failure.message);
        self.set_condition(condition::READY, "False", reason, message, generation, now);
        if failure.retry == Retry::Never {
            self.set_condition(condition::STALLED, "True", reason, message, generation, now);
        }
    }

    /// Removes a condition.
    pub(crate) fn remove_condition(&mut self, kind: &str) {
        let mut conditions = self.take_conditions();
        conditions.retain(|present| present["type"] != kind);
        self.set("conditions", Value::Array(conditions));
    }

    /// The whole status as a value.
    pub(crate) fn to_value(&self) -> Value {
        Value::Object(self.0.clone())
    }

    fn conditions(&self) -> &[Value] {
        self.0
            .get("conditions")
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    fn take_conditions(&mut self) -> Vec<Value> {
        match self.0.remove("conditions") {
            Some(Value::Array(conditions)) => conditions,
            _ => Vec::new(),
        }
    }
}

fn rank(kind: &str) -> u8 {
    match kind {
        condition::STALLED => 0,
        condition::RECONCILING => 1,
        condition::READY => 2,
        _ => 3,
    }
}

fn cut(message: &str) -> &str {
    if message.len() <= MESSAGE_BYTES_MAX {
        return message;
    }
    let end = (0..=MESSAGE_BYTES_MAX)
        .rev()
        .find(|end| message.is_char_boundary(*end));
    &message[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reconciling_and_stalled_exclude_each_other_and_come_first() {
        // F-009
        let mut status = Status::default();
        let now = Time::from_secs(1);
        status.set_condition("Ready", "Unknown", "Progressing", "", 1, now);
        status.set_condition("Healthy", "False", "HealthCheckFailed", "", 1, now);
        status.set_condition("Reconciling", "True", "Progressing", "", 1, now);
        let order = |status: &Status| -> Vec<String> {
            status
                .conditions()
                .iter()
                .map(|c| c["type"].as_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(order(&status), ["Reconciling", "Ready", "Healthy"]);
        status.set_condition("Stalled", "True", "InvalidCELExpression", "", 1, now);
        assert_eq!(order(&status), ["Stalled", "Ready", "Healthy"]);
    }

    #[test]
    fn a_condition_keeps_its_transition_time_while_its_status_stays() {
        let mut status = Status::default();
        status.set_condition("Ready", "False", "A", "", 1, Time::from_secs(1));
        status.set_condition("Ready", "False", "B", "", 1, Time::from_secs(9));
        assert_eq!(
            status.condition_field("Ready", "lastTransitionTime"),
            Time::from_secs(1).timestamp()
        );
        status.set_condition("Ready", "True", "B", "", 1, Time::from_secs(9));
        assert_eq!(
            status.condition_field("Ready", "lastTransitionTime"),
            Time::from_secs(9).timestamp()
        );
    }
}
