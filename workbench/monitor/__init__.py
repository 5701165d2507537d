"""Production: log questions, read traces, judge a sample, raise alerts, and return questions to the dataset.

`log/` declares the fields, writes, reads and sums up a log, `traces` reads those of other tools, and `trace_receiver` takes them over HTTP. `alerts/` turns rows into
signals and says when one was raised and resolved, with a stated rate of false alarms for the whole set. `passes` does one round of all of it, and its
numbers come from the same functions as those of a sweep.
"""
