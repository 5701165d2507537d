"""Production: log questions, read traces, judge a sample, raise alerts, and return questions to the dataset.

It uses the public API as a person would, so its numbers come from the same functions as those of a sweep. `log.fields` declares the fields of a log,
`log.query_log` writes it, `log.reading` and `traces/` read it.
"""
