"""Traces of applications: `otlp` and `tool_exports` read spans, `steps` the step of an application that each records."""
