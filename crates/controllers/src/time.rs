//! Between Flux's spelling of durations, the knowledge files' and virtual time.

use firstpass_apiserver::Duration;

/// A duration of a Flux spec; negative ones count as none.
pub(crate) fn of_flux(duration: firstpass_flux::Duration) -> Duration {
    Duration::from_micros(u64::try_from(duration.as_nanos()).unwrap_or_default() / 1000)
}

/// A span of virtual time as Go prints it.
pub(crate) fn go(duration: Duration) -> firstpass_flux::Duration {
    firstpass_flux::Duration::from_nanos(
        i64::try_from(duration.as_micros())
            .unwrap_or(i64::MAX / 1000)
            .saturating_mul(1000),
    )
}
