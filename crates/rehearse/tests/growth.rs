//! The work of a rehearsal grows with the cluster and not with its square, whatever the shape of the cluster.
//!
//! What is compared is the time that this process has computed, since a clock on the wall says more about the machine's
//! other work. For that the file holds one test.

#[allow(dead_code, reason = "each test file uses its part")]
mod common;

use std::sync::Arc;

use common::{How, rehearse};
use firstpass_diagnostics::Verdict;
use firstpass_testing::synthetic::{self, Shape, Size};

/// How many times larger the second cluster of each pair is.
const FACTOR: u64 = 4;

/// How many times more work it may take. Twice the factor leaves room for caches and busy machines; work that grows with
/// the square takes sixteen times as much.
const WORK_MAX: f64 = 8.0;

/// Work below this is mostly what every rehearsal takes, and says nothing about growth.
const LEAST_S: f64 = 0.2;

#[test]
fn work_grows_with_the_cluster() {
    let layers = Size {
        tiers: 20,
        objects_per_tier: 10,
        ..Size::default()
    };
    let shapes = [
        ("tiers in layers", layers),
        (
            "tiers behind one",
            Size {
                shape: Shape::Fan,
                ..layers
            },
        ),
        (
            "tiers with releases",
            Size {
                objects_per_tier: 3,
                releases_per_tier: 4,
                ..layers
            },
        ),
        (
            "objects of one tier",
            Size {
                tiers: 1,
                objects_per_tier: 400,
                ..layers
            },
        ),
    ];
    for (what, small) in shapes {
        let large = match small.tiers {
            1 => Size {
                objects_per_tier: small.objects_per_tier * FACTOR,
                ..small
            },
            tiers => Size {
                tiers: tiers * FACTOR,
                ..small
            },
        };
        let (Some(small), Some(large)) = (work_s(small), work_s(large)) else {
            eprintln!("this system does not tell how long a process has computed: nothing is compared");
            return;
        };
        eprintln!("{what}: {small:.2} s and {large:.2} s");
        assert!(
            large < LEAST_S.max(small) * WORK_MAX,
            "{what}: {large:.2} s for {FACTOR} times what takes {small:.2} s"
        );
    }
}

/// How long the process computes to rehearse a cluster, from its files to the report.
fn work_s(size: Size) -> Option<f64> {
    let tree = Arc::new(synthetic::repository(size, 1));
    let begin = computed_s()?;
    let rehearsal = rehearse(tree, synthetic::ENTRY, &How::default());
    assert!(
        rehearsal.verdict() <= Verdict::Hazard,
        "every tier comes up: {:?}",
        rehearsal.verdict()
    );
    Some(computed_s()? - begin)
}

/// For how long this process has computed so far, where the system tells: in hundredths of a second.
#[expect(clippy::disallowed_methods, reason = "the system tells in a file")]
fn computed_s() -> Option<f64> {
    let line = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the process, in brackets, may hold anything.
    let fields = line.rsplit_once(')')?.1;
    let ticks: f64 = fields.split_whitespace().nth(11)?.parse().ok()?;
    Some(ticks / 100.0)
}
