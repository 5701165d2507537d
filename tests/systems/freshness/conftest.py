from tests.systems.mcp.conftest import notes_url, served

__all__ = ["notes_url", "served"]
