//! How far substitution reaches: one line per path.

use std::collections::{BTreeMap, BTreeSet};

use firstpass_diagnostics::Coverage;
use firstpass_envsubst::{Operator, Template};
use firstpass_render::{BuildOutcome, Tier, TierSource};
use firstpass_source::RepoPath;
use serde_json::Value;

use crate::rules::literal_variable::{Meaning, is_disabled};
use crate::rules::shell_expansion_rewritten::{may_be_open, plain_names};
use crate::shell::rewrites;
use crate::texts::{Reader, texts};
use crate::variables::{TierVariables, Variables};
use crate::{CheckInput, uses};

/// The paths of this repository that tiers build, in the order in which they come up, each with its three numbers: the
/// files that the build reads, the `${…}` in them whose variable the tier defines, and those that go wrong. The page of
/// `uncovered-path` defines them.
pub fn coverage(input: &CheckInput<'_>) -> Vec<Coverage> {
    let variables = Variables::of(input.cluster);
    let known = variables.all();
    let plain = plain_names(input.cluster);
    let mut files: BTreeMap<RepoPath, usize> = BTreeMap::new();
    let mut lines = Vec::new();
    for tier in &input.cluster.tiers {
        if !matches!(tier.source, TierSource::Repository { .. }) {
            continue;
        }
        let directory = directory_of(tier);
        let files = *files
            .entry(directory.clone())
            .or_insert_with(|| input.repository.files_of_build(&directory).len());
        let covered = !variables.substitutes_nothing(tier);
        let counting = Counting {
            input,
            tier,
            variables: variables.tier(tier),
            known: &known,
            plain: &plain,
        };
        let (defined, hazards) = counting.count(covered);
        lines.push(Coverage {
            path: path_of(tier),
            tier: tier.name.clone(),
            covered,
            files,
            defined,
            hazards,
        });
    }
    lines
}

/// The directory of the repository that a tier builds.
fn directory_of(tier: &Tier) -> RepoPath {
    let path = RepoPath::clamped(&tier.kustomization.spec.path);
    match &tier.source {
        TierSource::Repository { root, .. } => root.join_clamped(path.as_str()),
        _ => path,
    }
}

/// The same as people write it.
pub(crate) fn path_of(tier: &Tier) -> String {
    format!("./{}", directory_of(tier).as_str())
}

struct Counting<'c, 'a> {
    input: &'c CheckInput<'a>,
    tier: &'c Tier,
    variables: TierVariables,
    known: &'c BTreeMap<String, String>,
    plain: &'c BTreeSet<String>,
}

impl Counting<'_, '_> {
    fn count(&self, covered: bool) -> (usize, usize) {
        let BuildOutcome::Built(built) = &*self.input.cluster.builder.build(&self.tier.kustomization) else {
            return (0, 0);
        };
        let (mut defined, mut hazards) = (0, 0);
        let meaning = Meaning::of(self.input, self.tier, self.known);
        for object in built.objects.iter().filter(|object| !is_disabled(&object.object)) {
            if !holds_dollar(&object.object) {
                continue;
            }
            if covered {
                let (of_object, wrong) = self.substituted(&object.object);
                defined += of_object;
                hazards += wrong;
            } else {
                hazards += literals(&object.object, &meaning);
            }
        }
        (defined, hazards)
    }

    fn substituted(&self, object: &Value) -> (usize, usize) {
        let (mut defined, mut hazards) = (0, 0);
        for text in texts(object).iter().filter(|text| text.text.contains('$')) {
            let Ok(template) = Template::parse(text.text) else {
                hazards += 1;
                continue;
            };
            for expression in template.expressions() {
                let known = self.variables.names.contains_key(expression.name);
                let has_default = matches!(expression.operator, Operator::Default(_));
                defined += usize::from(known);
                hazards += usize::from(!known && !has_default && !self.variables.open);
            }
            if matches!(text.reader, Reader::Shell | Reader::Dashboard) {
                let is_flux = |name: &str| {
                    self.variables.names.contains_key(name)
                        || may_be_open(&self.variables, name)
                        || self.plain.contains(name)
                };
                hazards += rewrites(text.text, &is_flux).len();
            }
        }
        (defined, hazards)
    }
}

fn holds_dollar(object: &Value) -> bool {
    let mut found = false;
    uses::strings(object, &mut |text| found |= text.contains('$'));
    found
}

/// The `${…}` of an object that are applied as they are written and were meant for Flux.
fn literals(object: &Value, meaning: &Meaning<'_>) -> usize {
    let of_text = |text: &str| {
        let Ok(template) = Template::parse(text) else {
            return 0;
        };
        let expressions = template.expressions();
        let counts = expressions.iter().filter(|expression| {
            meaning.is_for_flux(expression) && !text[..expression.span.start].ends_with('$')
        });
        counts.count()
    };
    let found = texts(object);
    let found = found
        .iter()
        .filter(|text| text.reader == Reader::Cluster && text.text.contains("${"));
    found.map(|text| of_text(text.text)).sum()
}
