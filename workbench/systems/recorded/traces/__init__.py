"""The one reader of traces, of recorded targets and of `workbench.monitor`.

`otlp` and `tool_exports` turn files of OpenTelemetry and exports of other tools into spans, `steps` says which step of an application a span records, and `trace`
combines the steps of a trace, and makes replies of exported traces.
"""
