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

/// All lanes in which what the simulator did is not what the real world did.
pub fn compare(real: &Recording, simulated: &Recording) -> Vec<Difference> {
    let real = lanes(real);
    let simulated = lanes(simulated);
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
}

impl Line {
    fn show(&self) -> String {
        format!("{:>7.2} {}", self.at, self.word)
    }
}

/// The lines of each lane.
fn lanes(recording: &Recording) -> BTreeMap<String, Vec<Line>> {
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
        lanes.entry(lane.clone()).or_default().push(Line {
            at: *at,
            word: format!("{object}: {what}"),
        });
    }
    lanes
}

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
