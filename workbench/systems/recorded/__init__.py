"""Results that another program has recorded: rankings, and answers with their sources."""
