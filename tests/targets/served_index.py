"""A program that serves rankings written to a file, by HTTP or by MCP: `python served_index.py FILE http|mcp [PORT]`."""

import json
import sys
from pathlib import Path
from typing import Any

FILE, INTERFACE, *PORT = sys.argv[1:]
RANKINGS: dict[str, list[dict[str, Any]]] = json.loads(Path(FILE).read_text("utf-8"))


def by_http(port: int) -> None:
    """Serve `POST /search`."""
    import uvicorn
    from fastapi import FastAPI
    from pydantic import BaseModel

    class Request(BaseModel):
        question: str
        limit: int

    app = FastAPI()

    @app.post("/search")
    def search(request: Request) -> dict[str, list[dict[str, Any]]]:
        return {"found": RANKINGS[request.question][: request.limit]}

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


def by_mcp(port: int | None) -> None:
    """Serve the tool `find` on stdin and stdout, or at a port."""
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("rankings")

    @server.tool()
    def find(question: str, limit: int) -> list[dict[str, Any]]:
        """Search."""
        return RANKINGS[question][:limit]

    if port is None:
        server.run()
    else:
        server.run("streamable-http", host="127.0.0.1", port=port)


if __name__ == "__main__":
    if INTERFACE == "http":
        by_http(int(PORT[0]))
    else:
        by_mcp(int(PORT[0]) if PORT else None)
