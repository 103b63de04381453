//! Operators: what they do when they start, and after they have reconciled an object.

use serde::Deserialize;
use serde_json::Value;

use crate::condition::{Condition, lookup};
use crate::kind::{KindDef, Scope as KindScope, ServedVersion, plural_of};
use crate::parts::{ObjectTemplate, Webhook, Workload};
use crate::selector::KindSelector;
use crate::template::Scope;
use crate::version::{Version, VersionRange};

/// A controller that runs in a workload of the cluster.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operator {
    /// Its name, by which charts and kinds refer to it.
    pub name: String,
    /// The repositories of its image: the last path segments, without tag.
    #[serde(default)]
    pub images: Vec<String>,
    /// The names of the workloads that run it, for images that have been mirrored under other names.
    #[serde(default)]
    pub workloads: Vec<String>,
    /// What it does when it starts.
    #[serde(default)]
    pub at_start: Vec<Effect>,
    /// What it does for an object of a kind.
    #[serde(default)]
    pub on_object: Vec<OnObject>,
    /// What it reads at one point in time and never again.
    #[serde(default)]
    pub reads_once: Vec<ReadsOnce>,
    /// Where the facts come from.
    pub source: String,
    /// The data file that says so.
    #[serde(skip)]
    pub file: String,
}

/// What an operator does after it has reconciled an object of a kind.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnObject {
    /// The kinds of object.
    pub kind: KindSelector,
    /// Which objects of the kind.
    pub when: Option<Condition>,
    /// What it does, in order; delays count from the previous effect.
    pub effects: Vec<Effect>,
    /// Where the fact comes from; absent: where the operator's facts come from.
    pub source: Option<String>,
}

/// One thing that an operator does.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// The delay: a name of `timing`.
    pub after: String,
    /// First release that does it.
    pub since: Option<Version>,
    /// First release that does it no more.
    pub until: Option<Version>,
    /// Whether the values of the chart that started the operator (or the reconciled object) ask for it.
    pub when: Option<Condition>,
    /// At start: whether it is done before the operator's workload becomes ready, so that waiting for that is a barrier.
    #[serde(default)]
    pub before_ready: bool,
    /// For an object: the status write (by name) before which it is done, so that waiting for that is a barrier.
    pub before_status: Option<String>,
    /// Kinds that become known.
    #[serde(default)]
    pub kinds: Vec<KindSelector>,
    /// Kinds whose names depend on the reconciled object.
    #[serde(default)]
    pub kind_templates: Vec<KindTemplate>,
    /// Objects that it creates.
    #[serde(default)]
    pub objects: Vec<ObjectTemplate>,
    /// Workloads that it starts.
    #[serde(default)]
    pub workloads: Vec<Workload>,
    /// Webhooks that it registers.
    #[serde(default)]
    pub webhooks: Vec<Webhook>,
    /// Whether kinds, workloads and webhooks come back when somebody deletes them.
    #[serde(default)]
    pub recreate: bool,
    /// Where the fact comes from; absent: as told further up.
    pub source: Option<String>,
}

impl Effect {
    /// The releases that do it.
    pub fn range(&self) -> VersionRange {
        VersionRange {
            since: self.since,
            until: self.until,
        }
    }

    /// Does it name this kind, or the group of kinds that it makes? As `may_bring`, without templates that could
    /// yield any kind at all, such as a composite resource definition.
    pub fn brings(&self, group: &str, kind: &str) -> bool {
        self.kinds.iter().any(|selector| selector.matches(group, kind))
            || self
                .kind_templates
                .iter()
                .any(|template| !template.is_open() && template.may_yield(group, kind))
    }

    /// Could it make this kind known? Names that depend on an object match by what is fixed in them.
    pub fn may_bring(&self, group: &str, kind: &str) -> bool {
        self.kinds.iter().any(|selector| selector.matches(group, kind))
            || self
                .kind_templates
                .iter()
                .any(|template| template.may_yield(group, kind))
    }
}

/// A kind whose names are fields of the reconciled object, as a constraint template's or a composite resource's.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindTemplate {
    /// The group, with placeholders.
    pub group: String,
    /// The kind, with placeholders.
    pub kind: String,
    /// The plural, with placeholders; absent: made from the kind.
    pub plural: Option<String>,
    /// The scope, with placeholders; whatever does not read `Namespaced` is `Cluster`.
    pub scope: String,
    /// The served versions, with placeholders.
    #[serde(default)]
    pub versions: Vec<String>,
    /// The list in the object whose items have the served versions as `name`.
    pub versions_at: Option<String>,
}

impl KindTemplate {
    /// Could some object make this kind? A part with placeholders matches anything of its own.
    pub fn may_yield(&self, group: &str, kind: &str) -> bool {
        let fits = |template: &str, text: &str| template.contains('{') || template == text;
        fits(&self.group, group) && fits(&self.kind, kind)
    }

    /// Are both names up to the object, so that it could be any kind?
    pub fn is_open(&self) -> bool {
        self.group.contains('{') && self.kind.contains('{')
    }

    /// The kind that this object makes; None where it does not name one.
    pub fn render(&self, object: &Value) -> Option<KindDef> {
        let scope = Scope {
            object: Some(object),
            ..Scope::default()
        };
        let kind = scope.text(&self.kind).filter(|kind| !kind.is_empty())?;
        let plural = match &self.plural {
            Some(plural) => scope.text(plural)?,
            None => plural_of(&kind),
        };
        let fixed = self.versions.iter().filter_map(|template| scope.text(template));
        let listed = self
            .versions_at
            .as_deref()
            .and_then(|path| lookup(object, path)?.as_array());
        let listed = listed
            .into_iter()
            .flatten()
            .filter_map(|item| item["name"].as_str())
            .map(str::to_owned);
        let served = |name| ServedVersion {
            name,
            range: VersionRange::default(),
        };
        Some(KindDef {
            group: scope.text(&self.group)?,
            kind,
            plural,
            scope: if scope.text(&self.scope)? == "Namespaced" {
                KindScope::Namespaced
            } else {
                KindScope::Cluster
            },
            versions: fixed.chain(listed).map(served).collect(),
            controller: None,
            initial_status: Value::Null,
            status: Vec::new(),
            needs: Vec::new(),
            source: String::new(),
            file: String::new(),
        })
    }
}

/// A value that a controller reads when it needs it and never looks at again.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadsOnce {
    /// The kind whose objects are handled with what was read.
    pub kind: KindSelector,
    /// The kind that is read.
    pub reads: KindSelector,
    /// The field of the handled object that names the one that is read.
    pub named_by: Option<String>,
    /// The field that is read.
    pub field: Option<String>,
    /// Nothing is read where one of these fields is set.
    #[serde(default)]
    pub unless_set: Vec<String>,
    /// What happens when the field is empty.
    #[serde(default)]
    pub if_empty: IfEmpty,
    /// The fact as a sentence.
    pub fact: String,
    /// Where the fact comes from.
    pub source: String,
}

/// What happens to an object when the value that it depends on is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IfEmpty {
    /// The object is handled without it.
    #[default]
    GoesOn,
    /// The object waits until the value is there.
    Waits,
    /// The object is refused or fails.
    Fails,
}
