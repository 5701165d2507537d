"""Traces: `reading` reads traces of other tools as rows of a log, `receiver` takes them over HTTP, `evaluations` sends scores back as events.

`workbench.targets.recorded.traces` reads them; `rows` makes one row of each.
"""
