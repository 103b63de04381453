//! Sources that something in the cluster itself serves: on an empty cluster nothing answers before it is there.

use firstpass_baseline::{Release, Stage};
use firstpass_flux::{HelmRelease, Source};
use firstpass_object::{ObjectExt, ObjectId};
use firstpass_render::{RenderedCluster, RenderedObject, Tier};

/// What serves a source from inside the cluster.
#[derive(Clone, Debug)]
pub struct Server<'a> {
    /// The tier that brings it.
    pub tier: &'a Tier,
    /// The Service, or the HelmRelease that makes it.
    pub object: &'a RenderedObject,
    /// The Service's name.
    pub service: String,
    /// The Service's namespace.
    pub namespace: String,
}

/// What of this cluster serves a source; `None` if it is outside, or seeded before Flux.
pub fn server_of<'a>(cluster: &'a RenderedCluster, stage: &Stage, source: &ObjectId) -> Option<Server<'a>> {
    let url = Source::read(&cluster.defined(source)?.object)?.value.url?;
    let (service, namespace) = service_of(&url)?;
    let mut seeded = stage.releases.iter();
    if seeded.any(|seeded| seeded.release.namespace == namespace) {
        return None;
    }
    let wanted = ObjectId::new("", "Service", Some(&namespace), &service);
    let makes_it = |object: &RenderedObject| {
        HelmRelease::is(&object.object)
            && Release::of_object(&object.object, &|_| None).namespace == namespace
            && service.contains(object.object.name())
    };
    let (tier, object) = cluster
        .find(&wanted)
        .or_else(|| cluster.objects().find(|(_, object)| makes_it(object)))?;
    Some(Server {
        tier,
        object,
        service,
        namespace,
    })
}

/// The Service and the namespace in a URL such as `http://gitea-http.git.svc.cluster.local:3000/home.git`.
fn service_of(url: &str) -> Option<(String, String)> {
    let rest = url.split_once("://")?.1;
    let authority = rest.split('/').next()?;
    let host = authority.rsplit('@').next()?.split(':').next()?;
    let name = host
        .strip_suffix(".svc")
        .or_else(|| host.strip_suffix(".svc.cluster.local"))?;
    let (service, namespace) = name.split_once('.')?;
    (!namespace.contains('.')).then(|| (service.to_owned(), namespace.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_read_from_urls() {
        let table = [
            (
                "http://gitea-http.git.svc.cluster.local:3000/home.git",
                Some(("gitea-http", "git")),
            ),
            ("ssh://git@forgejo.forge.svc/home", Some(("forgejo", "forge"))),
            ("https://github.com/home/ops", None),
            ("oci://registry.a.b.svc/home", None),
        ];
        for (url, expected) in table {
            let expected = expected.map(|(service, namespace)| (service.to_owned(), namespace.to_owned()));
            assert_eq!(service_of(url), expected, "{url}");
        }
    }
}
