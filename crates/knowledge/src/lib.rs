//! What do charts and operators bring and do, and how long does it take?
