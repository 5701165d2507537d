"""The answers that are missing because a call or a file failed."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from workbench.analysis.answers.answered import answering, answers_of
from workbench.results.run_tables import RunTables


@dataclass(frozen=True)
class MissingAnswers:
    """Of the `asked` answers of a configuration, those that failed by reason, the most frequent first."""

    asked: int
    reasons: Mapping[str, int]

    @property
    def missing(self) -> int:
        """Return the number of missing answers."""
        return sum(self.reasons.values())


def missing_answers(run: RunTables, configuration: str) -> MissingAnswers:
    """Count a configuration's missing answers. Questions to which a condition does not apply are not asked."""
    rows = answers_of(run, configuration)
    asked = rows[rows["reason"] == ""]
    failed = asked.loc[asked["error"] != "", "error"]
    return MissingAnswers(len(asked), dict(Counter(failed.tolist()).most_common()))


def missing_elsewhere(run: RunTables, configuration: str) -> int:
    """Return the number of missing answers of all other configurations."""
    return sum(missing_answers(run, name).missing for name in answering(run) if name != configuration)
