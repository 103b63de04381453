//! Who needs what, who provides it, and which barrier guarantees the order?
