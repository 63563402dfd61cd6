"""The laws as property tests: random graphs, random scripts, both engines."""
