"""The tables of a finished run as DataFrames."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from workbench.guessed_names import AdvisedNames
from workbench.results.run_tables import RunTables

if TYPE_CHECKING:
    from workbench.scoring.rescoring.rescore import Rescorer


@dataclass(frozen=True, eq=False)
class ResultTables(AdvisedNames):
    """The tables of a run in a folder. Each is a copy, so that changes do not reach the run."""

    tables: RunTables
    folder: Path

    @property
    def metrics(self) -> pd.DataFrame:
        """The mean of every metric with its interval, over all questions and for each slice."""
        return self.tables.metrics.copy()

    @property
    def queries(self) -> pd.DataFrame:
        """The value of every metric for every question."""
        return self.tables.queries.copy()

    @property
    def hits(self) -> pd.DataFrame:
        """Every retrieved chunk by rank, and whether it was delivered."""
        return self.tables.hits.copy()

    @property
    def configurations(self) -> pd.DataFrame:
        """The fields and sizes of every configuration, and the errors of failed ones."""
        return self.tables.configurations.copy()

    @property
    def comparisons(self) -> pd.DataFrame:
        """The difference between every two configurations by every metric."""
        return self.tables.comparisons.copy()

    @property
    def timings(self) -> pd.DataFrame:
        """Seconds by stage, latencies, and everything else that varies between runs."""
        return self.tables.timings.copy()

    @property
    def questions(self) -> pd.DataFrame:
        """The questions with their answers and metadata."""
        return self.tables.questions.copy()

    @property
    def answers(self) -> pd.DataFrame:
        """Every answer in every condition, with its context. Empty if the run answers no questions."""
        return self.tables.answers.copy()

    @property
    def claims(self) -> pd.DataFrame:
        """Every claim of the judged answers, with its verdict and the passage that decides it. Empty without judges."""
        return self.tables.claims.copy()

    @property
    def judgements(self) -> pd.DataFrame:
        """Every judgement of a passage or an answer. Empty without judges."""
        return self.tables.answer_judgements.copy()

    @property
    def judges(self) -> pd.DataFrame:
        """The judges of the run by task, with their test on known answers. Empty without judges."""
        return self.tables.judges.copy()

    @property
    def targets(self) -> pd.DataFrame:
        """What each target served, what failed, and what could not be matched with the documents. Empty without targets."""
        return self.tables.targets.copy()

    @property
    def samples(self) -> pd.DataFrame:
        """Every text that a target asked its client for, with the prompt and the reply. Empty without targets that answer."""
        return self.tables.samples.copy()

    @property
    def lost(self) -> pd.DataFrame:
        """What questions lost since the baseline of the last `workbench gate`, the worst first. Empty before one."""
        return self.tables.lost.copy()

    @cached_property
    def rescorer(self) -> "Rescorer":
        """The stored rankings of the run, which `what_if` scores."""
        from workbench.scoring.rescoring.rescore import Rescorer
        from workbench.scoring.rescoring.run_dataset import RunDataset

        return Rescorer(self.tables, self.folder, RunDataset(self.tables))
