//! Which Kubernetes, and whose: what is said, what the repository gives away, and defaults.

use firstpass_object::{GroupVersionKind, ObjectExt};
use firstpass_render::{Distribution, RenderedCluster};
use firstpass_schema::Served;
use firstpass_source::{RepoPath, Tree};

use super::{Stage, StageOptions};

/// The Kubernetes minors among which one is chosen where nothing says which: those that a current Flux supports.
const KUBERNETES_MINORS: std::ops::RangeInclusive<u16> = 33..=37;

impl Stage {
    pub(super) fn choose_kubernetes(
        &mut self,
        cluster: &RenderedCluster,
        tree: &dyn Tree,
        options: &StageOptions,
    ) {
        let configured = options
            .kubernetes
            .as_ref()
            .or(cluster.entry.config.kubernetes.as_ref());
        if let Some(version) = configured {
            minor_of(version).clone_into(&mut self.kubernetes);
            return;
        }
        if let Some((minor, file)) = installed_by_talos(cluster, tree) {
            self.kubernetes = format!("1.{minor}");
            let why = format!("`kubernetesVersion` in {file}");
            self.assume("kubernetes", "cluster", format!("Kubernetes 1.{minor}"), &why);
            return;
        }
        let (minor, why) = newest_that_serves(cluster);
        self.kubernetes = format!("1.{minor}");
        self.assume("kubernetes", "cluster", format!("Kubernetes 1.{minor}"), &why);
    }

    pub(super) fn choose_distribution(&mut self, cluster: &RenderedCluster, tree: &dyn Tree) {
        if let Some(distribution) = cluster.entry.config.baseline.distribution {
            self.distribution = name_of(distribution).to_owned();
            return;
        }
        let (name, why) = match on_talos(cluster, tree) {
            Some(why) => ("talos", why),
            None => ("k3s", "default; `baseline.distribution` says another".to_owned()),
        };
        self.distribution = name.to_owned();
        self.assume("distribution", "cluster", name.to_owned(), &why);
    }
}

/// What says that the cluster runs on Talos, if anything does: an object of the group that Talos alone serves, or its
/// machine configuration beside the manifests.
fn on_talos(cluster: &RenderedCluster, tree: &dyn Tree) -> Option<String> {
    if let Some((_, object)) = cluster
        .objects()
        .find(|(_, object)| object.object.gvk().group == "talos.dev")
    {
        return Some(format!("{} uses it", object.id()));
    }
    let directories = std::iter::successors(Some(cluster.entry.directory.clone()), RepoPath::parent);
    let places = directories
        .flat_map(|directory| ["talos", "talconfig.yaml"].map(|name| directory.join_clamped(name)));
    let found = places.into_iter().find(|place| tree.entry(place).is_some())?;
    Some(format!("`{found}` configures it"))
}

/// The minor of Kubernetes that a configuration of talhelper beside the manifests installs, and its file. A minor that is
/// not known here says nothing.
fn installed_by_talos(cluster: &RenderedCluster, tree: &dyn Tree) -> Option<(u16, RepoPath)> {
    let directories = std::iter::successors(Some(cluster.entry.directory.clone()), RepoPath::parent);
    let mut files = directories.flat_map(|directory| {
        ["talconfig.yaml", "talos/talconfig.yaml"].map(|name| directory.join_clamped(name))
    });
    let file = files.find(|file| tree.is_file(file))?;
    let minor = kubernetes_of_talconfig(&String::from_utf8_lossy(&tree.read(&file).ok()?))?;
    KUBERNETES_MINORS.contains(&minor).then_some((minor, file))
}

/// `kubernetesVersion: v1.34.1`, at the top: <https://budimanjojo.github.io/talhelper/latest/reference/configuration/>.
fn kubernetes_of_talconfig(text: &str) -> Option<u16> {
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix("kubernetesVersion:"))?;
    let version = value
        .split('#')
        .next()
        .unwrap_or_default()
        .trim()
        .trim_matches(['"', '\'']);
    let mut parts = version.trim_start_matches('v').split('.');
    (parts.next() == Some("1"))
        .then(|| parts.next()?.parse().ok())
        .flatten()
}

/// The newest minor that serves every built-in kind in the version that the repository writes it in, and why it is that
/// one. Where none does, the newest: then the version is the fault.
fn newest_that_serves(cluster: &RenderedCluster) -> (u16, String) {
    let newest = *KUBERNETES_MINORS.end();
    let used: std::collections::BTreeSet<GroupVersionKind> =
        cluster.objects().map(|(_, object)| object.object.gvk()).collect();
    let refuses = |gvk: &GroupVersionKind, minor: u16| {
        let served = firstpass_schema::served(&gvk.group, &gvk.version, &gvk.kind, minor);
        matches!(served, Served::Removed(_) | Served::NotYet(_))
    };
    // A version that no minor serves says nothing about which one the cluster runs.
    let telling = |gvk: &&GroupVersionKind| !KUBERNETES_MINORS.into_iter().all(|minor| refuses(gvk, minor));
    let used: Vec<&GroupVersionKind> = used.iter().filter(telling).collect();
    let fits = |minor: &u16| used.iter().all(|gvk| !refuses(gvk, *minor));
    let chosen = KUBERNETES_MINORS.rev().find(fits).unwrap_or(newest);
    let why = match used.iter().find(|gvk| refuses(gvk, newest)) {
        Some(gvk) if chosen != newest => {
            format!(
                "the newest that serves `{}` as {}, which the repository uses",
                gvk.kind, gvk.version
            )
        }
        _ => "the newest known".to_owned(),
    };
    (chosen, why)
}

/// `v1.36.2` as `1.36`.
fn minor_of(version: &str) -> &str {
    let version = version.trim_start_matches('v');
    match version.match_indices('.').nth(1) {
        Some((end, _)) => &version[..end],
        None => version,
    }
}

fn name_of(distribution: Distribution) -> &'static str {
    match distribution {
        Distribution::K3s => "k3s",
        Distribution::Talos => "talos",
        Distribution::Kind => "kind",
        Distribution::Kubeadm => "kubeadm",
        Distribution::Eks => "eks",
        Distribution::Gke => "gke",
        Distribution::Aks => "aks",
        Distribution::None => "none",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_shrink_to_their_minor() {
        assert_eq!(minor_of("v1.36.2"), "1.36");
        assert_eq!(minor_of("1.36"), "1.36");
    }

    #[test]
    fn talhelper_says_which_kubernetes_it_installs() {
        let text = "clusterName: home\ntalosVersion: v1.11.0\nkubernetesVersion: \"v1.34.1\" # renovate\n";
        assert_eq!(kubernetes_of_talconfig(text), Some(34));
        assert_eq!(
            kubernetes_of_talconfig("kubernetesVersion: ${KUBERNETES}\n"),
            None
        );
        assert_eq!(
            kubernetes_of_talconfig("nodes:\n  - kubernetesVersion: v1.34.1\n"),
            None
        );
    }
}
