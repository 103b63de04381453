//! The status poller's table of kinds, which lives as long as the controller (F-228, F-230, F-231).
//!
//! The table resolves a kind without a version. A hit is kept for good; a miss in a group that the table knows asks only
//! the versions that the group had when the table last listed all groups.

use std::collections::{BTreeMap, BTreeSet};

use ecow::EcoString;
use firstpass_apiserver::ApiServer;
use firstpass_object::GroupKind;

/// The table.
#[derive(Clone, Debug, Default)]
pub(super) struct PollerMapper {
    /// The versions of each group when all groups were last listed.
    listed: BTreeMap<EcoString, Vec<String>>,
    /// The versions in which each kind was found.
    kinds: BTreeMap<GroupKind, Vec<String>>,
}

/// What the table says of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// It is served as the table says.
    Served,
    /// The table holds a version that is no longer served: every read is a 404.
    Gone,
    /// The table finds no such kind.
    NoMatch,
}

impl PollerMapper {
    /// Looks a kind up.
    pub(super) fn find(&mut self, kind: &GroupKind, server: &ApiServer) -> Found {
        if !self.kinds.contains_key(kind) {
            match self.listed.get(&kind.group).cloned() {
                Some(versions) => self.load_group(&kind.group, &versions, server),
                None => self.list_all(server),
            }
        }
        let Some(versions) = self.kinds.get(kind) else {
            return Found::NoMatch;
        };
        let served = server
            .resource(kind)
            .is_some_and(|resource| versions.first().is_some_and(|version| resource.serves(version)));
        if served { Found::Served } else { Found::Gone }
    }

    /// Asks for all groups with all that is in them.
    fn list_all(&mut self, server: &ApiServer) {
        for resource in server.resources() {
            let listed = self.listed.entry(resource.group.clone()).or_default();
            for version in &resource.versions {
                if !listed.contains(version) {
                    listed.push(version.clone());
                }
            }
            self.learn(&resource.group_kind(), &resource.versions);
        }
    }

    /// Asks for the known versions of one group. A version that is gone makes the table forget the group.
    fn load_group(&mut self, group: &str, versions: &[String], server: &ApiServer) {
        let mut served = BTreeSet::new();
        for resource in server.resources().filter(|resource| resource.group == group) {
            let known: Vec<String> = resource
                .versions
                .iter()
                .filter(|version| versions.contains(version))
                .cloned()
                .collect();
            served.extend(resource.versions.iter().cloned());
            if !known.is_empty() {
                self.learn(&resource.group_kind(), &known);
            }
        }
        if versions.iter().any(|version| !served.contains(version)) {
            self.listed.remove(group);
        }
    }

    fn learn(&mut self, kind: &GroupKind, versions: &[String]) {
        let known = self.kinds.entry(kind.clone()).or_default();
        for version in versions {
            if !known.contains(version) {
                known.push(version.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstpass_apiserver::{Apply, CrdSketch, Options, Request, Scope};

    fn serve(server: &mut ApiServer, kind: &str, versions: &[&str]) {
        let crd = CrdSketch {
            group: "example.com".to_owned(),
            kind: kind.to_owned(),
            plural: None,
            scope: Scope::Namespaced,
            versions: versions.iter().map(|version| (*version).to_owned()).collect(),
        };
        let apply = Apply::forced(crd.to_crd().into(), "test");
        server.call(&Request::Apply(apply)).unwrap();
        while let Some(at) = server.next_wakeup() {
            server.advance(at);
        }
    }

    #[test]
    fn a_kind_in_a_version_that_its_group_did_not_have_is_not_found() {
        // F-230
        let mut server = ApiServer::new(Options::minor(36));
        let mut mapper = PollerMapper::default();
        let kind = |kind: &str| GroupKind::new("example.com", kind);
        assert_eq!(mapper.find(&kind("A"), &server), Found::NoMatch);
        serve(&mut server, "A", &["v1"]);
        // The group is unknown, so all groups are listed anew.
        assert_eq!(mapper.find(&kind("A"), &server), Found::Served);
        serve(&mut server, "B", &["v1"]);
        assert_eq!(mapper.find(&kind("B"), &server), Found::Served);
        serve(&mut server, "C", &["v1alpha1"]);
        assert_eq!(mapper.find(&kind("C"), &server), Found::NoMatch);
        // A look for a kind of an unknown group heals it.
        assert_eq!(
            mapper.find(&GroupKind::new("other.example.com", "X"), &server),
            Found::NoMatch
        );
        assert_eq!(mapper.find(&kind("C"), &server), Found::Served);
    }

    #[test]
    fn a_version_that_is_no_longer_served_stays() {
        // F-231, F-228
        let mut server = ApiServer::new(Options::minor(36));
        let mut mapper = PollerMapper::default();
        let kind = GroupKind::new("example.com", "A");
        serve(&mut server, "A", &["v1beta1"]);
        assert_eq!(mapper.find(&kind, &server), Found::Served);
        serve(&mut server, "A", &["v1"]);
        assert_eq!(mapper.find(&kind, &server), Found::Gone);
    }
}
