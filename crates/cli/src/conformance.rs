//! The mapping from requirements to the tests that hold them, and the stories that keep saying what they say.

use std::collections::BTreeMap;

use firstpass_diagnostics::Verdict;
use firstpass_yaml::{Mark, Node};
use serde::Deserialize;

use crate::exit::Failure;

/// Where the mapping is, unless it is named.
pub(crate) const FILE: &str = "conformance/requirements.yaml";

/// The file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Conformance {
    /// Requirements by their id.
    pub(crate) requirements: BTreeMap<String, Requirement>,
    /// Changes of the repository with a known result, by name.
    pub(crate) stories: BTreeMap<String, Story>,
}

/// A requirement.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Requirement {
    /// What it says.
    #[serde(default)]
    pub(crate) says: Option<String>,
    /// The tests that hold it: `static`, `rehearsal`, `transition`, one of the first two with `/RULE`, or `story/NAME`.
    pub(crate) tests: Vec<String>,
}

/// A change that has to be found.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Story {
    /// The cluster entry.
    pub(crate) entry: String,
    /// The directory that is laid over the repository, from its root.
    pub(crate) overlay: String,
    /// Which level looks at it.
    pub(crate) level: Level,
    /// The verdict that it has to come to.
    pub(crate) expect: Verdict,
    /// A rule that has to speak, at warning or above.
    #[serde(default)]
    pub(crate) finds: Option<String>,
}

/// The levels that stories can be told at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    Static,
    Rehearsal,
}

/// The names that a mapping may use.
pub(crate) struct Names<'n> {
    pub(crate) static_rules: &'n [&'n str],
    pub(crate) all_rules: &'n [&'n str],
}

impl Conformance {
    /// Reads a mapping and checks its names.
    ///
    /// # Errors
    /// The first thing in it that cannot be used, with its place.
    pub(crate) fn parse(bytes: &[u8], file: &str, names: &Names<'_>) -> Result<Conformance, Failure> {
        let place = |mark: Mark| format!("{file}:{}:{}", mark.line.max(1), mark.column.max(1));
        let refused = |mark: Mark, message: &str| Failure::input(format!("{}: {message}", place(mark)));
        let text = firstpass_yaml::decode(bytes).map_err(|error| refused(error.mark, &error.message))?;
        let root = firstpass_yaml::parse_one(&text).map_err(|error| refused(error.mark, &error.message))?;
        let conformance: Conformance = firstpass_yaml::from_node(&root).map_err(|error| {
            let at = match error.path.as_str() {
                "" => String::new(),
                path => format!("`{path}`: "),
            };
            refused(error.mark, &format!("{at}{}", error.message))
        })?;
        let known = conformance.known(names);
        let unknown = |what: &str, name: &str, known: &[String], mark: Mark| {
            let only_in_runs = name
                .strip_prefix("static/")
                .map(|rule| format!("rehearsal/{rule}"));
            let near = match &only_in_runs {
                Some(name) if known.contains(name) => Some(name.as_str()),
                _ => firstpass_yaml::nearest(name, known.iter().map(String::as_str)),
            };
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "tests are `static`, `rehearsal`, `transition`, `static/RULE`, `rehearsal/RULE` and `story/NAME`"
                    .to_owned(),
            };
            Failure::input_with_help(format!("{}: there is no {what} `{name}`", place(mark)), help)
        };
        for (id, requirement) in &conformance.requirements {
            let tests = root.at(&["requirements", id, "tests"]);
            if requirement.tests.is_empty() {
                let mark = tests.map_or(Mark::NONE, |tests| tests.mark);
                let message = format!("no test holds `{id}`: a requirement without a test is a wish");
                return Err(refused(mark, &message));
            }
            let nodes = tests.and_then(Node::as_seq).into_iter().flatten();
            for (test, node) in requirement.tests.iter().zip(nodes) {
                if !known.contains(test) {
                    return Err(unknown("test", test, &known, node.mark));
                }
            }
        }
        let rules: Vec<String> = names.all_rules.iter().map(|rule| (*rule).to_owned()).collect();
        for (name, story) in &conformance.stories {
            if let Some(rule) = story.finds.as_ref().filter(|rule| !rules.contains(rule)) {
                let mark = root
                    .at(&["stories", name, "finds"])
                    .map_or(Mark::NONE, |node| node.mark);
                return Err(unknown("rule", rule, &rules, mark));
            }
        }
        Ok(conformance)
    }

    /// Every test name that means something here.
    fn known(&self, names: &Names<'_>) -> Vec<String> {
        let levels = ["static", "rehearsal", "transition"].map(str::to_owned);
        let of_files = names.static_rules.iter().map(|rule| format!("static/{rule}"));
        let of_runs = names.all_rules.iter().map(|rule| format!("rehearsal/{rule}"));
        let stories = self.stories.keys().map(|name| format!("story/{name}"));
        levels
            .into_iter()
            .chain(of_files)
            .chain(of_runs)
            .chain(stories)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Conformance, String> {
        let names = Names {
            static_rules: &["placeholder"],
            all_rules: &["placeholder", "livelock"],
        };
        Conformance::parse(text.as_bytes(), "r.yaml", &names).map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn names_are_checked_and_the_nearest_is_told() {
        let fine = "requirements:\n  R-1: {says: so, tests: [static, rehearsal/livelock, story/a]}\n\
                    stories:\n  a: {entry: c, overlay: s/a, level: static, expect: hazard, finds: placeholder}\n";
        assert_eq!(parse(fine).unwrap().requirements["R-1"].tests.len(), 3);
        assert_eq!(parse("").unwrap(), Conformance::default());
        for (wrong, place, near) in [
            (
                "requirements: {R-1: {tests: [static/placeholdr]}}",
                "r.yaml:1:30",
                "`static/placeholder`",
            ),
            (
                "requirements: {R-1: {tests: [static/livelock]}}",
                "r.yaml:1:30",
                "rehearsal/livelock",
            ),
            (
                "requirements: {R-1: {tests: [rehersal]}}",
                "r.yaml:1:30",
                "`rehearsal`",
            ),
            ("requirements: {R-1: {tests: []}}", "r.yaml:1:29", "a wish"),
            ("requirements: {R-1: {test: [static]}}", "r.yaml:1:22", "`tests`"),
            (&fine.replace("story/a", "story/b"), "r.yaml:2:55", "`story/a`"),
            (&fine.replace("hazard", "hasard"), "r.yaml:4:", "`hazard`"),
            (
                &fine.replace("finds: placeholder", "finds: plaecholder"),
                "r.yaml:4:",
                "`placeholder`",
            ),
        ] {
            let error = parse(wrong).unwrap_err();
            assert!(error.contains(place) && error.contains(near), "{wrong}: {error}");
        }
    }
}
