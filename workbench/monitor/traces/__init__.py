"""Traces: `reading` turns those of other tools into rows of a log, `receiver` takes them over HTTP, `evaluations` sends scores back as events.

A span passes through `workbench.targets.recorded.traces` (spans with plain values, and the step of an application that each records) and `rows` (one for each
trace).
"""
