//! The element rules: one source element -> one output element.
