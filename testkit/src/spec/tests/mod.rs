//! Tests of the spec itself: what it lets pass, how it fails, and that its laws can be broken.

mod failures;
mod fixture;
mod golden;
mod laws;
mod passes;
