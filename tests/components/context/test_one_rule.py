"""One packing rule and one list of causes: no module repeats either."""

import ast
from collections.abc import Iterator
from pathlib import Path

from workbench.components.context.packing import BEYOND_K, REPEATED
from workbench.measures.attribution.causes import CAUSE_NAMES

ROOT = Path(__file__).parents[3]
PACKAGE, BENCH = ROOT / "workbench", ROOT / "benchmarks" / "faultbench"
MODULES = sorted([*PACKAGE.rglob("*.py"), *BENCH.rglob("*.py")])
# They say for each cause when it applies and how it is planted, in no order of their own.
BY_CAUSE = {"measures/attribution/evidence_causes.py", "faultbench/indexes.py", "faultbench/faults.py"}


def name(path: Path) -> str:
    return path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else BENCH.parent).as_posix()


def collections(path: Path) -> Iterator[tuple[ast.AST, list[object]]]:
    """Every literal tuple, list, set and dict of a module with its constant elements or keys."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        elements = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else node.keys if isinstance(node, ast.Dict) else []
        yield node, [element.value for element in elements if isinstance(element, ast.Constant)]


def test_no_other_module_lists_the_causes() -> None:
    some = [path for path in MODULES if sum(f'"{cause}"' in path.read_text("utf-8") for cause in CAUSE_NAMES) > 3]
    assert len(some) > len(BY_CAUSE)
    for path in some:
        for node, values in collections(path):
            listed = len(set(values) & set(CAUSE_NAMES)) > 3
            by_cause = isinstance(node, ast.Dict) and name(path) in BY_CAUSE
            assert not listed or by_cause or name(path) == "measures/attribution/causes.py", f"{name(path)}:{node.lineno}"


def test_only_the_packing_rule_gives_reasons_for_cuts() -> None:
    reasons = (REPEATED, BEYOND_K)
    assert [name(path) for path in MODULES if any(f'"{reason}"' in path.read_text("utf-8") for reason in reasons)] == [
        "components/context/packing.py"
    ]


def test_whoever_packs_calls_the_rule() -> None:
    callers = {name(path) for path in MODULES if "from workbench.components.context.packing import" in path.read_text("utf-8")}
    assert {"measures/metrics/case.py", "runner/pipeline/stage_results.py", "faultbench/pipeline.py"} <= callers
    (exported,) = [path for path in MODULES if path.name == "retrieve.py"]
    assert "from packing import BEYOND_K, OVER_BUDGET, Limits, fit, pack\n" in exported.read_text("utf-8")
