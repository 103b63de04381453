//! The schemas of Flux's own kinds, which are rarely in the repository.

use firstpass_flux::{FluxVersion, spec_schema};
use firstpass_object::{GroupKind, ObjectExt};
use serde_json::{Value, json};

use super::{CrdSketch, Definition};
use crate::discovery::Scope;

impl Definition {
    /// What the CRD of this Flux says of one of Flux's kinds in its stable version; `None` for all other kinds.
    pub fn of_flux(kind: &GroupKind, flux: FluxVersion) -> Option<Definition> {
        let stable = ["v1", "v2"]
            .into_iter()
            .find(|version| spec_schema(kind, version, flux).is_some())?;
        let sketch = CrdSketch {
            group: kind.group.to_string(),
            kind: kind.kind.to_string(),
            plural: None,
            scope: Scope::Namespaced,
            versions: vec![stable.to_owned()],
        };
        let mut crd = sketch.to_crd();
        declare_flux_fields(&mut crd, flux);
        Definition::read(&crd).ok()
    }
}

/// Gives the stable version in a CRD of one of Flux's kinds the fields and rules that it has in this Flux. Of older API
/// versions, and of other kinds, everything stays as it is.
pub fn declare_flux_fields(crd: &mut Value, flux: FluxVersion) {
    let text = |path: &[&str]| crd.text_at(path).unwrap_or_default().to_owned();
    let kind = GroupKind::new(text(&["spec", "group"]), text(&["spec", "names", "kind"]));
    for version in crd["spec"]["versions"].as_array_mut().into_iter().flatten() {
        let schema = spec_schema(&kind, version.text_at(&["name"]).unwrap_or_default(), flux);
        if let Some(spec) = schema {
            version["schema"]["openAPIV3Schema"] = json!({
                "type": "object",
                "properties": {
                    "spec": spec,
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                },
            });
        }
    }
}
