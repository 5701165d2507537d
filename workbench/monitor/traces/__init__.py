"""Traces: `reading` reads traces of other tools as rows of a log, `receiver` takes them over HTTP."""
