"""A server of the Model Context Protocol as a system under test."""

from contextlib import AbstractAsyncContextManager
from typing import ClassVar, Literal

from workbench.systems.base import System, TargetResources
from workbench.systems.mcp.settings import McpSettings


class McpTarget(McpSettings):
    """A server of the Model Context Protocol: a process that is started and speaks on stdin and stdout, or an address (extra `mcp`).

    A server that asks for texts (sampling) gets them from the model in `sampling`. Servers of the older protocol are then asked one request
    at a time, since their requests for texts do not say which question they belong to.

    Examples
    --------
    >>> from workbench.systems.mcp.target import McpTarget
    >>> notes = McpTarget(
    ...     name="notes",
    ...     command="python",
    ...     args=["experiments/targets/notes_server.py"],
    ...     search={
    ...         "tool": "semantic_search",
    ...         "arguments": {"query": "{query}", "limit": "{k}"},
    ...         "reply": {"hits": "$.results", "id": "note_id"},
    ...     },
    ... )
    >>> notes.searches, notes.answers
    (True, False)
    """

    version: ClassVar[int] = 3

    kind: Literal["mcp"] = "mcp"

    def session(self, resources: TargetResources) -> AbstractAsyncContextManager[System]:
        """Connect to the server, and check that it has the tools with these arguments."""
        self.check()
        from workbench.systems.mcp.session import open_session

        return open_session(self, resources)
