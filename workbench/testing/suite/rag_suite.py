"""The experiment of a test session, which is swept once and checked once."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from filelock import FileLock

from workbench.api.given_systems import ingesting
from workbench.api.pipeline import Index
from workbench.core.errors import InputError, RunError, WorkbenchError
from workbench.core.files import parsed_json, store_errors, write_text
from workbench.core.fingerprint import fingerprint
from workbench.core.records import Dataset
from workbench.core.text.terminal import say
from workbench.gate.check import GateReport, check_gate, gated_configuration
from workbench.gate.rules import GateSettings, RuleResult
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.local import run_experiment
from workbench.runner.execution.outputs import publish
from workbench.runner.experiment.read import ExperimentSpec, read_experiment
from workbench.runner.pipeline.configuration import Configuration
from workbench.systems.base import Target
from workbench.testing.assertions import pipeline_of

T = TypeVar("T")


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

    @classmethod
    def of(cls, config: pytest.Config) -> "SuiteOptions":
        """Read the options of a session."""
        baseline = config.getoption("rag_baseline")
        return cls(
            experiment=Path(config.getoption("rag_experiment")),
            outputs=Path(config.getoption("rag_outputs")),
            overrides=tuple(config.getoption("rag_set")),
            configuration=config.getoption("rag_configuration"),
            baseline=Path(baseline) if baseline else None,
            warn_undecided=config.getoption("rag_warn_undecided"),
            allow_code=config.getoption("rag_allow_code"),
            session=str(getattr(config, "workerinput", {}).get("testrunuid", "")),
        )


@dataclass(eq=False)
class RagSuite:
    """The experiment of a test session. Everything is computed on first use, and an error is raised again for each test that needs it."""

    options: SuiteOptions
    uncheckable: Mapping[str, InputError] = field(default_factory=dict)
    _made: dict[str, object] = field(default_factory=dict)

    @cached_property
    def spec(self) -> ExperimentSpec:
        """The experiment. Raises ExperimentError with every fault."""
        return read_experiment(self.options.experiment, self.options.overrides, self.options.allow_code)

    @cached_property
    def settings(self) -> GateSettings:
        """The rules of the experiment, with the options of the command line."""
        settings = self.spec.gate or GateSettings()
        given = {"configuration": self.options.configuration, "baseline": self.options.baseline}
        return replace(settings, **{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return self.options.outputs / self.spec.name

    @property
    def dataset(self) -> Dataset:
        """The dataset of the experiment."""
        return self._once("dataset", self.spec.dataset.load)

    @property
    def tables(self) -> RunTables:
        """The tables of the sweep, which runs once in a session."""
        return self._once("tables", self._swept)

    @property
    def gate(self) -> GateReport:
        """The outcome of all rules that can be checked. Raises the error of a rule if none can."""
        return self._once("gate", self._checked)

    def results(self, rule_id: str) -> Sequence[RuleResult]:
        """Return the results of a rule. Raises its error if it cannot be checked."""
        report = self.gate
        if rule_id in self.uncheckable:
            raise self.uncheckable[rule_id]
        return report.of(rule_id)

    def _checked(self) -> GateReport:
        """Check all rules together, since they are corrected for their number. Rules that cannot be checked are left out, each with its error."""
        try:
            return check_gate(self.tables, self.settings)
        except InputError as error:
            self.uncheckable = dict(self._errors())
            left = [rule for rule in self.settings.rules if rule.id not in self.uncheckable]
            if not (self.uncheckable and left):
                raise error from None
            return check_gate(self.tables, self.settings.only(left))

    def _errors(self) -> Iterator[tuple[str, InputError]]:
        """Yield the id and the error of each rule that cannot be checked alone."""
        for rule in self.settings.rules:
            try:
                check_gate(self.tables, self.settings.only([rule]))
            except InputError as error:
                yield rule.id, error

    @property
    def configuration(self) -> Configuration:
        """The configuration that the rules are about."""
        name = gated_configuration(self.tables, self.settings)
        return next(configuration for configuration in self.spec.configurations if configuration.name == name)

    def _once(self, name: str, compute: Callable[[], T]) -> T:
        if name not in self._made:
            try:
                self._made[name] = compute()
            except WorkbenchError as error:
                self._made[name] = error
        made = self._made[name]
        if isinstance(made, WorkbenchError):
            raise made
        return cast("T", made)

    def _swept(self) -> RunTables:
        """Sweep, or wait for the process of this session that sweeps and read what it wrote."""
        if not self.options.session:
            return self._sweep()
        mark = self.options.outputs / ".locks" / f"{self.spec.name}.pytest.json"
        with store_errors(mark.parent):
            mark.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(mark.with_suffix(".lock")):
                # Processes of one session can sweep other settings, each its own.
                key = fingerprint(self.options.session, self.spec.settings)
                known = _marked(mark)
                if known.get("session") != key:
                    known = {"session": key, "error": self._error()}
                    write_text(mark, json.dumps(known))
        if known["error"]:
            kind = InputError if known["error"]["exit_code"] == InputError.exit_code else RunError
            raise kind(known["error"]["line"])
        return RunTables.read(self.folder)

    def _error(self) -> dict[str, object] | None:
        """Sweep. Return the error as JSON, None without one."""
        try:
            self._sweep()
        except WorkbenchError as error:
            return {"line": "; ".join(error.lines), "exit_code": error.exit_code}
        return None

    def _sweep(self) -> RunTables:
        published = publish(run_experiment(self.spec, self.options.outputs, say), say, remember=False, notebooks=False)
        for line in (*published.notes, *published.errors):
            say(line)
        return published.tables


def _marked(mark: Path) -> dict[str, Any]:
    """Read the mark of the process that swept, empty without it: another one then sweeps."""
    try:
        known = parsed_json(mark.read_bytes())
        error = known["error"]
        whole = error is None or (isinstance(error["line"], str) and isinstance(error["exit_code"], int))
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return known if whole else {}


SUITE = pytest.StashKey[RagSuite]()


def suite_of(config: pytest.Config) -> RagSuite:
    """Return the experiment of the session. Raises InputError without one."""
    if SUITE not in config.stash:
        raise InputError("there is no experiment", "run pytest --rag-experiment experiments/NAME.yaml")
    return config.stash[SUITE]


def system_of(suite: RagSuite) -> Target | Index:
    """Return the target of the gated configuration, or the index of its pipeline. Raises InputError if the configuration failed."""
    return suite.configuration.system(lambda own: pipeline_of(own).index(suite.dataset, suite.options.outputs))


def ingesting_target(suite: RagSuite) -> Target:
    """Return the gated configuration as a target that takes documents. Raises InputError if it is one that takes none."""
    configuration = suite.configuration
    target = configuration.system(lambda own: ingesting(pipeline_of(own), suite.options.outputs, own.name))
    if not target.ingests:
        raise InputError(
            f"the target {configuration.name} takes no documents, so nobody can update them", "give it ingest, or leave stale out"
        )
    return target
