"""Tools for coding agents, served over MCP by `workbench mcp`.

`folder.py` keeps every path inside the working folder and refuses experiments that run code or programs, `tools.py` has the tools that read, `server.py`
serves them and runs sweeps, each in a process that `limited_sweep.py` is. Texts are those of the terminal; only the `mcp` package is imported at the start.
"""
