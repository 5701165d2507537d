"""Write docs/reference.md from the code; with --check, say whether it is stale."""

import sys
from pathlib import Path
from typing import Any

import click

from workbench.chunking.registry import CHUNKERS
from workbench.cli.main import main as command
from workbench.datasets.sources import SOURCES
from workbench.embedding.registry import EMBEDDERS
from workbench.metrics.registry import KINDS
from workbench.retrieval.registry import RETRIEVERS

PAGE = Path(__file__).with_name("reference.md")
# Filled in by the experiment, not by a person.
INTERNAL = {("chunking", "model")}


def component_lines(stage: str, kind: str, component: type[Any]) -> list[str]:
    """One component: its sentence and its parameters."""
    lines = [f"### `{stage}: {{kind: {kind}}}`", "", (component.__doc__ or "").strip().split("\n\n")[0].replace("\n    ", " "), ""]
    lines += ["| parameter | default |", "|---|---|"]
    for name, field in component.model_fields.items():
        if name != "kind" and (stage, name) not in INTERNAL:
            lines.append(f"| `{name}` | {'required' if field.is_required() else f'`{field.default}`'} |")
    return [*lines, ""]


def help_lines(group: click.Group, path: str) -> list[str]:
    """The help of every command."""
    lines: list[str] = []
    for name, item in sorted(group.commands.items()):
        context = click.Context(item, info_name=f"{path} {name}", terminal_width=100)
        lines += [f"### `{path} {name}`", "", "```text", item.get_help(context), "```", ""]
        if isinstance(item, click.Group):
            lines += help_lines(item, f"{path} {name}")
    return lines


def page() -> str:
    """The whole page."""
    lines = ["# Reference", "", "Written by `make docs` from the code; `make check` says when it is stale.", "", "## Commands", ""]
    lines += help_lines(command, "workbench")
    lines += ["## Components of an experiment", ""]
    for stage, table in (("dataset", SOURCES), ("chunking", CHUNKERS), ("embedding", EMBEDDERS), ("retrieval", RETRIEVERS)):
        for kind, component in table.items():
            lines += component_lines(stage, kind, component)
    lines += ["## Metrics", "", "| metric | cut | over | better |", "|---|---|---|---|"]
    for name, kind in KINDS.items():
        cut = {"k": "`@k`", "k or tokens": "`@k` or `@Nt`", "none": "none"}[kind.cut]
        lines.append(f"| `{name}` | {cut} | {kind.family} | {'higher' if kind.higher_is_better else 'lower'} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    fresh = page()
    if sys.argv[1:] == ["--check"]:
        if not PAGE.is_file() or PAGE.read_text("utf-8") != fresh:
            sys.exit("docs/reference.md is stale: run make docs and commit it")
    else:
        PAGE.write_text(fresh, "utf-8")
