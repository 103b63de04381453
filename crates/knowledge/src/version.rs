//! Versions and the ranges that facts hold for.
//!
//! A release names its chart version exactly (`v1.17.2`) or as a range (`1.17.x`, `>=0.9 <1`). Helm and Flux take
//! the newest version that the range admits, so a range is read as the point just below its upper end.

use serde::Deserialize;

/// A release number: major, minor, patch. Pre-release and build parts are left out, no fact depends on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Version(pub u64, pub u64, pub u64);

impl Version {
    /// Reads `1`, `1.17`, `v1.17.2`, `1.17.2-rc.1+build`; missing parts are zero.
    pub fn parse(text: &str) -> Option<Version> {
        Parts::parse(text).map(|parts| parts.floor())
    }
}

impl TryFrom<String> for Version {
    type Error = String;

    fn try_from(text: String) -> Result<Version, String> {
        Version::parse(&text).ok_or_else(|| format!("`{text}` is not a version such as `1.17` or `1.17.2`"))
    }
}

/// Which version a reference stands for, as far as its text tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionPoint {
    /// Exactly this one.
    At(Version),
    /// The newest one below this one.
    Below(Version),
    /// The newest there is.
    Newest,
}

impl VersionPoint {
    /// Reads an exact version or a range as Helm writes them. What cannot be read (a digest, a placeholder) is
    /// taken as the newest version.
    pub fn parse(text: &str) -> VersionPoint {
        text.split("||")
            .map(|alternative| VersionPoint::of_alternative(alternative.trim()))
            .reduce(VersionPoint::later)
            .unwrap_or(VersionPoint::Newest)
    }

    /// As `parse`; no text means the newest.
    pub fn of(text: Option<&str>) -> VersionPoint {
        text.map_or(VersionPoint::Newest, VersionPoint::parse)
    }

    fn of_alternative(text: &str) -> VersionPoint {
        if let Some((_, upper)) = text.split_once(" - ") {
            return Parts::parse(upper.trim()).map_or(VersionPoint::Newest, Parts::point);
        }
        join_operators(text)
            .iter()
            .map(|comparator| VersionPoint::of_comparator(comparator))
            .reduce(VersionPoint::earlier)
            .unwrap_or(VersionPoint::Newest)
    }

    fn of_comparator(text: &str) -> VersionPoint {
        let operator_len = text.find(|c: char| !"<>=!~^".contains(c)).unwrap_or(text.len());
        let (operator, number) = text.split_at(operator_len);
        let Some(parts) = Parts::parse(number.trim()) else {
            return VersionPoint::Newest;
        };
        match operator {
            "" | "=" => parts.point(),
            "<" => VersionPoint::Below(parts.floor()),
            "<=" | "=<" => parts.point(),
            "~" | "~>" => VersionPoint::Below(parts.next_minor()),
            "^" => VersionPoint::Below(parts.next_breaking()),
            _ => VersionPoint::Newest,
        }
    }

    /// Sorts points: the version, then whether the point itself is reached, then "the newest" last.
    fn rank(self) -> (Version, u8) {
        match self {
            VersionPoint::Below(version) => (version, 0),
            VersionPoint::At(version) => (version, 1),
            VersionPoint::Newest => (Version(u64::MAX, 0, 0), 2),
        }
    }

    fn earlier(self, other: VersionPoint) -> VersionPoint {
        if other.rank() < self.rank() { other } else { self }
    }

    fn later(self, other: VersionPoint) -> VersionPoint {
        if other.rank() > self.rank() { other } else { self }
    }
}

/// The versions a fact holds for: from `since` on, up to but without `until`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionRange {
    /// The first version the fact holds for.
    pub since: Option<Version>,
    /// The first version the fact holds for no more.
    pub until: Option<Version>,
}

impl VersionRange {
    /// Does the fact hold at this point?
    pub fn contains(&self, point: VersionPoint) -> bool {
        let since = self.since.is_none_or(|since| point.rank() > (since, 0));
        let until = self.until.is_none_or(|until| point.rank() <= (until, 0));
        since && until
    }
}

/// The numbers of a version as they are written; absent ones and wildcards are missing.
#[derive(Clone, Copy)]
struct Parts {
    major: Option<u64>,
    minor: Option<u64>,
    patch: Option<u64>,
}

impl Parts {
    fn parse(text: &str) -> Option<Parts> {
        let text = text.trim();
        let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
        let core = text.split(['-', '+']).next().unwrap_or("");
        let mut numbers = [None; 3];
        for (index, part) in core.split('.').enumerate() {
            if matches!(part, "x" | "X" | "*") {
                return (index < 3).then_some(()).map(|()| Parts::of(numbers));
            }
            *numbers.get_mut(index)? = Some(part.parse().ok()?);
        }
        Some(Parts::of(numbers))
    }

    fn of([major, minor, patch]: [Option<u64>; 3]) -> Parts {
        Parts { major, minor, patch }
    }

    fn floor(self) -> Version {
        Version(
            self.major.unwrap_or(0),
            self.minor.unwrap_or(0),
            self.patch.unwrap_or(0),
        )
    }

    /// What the bare number stands for: `1.17.2` itself, `1.17` the newest of its patches.
    fn point(self) -> VersionPoint {
        match (self.major, self.minor, self.patch) {
            (Some(_), Some(_), Some(_)) => VersionPoint::At(self.floor()),
            (Some(_), Some(_), None) => VersionPoint::Below(self.next_minor()),
            (Some(major), ..) => VersionPoint::Below(Version(major.saturating_add(1), 0, 0)),
            (None, ..) => VersionPoint::Newest,
        }
    }

    fn next_minor(self) -> Version {
        match (self.major.unwrap_or(0), self.minor) {
            (major, Some(minor)) => Version(major, minor.saturating_add(1), 0),
            (major, None) => Version(major.saturating_add(1), 0, 0),
        }
    }

    fn next_breaking(self) -> Version {
        match (self.major.unwrap_or(0), self.minor, self.patch) {
            (0, Some(0), Some(patch)) => Version(0, 0, patch.saturating_add(1)),
            (0, Some(minor), _) => Version(0, minor.saturating_add(1), 0),
            (major, ..) => Version(major.saturating_add(1), 0, 0),
        }
    }
}

/// Splits `>= 1.2, <2` into its comparators, an operator glued to its number.
fn join_operators(text: &str) -> Vec<String> {
    let mut comparators: Vec<String> = Vec::new();
    let mut open = false;
    for word in text.split([' ', ',']).filter(|word| !word.is_empty()) {
        match comparators.last_mut() {
            Some(last) if open => last.push_str(word),
            _ => comparators.push(word.to_owned()),
        }
        open = word.chars().all(|c| "<>=!~^".contains(c));
    }
    comparators
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(since: &str, until: &str) -> VersionRange {
        VersionRange {
            since: Version::parse(since),
            until: Version::parse(until),
        }
    }

    #[test]
    fn a_range_stands_for_its_newest_version() {
        let table = [
            ("v1.17.2", VersionPoint::At(Version(1, 17, 2))),
            ("1.17.0-rc.1+abc", VersionPoint::At(Version(1, 17, 0))),
            ("1.17", VersionPoint::Below(Version(1, 18, 0))),
            ("v1.17.x", VersionPoint::Below(Version(1, 18, 0))),
            ("1.x", VersionPoint::Below(Version(2, 0, 0))),
            ("*", VersionPoint::Newest),
            ("", VersionPoint::Newest),
            ("latest", VersionPoint::Newest),
            ("${CHART_VERSION}", VersionPoint::Newest),
            ("~1.2.3", VersionPoint::Below(Version(1, 3, 0))),
            ("^1.2.3", VersionPoint::Below(Version(2, 0, 0))),
            ("^0.2.3", VersionPoint::Below(Version(0, 3, 0))),
            (">=1.2 <2", VersionPoint::Below(Version(2, 0, 0))),
            (">= 1.2, < 2", VersionPoint::Below(Version(2, 0, 0))),
            (">1.2", VersionPoint::Newest),
            ("<=1.2.3", VersionPoint::At(Version(1, 2, 3))),
            ("1.2 - 1.4", VersionPoint::Below(Version(1, 5, 0))),
            ("^1.0 || ^2.0", VersionPoint::Below(Version(3, 0, 0))),
            ("99999999999999999999.1", VersionPoint::Newest),
            ("1.2.3.4", VersionPoint::Newest),
        ];
        for (text, point) in table {
            assert_eq!(VersionPoint::parse(text), point, "{text}");
        }
    }

    #[test]
    fn a_fact_holds_from_since_up_to_without_until() {
        let table = [
            ("1.60", "", "1.60.0", true),
            ("1.60", "", "1.59.9", false),
            ("1.60", "", "1.59.x", false),
            ("1.60", "", "1.x", true),
            ("", "1.18", "1.17.x", true),
            ("", "1.18", "1.18.0", false),
            ("", "1.18", "*", false),
            ("", "", "*", true),
        ];
        for (since, until, text, holds) in table {
            assert_eq!(
                range(since, until).contains(VersionPoint::parse(text)),
                holds,
                "[{since}, {until}) {text}"
            );
        }
    }
}
