//! How do time and memory grow with the cluster? Plays one synthetic cluster and the next one ten times its size, and
//! compares what a tier, an attempt and an applied object cost.
//!
//! A larger cluster takes longer to come up, so its tiers are reconciled again and again before the last one is Ready: an
//! attempt that finds nothing to do is an attempt all the same, and each of its objects is applied as a dry-run.
//!
//! ```text
//! cargo bench -p firstpass-rehearse --bench scale             # 1,000 and 10,000 tiers of ten objects
//! cargo bench -p firstpass-rehearse --bench scale -- 100 1000 # other numbers of tiers
//! cargo bench -p firstpass-rehearse --bench scale -- --shapes # a hundred tiers of thirty, and shapes that are not flat
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
use firstpass_testing::synthetic::{self, Shape, Size};

/// The allocator of the binary: it has a say in how time grows with memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const OBJECTS_PER_TIER: u64 = 10;
const SEED: u64 = 1;

fn main() {
    if std::env::args().any(|argument| argument == "--shapes") {
        SHAPES.into_iter().for_each(|size| {
            measure(size);
        });
        return;
    }
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
        let cost = measure(Size {
            tiers,
            objects_per_tier: OBJECTS_PER_TIER,
            ..Size::default()
        });
        let first = first.get_or_insert(cost);
        println!(
            "  per tier {:.1} µs ({:.2}x), per attempt {:.1} µs ({:.2}x), per object {:.1} µs ({:.2}x), memory at most {} MiB so far\n",
            cost.per_tier_us,
            cost.per_tier_us / first.per_tier_us,
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
    per_tier_us: f64,
    /// Per attempt, those included that find nothing to do.
    per_attempt_us: f64,
    /// Per object that an attempt applies, be it for real or as a dry-run that finds nothing to do.
    per_object_us: f64,
}

/// The size that has to feel instant, and shapes in which work could grow with the square.
const SHAPES: [Size; 5] = [
    size(100, 30, 0, Shape::Layers),
    size(1_000, 10, 0, Shape::Chain),
    size(1_000, 10, 0, Shape::Fan),
    size(1, 10_000, 0, Shape::Layers),
    size(300, 5, 5, Shape::Layers),
];

const fn size(tiers: u64, objects_per_tier: u64, releases_per_tier: u64, shape: Shape) -> Size {
    Size {
        tiers,
        objects_per_tier,
        releases_per_tier,
        shape,
    }
}

fn measure(size: Size) -> Cost {
    let Size {
        tiers,
        objects_per_tier,
        releases_per_tier,
        shape,
    } = size;
    println!(
        "{tiers} tiers ({shape:?}), {objects_per_tier} objects and {releases_per_tier} releases in each"
    );
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
    let objects_of = |tier: &str| {
        let tier = tier
            .strip_prefix("Kustomization/")
            .and_then(|name| name.parse().ok());
        let tier = tier.and_then(|name| script.cluster.tier(&name));
        tier.map_or(0, |tier| tier.objects().len())
    };
    let lines = rehearsal.world.journal().iter();
    let begun: Vec<usize> = lines
        .filter(|line| line.what.starts_with("attempt at "))
        .map(|line| objects_of(&line.subject))
        .collect();
    let (attempts, applied) = (begun.len(), begun.iter().sum::<usize>());
    println!(
        "  {}, {attempts} attempts, {applied} objects applied, {} findings, {:?} s of virtual time",
        rehearsal.report.verdict,
        rehearsal.report.findings.len(),
        rehearsal.report.duration_s,
    );
    let us = took.as_secs_f64() * 1e6;
    Cost {
        per_tier_us: us / tiers as f64,
        per_attempt_us: us / attempts as f64,
        per_object_us: us / applied as f64,
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
