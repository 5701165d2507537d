"""Write the chart of the package's rooms and their imports into docs/architecture.md; with --check, say whether it is stale."""

import ast
import sys
from collections import defaultdict
from pathlib import Path

PAGE = Path(__file__).with_name("architecture.md")
PACKAGE = Path(__file__).parents[1] / "workbench"
BEGIN, END = "<!-- house: written by make docs -->", "<!-- house: end -->"


def room(module: str) -> str:
    """The room of a dotted module name: its folder, or its file at the top."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imports() -> dict[str, set[str]]:
    """By room the other rooms that its modules import, those at the top of the package included."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*.py")):
        inside = path.relative_to(PACKAGE)
        own = inside.parts[0] if len(inside.parts) > 1 else inside.stem
        found[own] |= set()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "workbench":
                names = [f"workbench.{alias.name}" for alias in node.names] if node.module == "workbench" else [node.module]
                found[own] |= {room(name) for name in names if (PACKAGE / room(name)).is_dir() or (PACKAGE / f"{room(name)}.py").is_file()}
    return {own: others - {own} for own, others in found.items() if own != "__init__"}


def ordered(graph: dict[str, set[str]]) -> list[str]:
    """Rooms, each after those that it imports where that is possible, by name within a step."""
    left, rows = {name: others & graph.keys() for name, others in graph.items()}, list[str]()
    while left:
        free = sorted(name for name, others in left.items() if not others - set(rows)) or [min(left, key=lambda name: len(left[name]))]
        rows += free
        left = {name: others for name, others in left.items() if name not in free}
    return rows


def chart() -> str:
    """A matrix: a row a room, a mark under each room that it imports."""
    graph = imports()
    rows = ordered(graph)
    width = max(map(len, rows))
    header = " " * (width + 4) + " ".join(f"{number:>2}" for number in range(1, len(rows) + 1))
    lines = [
        f"{number:>2}  {name:<{width}} " + " ".join(" •" if other in graph[name] else " ·" for other in rows[: number - 1])
        for number, name in enumerate(rows, 1)
    ]
    return "\n".join(["```text", header, *(line.rstrip() for line in lines), "```"])


def page() -> str:
    """The page with its chart made again."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    return f"{before}{BEGIN}\n{chart()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    fresh = page()
    if sys.argv[1:] == ["--check"]:
        if PAGE.read_text("utf-8") != fresh:
            sys.exit(f"{PAGE} is stale: make docs")
    else:
        PAGE.write_text(fresh, "utf-8")
