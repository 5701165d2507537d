"""Topics about the run itself: its gate, targets, configurations, method and provenance."""
