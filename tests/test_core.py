"""The core does its jobs without the packages of extras. tests/test_packaging.py runs the same jobs in an environment that has the core alone."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.environments import outside
from tests.tiny_dataset import write_dataset
from workbench.cli.demo import RECORDING
from workbench.core.environment import EXTRAS, NAME

ROOT = Path(__file__).parent.parent
JOBS = Path(__file__).parent / "core_jobs.py"
GATE = """
import sys
from workbench.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    print(end.code, *sorted(sys.modules))
"""


def core_packages() -> set[str]:
    """The normalised names of the packages that `pip install rag-workbench` brings, with itself."""
    found, wanted = set(), [NAME]
    while wanted:
        name = normal(wanted.pop())
        if name not in found:
            found.add(name)
            requirements = map(Requirement, distribution(name).requires or [])
            wanted += [each.name for each in requirements if each.marker is None or each.marker.evaluate({"extra": ""})]
    return found


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def refused() -> list[str]:
    """The modules of the packages of extras, and of what these bring."""
    core = core_packages() | {normal(name) for name in ("pytest", "pluggy", "iniconfig", "pygments")}
    return sorted(module for module, names in packages_distributions().items() if not core & set(map(normal, names)))


def run_jobs(python: Path, folder: Path, *modules: str, env: Mapping[str, str]) -> list[str]:
    """Run the jobs on the tiny dataset and return their names."""
    write_dataset(folder / "data", evidence=True)
    command = [python, JOBS, ".", *modules]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
    return done.stdout.split()


def test_every_package_of_an_extra_has_its_extra() -> None:
    extras = {}
    for line in distribution(NAME).requires or []:
        if match := re.search(r"""extra == ['"](\w+)['"]""", line):
            extras.setdefault(normal(Requirement(line).name), set()).add(match[1])
    distributions = packages_distributions()
    for module, extra in EXTRAS.items():
        names = {normal(name) for name in distributions.get(module.split(".")[0], [])}
        # Some come with a package of the extra.
        assert not names & core_packages(), module
        assert not names & extras.keys() or any(extra in extras.get(name, set()) for name in names), module


def test_the_core_needs_no_package_of_an_extra(tmp_path: Path) -> None:
    jobs = run_jobs(Path(sys.executable), tmp_path, *refused(), env={**outside(), "QUICK": "1", "PYTHONPATH": str(ROOT)})
    assert jobs == ["evaluate_a_callable", "score_rankings", "check_a_dataset", "name_the_extra"]


@pytest.mark.slow
def test_the_core_sweeps_answers_gates_and_reports_without_them(tmp_path: Path) -> None:
    environment = {**outside(), "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    jobs = run_jobs(Path(sys.executable), tmp_path, *refused(), env=environment)
    assert "test_by_the_plugin" in jobs


def test_a_gate_on_tables_imports_only_these_packages(tmp_path: Path, run_python: Callable[..., str]) -> None:
    folder = shutil.copytree(RECORDING, tmp_path / "recorded")
    code, *names = run_python(GATE, "gate", folder, "--fail-below", "recall@5=0.5").splitlines()[-1].split()
    assert code == "0", json.dumps(names)
    # Not those that draw, read pages, templates or YAML, split sentences, or ask a service. pandas and scipy bring some.
    distributions = packages_distributions()
    third = {name for name in names if name in distributions and not name.startswith("_")}
    assert third <= set(
        "workbench click lazy_loader numpy pandas pyarrow scipy pydantic pydantic_core annotated_types typing_inspection typing_extensions"
        " markupsafe filelock regex dateutil tzdata charset_normalizer cloudpickle".split()
    )
    # The registries import every component, target, dataset and topic.
    registries = ("components.registry", "embedding.registry", "systems.registry", "data.sources", "topics.registry")
    assert [name for name in names if name.startswith("scipy.stats") or name.endswith(registries)] == []
