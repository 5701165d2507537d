"""The options of the pytest plugin."""

from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class SuiteOptions:
    """Options of `pytest --rag-experiment`. `session` is the id that all processes of pytest-xdist share, empty without them."""

    experiment: Path
    outputs: Path
    overrides: tuple[str, ...]
    configuration: str | None
    baseline: Path | None
    warn_undecided: bool
    allow_code: bool
    session: str


def add_options(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("rag", "tests of a RAG system (Workbench)")
    add = group.addoption
    add("--rag-experiment", metavar="FILE", help="Sweep this experiment, and collect a test for each rule of its key gate.")
    add("--rag-outputs", metavar="DIR", default="outputs", help="The folder for results and the store.  [default: outputs]")
    add("--rag-set", action="append", default=[], metavar="PATH.TO.KEY=VALUE", help="Change a value of the experiment; can be repeated.")
    add("--rag-configuration", metavar="NAME", help="The configuration to check.  [default: that of the gate, or the only one]")
    add("--rag-baseline", metavar="FILE", help="Compare with this baseline: a file, or the folder of a run.")
    add("--rag-warn-undecided", action="store_true", help="Warn about undecided rules in place of failing.")
    add("--rag-allow-code", action="store_true", help="Import and run the functions that the experiment names.")


def options_of(config: pytest.Config) -> SuiteOptions | None:
    """Return the options, None without an experiment."""
    experiment, baseline = config.getoption("rag_experiment"), config.getoption("rag_baseline")
    if not experiment:
        return None
    return SuiteOptions(
        experiment=Path(experiment),
        outputs=Path(config.getoption("rag_outputs")),
        overrides=tuple(config.getoption("rag_set")),
        configuration=config.getoption("rag_configuration"),
        baseline=Path(baseline) if baseline else None,
        warn_undecided=config.getoption("rag_warn_undecided"),
        allow_code=config.getoption("rag_allow_code"),
        session=str(getattr(config, "workerinput", {}).get("testrunuid", "")),
    )
