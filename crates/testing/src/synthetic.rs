//! Repositories of any size, made from a seed: for measuring, and for seeing how time grows.

use std::fmt::Write;

use firstpass_source::MemoryTree;

use crate::BOOTSTRAP;

/// The cluster entry of a synthetic repository.
pub const ENTRY: &str = "clusters/prod";

/// How far back a tier's dependencies lie at most. With so many tiers side by side a cluster of any size is a few dozen
/// tiers deep for each thousand.
const WINDOW: u64 = 40;

/// How large a synthetic repository is, and how its tiers hang together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Size {
    /// How many Flux Kustomizations there are below the root one.
    pub tiers: u64,
    /// How many objects each of them applies, not counting releases.
    pub objects_per_tier: u64,
    /// How many HelmReleases each of them applies, each of a chart that is known.
    pub releases_per_tier: u64,
    /// Who depends on whom.
    pub shape: Shape,
}

/// Who depends on whom among the tiers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// Each on up to two of those shortly before it, as the seed has it.
    #[default]
    Layers,
    /// Each on the one before it.
    Chain,
    /// All on the first.
    Fan,
}

impl std::str::FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Shape, String> {
        match text {
            "layers" => Ok(Shape::Layers),
            "chain" => Ok(Shape::Chain),
            "fan" => Ok(Shape::Fan),
            _ => Err(format!("`{text}` is no shape: write `layers`, `chain` or `fan`")),
        }
    }
}

/// A Flux repository that converges without a failed attempt: tiers that depend on earlier ones, each with a namespace, a
/// mixture of Deployments, Services, ConfigMaps, Secrets and ServiceAccounts that refer to each other, and HelmReleases if
/// asked for. Every third tier waits for its objects.
///
/// ```
/// use firstpass_testing::synthetic::{Size, repository};
///
/// let size = Size { tiers: 3, objects_per_tier: 10, ..Size::default() };
/// assert_eq!(repository(size, 7).paths().count(), 1 + 2 * 3);
/// ```
pub fn repository(size: Size, seed: u64) -> MemoryTree {
    let mut tree = MemoryTree::new();
    let mut draw = Draw(seed);
    let (_, sync) = BOOTSTRAP.split_once('\n').unwrap_or_default();
    let mut cluster = sync.to_owned();
    for tier in 0..size.tiers {
        cluster.push_str(&flux_kustomization(tier, size.shape, &mut draw));
        tree.insert(
            &format!("tiers/{tier}/kustomization.yaml"),
            "resources: [all.yaml]\n",
        );
        tree.insert(
            &format!("tiers/{tier}/all.yaml"),
            objects(tier, size.objects_per_tier) + &releases(tier, size.releases_per_tier),
        );
    }
    tree.insert(&format!("{ENTRY}/all.yaml"), cluster);
    tree
}

/// The tiers that a tier depends on.
fn dependencies(tier: u64, shape: Shape, draw: &mut Draw) -> Vec<u64> {
    let mut dependencies = Vec::new();
    match shape {
        Shape::Layers => {
            for _ in 0..draw.below(3) {
                if tier > 0 {
                    dependencies.push(tier - 1 - draw.below(WINDOW.min(tier)));
                }
            }
        }
        Shape::Chain => dependencies.extend(tier.checked_sub(1)),
        Shape::Fan => dependencies.extend((tier > 0).then_some(0)),
    }
    dependencies.sort_unstable();
    dependencies.dedup();
    dependencies
}

fn flux_kustomization(tier: u64, shape: Shape, draw: &mut Draw) -> String {
    let dependencies = dependencies(tier, shape, draw);
    let depends_on = dependencies.iter().fold(String::new(), |mut list, dependency| {
        let _ = write!(list, "{{name: tier-{dependency}}}, ");
        list
    });
    let wait = draw.below(3) == 0;
    format!(
        "---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: tier-{tier}, namespace: flux-system}}
spec:
  dependsOn: [{depends_on}]
  interval: 1h
  retryInterval: 1m
  timeout: 5m
  path: ./tiers/{tier}
  prune: true
  wait: {wait}
  sourceRef: {{kind: GitRepository, name: flux-system}}
"
    )
}

/// The objects of a tier, the namespace first.
fn objects(tier: u64, count: u64) -> String {
    let namespace = format!("ns-{tier}");
    let mut text = format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {namespace}}}\n");
    for number in 1..count {
        let (app, kind) = (number / 5, number % 5);
        let (api_version, kind, rest) = match kind {
            1 => ("v1", "ConfigMap", format!("data: {{key: value-{app}}}")),
            2 => ("v1", "ServiceAccount", String::new()),
            3 => ("apps/v1", "Deployment", deployment(app)),
            4 => (
                "v1",
                "Service",
                format!("spec: {{selector: {{app: app-{app}}}, ports: [{{port: 80}}]}}"),
            ),
            _ => ("v1", "Secret", format!("stringData: {{password: pass-{app}}}")),
        };
        let _ = writeln!(
            text,
            "---\napiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: app-{app}, namespace: {namespace}}}\n{rest}"
        );
    }
    text
}

/// HelmReleases of a tier, all from one repository.
fn releases(tier: u64, count: u64) -> String {
    let mut text = String::new();
    if count > 0 {
        let _ = write!(
            text,
            "---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {{name: charts, namespace: ns-{tier}}}
spec: {{interval: 1h, url: 'https://charts.example.com'}}
"
        );
    }
    for number in 0..count {
        let _ = write!(
            text,
            "---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: release-{number}, namespace: ns-{tier}}}
spec:
  interval: 1h
  chart: {{spec: {{chart: podinfo, version: 6.9.0, sourceRef: {{kind: HelmRepository, name: charts}}}}}}
  values: {{replicaCount: 2}}
"
        );
    }
    text
}

fn deployment(app: u64) -> String {
    format!(
        "spec:
  selector: {{matchLabels: {{app: app-{app}}}}}
  template:
    metadata: {{labels: {{app: app-{app}}}}}
    spec:
      serviceAccountName: app-{app}
      containers:
      - name: main
        image: registry.example.com/app:1
        envFrom: [{{configMapRef: {{name: app-{app}}}}}]
        ports: [{{containerPort: 80}}]"
    )
}

/// Numbers from a seed (SplitMix64).
struct Draw(u64);

impl Draw {
    /// A number from 0 to one less than `limit`, which is not 0.
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % limit
    }
}

#[cfg(test)]
mod tests {
    use firstpass_source::{RepoPath, Tree};

    use super::*;

    #[test]
    fn the_seed_decides() {
        let size = Size {
            tiers: 20,
            objects_per_tier: 3,
            ..Size::default()
        };
        let cluster = |seed| {
            let path = RepoPath::clamped("clusters/prod/all.yaml");
            repository(size, seed).read(&path).unwrap()
        };
        assert_eq!(cluster(1), cluster(1));
        assert_ne!(cluster(1), cluster(2));
    }
}
