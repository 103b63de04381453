//! HorizontalPodAutoscalers: what they do without any metrics. A target with fewer replicas than `minReplicas`, or more than
//! `maxReplicas`, is scaled to that; one with none is left alone (Kubernetes, `reconcileAutoscaler`).

use firstpass_apiserver::{Duration, Request, Target};
use firstpass_object::{GroupKind, ObjectExt, ObjectId, group_of};
use serde_json::{Value, json};

use crate::context::Context;

/// `--horizontal-pod-autoscaler-sync-period` of kube-controller-manager where it is not given.
pub(super) const PERIOD: Duration = Duration::from_secs(15);

const MANAGER: &str = "kube-controller-manager";

pub(super) fn is_autoscaler(id: &ObjectId) -> bool {
    id.is("autoscaling", "HorizontalPodAutoscaler")
}

/// The autoscalers of a workload.
pub(super) fn of_workload(id: &ObjectId, context: &Context<'_>) -> Vec<ObjectId> {
    let kind = GroupKind::new("autoscaling", "HorizontalPodAutoscaler");
    let all = context.server.objects(&kind, id.namespace.as_deref());
    let own = all.filter(|(_, autoscaler)| target(autoscaler).as_ref() == Some(id));
    own.map(|(id, _)| id.clone()).collect()
}

/// Scales the target of an autoscaler if it is out of bounds.
pub(super) fn sync(autoscaler: &ObjectId, context: &mut Context<'_>) {
    let Some(wanted) = context.server.object(autoscaler).and_then(|object| {
        let target = context.server.object(&target(object)?)?;
        let replicas = replicas_out_of_bounds(object, target)?;
        Some((Target::of(target), target.id(), replicas))
    }) else {
        return;
    };
    let (target, id, replicas) = wanted;
    let patch = Request::Patch {
        target,
        patch: json!({"spec": {"replicas": replicas}}),
        manager: MANAGER.into(),
    };
    if context.server.call(&patch).is_ok() {
        context.note(
            "horizontal-pod-autoscaler",
            id,
            format!("scaled to {replicas} replicas"),
        );
    }
}

fn target(autoscaler: &Value) -> Option<ObjectId> {
    let reference = autoscaler.at(&["spec", "scaleTargetRef"])?;
    let group = group_of(reference.text_at(&["apiVersion"])?).to_owned();
    let (kind, name) = (reference.text_at(&["kind"])?, reference.text_at(&["name"])?);
    Some(ObjectId::new(&group, kind, autoscaler.namespace(), name))
}

fn replicas_out_of_bounds(autoscaler: &Value, target: &Value) -> Option<i64> {
    let number = |object: &Value, field: &str| object.at(&["spec", field]).and_then(Value::as_i64);
    let least = number(autoscaler, "minReplicas").unwrap_or(1).max(1);
    let most = number(autoscaler, "maxReplicas").unwrap_or(i64::MAX);
    let now = number(target, "replicas").unwrap_or(1);
    match now {
        0 => None,
        _ if now > most => Some(most),
        _ if now < least => Some(least),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_without_metrics_and_nothing_stays_nothing() {
        let autoscaler = json!({"spec": {"minReplicas": 2, "maxReplicas": 4}});
        let scaled =
            |replicas: Value| replicas_out_of_bounds(&autoscaler, &json!({"spec": {"replicas": replicas}}));
        assert_eq!(scaled(json!(1)), Some(2));
        assert_eq!(scaled(Value::Null), Some(2));
        assert_eq!(scaled(json!(3)), None);
        assert_eq!(scaled(json!(9)), Some(4));
        assert_eq!(scaled(json!(0)), None);
    }
}
