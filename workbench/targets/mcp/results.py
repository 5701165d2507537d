"""Read the result of a tool: the error flag first, then structured content, then text that is JSON, then text."""

import json
from contextlib import suppress

from mcp_types import CallToolResult, TextContent
from pydantic import JsonValue

from workbench.targets.base import TargetError


def read_result(result: CallToolResult) -> JsonValue:
    """Return the value that a tool returned. Raises TargetError with the tool's own words if it failed."""
    texts = [part.text for part in result.content if isinstance(part, TextContent)]
    if result.is_error:
        raise TargetError("\n".join(texts) or "no message")
    structured: JsonValue = result.structured_content
    if structured is not None:
        return structured
    # Older servers send each item of a list as a text.
    with suppress(ValueError, RecursionError):
        values: list[JsonValue] = [json.loads(text) for text in texts]
        if values:
            return values[0] if len(values) == 1 else values
    return "\n".join(texts)
