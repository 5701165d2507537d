"""The answers that are missing because a call or a file failed, and those that were cut off at a token limit."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from workbench.analysis.answers.answered import answering, answers_of
from workbench.llm.replies.answers import REASONING_ALONE
from workbench.results.run_tables import RunTables

# Fewer cut answers are those of unusual questions.
_FEW = 0.05


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


@dataclass(frozen=True)
class CutAnswers:
    """Of the `given` answers of a configuration, those that were cut off. If all are `unmarked`, the model may not have come to an answer."""

    configuration: str
    cut: int
    given: int
    unmarked: bool

    @property
    def unclear(self) -> bool:
        """Return whether nothing shows if the texts are answers or reasoning: each was cut, and no mark of reasoning is in any."""
        return self.unmarked and self.cut == self.given


def cut_answers(run: RunTables) -> list[CutAnswers]:
    """Count the cut answers of each configuration that has more than a few."""
    found = [_cut_answers(run, name) for name in answering(run)]
    return [each for each in found if each.cut > _FEW * each.given]


def _cut_answers(run: RunTables, configuration: str) -> CutAnswers:
    rows = answers_of(run, configuration)
    rows = rows[rows["reason"] == ""]
    given = rows[rows["error"] == ""]
    # Tables of earlier versions do not say whether the model reasoned.
    plain = given["reasoned"].eq(False).fillna(False).all() and not rows["error"].str.startswith(REASONING_ALONE).any()
    return CutAnswers(configuration, int(given["truncated"].eq(True).sum()), len(given), bool(plain))
