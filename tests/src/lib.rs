//! Shared parts of the tests: vectors and the conformance suite.
