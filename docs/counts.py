"""Print the size of the package and the number of classes that each concept of the glossary has.

    python docs/counts.py                          # lines, modules, rooms, classes by concept
    python docs/counts.py --gate outputs/quickstart --fail-below recall@5=0.5   # also the modules that this `workbench gate` walks through

The concepts and their classes are the table in docs/architecture.md. A class belongs to a concept by its name or by its fields. Subclasses of a class
that belongs to it are not counted: kinds of targets are one concept.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "workbench"
PAGE = Path(__file__).with_name("architecture.md")
BEGIN, END = "<!-- glossary -->", "<!-- glossary: end -->"

# The names of the classes of a concept. Blocks of the report, stages, components and errors are other things that have the noun in their name.
CONCEPTS = {
    "hit": r"Hit|\w+Hit|HitSlice|(Ranked|Explored|Shown)Chunk|ScoredDoc",
    "answer": r"Answer|\w+Answer|Answered\w*|Observed(Answer|Reply)|TargetReply",
    "judgement": r"Judgement|\w+Judgement|Claim|\w+Claim|Label|Verification",
    "metric": r"Metric|\w+Metric|MetricDefinition|Kind|(Answer|Judged|Scoped)Kind|Measure",
    "system": r"System|TargetSession|IndexedDocuments|Bench|BenchIndex|SystemRun|Index",
    # `Pipeline` and `Target` are what a person writes; a run has these.
    "configuration": r"(Pipeline|Target)\w*Configuration",
    "run": r"Outcome|Results?|Run|RunTables|Findings|RecordedResults",
}
_BRANCH = re.compile(r"\b(configuration|each|result\.configuration|chosen|own)\.target\b|isinstance\([^()]*, (Target|Pipeline)\)")


def modules() -> Iterator[tuple[Path, ast.Module]]:
    """Yield the modules of the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path, ast.parse(path.read_text("utf-8"))


def class_names(tree: ast.Module) -> list[str]:
    """Return the names of the classes of a module."""
    return [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


def classes() -> dict[str, dict[str, str]]:
    """Return the classes of each concept that inherit from no other class of it, with their modules."""
    defined = {node.name: (path, node) for path, tree in modules() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    found: dict[str, dict[str, str]] = {}
    for concept, pattern in CONCEPTS.items():
        members = {name for name in defined if re.fullmatch(pattern, name)}
        roots = {name for name in members if not members & {ast.unparse(base) for base in defined[name][1].bases}}
        found[concept] = {name: str(defined[name][0].relative_to(ROOT)) for name in sorted(roots)}
    return found


def glossary() -> dict[str, set[str]]:
    """Return the classes that the table of docs/architecture.md names for each concept."""
    table = PAGE.read_text("utf-8").partition(BEGIN)[2].partition(END)[0]
    rows = (line.split("|") for line in table.splitlines() if line.startswith("| **"))
    return {cells[1].strip(" *").lower(): set(re.findall(r"`(\w+)`", cells[2])) for cells in rows}


def branches() -> list[str]:
    """Return the lines that branch on whether a configuration is a pipeline or a target."""
    return [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if _BRANCH.search(line)
    ]


def registries() -> list[str]:
    """Return the registries of metrics: those whose entry points have `metrics` in their group."""
    return [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Registry" and "metrics" in ast.unparse(node)
    ]


def sizes() -> dict[str, int]:
    """Return the lines, modules and rooms of the package, and the modules of its largest folder."""
    paths = sorted(PACKAGE.rglob("*.py"))
    folders = {path.parent for path in paths}
    return {
        "lines": sum(path.read_text("utf-8").count("\n") for path in paths),
        "modules": len(paths),
        "empty modules": sum(not path.read_text("utf-8").strip() for path in paths),
        "rooms": sum(folder.parent == PACKAGE for folder in folders),
        "modules of the largest folder": max(len(list(folder.glob("*.py"))) for folder in folders),
    }


def walk(folder: str, options: Sequence[str]) -> dict[str, int]:
    """Return the modules that `workbench gate FOLDER` with more options calls, with the number of functions of each.

    The command runs twice, so that nothing of its imports is counted.
    """
    called: dict[str, set[str]] = {}

    def profile(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(f"{PACKAGE}/") and not code.co_name.startswith("<"):
            called.setdefault(str(Path(code.co_filename).relative_to(PACKAGE)), set()).add(code.co_qualname)

    from workbench.cli.main import run

    sys.argv = ["workbench", "gate", folder, *options]
    for profiled in (None, profile):
        sys.setprofile(profiled)
        try:
            run()
        except SystemExit:
            pass
        finally:
            sys.setprofile(None)
    return {module: len(names) for module, names in sorted(called.items())}


def _print(title: str, rows: Mapping[str, object]) -> None:
    print(title)
    for name, value in rows.items():
        print(f"  {name}: {value}")


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description="Print the size of the package and the number of classes of each concept.")
    parser.add_argument("--gate", metavar="FOLDER", help="also walk through `workbench gate FOLDER`")
    options, rest = parser.parse_known_args()
    _print("size of workbench/", sizes())
    _print("classes by concept", {concept: f"{len(found)}: {', '.join(found)}" for concept, found in classes().items()})
    _print("", {"branches on the kind of a configuration": len(branches()), "registries of metrics": len(registries())})
    if options.gate:
        called = walk(options.gate, rest)
        rooms = {module.partition("/")[0] for module in called}
        _print(f"workbench gate {options.gate}: {len(called)} modules in {len(rooms)} rooms, {sum(called.values())} functions", called)


if __name__ == "__main__":
    main()
