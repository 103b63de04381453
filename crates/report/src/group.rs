//! Findings that one change mends: a tier without a wait gives a warning in each tier behind it, and a person wants to
//! read that once.

use firstpass_diagnostics::{Finding, Severity, Verdict};

/// Findings of one rule that have one cause. The first stands for all.
#[derive(Clone, Debug)]
pub(crate) struct Group<'r> {
    pub(crate) first: &'r Finding,
    pub(crate) others: Vec<&'r Finding>,
}

/// Groups findings, in the order in which the first of each group comes.
pub(crate) fn by_cause<'r>(findings: impl IntoIterator<Item = &'r Finding>) -> Vec<Group<'r>> {
    let mut groups: Vec<(Key, Group<'r>)> = Vec::new();
    for finding in findings {
        let key = Key::of(finding);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.others.push(finding),
            None => groups.push((
                key,
                Group {
                    first: finding,
                    others: Vec::new(),
                },
            )),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

impl Group<'_> {
    /// All findings of the group.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Finding> {
        std::iter::once(self.first).chain(self.others.iter().copied())
    }

    /// Where else it happens: the tier of each of the others, with its place unless that is the same, each once.
    pub(crate) fn elsewhere(&self) -> Vec<String> {
        let place_of = |finding: &Finding| {
            let location = finding.location.as_ref()?;
            Some(format!("{}:{}", location.file, location.line.max(1)))
        };
        let shown = place_of(self.first);
        let mut lines: Vec<String> = Vec::new();
        for finding in &self.others {
            let tier = finding.tier.as_ref().filter(|_| finding.tier != self.first.tier);
            let tier = tier.map(ToString::to_string);
            let place = place_of(finding).filter(|place| Some(place) != shown.as_ref());
            let line = match (tier, place) {
                (Some(tier), Some(place)) => format!("{tier} ({place})"),
                (Some(only), None) | (None, Some(only)) => only,
                (None, None) => finding.object.clone().unwrap_or_else(|| finding.message.clone()),
            };
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }

    /// The tiers that can never apply because of any of them, each once.
    pub(crate) fn blocks(&self) -> Vec<String> {
        let mut blocks: Vec<String> = Vec::new();
        for tier in self.all().flat_map(|finding| &finding.blocks) {
            let tier = tier.to_string();
            if !blocks.contains(&tier) {
                blocks.push(tier);
            }
        }
        blocks
    }
}

/// What makes two findings one.
#[derive(PartialEq, Eq)]
struct Key {
    rule: String,
    severity: Severity,
    verdict: Option<Verdict>,
    cause: Cause,
}

#[derive(PartialEq, Eq)]
enum Cause {
    /// The rule has named it.
    Named(String),
    /// The headline, with the tier at fault left out.
    Headline(String),
}

impl Key {
    fn of(finding: &Finding) -> Key {
        let cause = match (&finding.cause, &finding.tier) {
            (Some(cause), _) => Cause::Named(cause.clone()),
            (None, Some(tier)) => Cause::Headline(finding.message.replace(&format!("`{tier}`"), "this tier")),
            (None, None) => Cause::Headline(finding.message.clone()),
        };
        Key {
            rule: finding.rule.clone(),
            severity: finding.severity,
            verdict: finding.verdict,
            cause,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstpass_diagnostics::Location;
    use firstpass_object::TierName;

    fn finding(tier: &str, message: &str) -> Finding {
        Finding::new("kind-without-barrier", Severity::Warning, None, message)
            .with_tier(&TierName::new("flux-system", tier))
            .with_location(Location::new(format!("{tier}/x.yaml"), 2, 1))
    }

    #[test]
    fn headlines_that_differ_in_their_tier_alone_are_one() {
        let findings = [
            finding("a", "`flux-system/a` needs X from `flux-system/p`"),
            finding("b", "`flux-system/b` needs X from `flux-system/p`"),
            finding("b", "`flux-system/b` needs Y from `flux-system/p`"),
        ];
        let groups = by_cause(&findings);
        assert_eq!(groups.len(), 2);
        assert_eq!(groups[0].elsewhere(), ["flux-system/b (b/x.yaml:2)"]);
        assert!(groups[1].elsewhere().is_empty());
    }

    #[test]
    fn a_named_cause_counts_more_than_the_headline() {
        let findings = [
            finding("a", "one").with_cause("flux-system/p"),
            finding("b", "two").with_cause("flux-system/p"),
            finding("c", "two").with_cause("flux-system/q"),
        ];
        assert_eq!(by_cause(&findings).len(), 2);
    }
}
