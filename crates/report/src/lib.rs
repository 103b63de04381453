//! How does a report look: text, timelines, JSON.
