//! Doing the same to many things on all cores. What comes out never depends on whether threads helped.

use rayon::prelude::*;

/// From this many things on, threads are worth their start: about a tenth of a millisecond, as long as it takes to read
/// three small files.
const MIN: usize = 16;

/// Whether threads would help here. A build that is one of many has its thread already: if it waited for others inside
/// of a pool, the pool would start the next build on top of it, and stacks would grow with the number of builds.
pub(crate) fn helps(things: usize) -> bool {
    things >= MIN && rayon::current_thread_index().is_none()
}

/// The results in the order of the things.
pub(crate) fn map<T: Send, R: Send>(things: Vec<T>, then: impl Fn(T) -> R + Sync + Send) -> Vec<R> {
    if helps(things.len()) {
        things.into_par_iter().map(then).collect()
    } else {
        things.into_iter().map(then).collect()
    }
}
