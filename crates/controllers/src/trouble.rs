//! What does not work for a while: the hooks at which faults take hold of the models.
//!
//! A model asks before it does something whether that works at the moment. The answer is a time: until then it does not. What
//! faults there are and when they heal is for crate `sim`.

use firstpass_apiserver::Time;
use firstpass_object::{ObjectId, TierName};

/// Something that may not work for a while.
#[derive(Clone, Copy, Debug)]
pub enum Trouble<'a> {
    /// A source is fetched.
    Fetch(&'a ObjectId),
    /// A source is fetched within its timeout.
    FetchInTime(&'a ObjectId),
    /// The artifact of a source is downloaded by who builds it.
    Download(&'a ObjectId),
    /// The images of a workload are pulled.
    Pull(&'a ObjectId),
    /// The processes of a workload stay up.
    Run(&'a ObjectId),
    /// An operator does its work.
    Operate(&'a str),
    /// Whoever controls an object reports that it is well.
    Report(&'a ObjectId),
    /// The remote bases of a tier are fetched in time.
    RemoteBase(&'a TierName),
}

/// Faults, as models see them.
pub trait Troubles {
    /// Until when something does not work; `None` if it works.
    fn lasts_until(&self, trouble: Trouble<'_>, now: Time) -> Option<Time>;
}

/// A world in which everything works.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTroubles;

impl Troubles for NoTroubles {
    fn lasts_until(&self, _: Trouble<'_>, _: Time) -> Option<Time> {
        None
    }
}
