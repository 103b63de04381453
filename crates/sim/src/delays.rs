//! How long things take in one schedule: as a rule, or drawn within each delay's bounds.

use std::sync::Arc;

use firstpass_apiserver::Duration;
use firstpass_controllers::Delays;
use firstpass_knowledge::Knowledge;

use crate::random::Random;

/// What an estimate takes in a swift run: as good as nothing.
const SWIFT: Duration = Duration::from_millis(1);

/// The delays of one seed. Seed 0 is the nominal schedule: everything takes as long as it does as a rule, and nothing is
/// jittered.
#[derive(Clone, Debug)]
pub struct SeededDelays {
    knowledge: Arc<Knowledge>,
    random: Random,
    jitter_percent: u64,
    swift: bool,
}

impl SeededDelays {
    /// The delays of a seed.
    pub fn new(knowledge: Arc<Knowledge>, seed: u64, jitter_percent: u32) -> SeededDelays {
        SeededDelays {
            knowledge,
            random: Random::new(seed),
            jitter_percent: u64::from(jitter_percent).min(100),
            swift: false,
        }
    }

    /// The same with every estimate taking as good as no time: whatever still takes too long then does so by a constant of
    /// Kubernetes or Flux, or because the repository says so.
    #[must_use]
    pub fn swift(self) -> SeededDelays {
        SeededDelays { swift: true, ..self }
    }

    fn is_nominal(&self) -> bool {
        self.random.seed() == 0
    }
}

impl Delays for SeededDelays {
    fn delay(&self, name: &str, subject: &str, nth: u64) -> Duration {
        let Some(timing) = self.knowledge.timing(name) else {
            debug_assert!(false, "no timing is called `{name}`");
            return Duration::ZERO;
        };
        if self.swift && timing.is_estimate() {
            return SWIFT;
        }
        let micros = |span: std::time::Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        if self.is_nominal() {
            return Duration::from_micros(micros(timing.nominal));
        }
        // Half of the draws lie on each side of the nominal value, since the upper bounds are far away.
        let side = self.random.bits(name, subject, nth) & 1;
        let (least, most) = if side == 0 {
            (micros(timing.least), micros(timing.nominal))
        } else {
            (micros(timing.nominal), micros(timing.drawn_most()))
        };
        Duration::from_micros(
            self.random
                .between(least, most, name, subject, nth.wrapping_add(1) << 1),
        )
    }

    fn jittered(&self, interval: Duration, subject: &str, nth: u64) -> Duration {
        if self.is_nominal() || self.jitter_percent == 0 {
            return interval;
        }
        let micros = interval.as_micros();
        let spread = micros / 100 * self.jitter_percent;
        Duration::from_micros(
            self.random
                .between(micros - spread, micros + spread, "interval", subject, nth),
        )
    }

    fn turn(&self, among: &str, nth: u64) -> u64 {
        if self.is_nominal() {
            return 0;
        }
        self.random.bits("turn", among, nth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nominal_schedule_has_neither_draws_nor_jitter() {
        let knowledge = Knowledge::builtin();
        let delays = SeededDelays::new(Arc::clone(&knowledge), 0, 5);
        let nominal = knowledge.timing("image-pull").unwrap().nominal.as_micros();
        assert_eq!(
            u128::from(delays.delay("image-pull", "x", 3).as_micros()),
            nominal
        );
        assert_eq!(
            delays.jittered(Duration::from_secs(60), "x", 3),
            Duration::from_secs(60)
        );
    }

    #[test]
    fn a_swift_run_takes_no_time_for_estimates_and_all_of_it_for_constants() {
        let knowledge = Knowledge::builtin();
        let swift = SeededDelays::new(Arc::clone(&knowledge), 0, 5).swift();
        assert_eq!(swift.delay("cdi-deploy", "x", 0), SWIFT);
        let restart = knowledge.timing("container-restart").unwrap();
        let drawn = u128::from(swift.delay("container-restart", "x", 0).as_micros());
        assert_eq!(drawn, restart.nominal.as_micros());
    }

    #[test]
    fn turns_differ_between_seeds_only() {
        let knowledge = Knowledge::builtin();
        let turns = |seed| {
            let delays = SeededDelays::new(Arc::clone(&knowledge), seed, 5);
            (0..8)
                .map(|nth| delays.turn("workers", nth))
                .collect::<Vec<u64>>()
        };
        assert_eq!(turns(0), [0; 8]);
        assert_eq!(turns(3), turns(3));
        assert_ne!(turns(3), turns(4));
    }

    #[test]
    fn drawn_delays_stay_within_their_bounds() {
        // F-1103
        let knowledge = Knowledge::builtin();
        let timing = knowledge.timing("image-pull").unwrap();
        let delays = SeededDelays::new(Arc::clone(&knowledge), 1, 5);
        for nth in 0..500 {
            let drawn = u128::from(delays.delay("image-pull", "x", nth).as_micros());
            assert!((timing.least.as_micros()..=timing.drawn_most().as_micros()).contains(&drawn));
            let interval = delays.jittered(Duration::from_secs(100), "x", nth);
            assert!((Duration::from_secs(95)..=Duration::from_secs(105)).contains(&interval));
        }
    }
}
