//! Every store passes the conformance suite (S1).

freehold_testkit::conformance!(memory, || async { freehold_tests::memory() });
freehold_testkit::conformance!(sqlite, freehold_tests::sqlite);
