"""Topics about the configurations of a run and their rankings."""
