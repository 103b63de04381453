//! An operator that runs, and which of its effects apply to it.

use firstpass_apiserver::Duration;
use firstpass_knowledge::{Effect, Operator, VersionPoint};
use firstpass_object::ObjectExt;
use serde_json::Value;

use super::operators;
use crate::context::Context;
use crate::marks;
use crate::workload::needs;

/// An operator whose process runs.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    /// Its workload is ready, so it reconciles objects.
    pub(super) ready: bool,
    /// The release of the product.
    pub(super) version: VersionPoint,
    /// The values of the chart that started it; empty for a plain manifest.
    pub(super) values: Value,
    /// Its namespace.
    pub(super) namespace: String,
}

impl Instance {
    /// Whether this release with these values, or for this object, has the effect.
    pub(super) fn does(&self, effect: &Effect, object: Option<&Value>) -> bool {
        effect.range().contains(self.version)
            && effect
                .when
                .as_ref()
                .is_none_or(|when| when.holds(object.unwrap_or(&self.values)))
    }
}

/// The operators of a workload, as they run in it.
pub(super) fn of_workload<'k>(workload: &Value, context: &Context<'k>) -> Vec<(&'k Operator, Instance)> {
    let instance = |operator: &'k Operator| {
        let values = workload
            .annotation(marks::VALUES)
            .and_then(|text| serde_json::from_str(text).ok());
        let version = match workload.annotation(marks::VERSION) {
            Some(version) => VersionPoint::parse(version),
            None => image_version(operator, workload),
        };
        let instance = Instance {
            ready: false,
            version,
            values: values.unwrap_or_default(),
            namespace: workload.namespace().unwrap_or_default().to_owned(),
        };
        (operator, instance)
    };
    operators(workload, context).into_iter().map(instance).collect()
}

/// The tag of the operator's image.
fn image_version(operator: &Operator, workload: &Value) -> VersionPoint {
    let images = needs::images(workload);
    let own = images
        .iter()
        .find(|image| operator.images.iter().any(|known| image.contains(known.as_str())));
    let image = own.or(images.first()).copied().unwrap_or_default();
    let image = image.split('@').next().unwrap_or_default();
    let tag = image
        .rsplit('/')
        .next()
        .and_then(|last| last.split_once(':'))
        .map(|(_, tag)| tag);
    VersionPoint::of(tag)
}

/// How long the operators of a workload work before they let it become ready.
pub(crate) fn work_before_ready(workload: &Value, starts: u64, context: &Context<'_>) -> Duration {
    let mut total = Duration::ZERO;
    for (operator, instance) in of_workload(workload, context) {
        let mut own = Duration::ZERO;
        for effect in operator
            .at_start
            .iter()
            .filter(|effect| effect.before_ready && instance.does(effect, None))
        {
            own = own + effect_delay(effect, workload, starts, context);
        }
        total = total.max(own);
    }
    total
}

/// The delay of an effect of starting.
pub(super) fn effect_delay(
    effect: &Effect,
    workload: &Value,
    _starts: u64,
    context: &Context<'_>,
) -> Duration {
    context.delays.delay(&effect.after, &workload.id().to_string(), 0)
}
