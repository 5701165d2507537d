"""The pytest plugin: a test for each rule of an experiment's gate, by its id, fixtures, and the table at the end of a session."""
