"""Move the sizes of a chunking and watch its boundaries."""
