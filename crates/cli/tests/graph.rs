//! `firstpass graph`, as people and scripts call it.

mod common;

use common::{firstpass, json, workspace};

fn home() -> std::path::PathBuf {
    workspace().join("examples/home-network")
}

fn text(arguments: &[&str]) -> String {
    let output = firstpass(&home(), arguments);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn clusters_that_share_a_graph_give_the_same_bytes() {
    let of = |entry: &str| text(&["graph", entry, "--format", "json"]);
    let prod = of("clusters/prod");
    assert_eq!(of("clusters/dev"), prod);
    for word in ["clusters/", "192.168.", "home.example.net", "rack-3"] {
        assert!(!prod.contains(word), "the graph holds `{word}`");
    }
    assert_eq!(text(&["graph", "--format", "json"]), prod, "shown once for both");
}

#[test]
fn a_patched_edge_shows() {
    let graph = |more: &[&str]| json(&home(), &[&["graph", "clusters/prod"], more].concat());
    let edge = |graph: &serde_json::Value| {
        let edges = graph["graphs"][0]["edges"].as_array().unwrap();
        let is_it = |edge: &&serde_json::Value| {
            edge["from"] == "flux-system/platform-config-cdi" && edge["to"] == "flux-system/apps-vms"
        };
        edges.iter().find(is_it).cloned()
    };
    assert_eq!(edge(&graph(&[])).unwrap()["depends_on"], true);
    let without = edge(&graph(&["--overlay", "stories/no-apps-vms-edge"])).unwrap();
    assert_eq!(without["depends_on"], false);
    assert_eq!(without["needs"][0]["order"], "without-edge", "{without:#}");
}

#[test]
fn blocked_tiers_show_after_a_rehearsal() {
    let arguments = [
        "graph",
        "clusters/prod",
        "--rehearse",
        "--overlay",
        "stories/before-cdi-split",
    ];
    let graph = &json(&home(), &arguments)["graphs"][0];
    assert_eq!(graph["verdict"], "deadlock");
    let states = graph["rehearsal"].as_array().unwrap();
    let state = |name: &str| {
        let tier = states
            .iter()
            .find(|tier| tier["tier"] == format!("flux-system/{name}"));
        tier.unwrap()["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        (state("platform"), state("platform-config"), state("apps-vms")),
        ("ready".into(), "failed".into(), "waiting".into())
    );
    let picture = text(&[&arguments[..], &["--format", "svg"]].concat());
    assert!(picture.contains("waits for kind StorageProfile"), "{picture}");
}

#[test]
fn the_same_picture_each_time() {
    for format in ["svg", "dot", "mermaid", "text"] {
        let arguments = ["graph", "clusters/prod", "--format", format];
        assert_eq!(text(&arguments), text(&arguments), "{format}");
    }
}

/// `FIRSTPASS_BLESS=1 cargo test -p firstpass-cli --test graph` draws them anew.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the test reads pictures, and its own switch"
)]
fn pictures_of_the_pages_are_what_the_program_draws() {
    let story = [
        "clusters/prod",
        "--rehearse",
        "--overlay",
        "stories/before-cdi-split",
    ];
    for (name, arguments) in [("home-network", &[][..]), ("before-cdi-split", &story[..])] {
        let drawn = text(&[&["graph", "--format", "svg"], arguments].concat());
        let file = workspace().join(format!("docs/images/{name}.svg"));
        if std::env::var("FIRSTPASS_BLESS").is_ok() {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, &drawn).unwrap();
        }
        let kept = std::fs::read_to_string(&file).unwrap();
        assert!(
            kept == drawn,
            "docs/images/{name}.svg is old; `FIRSTPASS_BLESS=1 cargo test -p firstpass-cli --test graph` draws it anew"
        );
    }
}
