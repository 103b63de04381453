//! Chance without state: what is drawn depends on the seed and on what it is drawn for, and on nothing else.
//!
//! Each draw is named, so a new draw in one place leaves all others alone, and a forked world needs no copy of a
//! generator.

/// Draws for one seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Random {
    seed: u64,
}

impl Random {
    /// The draws of a seed.
    pub const fn new(seed: u64) -> Random {
        Random { seed }
    }

    /// The seed.
    pub const fn seed(self) -> u64 {
        self.seed
    }

    /// 64 bits for a purpose, a subject and the how-many-th time.
    pub fn bits(self, purpose: &str, subject: &str, nth: u64) -> u64 {
        let mut state = mix(self.seed ^ 0x6669_7273_7470_6173);
        for part in [purpose, subject] {
            for chunk in part.as_bytes().chunks(8) {
                let word = chunk
                    .iter()
                    .fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
                state = mix(state ^ word);
            }
            state = mix(state ^ (part.len() as u64) << 56);
        }
        mix(state ^ nth)
    }

    /// A whole number of `least..=most`.
    pub fn between(self, least: u64, most: u64, purpose: &str, subject: &str, nth: u64) -> u64 {
        debug_assert!(least <= most);
        let span = u128::from(most - least) + 1;
        let scaled = (u128::from(self.bits(purpose, subject, nth)) * span) >> 64;
        least + u64::try_from(scaled).unwrap_or(most - least)
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
const fn mix(state: u64) -> u64 {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_depend_on_their_name_alone() {
        let random = Random::new(7);
        assert_eq!(random.bits("pull", "web", 0), random.bits("pull", "web", 0));
        let others = [
            random.bits("pull", "web", 1),
            random.bits("pull", "db", 0),
            random.bits("start", "web", 0),
            random.bits("pul", "lweb", 0),
            Random::new(8).bits("pull", "web", 0),
        ];
        assert!(others.iter().all(|bits| *bits != random.bits("pull", "web", 0)));
    }

    #[test]
    fn draws_stay_within_their_bounds_and_reach_them() {
        let random = Random::new(1);
        let draws: Vec<u64> = (0..1000)
            .map(|nth| random.between(3, 6, "delay", "x", nth))
            .collect();
        assert!(draws.iter().all(|draw| (3..=6).contains(draw)));
        for value in 3..=6 {
            assert!(draws.contains(&value));
        }
        assert_eq!(random.between(5, 5, "delay", "x", 0), 5);
    }
}
