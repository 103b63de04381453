//! How much does the server cost at 1,000, 10,000 and 100,000 objects?

use std::sync::Arc;

use firstpass_apiserver::{ApiServer, Apply, Options, Request};
use serde_json::{Value, json};

fn deployment(index: usize) -> Value {
    let name = format!("app-{index}");
    let namespace = format!("ns-{}", index % 100);
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": {
            "app.kubernetes.io/name": name, "kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
        }},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{
                    "name": "web", "image": "registry.example.com/web:1.2.3",
                    "ports": [{"containerPort": 80, "name": "http"}],
                    "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                    "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
                }]},
            },
        },
    })
}

fn memory_mib() -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "a measurement reads the process's own memory"
    )]
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .unwrap_or(0);
    pages * 4096 / (1024 * 1024)
}

#[expect(clippy::disallowed_methods, reason = "a measurement needs a clock")]
fn timed<T>(what: &str, count: usize, work: impl FnOnce() -> T) -> T {
    let start = std::time::Instant::now();
    let result = work();
    let micros = start.elapsed().as_secs_f64() * 1e6;
    println!(
        "  {what:<28} {:>9.2} µs each   {:>9.1} ms in all",
        micros / count as f64,
        micros / 1000.0
    );
    result
}

fn main() {
    for count in [1_000, 10_000, 100_000] {
        println!("{count} objects");
        let before = memory_mib();
        let mut server = ApiServer::new(Options::minor(36));
        for index in 0..100 {
            let object =
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": format!("ns-{index}")}});
            let request = Request::Apply(Apply::forced(Arc::new(object), "kustomize-controller"));
            server.call(&request).expect("a namespace");
        }
        let objects: Vec<Arc<Value>> = (0..count).map(|index| Arc::new(deployment(index))).collect();
        let given = memory_mib();
        let apply = |server: &mut ApiServer, dry_run: bool| {
            for object in &objects {
                let mut apply = Apply::forced(Arc::clone(object), "kustomize-controller");
                apply.dry_run = dry_run;
                server.call(&Request::Apply(apply)).expect("the object is fine");
            }
        };
        timed("dry-run of new objects", count, || apply(&mut server, true));
        timed("apply", count, || apply(&mut server, false));
        println!(
            "  {:<28} {:>9} KiB each   (the objects given: {} MiB)",
            "memory",
            (memory_mib() - given) * 1024 / count as u64,
            given - before
        );
        timed("apply again", count, || apply(&mut server, false));
        let mut fork = timed("fork", 1, || server.clone());
        timed("first write after a fork", 1, || {
            let request = Request::Apply(Apply::forced(Arc::new(deployment(count)), "kustomize-controller"));
            fork.call(&request).expect("the object is fine");
        });
        timed("read all events", server.log().head().0 as usize, || {
            server
                .events_since(server.log().tail())
                .filter(|event| event.id.kind == "Deployment")
                .count()
        });
    }
}
