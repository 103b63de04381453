//! `namespace`.

use firstpass_yaml::{Node, NodeKind, Scalar, Style, Tag};

use super::{By, Fields, Transform};
use crate::Error;
use crate::config::FieldSpecs;
use crate::fieldspec::Create;
use crate::file::FieldSpec;
use crate::resmap::{ResMap, transformed};
use crate::resource::{Resource, notes};
use crate::scalar::{is_nil_or_empty, set_scalar, text_of, wrong_shape};

/// Puts objects into a namespace.
pub(crate) struct Namespace {
    namespace: String,
    /// Whether only missing namespaces are set.
    unset_only: bool,
    subjects: Subjects,
    own: Fields,
    rest: Vec<(FieldSpec, Fields)>,
}

/// Which subjects of role bindings get the namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Subjects {
    /// Those named `default`.
    #[default]
    Default,
    /// Every ServiceAccount.
    ServiceAccounts,
    /// None.
    None,
}

impl Subjects {
    /// Reads `setRoleBindingSubjects`.
    pub(crate) fn parse(text: &str) -> Result<Subjects, Error> {
        match text {
            "" | "defaultOnly" => Ok(Subjects::Default),
            "allServiceAccounts" => Ok(Subjects::ServiceAccounts),
            "none" => Ok(Subjects::None),
            other => Err(Error::new(format!(
                "invalid value {other:?} for setRoleBindingSubjects: must be one of \"defaultOnly\", \"none\" or \
                 \"allServiceAccounts\""
            ))),
        }
    }
}

impl Transform for Namespace {
    fn apply(&self, resources: &mut ResMap, by: &By<'_>) -> Result<(), Error> {
        if self.namespace.is_empty() {
            return Ok(());
        }
        let mut taken = resources.current_keys();
        for resource in resources.items_mut() {
            if resource.is_gone() || resource.annotation(notes::HELM_GENERATED) == Some("true") {
                continue;
            }
            let before = resource.current_id().key();
            resource.store_previous_id();
            if self.set(resource)? {
                resource.shaped_by(transformed(by.file, "namespace"));
            }
            let after = resource.current_id().key();
            if before != after {
                if let Some(count) = taken.get_mut(&before) {
                    *count -= 1;
                }
                *taken.entry(after.clone()).or_insert(0) += 1;
            }
            if taken.get(&after) != Some(&1) {
                return Err(Error::new(format!(
                    "namespace transformation produces ID conflict: more than one {}",
                    resource.current_id()
                ))
                .because(format!(
                    "one of them is in {}:{}",
                    resource.origin.file, resource.origin.line
                ))
                .help("give the objects different names, or leave out `namespace`"));
            }
        }
        Ok(())
    }
}

impl Namespace {
    pub(crate) fn new(
        namespace: String,
        specs: &FieldSpecs,
        unset_only: bool,
        subjects: Subjects,
    ) -> Namespace {
        let own = FieldSpec {
            path: "metadata/namespace".to_owned(),
            create: true,
            ..FieldSpec::default()
        };
        let rest = specs.0.iter().filter(|spec| spec.path != own.path);
        Namespace {
            namespace,
            unset_only,
            subjects,
            rest: rest.map(|spec| (spec.clone(), Fields::new([spec]))).collect(),
            own: Fields::new([&own]),
        }
    }

    /// Sets the namespace everywhere in an object. Returns whether anything changed.
    pub(crate) fn set(&self, resource: &mut Resource) -> Result<bool, Error> {
        let mut changed = false;
        let create = Create::Scalar(Tag::Str);
        let mut set = |node: &mut Node| {
            let done = self.set_scalar(node)?;
            changed |= done;
            Ok(done)
        };
        if !resource.current_id().cluster_scoped {
            self.own.visit(resource, Some(&create), &mut set)?;
        }
        let is_binding = is_binding_kind(resource.kind());
        if is_binding {
            self.set_subjects(resource.node_mut(), &mut set)?;
        }
        let is_core = resource.gvk().api_version() == "v1";
        for (spec, fields) in &self.rest {
            let is_for_subjects = spec.path == "subjects/namespace" && is_binding_kind(&spec.gvk.kind);
            if (spec.path == "metadata/name" && !is_core) || (is_binding && is_for_subjects) {
                continue;
            }
            fields
                .visit(resource, Some(&create), &mut set)
                .map_err(|mut error| {
                    error.what = format!("namespace transformation failed: {}", error.what);
                    error
                })?;
        }
        Ok(changed)
    }

    fn set_scalar(&self, node: &mut Node) -> Result<bool, Error> {
        let old = text_of(node);
        if old == self.namespace && node.as_str().is_some() {
            return Ok(false);
        }
        if self.unset_only && !is_nil_or_empty(node) && !old.is_empty() {
            return Ok(false);
        }
        set_scalar(node, &self.namespace, Some(Tag::Str))?;
        Ok(true)
    }

    fn set_subjects(
        &self,
        node: &mut Node,
        set: &mut dyn FnMut(&mut Node) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let wanted = match self.subjects {
            Subjects::None => return Ok(()),
            Subjects::Default => ("name", "default"),
            Subjects::ServiceAccounts => ("kind", "ServiceAccount"),
        };
        let Some(subjects) = node.get_mut("subjects").filter(|subjects| !subjects.is_null()) else {
            return Ok(());
        };
        let NodeKind::Seq(subjects) = &mut subjects.kind else {
            return Err(in_subjects(wrong_shape("SequenceNode", subjects)));
        };
        for subject in subjects.iter_mut().filter(|subject| !subject.is_null()) {
            let NodeKind::Map(map) = &mut subject.kind else {
                return Err(in_subjects(wrong_shape("MappingNode", subject)));
            };
            if map.get(wanted.0).and_then(Node::as_text) != Some(wanted.1) {
                continue;
            }
            let empty = || {
                Node::new(NodeKind::Scalar(Scalar {
                    text: "".into(),
                    tag: Tag::Str,
                    style: Style::Plain,
                }))
            };
            set(map.get_or_insert_with("namespace", empty)).map_err(in_subjects)?;
        }
        Ok(())
    }
}

fn is_binding_kind(kind: &str) -> bool {
    matches!(kind, "RoleBinding" | "ClusterRoleBinding")
}

fn in_subjects(mut error: Error) -> Error {
    error.what = format!(
        "setting namespace on (cluster)role binding subjects: {}",
        error.what
    );
    error
}
