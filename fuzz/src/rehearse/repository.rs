//! Small Flux repositories, drawn from bytes.

use std::fmt::Write;

use arbitrary::{Result, Unstructured};
use firstpass_source::MemoryTree;

pub(super) const ENTRY: &str = "clusters/prod";

const TIERS_MAX: usize = 5;
const OBJECTS_MAX: usize = 5;
const NAMESPACES: u8 = 3;

/// What a repository holds.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    tiers: Vec<Tier>,
}

/// One Flux Kustomization.
#[derive(Clone, Debug)]
struct Tier {
    number: usize,
    depends_on: Vec<usize>,
    wait: bool,
    prune: bool,
    suspend: bool,
    objects: Vec<Object>,
}

#[derive(Clone, Debug)]
struct Object {
    number: u8,
    namespace: u8,
    kind: Kind,
    /// Left alone by pruning.
    kept: bool,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Namespace,
    ConfigMap,
    Secret,
    Deployment,
    Job,
    Service,
    Claim,
    StorageClass,
    ClusterRole,
    /// A kind of our own.
    Definition,
    /// An object of it.
    Custom,
    /// Something that no API server takes.
    Refused,
}

const KINDS: [Kind; 12] = [
    Kind::Namespace,
    Kind::ConfigMap,
    Kind::Secret,
    Kind::Deployment,
    Kind::Job,
    Kind::Service,
    Kind::Claim,
    Kind::StorageClass,
    Kind::ClusterRole,
    Kind::Definition,
    Kind::Custom,
    Kind::Refused,
];

impl Plan {
    /// Two revisions of a repository, and a seed.
    pub(super) fn draw(bytes: &mut Unstructured<'_>) -> Result<(Plan, Plan, u64)> {
        let seed = u64::from(bytes.int_in_range(0..=3_u8)?);
        let mut tiers = Vec::new();
        for number in 0..bytes.int_in_range(1..=TIERS_MAX)? {
            tiers.push(Tier::draw(number, bytes)?);
        }
        let first = Plan { tiers };
        let mut second = first.clone();
        if second.tiers.len() > 1 && bytes.ratio(1, 4)? {
            let gone = bytes.choose_index(second.tiers.len())?;
            second.tiers.remove(gone);
        }
        for tier in &mut second.tiers {
            if bytes.ratio(1, 3)? && !tier.objects.is_empty() {
                let gone = bytes.choose_index(tier.objects.len())?;
                tier.objects.remove(gone);
            }
            if bytes.ratio(1, 4)? {
                tier.objects.push(Object::draw(bytes)?);
            }
        }
        Ok((first, second, seed))
    }

    pub(super) fn files(&self) -> MemoryTree {
        let mut tree = MemoryTree::new();
        let mut cluster = ROOT.to_owned();
        for tier in &self.tiers {
            cluster.push_str(&tier.kustomization());
            let objects: Vec<String> = tier
                .objects
                .iter()
                .map(|object| object.text(tier.number))
                .collect();
            tree.insert(&format!("{}/all.yaml", tier.name()), objects.join("---\n"));
        }
        tree.insert(&format!("{ENTRY}/all.yaml"), cluster);
        tree
    }
}

impl Tier {
    fn draw(number: usize, bytes: &mut Unstructured<'_>) -> Result<Tier> {
        let mut depends_on = Vec::new();
        for other in 0..TIERS_MAX {
            // Mostly on earlier tiers; now and then on a later one, on itself, or on one that is not there.
            let likely = other < number;
            if bytes.ratio(if likely { 2 } else { 1 }, if likely { 5 } else { 40 })? {
                depends_on.push(other);
            }
        }
        let mut objects = Vec::new();
        for _ in 0..bytes.int_in_range(0..=OBJECTS_MAX)? {
            objects.push(Object::draw(bytes)?);
        }
        Ok(Tier {
            number,
            depends_on,
            wait: bytes.arbitrary()?,
            prune: bytes.ratio(3, 4)?,
            suspend: bytes.ratio(1, 16)?,
            objects,
        })
    }

    fn name(&self) -> String {
        format!("tier-{}", self.number)
    }

    fn kustomization(&self) -> String {
        let depends_on: Vec<String> = self
            .depends_on
            .iter()
            .map(|number| format!("{{name: tier-{number}}}"))
            .collect();
        let Tier {
            wait, prune, suspend, ..
        } = self;
        let name = self.name();
        format!(
            "---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: {name}, namespace: flux-system}}
spec:
  dependsOn: [{}]
  interval: 10m
  retryInterval: 1m
  timeout: 2m
  path: ./{name}
  prune: {prune}
  wait: {wait}
  suspend: {suspend}
  sourceRef: {{kind: GitRepository, name: flux-system}}
",
            depends_on.join(", ")
        )
    }
}

impl Object {
    fn draw(bytes: &mut Unstructured<'_>) -> Result<Object> {
        Ok(Object {
            number: bytes.int_in_range(0..=20)?,
            namespace: bytes.int_in_range(0..=NAMESPACES)?,
            kind: *bytes.choose(&KINDS)?,
            kept: bytes.ratio(1, 10)?,
        })
    }

    /// The object as a tier writes it. Kinds, namespaces and classes are shared between tiers, all else is the tier's.
    fn text(&self, tier: usize) -> String {
        let name = format!("t{tier}-{}", self.number);
        let (namespace, shared) = (format!("ns-{}", self.namespace), self.number % 2);
        let inside = |kind: &str, api_version: &str, rest: &str| {
            self.written(api_version, kind, &name, Some(&namespace), rest)
        };
        match self.kind {
            Kind::Namespace => self.written("v1", "Namespace", &namespace, None, ""),
            Kind::ConfigMap => inside("ConfigMap", "v1", "data: {key: value}\n"),
            Kind::Secret => inside("Secret", "v1", "stringData: {key: value}\n"),
            Kind::Deployment => inside("Deployment", "apps/v1", &pods(&name, tier, self.number, "")),
            Kind::Job => inside("Job", "batch/v1", &job()),
            Kind::Service => inside(
                "Service",
                "v1",
                "spec: {selector: {app: x}, ports: [{port: 80}]}\n",
            ),
            Kind::Claim => inside(
                "PersistentVolumeClaim",
                "v1",
                &format!(
                    "spec: {{storageClassName: class-{shared}, accessModes: [ReadWriteOnce], resources: {{requests: \
                     {{storage: 1Gi}}}}}}\n"
                ),
            ),
            Kind::StorageClass => self.written(
                "storage.k8s.io/v1",
                "StorageClass",
                &format!("class-{shared}"),
                None,
                "provisioner: disks.example.com\n",
            ),
            Kind::ClusterRole => self.written(
                "rbac.authorization.k8s.io/v1",
                "ClusterRole",
                &name,
                None,
                "rules: []\n",
            ),
            Kind::Definition => self.written(
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                &format!("widget{shared}s.example.com"),
                None,
                &definition(shared),
            ),
            Kind::Custom => inside(&format!("Widget{shared}"), "example.com/v1", "spec: {size: 1}\n"),
            Kind::Refused => inside(
                "Deployment",
                "apps/v1",
                &pods(&name, tier, self.number, "  replicas: many\n"),
            ),
        }
    }

    fn written(
        &self,
        api_version: &str,
        kind: &str,
        name: &str,
        namespace: Option<&str>,
        rest: &str,
    ) -> String {
        let mut text = format!("apiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: {name}\n");
        if let Some(namespace) = namespace {
            let _ = writeln!(text, "  namespace: {namespace}");
        }
        if self.kept {
            text.push_str("  annotations: {kustomize.toolkit.fluxcd.io/prune: disabled}\n");
        }
        text + rest
    }
}

fn pods(name: &str, tier: usize, number: u8, more: &str) -> String {
    format!(
        "spec:
{more}  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      containers: [{{name: main, image: 'registry.example.com/app:1', envFrom: [{{configMapRef: {{name: t{tier}-{}}}}}]}}]
",
        number / 2
    )
}

fn job() -> String {
    "spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: 'registry.example.com/job:1'}]}}}\n"
        .to_owned()
}

fn definition(number: u8) -> String {
    format!(
        "spec:
  group: example.com
  scope: Namespaced
  names: {{kind: Widget{number}, listKind: Widget{number}List, plural: widget{number}s, singular: widget{number}}}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {{type: object, properties: {{spec: {{type: object, properties: {{size: {{type: integer}}}}}}}}}}
"
    )
}

const ROOT: &str = "\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: 'https://git.example.com/fleet.git'}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec:
  interval: 10m
  path: ./clusters/prod
  prune: true
  sourceRef: {kind: GitRepository, name: flux-system}
";
