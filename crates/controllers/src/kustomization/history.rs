//! `status.history`: the last outcomes of what was built (F-007).

use std::io::{self, Write};
use std::sync::Arc;

use firstpass_apiserver::{Duration, Time};
use serde_json::{Value, json};

use crate::time::go;

/// How many snapshots are kept (F-1117).
const SNAPSHOTS_MAX: usize = 5;

/// One outcome.
pub(super) struct Snapshot<'a> {
    /// Digest of what was built.
    pub(super) digest: &'a str,
    /// Reason of the Ready condition.
    pub(super) status: &'a str,
    /// Revision that was built.
    pub(super) revision: &'a str,
    /// When it ended.
    pub(super) at: Time,
    /// How long it took.
    pub(super) duration: Duration,
}

/// The history with one more outcome: an outcome of the same build and status is counted up and comes first.
pub(super) fn upsert(history: Option<&Value>, snapshot: &Snapshot<'_>) -> Value {
    let mut entries = history.and_then(Value::as_array).cloned().unwrap_or_default();
    let same = entries.iter().position(|entry| {
        entry["digest"] == snapshot.digest && entry["lastReconciledStatus"] == snapshot.status
    });
    let now = snapshot.at.timestamp();
    let (first, total) = match same.map(|index| entries.remove(index)) {
        Some(entry) => (
            entry["firstReconciled"].clone(),
            entry["totalReconciliations"].as_u64().unwrap_or_default(),
        ),
        None => (Value::from(now.as_str()), 0),
    };
    entries.insert(
        0,
        json!({
            "digest": snapshot.digest,
            "firstReconciled": first,
            "lastReconciled": now,
            "lastReconciledDuration": go(snapshot.duration),
            "lastReconciledStatus": snapshot.status,
            "totalReconciliations": total + 1,
            "metadata": {"revision": snapshot.revision},
        }),
    );
    entries.truncate(SNAPSHOTS_MAX);
    Value::Array(entries)
}

/// Tells two builds apart. Flux hashes the text with SHA-256; nothing here reads the value, so a fast hash does.
pub(super) fn digest(objects: &[Arc<Value>]) -> String {
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    for object in objects {
        // A hash takes whatever it is given.
        let _never_fails = serde_json::to_writer(&mut hash, &**object);
    }
    format!("fnv1a:{:016x}", hash.0)
}

/// FNV-1a, 64 bits.
struct Fnv(u64);

impl Write for Fnv {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_outcomes_are_kept_and_repeats_are_counted() {
        // F-007, F-1117
        let snapshot = |digest: &'static str, at: u64| Snapshot {
            digest,
            status: "ReconciliationSucceeded",
            revision: "main@sha1:1",
            at: Time::from_secs(at),
            duration: Duration::from_secs(2),
        };
        let mut history = None;
        for (at, digest) in ["a", "b", "c", "d", "e", "f", "c"].into_iter().enumerate() {
            history = Some(upsert(history.as_ref(), &snapshot(digest, at as u64)));
        }
        let history = history.unwrap();
        let seen: Vec<(&str, u64)> = history
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| {
                (
                    entry["digest"].as_str().unwrap(),
                    entry["totalReconciliations"].as_u64().unwrap(),
                )
            })
            .collect();
        assert_eq!(seen, [("c", 2), ("f", 1), ("e", 1), ("d", 1), ("b", 1)]);
        assert_eq!(history[0]["firstReconciled"], Time::from_secs(2).timestamp());
        assert_eq!(history[0]["lastReconciledDuration"], "2s");
    }
}
