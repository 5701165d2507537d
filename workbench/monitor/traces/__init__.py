"""Traces: `reading` turns those of other tools into rows of a log, `receiver` takes them over HTTP, `evaluations` sends scores back as events.

A span passes through `otlp` or `exports` (spans with plain values), `steps` (the step of an application that it records) and `rows` (one for each trace).
"""
