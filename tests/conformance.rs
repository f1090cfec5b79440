//! Every store passes the conformance suite (S1).

freehold_testkit::conformance!(memory, || async { freehold_tests::memory() });
freehold_testkit::conformance!(sqlite, freehold_tests::sqlite);
freehold_testkit::conformance!(postgres, freehold_tests::postgres, ignore = "needs PostgreSQL: tests/run starts one");
