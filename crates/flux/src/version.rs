//! Versions of Flux, of the controllers that each ships, and of the APIs that they serve (F-1700 and its tables).

use std::fmt;
use std::str::FromStr;

use firstpass_object::GroupKind;

use crate::names;

/// The last patch release known of each minor, 2.4 to 2.9 (reference section 17.1).
const LAST_PATCH: [(u32, u32); 6] = [(4, 0), (5, 1), (6, 4), (7, 5), (8, 8), (9, 4)];

/// A release of Flux, 2.4 to 2.9.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FluxVersion {
    /// `9` in 2.9.4.
    pub minor: u32,
    /// `4` in 2.9.4.
    pub patch: u32,
}

/// A release of a controller, such as kustomize-controller 1.9.4. The major version is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ControllerVersion {
    /// `9` in 1.9.4.
    pub minor: u32,
    /// `4` in 1.9.4.
    pub patch: u32,
}

/// A text that names no version of Flux 2.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no version of Flux 2; write it like `2.9` or `2.9.4`")]
pub struct InvalidVersion(pub String);

impl FluxVersion {
    /// The newest version that firstpass knows.
    pub const NEWEST: FluxVersion = FluxVersion { minor: 9, patch: 4 };
    /// The oldest version that firstpass knows.
    pub const OLDEST: FluxVersion = FluxVersion { minor: 4, patch: 0 };

    /// A version by its minor and patch.
    pub const fn new(minor: u32, patch: u32) -> FluxVersion {
        FluxVersion { minor, patch }
    }

    /// The closest version that firstpass knows: older ones act as the oldest, newer ones as the newest.
    #[must_use]
    pub fn clamped(self) -> FluxVersion {
        if self.minor > FluxVersion::NEWEST.minor {
            return FluxVersion::NEWEST;
        }
        self.max(FluxVersion::OLDEST)
    }

    /// Whether firstpass knows the minor.
    pub const fn is_known(self) -> bool {
        self.minor >= FluxVersion::OLDEST.minor && self.minor <= FluxVersion::NEWEST.minor
    }

    /// The last patch release known of a minor.
    pub fn latest_of(minor: u32) -> FluxVersion {
        let patch = LAST_PATCH
            .iter()
            .find(|(known, _)| *known == minor)
            .map_or(0, |(_, patch)| *patch);
        FluxVersion { minor, patch }
    }

    /// kustomize-controller in this release.
    pub fn kustomize_controller(self) -> ControllerVersion {
        let FluxVersion { minor, patch } = self.clamped();
        let (controller, patch) = match (minor, patch) {
            (4, _) => (4, 0),
            (5, patch) => (5, patch.min(1)),
            (6, patch) => (6, patch.min(1)),
            (7, 0 | 1) => (7, 0),
            (7, 2) => (7, 1),
            (7, 3) => (7, 2),
            (7, _) => (7, 3),
            (8, 0) => (8, 0),
            (8, 1) => (8, 1),
            (8, 2..=4) => (8, 2),
            (8, 5) => (8, 3),
            (8, 6) => (8, 4),
            (8, _) => (8, 5),
            (_, 0) => (9, 1),
            (_, 1) => (9, 2),
            (_, 2) => (9, 3),
            (_, _) => (9, 4),
        };
        ControllerVersion {
            minor: controller,
            patch,
        }
    }

    /// helm-controller in this release.
    pub fn helm_controller(self) -> ControllerVersion {
        let FluxVersion { minor, patch } = self.clamped();
        let (controller, patch) = match (minor, patch) {
            (4, _) => (1, 0),
            (5, _) => (2, 0),
            (6, _) => (3, 0),
            (7, patch) => (4, patch.min(5)),
            (8, 0) => (5, 0),
            (8, 1) => (5, 1),
            (8, 2) => (5, 2),
            (8, 3..=5) => (5, 3),
            (8, 6 | 7) => (5, 4),
            (8, _) => (5, 5),
            (_, 0) => (6, 1),
            (_, 1 | 2) => (6, 2),
            (_, _) => (6, 3),
        };
        ControllerVersion {
            minor: controller,
            patch,
        }
    }

    /// Whether this release is at least `2.minor`.
    pub fn at_least(self, minor: u32) -> bool {
        self.minor >= minor
    }
}

impl ControllerVersion {
    /// A version by its minor and patch.
    pub const fn new(minor: u32, patch: u32) -> ControllerVersion {
        ControllerVersion { minor, patch }
    }
}

/// The versions of a Flux kind that a release serves, the stored one first; `None` if the kind is not one of Flux's
/// core controllers. An absent kind has no version.
///
/// A manifest in a version that is not served fails its dry-run like an unknown kind (F-1700).
pub fn served_versions(flux: FluxVersion, kind: &GroupKind) -> Option<&'static [&'static str]> {
    let minor = flux.clamped().minor;
    let by_age = |old: &'static [&'static str], in_2_7: &'static [&'static str]| match minor {
        ..=6 => old,
        7 => in_2_7,
        8.. => &in_2_7[..1],
    };
    Some(match (kind.group.as_str(), kind.kind.as_str()) {
        (names::KUSTOMIZE_GROUP, "Kustomization") => {
            by_age(&["v1", "v1beta2", "v1beta1"], &["v1", "v1beta2"])
        }
        (names::HELM_GROUP, "HelmRelease") => by_age(&["v2", "v2beta2", "v2beta1"], &["v2", "v2beta2"]),
        (names::SOURCE_GROUP, "GitRepository" | "Bucket" | "HelmRepository" | "HelmChart") => {
            by_age(&["v1", "v1beta2", "v1beta1"], &["v1", "v1beta2"])
        }
        (names::SOURCE_GROUP, "OCIRepository") => match minor {
            ..=5 => &["v1beta2"],
            6 | 7 => &["v1", "v1beta2"],
            8.. => &["v1"],
        },
        (names::SOURCE_GROUP, "ExternalArtifact") => match minor {
            ..=6 => &[],
            7.. => &["v1"],
        },
        _ => return None,
    })
}

/// Reads `2.9.4`, `v2.9.4`, `2.9`, `2.9.x` and `2.x`; what is open becomes the newest.
impl FromStr for FluxVersion {
    type Err = InvalidVersion;

    fn from_str(text: &str) -> Result<FluxVersion, InvalidVersion> {
        parse(text.trim()).ok_or_else(|| InvalidVersion(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<FluxVersion> {
    let text = text
        .trim_start_matches(['=', '~', '^', '>', ' '])
        .trim_start_matches('v');
    let text = text.split(['-', '+', ' ']).next()?;
    let open = |part: &str| matches!(part, "x" | "X" | "*");
    let mut parts = text.split('.');
    if parts.next()? != "2" {
        return None;
    }
    let minor = match parts.next() {
        None => return Some(FluxVersion::NEWEST),
        Some(part) if open(part) => return Some(FluxVersion::NEWEST),
        Some(part) => part.parse().ok()?,
    };
    match parts.next() {
        None => Some(FluxVersion::latest_of(minor)),
        Some(part) if open(part) => Some(FluxVersion::latest_of(minor)),
        Some(part) => Some(FluxVersion {
            minor,
            patch: part.parse().ok()?,
        }),
    }
}

impl fmt::Display for FluxVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "2.{}.{}", self.minor, self.patch)
    }
}

impl fmt::Display for ControllerVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "1.{}.{}", self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_versions_act_as_the_closest() {
        assert_eq!(FluxVersion::new(10, 3).clamped(), FluxVersion::NEWEST);
        assert_eq!(FluxVersion::new(9, 7).clamped(), FluxVersion::new(9, 7));
        assert_eq!(FluxVersion::new(3, 0).clamped(), FluxVersion::OLDEST);
        assert!(!FluxVersion::new(10, 0).is_known() && !FluxVersion::new(3, 0).is_known());
    }

    #[test]
    fn open_versions_become_the_newest() {
        let table = [
            ("2.9.4", "2.9.4"),
            ("v2.8.1", "2.8.1"),
            ("2.8", "2.8.8"),
            ("2.7.x", "2.7.5"),
            ("2.x", "2.9.4"),
            ("2", "2.9.4"),
            ("2.6.*", "2.6.4"),
            ("v2.4.0-rc.1", "2.4.0"),
        ];
        for (text, version) in table {
            assert_eq!(
                text.parse::<FluxVersion>().unwrap().to_string(),
                version,
                "{text}"
            );
        }
        for text in ["", "1.9", "latest", "2.a", "2.9.z"] {
            assert!(text.parse::<FluxVersion>().is_err(), "{text}");
        }
    }

    /// Reference section 17.1.
    #[test]
    fn releases_ship_controllers() {
        let table = [
            ("2.7.4", "1.7.3", "1.4.4"),
            ("2.8.6", "1.8.4", "1.5.4"),
            ("2.9.4", "1.9.4", "1.6.3"),
            ("2.3.0", "1.4.0", "1.1.0"),
        ];
        for (flux, kustomize, helm) in table {
            let flux: FluxVersion = flux.parse().unwrap();
            assert_eq!(flux.kustomize_controller().to_string(), kustomize);
            assert_eq!(flux.helm_controller().to_string(), helm);
        }
    }

    /// F-1700.
    #[test]
    fn old_api_versions_disappear() {
        let served = |flux: &str, group: &str, kind: &str| {
            served_versions(flux.parse().unwrap(), &GroupKind::new(group, kind)).map(<[_]>::to_vec)
        };
        assert_eq!(served("2.8", names::HELM_GROUP, "HelmRelease"), Some(vec!["v2"]));
        assert_eq!(
            served("2.6", names::SOURCE_GROUP, "OCIRepository"),
            Some(vec!["v1", "v1beta2"])
        );
        assert_eq!(
            served("2.6", names::SOURCE_GROUP, "ExternalArtifact"),
            Some(vec![])
        );
        assert_eq!(served("2.6", "", "ConfigMap"), None);
    }
}
