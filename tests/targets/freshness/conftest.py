from tests.targets.mcp.conftest import notes_url, served

__all__ = ["notes_url", "served"]
