//! Substitution of a manifest of the usual size: 40 lines with a handful of variables, repeated to 100 KB.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use firstpass_envsubst::{Lookup, Mode, Template};

const MANIFEST: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${APP}\n  namespace: ${NAMESPACE:=default}\n\
                        data:\n  host: ${APP}.${DOMAIN}\n  script: |\n    echo $HOME $$1 and some more text that holds nothing\n";

fn bench(criterion: &mut Criterion) {
    let text = MANIFEST.repeat(100 * 1024 / MANIFEST.len());
    let mut group = criterion.benchmark_group("envsubst");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("parse and expand", |bencher| {
        bencher.iter(|| {
            let template = Template::parse(&text).unwrap();
            template
                .expand(Mode::Strict, |name| Lookup::Known(name.to_owned().into()))
                .unwrap()
        });
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
