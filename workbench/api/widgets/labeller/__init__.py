"""Label documents, evidence and answers of a dataset."""
