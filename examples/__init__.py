"""Examples that run: the credit desk on 2,381 real mortgage applications. Start with `credit_desk`."""
