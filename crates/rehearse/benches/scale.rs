//! How do time and memory grow with the cluster? Plays one synthetic cluster and the next one ten times its size, and
//! compares what an attempt and an applied object cost.
//!
//! ```text
//! cargo bench -p firstpass-rehearse --bench scale             # 1,000 and 10,000 tiers of ten objects
//! cargo bench -p firstpass-rehearse --bench scale -- 100 1000 # other numbers of tiers
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant};

use firstpass_baseline::{Stage, StageOptions};
use firstpass_checks::CheckInput;
use firstpass_knowledge::Knowledge;
use firstpass_order::OrderGraph;
use firstpass_rehearse::{Options, Script};
use firstpass_render::{Repository, render_cluster};
use firstpass_source::RepoPath;
use firstpass_testing::synthetic::{self, Size};

/// The allocator of the binary: it has a say in how time grows with memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const OBJECTS_PER_TIER: u64 = 10;
const SEED: u64 = 1;

fn main() {
    let numbers: Vec<u64> = std::env::args()
        .skip(1)
        .filter_map(|argument| argument.parse().ok())
        .collect();
    let sizes = match numbers[..] {
        // As a test it only has to run.
        [] if std::env::args().any(|argument| argument == "--test") => vec![10, 20],
        [] => vec![1_000, 10_000],
        _ => numbers,
    };
    let mut first = None;
    for tiers in sizes {
        let cost = measure(tiers);
        let first = first.get_or_insert(cost);
        println!(
            "  per attempt {:.1} µs ({:.2}x), per object {:.1} µs ({:.2}x), memory at most {} MiB so far\n",
            cost.per_attempt_us,
            cost.per_attempt_us / first.per_attempt_us,
            cost.per_object_us,
            cost.per_object_us / first.per_object_us,
            memory_max_mib().map_or_else(|| "?".to_owned(), |mib| mib.to_string()),
        );
    }
}

/// What one cluster costs.
#[derive(Clone, Copy)]
struct Cost {
    per_attempt_us: f64,
    per_object_us: f64,
}

fn measure(tiers: u64) -> Cost {
    println!("{tiers} tiers, {} objects", tiers * OBJECTS_PER_TIER);
    let size = Size {
        tiers,
        objects_per_tier: OBJECTS_PER_TIER,
        ..Size::default()
    };
    let tree = Arc::new(synthetic::repository(size, SEED));
    let (repository, cluster) = timed("render", || {
        let repository = Repository::open(tree).expect("its configuration can be read");
        let entry = repository
            .entry(&RepoPath::clamped(synthetic::ENTRY))
            .expect("the entry is there");
        let cluster = render_cluster(&repository, &entry, &firstpass_render::Options::default());
        (repository, cluster)
    })
    .0;
    let knowledge = Knowledge::builtin();
    let stage = timed("stage", || {
        let helmfiles = repository.helmfiles(&cluster.entry);
        let tree = &**repository.tree();
        Stage::set(&cluster, tree, &helmfiles, &knowledge, &StageOptions::default())
    })
    .0;
    let graph = timed("order", || OrderGraph::build(&cluster, &stage, &knowledge)).0;
    let findings = timed("checks", || {
        firstpass_checks::check(&CheckInput {
            repository: &repository,
            cluster: &cluster,
            stage: &stage,
            graph: &graph,
            knowledge: &knowledge,
            fleet: None,
        })
    })
    .0;
    let script = Script {
        cluster: Arc::new(cluster),
        stage: Arc::new(stage),
        graph: Arc::new(graph),
        knowledge,
        findings: findings.into(),
    };
    let (rehearsal, took) = timed("rehearse", || script.rehearse(&Options::default()));
    let attempts: u32 = rehearsal.report.tiers.iter().map(|tier| tier.attempts).sum();
    println!(
        "  {}, {attempts} attempts, {} findings, {:?} s of virtual time",
        rehearsal.report.verdict,
        rehearsal.report.findings.len(),
        rehearsal.report.duration_s,
    );
    let us = took.as_secs_f64() * 1e6;
    Cost {
        per_attempt_us: us / f64::from(attempts),
        per_object_us: us / (tiers * OBJECTS_PER_TIER) as f64,
    }
}

#[expect(clippy::disallowed_methods, reason = "a measurement takes a clock")]
fn timed<T>(what: &str, run: impl FnOnce() -> T) -> (T, Duration) {
    let begin = Instant::now();
    let result = run();
    let took = begin.elapsed();
    println!("  {what:<9}{:>9.1} ms", took.as_secs_f64() * 1e3);
    (result, took)
}

/// The most memory that this process has used, where the system tells.
#[expect(clippy::disallowed_methods, reason = "the system tells in a file")]
fn memory_max_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024)
}
