//! Where an object came from, and what shaped it on the way.

use serde::{Deserialize, Serialize};

/// The file and document that an object came from, and the steps that shaped it. The line of a single field is found
/// when a finding needs it, by reading the file again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The file, relative to the root of the repository; for a generated object the kustomization file.
    pub file: String,
    /// Which document of the file, from 0.
    pub document: usize,
    /// The line at which the document (or the generator entry) starts, from 1.
    pub line: u32,
    /// What shaped the object after it was read, in order.
    pub steps: Vec<Step>,
}

/// One thing that shaped an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// A generator of this kustomization file made the object.
    Generated {
        /// The kustomization file.
        by: String,
    },
    /// A patch changed it.
    Patched {
        /// The kustomization file or the Flux Kustomization that holds the patch.
        by: String,
        /// The patch file, if it is one.
        file: Option<String>,
    },
    /// Another transformer (namespace, labels, images, …) of a kustomization changed it.
    Transformed {
        /// The kustomization file or the Flux Kustomization.
        by: String,
        /// The field of the kustomization, such as `images`.
        what: String,
    },
    /// Flux's substitution changed it.
    Substituted {
        /// The Flux Kustomization.
        by: String,
    },
}
