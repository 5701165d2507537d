"""Check that a server has the tools that a target names, with the arguments that it gives."""

from collections.abc import Mapping, Sequence

from mcp_types import Tool

from workbench.core.formatting import listed, meant
from workbench.targets.base import TargetDownError
from workbench.targets.mcp.tools import McpTool

_MOST = 20


def check_tools(wanted: Sequence[McpTool], tools: Sequence[Tool]) -> None:
    """Raise TargetDownError for a tool that is missing, a required argument that is not given, or an argument that the tool does not have."""
    known = {tool.name: tool for tool in tools}
    for each in wanted:
        if each.tool not in known:
            names = listed(sorted(known), _MOST) if known else "none"
            raise TargetDownError(f"the server has no tool {each.tool!r}{meant(each.tool, known)}; its tools are {names}")
        _check_arguments(each, known[each.tool].input_schema)


def _check_arguments(wanted: McpTool, schema: Mapping[str, object]) -> None:
    properties, required = schema.get("properties"), schema.get("required")
    names = list(properties) if isinstance(properties, Mapping) else []
    if missing := [str(name) for name in (required if isinstance(required, list) else []) if name not in wanted.arguments]:
        raise TargetDownError(f"the tool {wanted.tool!r} needs the argument {missing[0]!r}; add it to its arguments")
    # Most servers ignore an argument that they do not know, so that a misspelt collection is silently the default one.
    if not names or schema.get("additionalProperties"):
        return
    for name in wanted.arguments:
        if name not in names:
            raise TargetDownError(f"the tool {wanted.tool!r} has no argument {name!r}{meant(name, names)}; it has {listed(names, _MOST)}")
