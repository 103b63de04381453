//! Custom kinds: how they are called, and what their controllers write into them.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::condition::Condition;
use crate::selector::KindSelector;
use crate::version::{Version, VersionPoint, VersionRange};

/// Where objects of a kind live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum Scope {
    /// In a namespace.
    #[default]
    Namespaced,
    /// Outside of namespaces.
    Cluster,
}

/// A version in which a kind can be read and written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedVersion {
    /// Its name, such as `v1beta1`.
    pub name: String,
    /// The releases of the product that serve it.
    pub range: VersionRange,
}

/// One change of an object's status by its controller.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatusWrite {
    /// The delay since the previous write, or since the controller saw the object: a name of `timing`.
    pub after: String,
    /// A name for this point, so that effects can be said to come before it.
    pub name: Option<String>,
    /// Whether the object asks for it.
    pub when: Option<Condition>,
    /// First release of the product that writes it.
    pub since: Option<Version>,
    /// First release that writes it no more.
    pub until: Option<Version>,
    /// What is merged into `status` (maps merge, all else is replaced). May hold placeholders.
    pub set: Value,
}

/// What a wait for "Current" can see of an object of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitProof {
    /// Neither a Ready condition nor an observed generation: the object is Current the moment it is stored.
    Nothing,
    /// The controller reports `status.observedGeneration` alone: Current means "seen".
    Generation,
    /// The controller reports a Ready condition.
    ReadyCondition,
}

/// What is known of a kind.
#[derive(Clone, Debug, PartialEq)]
pub struct KindDef {
    /// API group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// The name in URLs and in the name of the CRD.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub scope: Scope,
    /// The versions that are served; the first is the one that is stored.
    pub versions: Vec<ServedVersion>,
    /// The operator that reconciles its objects, if one is known.
    pub controller: Option<String>,
    /// The status that the CRD's schema gives every new object.
    pub initial_status: Value,
    /// What the controller writes, in order.
    pub status: Vec<StatusWrite>,
    /// What the controller cannot do without: named status writes come only when all of it is there and healthy.
    pub needs: Vec<KindNeed>,
    /// Where the facts come from.
    pub source: String,
    /// The data file that says so.
    pub file: String,
}

/// Another object that an object names and that its controller cannot do without, as an issuer for a certificate.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindNeed {
    /// The kind of the other object, which lives in the same namespace if its kind has any: `group/Kind`.
    pub kind: KindSelector,
    /// The field that holds its name.
    pub name: String,
    /// Whether the object asks for it.
    pub when: Option<Condition>,
}

impl KindDef {
    /// The name of the CustomResourceDefinition.
    pub fn crd_name(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// The versions that a release of the product serves.
    pub fn served(&self, point: VersionPoint) -> Vec<&str> {
        let served = self
            .versions
            .iter()
            .filter(|version| version.range.contains(point));
        served.map(|version| version.name.as_str()).collect()
    }

    /// Does a release of the product serve this version? None: nothing is known of the version, so a file that uses it
    /// may well be right.
    pub fn serves(&self, version: &str, point: VersionPoint) -> Option<bool> {
        let known = self.versions.iter().find(|known| known.name == version);
        known.map(|known| known.range.contains(point))
    }

    /// What the controller of a release writes into an object, in order.
    pub fn writes<'k>(&'k self, object: &Value, point: VersionPoint) -> Vec<&'k StatusWrite> {
        let wanted = |write: &&StatusWrite| {
            let range = VersionRange {
                since: write.since,
                until: write.until,
            };
            range.contains(point) && write.when.as_ref().is_none_or(|when| when.holds(object))
        };
        self.status.iter().filter(wanted).collect()
    }

    /// What a wait for this kind's objects proves in the end.
    pub fn wait_proof(&self) -> WaitProof {
        let mut sets = self
            .status
            .iter()
            .map(|write| &write.set)
            .chain([&self.initial_status]);
        if sets.clone().any(has_ready_condition) {
            WaitProof::ReadyCondition
        } else if sets.any(|set| set.get("observedGeneration").is_some()) {
            WaitProof::Generation
        } else {
            WaitProof::Nothing
        }
    }
}

fn has_ready_condition(status: &Value) -> bool {
    let conditions = status.get("conditions").and_then(Value::as_array);
    conditions.is_some_and(|list| list.iter().any(|condition| condition["type"] == "Ready"))
}

/// The `kinds` section of a data file: kinds of one group, and what they share.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KindGroup {
    group: String,
    source: String,
    #[serde(default)]
    versions: Vec<VersionEntry>,
    #[serde(default)]
    scope: Scope,
    controller: Option<String>,
    #[serde(default)]
    initial_status: Value,
    ready: Option<ReadyReport>,
    #[serde(default)]
    status: Vec<StatusWrite>,
    kinds: BTreeMap<String, KindEntry>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct KindEntry {
    plural: Option<String>,
    scope: Option<Scope>,
    versions: Option<Vec<VersionEntry>>,
    controller: Option<String>,
    initial_status: Option<Value>,
    ready: Option<ReadyReport>,
    status: Option<Vec<StatusWrite>>,
    needs: Vec<KindNeed>,
    source: Option<String>,
}

/// Short for the usual report: a Ready condition that is first False or absent, then True.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadyReport {
    /// The delay until Ready is True: a name of `timing`.
    after: String,
    /// The delay until the controller says that it is at work (Ready False); absent: it says nothing before.
    pending_after: Option<String>,
    /// Whether `status.observedGeneration` is kept.
    #[serde(default)]
    observed_generation: bool,
    /// The reason given with Ready True.
    reason: Option<String>,
}

/// Written as a name, or as `{name, since, until}`.
#[derive(Clone, Debug)]
struct VersionEntry(ServedVersion);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RangedVersion {
    name: String,
    since: Option<Version>,
    until: Option<Version>,
}

impl<'de> Deserialize<'de> for VersionEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<VersionEntry, D::Error> {
        struct NameOrMap;

        impl<'de> Visitor<'de> for NameOrMap {
            type Value = VersionEntry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a version such as `v1`, or `{name: v1, since: ..., until: ...}`")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<VersionEntry, E> {
                Ok(VersionEntry(ServedVersion {
                    name: name.to_owned(),
                    range: VersionRange::default(),
                }))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<VersionEntry, A::Error> {
                let RangedVersion { name, since, until } =
                    RangedVersion::deserialize(MapAccessDeserializer::new(map))?;
                Ok(VersionEntry(ServedVersion {
                    name,
                    range: VersionRange { since, until },
                }))
            }
        }

        deserializer.deserialize_any(NameOrMap)
    }
}

impl ReadyReport {
    fn writes(&self) -> Vec<StatusWrite> {
        let write = |after: &str, name: Option<&str>, status: &str, reason: &str| {
            let condition = serde_json::json!({
                "type": "Ready", "status": status, "reason": reason, "lastTransitionTime": "{now}",
            });
            let mut set = serde_json::json!({ "conditions": [condition] });
            if self.observed_generation {
                set["observedGeneration"] = "{object.metadata.generation}".into();
            }
            StatusWrite {
                after: after.to_owned(),
                name: name.map(str::to_owned),
                when: None,
                since: None,
                until: None,
                set,
            }
        };
        let pending = self.pending_after.as_deref();
        let pending = pending.map(|after| write(after, None, "False", "Progressing"));
        let ready = write(
            &self.after,
            Some("ready"),
            "True",
            self.reason.as_deref().unwrap_or("Ready"),
        );
        pending.into_iter().chain([ready]).collect()
    }
}

impl KindGroup {
    /// The kinds of the section, each with what the group says for all.
    pub(crate) fn into_kinds(self, file: &str) -> Vec<KindDef> {
        let KindGroup {
            group,
            source,
            versions,
            scope,
            controller,
            initial_status,
            ready,
            status,
            kinds,
        } = self;
        let shared_writes = writes(ready.as_ref(), status);
        let def = |(kind, entry): (String, KindEntry)| {
            let own = (entry.ready.is_some() || entry.status.is_some())
                .then(|| writes(entry.ready.as_ref(), entry.status.clone().unwrap_or_default()));
            KindDef {
                plural: entry.plural.unwrap_or_else(|| plural_of(&kind)),
                kind,
                group: group.clone(),
                scope: entry.scope.unwrap_or(scope),
                versions: entry
                    .versions
                    .as_ref()
                    .unwrap_or(&versions)
                    .iter()
                    .map(|entry| entry.0.clone())
                    .collect(),
                controller: entry.controller.or_else(|| controller.clone()),
                initial_status: entry.initial_status.unwrap_or_else(|| initial_status.clone()),
                status: own.unwrap_or_else(|| shared_writes.clone()),
                needs: entry.needs,
                source: entry.source.unwrap_or_else(|| source.clone()),
                file: file.to_owned(),
            }
        };
        kinds.into_iter().map(def).collect()
    }
}

fn writes(ready: Option<&ReadyReport>, status: Vec<StatusWrite>) -> Vec<StatusWrite> {
    let mut writes = ready.map(ReadyReport::writes).unwrap_or_default();
    writes.extend(status);
    writes
}

/// The plural that code generators give a kind unless told otherwise.
pub(crate) fn plural_of(kind: &str) -> String {
    let name = kind.to_lowercase();
    let before_last = name.chars().rev().nth(1);
    match name.chars().last() {
        Some('s' | 'x' | 'z') => name + "es",
        Some('h') if matches!(before_last, Some('c' | 's')) => name + "es",
        Some('y') if !matches!(before_last, Some('a' | 'e' | 'i' | 'o' | 'u')) => {
            format!("{}ies", &name[..name.len() - 1])
        }
        _ => name + "s",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_follow_the_generators() {
        let table = [
            ("Certificate", "certificates"),
            ("ClusterPolicy", "clusterpolicies"),
            ("Gateway", "gateways"),
            ("GatewayClass", "gatewayclasses"),
            ("Switch", "switches"),
            ("CiliumLoadBalancerIPPool", "ciliumloadbalancerippools"),
        ];
        for (kind, plural) in table {
            assert_eq!(plural_of(kind), plural);
        }
    }

    #[test]
    fn ready_is_short_for_a_pending_and_a_ready_write() {
        let group: KindGroup = serde_json::from_value(serde_json::json!({
            "group": "example.com", "source": "own", "versions": ["v1", {"name": "v1beta1", "until": "0.17"}],
            "kinds": {
                "Widget": {"ready": {"after": "issue", "pending_after": "reconcile", "observed_generation": true}},
                "Gadget": {"scope": "Cluster", "status": [{"after": "issue", "set": {"phase": "Deployed"}}]},
                "Plain": {},
            },
        }))
        .unwrap();
        let kinds = group.into_kinds("own.yaml");
        let find = |kind: &str| kinds.iter().find(|def| def.kind == kind).unwrap();
        assert_eq!(find("Widget").wait_proof(), WaitProof::ReadyCondition);
        assert_eq!(find("Widget").status.len(), 2);
        assert_eq!(
            find("Widget").served(VersionPoint::parse("0.16.0")),
            ["v1", "v1beta1"]
        );
        assert_eq!(find("Widget").served(VersionPoint::Newest), ["v1"]);
        assert_eq!(find("Gadget").wait_proof(), WaitProof::Nothing);
        assert_eq!(find("Gadget").scope, Scope::Cluster);
        assert_eq!(find("Plain").crd_name(), "plains.example.com");
    }
}
