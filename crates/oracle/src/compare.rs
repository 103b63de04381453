//! Comparing two recordings of one scenario.
//!
//! What happens on behalf of one tier has an order, and so has what happens to one object. What different tiers do at the
//! same time has none, and real machines are slow at times. So recordings are cut into lanes, and lanes are compared.

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write;

use crate::recording::{Entry, Recording};

/// Two recordings part in a lane.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// A tier, or an object.
    pub lane: String,
    /// The lines of each up to the first that differs and a few more; times are seconds.
    pub sides: Vec<(Option<String>, Option<String>)>,
    /// Which pair is the first that differs.
    pub first: usize,
}

/// Whether waits for a dependency that end are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// They are.
    Compared,
    /// Whether there is one at all is chance: a tier and its dependency are looked at at the same moment (F-103).
    Dropped,
}

/// All lanes in which what the simulator did is not what the real world did.
pub fn compare(real: &Recording, simulated: &Recording, waits: Waits) -> Vec<Difference> {
    let real = lanes(real, waits);
    let simulated = lanes(simulated, waits);
    let names: std::collections::BTreeSet<&String> = real.keys().chain(simulated.keys()).collect();
    let nothing = Vec::new();
    names
        .into_iter()
        .filter_map(|name| {
            let left = real.get(name).unwrap_or(&nothing);
            let right = simulated.get(name).unwrap_or(&nothing);
            difference(name, left, right)
        })
        .collect()
}

fn difference(lane: &str, real: &[Line], simulated: &[Line]) -> Option<Difference> {
    let first = (0..real.len().max(simulated.len())).find(|index| {
        let word = |line: Option<&Line>| line.map(|line| line.word.clone());
        word(real.get(*index)) != word(simulated.get(*index))
    })?;
    let sides = (first.saturating_sub(4)..(first + 6).min(real.len().max(simulated.len())))
        .map(|index| {
            (
                real.get(index).map(Line::show),
                simulated.get(index).map(Line::show),
            )
        })
        .collect();
    Some(Difference {
        lane: lane.to_owned(),
        sides,
        first: first.min(4),
    })
}

struct Line {
    at: f64,
    word: String,
    is_wait: bool,
}

impl Line {
    fn show(&self) -> String {
        format!("{:>7.2} {}", self.at, self.word)
    }
}

/// The lines of each lane.
fn lanes(recording: &Recording, waits: Waits) -> BTreeMap<String, Vec<Line>> {
    let mut lanes: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    for Entry {
        at,
        tier,
        object,
        what,
    } in &recording.entries
    {
        if object.is_empty() {
            continue;
        }
        let lane = if tier.is_empty() { object } else { tier };
        let lane = lanes.entry(lane.clone()).or_default();
        let is_wait = what.starts_with(WAIT);
        if let Some(before) = lane.last_mut().filter(|before| before.is_wait) {
            if is_wait {
                // Only the last word of a wait counts.
                before.word = format!("{object}: {what}");
                continue;
            }
            if let Some(at) = before.word.find(WAIT) {
                before.word.truncate(at + WAIT.len());
            }
            if waits == Waits::Dropped {
                lane.pop();
            }
        }
        lane.push(Line {
            at: *at,
            word: format!("{object}: {what}"),
            is_wait,
        });
    }
    lanes
}

/// A tier waits for a dependency. If the wait ends, it is chance whether it saw the dependency at work or at another
/// revision (F-127); if it does not, its last word counts.
const WAIT: &str = "Ready=False DependencyNotReady";

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = format!("in `{}`\n", self.lane);
        for (index, (real, simulated)) in self.sides.iter().enumerate() {
            let mark = if index == self.first { ">" } else { " " };
            let nothing = "(nothing)".to_owned();
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{mark} real {}", real.as_ref().unwrap_or(&nothing));
            if real.as_ref().map(|line| &line[8..]) != simulated.as_ref().map(|line| &line[8..]) {
                let _ = writeln!(text, "{mark} sim  {}", simulated.as_ref().unwrap_or(&nothing));
            }
        }
        formatter.write_str(&text)
    }
}
