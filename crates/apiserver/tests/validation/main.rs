//! What the server finds wrong with objects: each file holds objects, and above each one the errors it has.

use firstpass_apiserver::validate;

/// Runs a file: documents separated by `---`; comment lines `# error: …` above a document are what must be found, in
/// order; `# minor: N` asks another Kubernetes; `# unknown: TOKEN` is a text whose value nobody knows.
fn check(file: &str) {
    for document in file.split("\n---\n") {
        let directive = |name: &str| {
            let prefix = format!("# {name}: ");
            document
                .lines()
                .filter_map(move |line| line.strip_prefix(&prefix).map(str::to_owned))
                .collect::<Vec<_>>()
        };
        let minor = directive("minor")
            .first()
            .map_or(36, |minor| minor.parse().expect("a minor"));
        let node =
            firstpass_yaml::parse_one(document).unwrap_or_else(|error| panic!("{error:?}\n{document}"));
        let object = node.to_json().expect("the document converts");
        let found: Vec<String> = validate(&object, minor, &directive("unknown"))
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, directive("error"), "\n{document}");
    }
}

macro_rules! files {
    ($($name:ident),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                check(include_str!(concat!(stringify!($name), ".yaml")));
            }
        )*
    };
}

files!(
    batch, crds, metadata, network, pods, policy, rbac, storage, types, webhooks, workloads
);
