"""Rankings from a file, served by HTTP or by MCP. As a program: `python served_index.py FILE`, by MCP on stdin and stdout."""

import json
import sys
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer

Rankings = dict[str, list[dict[str, Any]]]


def by_http(rankings: Rankings) -> Any:
    """Return an application that answers `POST /search`."""
    from fastapi import FastAPI
    from pydantic import BaseModel

    class Request(BaseModel):
        question: str
        limit: int

    app = FastAPI()

    @app.post("/search")
    def search(request: Request) -> dict[str, list[dict[str, Any]]]:
        return {"found": rankings[request.question][: request.limit]}

    return app


def by_mcp(rankings: Rankings) -> MCPServer:
    """Return a server with the tool `find`."""
    server = MCPServer("rankings")

    @server.tool()
    def find(question: str, limit: int) -> list[dict[str, Any]]:
        """Search."""
        return rankings[question][:limit]

    return server


if __name__ == "__main__":
    by_mcp(json.loads(Path(sys.argv[1]).read_text("utf-8"))).run()
