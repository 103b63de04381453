//! Reading and writing a bundle of custom resource definitions, in bytes per second.
//!
//! What a user would run instead is `kubectl kustomize` over the same bundle, whole process against whole process;
//! CONTRIBUTING.md tells how that is measured.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use firstpass_yaml::{Node, emit_all, parse_all};
use serde_json::Value;

/// A definition in the manner of those that controller-gen writes: nested objects with long descriptions.
fn definition(number: usize) -> String {
    let mut text = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: things{number}.example.com\n  \
         annotations:\n    controller-gen.kubebuilder.io/version: v0.16.1\nspec:\n  group: example.com\n  scope: Namespaced\n  \
         versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        \
         type: object\n        properties:\n"
    );
    for group in 0..40 {
        text.push_str(&format!(
            "          group{group}:\n            type: object\n            properties:\n"
        ));
        for field in 0..20 {
            text.push_str(&format!(
                "              field{field}:\n                description: |-\n                  Field {field} of group {group} \
                 says how many there are, and is left alone\n                  if it is not set: the default is taken.\n                \
                 type: integer\n                minimum: {field}\n                format: \"int32\"\n                enum: [1, 2, {group}]\n"
            ));
        }
    }
    text
}

fn bundle() -> String {
    (0..8).map(definition).collect::<Vec<_>>().join("---\n")
}

fn benches(criterion: &mut Criterion) {
    let text = bundle();
    let documents = parse_all(&text).expect("the bundle is YAML");
    let values: Vec<Value> = documents
        .iter()
        .map(|d| d.root.to_json().expect("the bundle has values"))
        .collect();

    let mut group = criterion.benchmark_group("bundle");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.sample_size(20);
    group.bench_function("parse", |bencher| bencher.iter(|| parse_all(&text)));
    group.bench_function("to_json", |bencher| {
        bencher.iter(|| documents.iter().map(|d| d.root.to_json()).collect::<Vec<_>>());
    });
    group.bench_function("emit", |bencher| bencher.iter(|| emit_all(&values)));
    group.bench_function("from_json", |bencher| {
        bencher.iter(|| values.iter().map(Node::from_json).collect::<Vec<_>>());
    });
    group.finish();
}

criterion_group!(yaml, benches);
criterion_main!(yaml);
