"""Systems that search and answer: Workbench's own pipeline and every target, asked in the same way.

`base` has `System` and `Target`, `operations` the one form of a call. `callable/` `http/` `mcp/` and `recorded/` are the kinds of targets,
`freshness/` changes documents and sees what a system says.
"""
