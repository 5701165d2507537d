"""Traces: read those of other tools as rows of a log, receive them over HTTP, and send evaluations back as events."""
