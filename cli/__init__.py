"""The command line `lithograph`: one file a verb. Start with `main`, then `app`; the extra is `cli`."""
