"""What other people's tests may use: the conformance suite for storage engines. Start with `engine_suite`."""
