"""The views of a finished run that its notebooks show."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self, overload

import pandas as pd

from workbench.analysis.answer_values import answering
from workbench.analysis.findings import Findings, findings
from workbench.analysis.judging.judge_trust import has_judges
from workbench.core.formatting import meant, plural
from workbench.errors import InputError
from workbench.guessed_names import AdvisedNames, checked_names
from workbench.report.render.notebook import show
from workbench.report.summary import answers
from workbench.report.topics.retrieval.ranking import ranking_table
from workbench.report.views import AnswersView, ComparisonView, ConfigurationView, JudgeView
from workbench.results.run_tables import RunTables
from workbench.schemas import SCHEMAS

if TYPE_CHECKING:
    from workbench.scoring.rescoring.rescore import Rescorer


class PublicTable:
    """A table of a run as an attribute of its results. Each access makes a copy, so that changes do not reach the run."""

    def __init__(self, table: str) -> None:
        self._table = table
        self.__doc__ = SCHEMAS[table].about

    @overload
    def __get__(self, results: None, owner: type) -> Self: ...
    @overload
    def __get__(self, results: "ResultViews", owner: type) -> pd.DataFrame: ...
    def __get__(self, results: "ResultViews | None", owner: type) -> Self | pd.DataFrame:
        return self if results is None else results.tables.table(self._table).copy()


@dataclass(frozen=True, eq=False)
class ResultViews(AdvisedNames):
    """What the notebooks of a run show: its tables, its sections, one configuration, its answers and its judges."""

    tables: RunTables
    folder: Path
    metrics = PublicTable("metrics")
    queries = PublicTable("queries")
    hits = PublicTable("hits")
    configurations = PublicTable("configurations")
    comparisons = PublicTable("comparisons")
    timings = PublicTable("timings")
    questions = PublicTable("questions")
    answers = PublicTable("answers")
    claims = PublicTable("claims")
    judgements = PublicTable("answer_judgements")
    judges = PublicTable("judges")
    targets = PublicTable("targets")
    samples = PublicTable("samples")
    lost = PublicTable("lost")

    @cached_property
    def rescorer(self) -> "Rescorer":
        """The stored rankings of the run, which `what_if` scores."""
        from workbench.scoring.rescoring.rescore import Rescorer
        from workbench.scoring.rescoring.run_dataset import RunDataset

        return Rescorer(self.tables, self.folder, RunDataset(self.tables))

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self.tables.name

    @property
    def failures(self) -> dict[str, str]:
        """The error of each failed configuration."""
        return self.tables.failures

    def comparison(self) -> ComparisonView:
        """Show the sections of the report one by one, as the comparison notebook does.

        Examples
        --------
        >>> type(results.comparison().ranking()).__name__
        'Shown'
        """
        return ComparisonView(self.tables)

    def summary(self) -> str:
        """Answer the eight questions at the head of the report in plain sentences. They name a winner only if the verdict does.

        Examples
        --------
        >>> results.summary()[:19]
        'What won? No winner'
        """
        return "\n".join(f"{answer.question} {answer.text}" for answer in answers(self._findings))

    @checked_names
    def configuration(self, name: str) -> ConfigurationView:
        """Show one configuration question by question, as its notebook does.

        Raises
        ------
        InputError: the run has no such configuration, or it failed.

        Examples
        --------
        >>> type(results.configuration("fixed-128-0").worst()).__name__
        'Shown'
        """
        return ConfigurationView(self.tables, self._known(name))

    def answer_view(self, configuration: str = "") -> AnswersView:
        """Show the answers of the run, and those of one configuration beside their contexts, as the answers notebook does.

        The default is the first configuration of the ranking that answers.

        Raises
        ------
        InputError: the run has no answers, or no such configuration.

        Examples
        --------
        >>> results.answer_view()
        Traceback (most recent call last):
        workbench.errors.InputError: the run sizes has no answers; add answering to the pipeline of the experiment and sweep again
        """
        names = answering(self.tables)
        if not names:
            raise InputError(f"the run {self.name} has no answers", "add answering to the pipeline of the experiment and sweep again")
        name = self._known(configuration) if configuration else names[0]
        if name not in names:
            raise InputError(f"{name} has no answers", f"choose one of {', '.join(names)}")
        return AnswersView(self.tables, name)

    def judge_view(self, configuration: str = "") -> JudgeView:
        """Show how far the judges of the run can be trusted and why answers fail, as the judge notebook does.

        The claims are those of one configuration, by default of the first of the ranking that answers.

        Raises
        ------
        InputError: the run has no judges, or no such configuration.

        Examples
        --------
        >>> results.judge_view()
        Traceback (most recent call last):
        workbench.errors.InputError: the run sizes has no judges; add answering to the pipeline of the experiment and sweep again
        """
        if not has_judges(self.tables):
            raise InputError(f"the run {self.name} has no judges", "add answering to the pipeline of the experiment and sweep again")
        return JudgeView(self.tables, self.answer_view(configuration).name)

    def __getitem__(self, name: str) -> ConfigurationView:
        """Return `configuration(name)`."""
        return self.configuration(name)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the finished configurations."""
        return iter(self.tables.names)

    def __len__(self) -> int:
        """Return the number of finished configurations."""
        return len(self.tables.names)

    def __bool__(self) -> bool:
        """Return True, also without a finished configuration."""
        return True

    def _repr_html_(self) -> str:
        return self.comparison()._repr_html_() + show(ranking_table(self._findings))._repr_html_()

    def __repr__(self) -> str:
        return f"Results({self.name!r}, {plural(len(self.tables.names), 'configuration')} by {self.tables.primary})"

    @cached_property
    def _findings(self) -> Findings:
        return findings(self.tables)

    def _known(self, name: str) -> str:
        known = self.tables.names
        if name in known:
            return name
        if name in self.failures:
            raise InputError(f"the configuration {name} failed: {self.failures[name]}")
        raise InputError(
            f"the run {self.name} has no finished configuration {name!r}{meant(str(name), known)}", f"they are {', '.join(known)}"
        )
