//! Flux's components: which controllers a cluster has, and which kinds come with each.

use std::collections::BTreeSet;

/// What is installed if nothing else is asked for, by `flux bootstrap` and by flux-operator alike (flux2
/// `internal/flags`, flux-operator `FluxInstance.GetComponents`).
pub const DEFAULT_COMPONENTS: [&str; 4] = [
    "source-controller",
    "kustomize-controller",
    "helm-controller",
    "notification-controller",
];

/// The controllers that a cluster has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Components {
    names: BTreeSet<String>,
    said_by: SaidBy,
}

/// What says which components a cluster has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SaidBy {
    /// A FluxInstance.
    Instance,
    /// The manifests that `flux bootstrap` wrote into this file.
    Bootstrap(String),
}

impl Components {
    /// The components of a list; an empty one stands for the default set.
    pub fn new(names: &[String], said_by: SaidBy) -> Components {
        let names = if names.is_empty() {
            DEFAULT_COMPONENTS.iter().map(|&name| name.to_owned()).collect()
        } else {
            names.iter().cloned().collect()
        };
        Components { names, said_by }
    }

    /// The component that a kind would come with and that is not installed.
    pub fn lacks(&self, group: &str, kind: &str) -> Option<&'static str> {
        component_of(group, kind).filter(|component| !self.names.contains(*component))
    }

    /// The controllers, in the order of their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// What says so, for people.
    pub fn said_by(&self) -> String {
        match &self.said_by {
            SaidBy::Instance => "`components` of the FluxInstance".to_owned(),
            SaidBy::Bootstrap(file) => format!("`{file}`"),
        }
    }

    /// How to install one more.
    pub fn how_to_add(&self, component: &str) -> String {
        match &self.said_by {
            SaidBy::Instance => format!("add `{component}` to `components` of the FluxInstance"),
            SaidBy::Bootstrap(_) => {
                format!("install it: `flux bootstrap … --components-extra={component}`")
            }
        }
    }
}

/// The component that brings a kind of Flux; `None` for a kind that is not Flux's.
pub fn component_of(group: &str, kind: &str) -> Option<&'static str> {
    let component = match (group, kind) {
        ("source.toolkit.fluxcd.io", _) => "source-controller",
        ("source.extensions.fluxcd.io", _) => "source-watcher",
        ("kustomize.toolkit.fluxcd.io", _) => "kustomize-controller",
        ("helm.toolkit.fluxcd.io", _) => "helm-controller",
        ("notification.toolkit.fluxcd.io", _) => "notification-controller",
        ("image.toolkit.fluxcd.io", "ImageUpdateAutomation") => "image-automation-controller",
        ("image.toolkit.fluxcd.io", _) => "image-reflector-controller",
        _ => return None,
    };
    Some(component)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_set_has_no_image_automation() {
        let components = Components::new(&[], SaidBy::Instance);
        let image = "image.toolkit.fluxcd.io";
        assert_eq!(
            components.lacks(image, "ImagePolicy"),
            Some("image-reflector-controller")
        );
        assert_eq!(
            components.lacks(image, "ImageUpdateAutomation"),
            Some("image-automation-controller")
        );
        assert_eq!(components.lacks("helm.toolkit.fluxcd.io", "HelmRelease"), None);
        assert_eq!(components.lacks("apps", "Deployment"), None);
    }
}
