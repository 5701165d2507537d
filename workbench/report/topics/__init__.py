"""The topics of the report, one module each, in the order of `registry.TOPICS`."""
