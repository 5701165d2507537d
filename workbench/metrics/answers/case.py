"""The answers of one variant of a configuration with the questions and their labels, as answer metrics read them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.metrics.coverage import Bools, Floats
from workbench.records import Need, Passage, Query, Variant

# Unit vectors of texts, one row each.
Embed = Callable[[Sequence[str]], npt.NDArray[np.float32]]


class AnswerValues(NamedTuple):
    """An answer metric's `value` (q). Each reason of `not_applicable` and `unscored` is paired with the questions (q) without a value."""

    value: Floats
    not_applicable: tuple[tuple[str, Bools], ...] = ()
    unscored: tuple[tuple[str, Bools], ...] = ()


@dataclass(frozen=True)
class AnswerLabels:
    """The questions (q) in the dataset's order with the evidence of each (q), empty for a question without evidence."""

    queries: Sequence[Query]
    needs: Sequence[Sequence[Need]]

    @property
    def answerable(self) -> Bools:
        """Whether each question has an answer in the documents. Shape (q,)."""
        return np.array([query.answerable for query in self.queries], dtype=np.bool_)

    @property
    def expected(self) -> list[tuple[str, ...]]:
        """Return the expected answer of each question with its variants, without empty ones."""
        return [tuple(filter(None, (query.answer, *query.answer_variants))) for query in self.queries]


@dataclass(frozen=True)
class Contexts:
    """The contexts of a variant, one for each question (q).

    `reasons` says why the condition does not apply to a question, empty if it does. `gold`: whether the passages contain all evidence of the
    question. `relevant` is the number of passages with evidence. `packing_recall` is the share of the delivered passages with
    evidence that are among them, NaN if none was delivered.
    """

    passages: Sequence[Sequence[Passage]]
    reasons: Sequence[str]
    gold: Bools
    relevant: Floats
    packing_recall: Floats


@dataclass(frozen=True)
class Answers:
    """The answers of a variant, one for each question (q).

    `errors` says why a question has no answer, empty if it has one. `citations` are numbers of passages, from 0. `confidence` and `correct`
    (the label of a recorded answer) are NaN if unknown. `outcomes` says how the answer treats a planted text: `kept`, `conflict` or
    `adopted` of a counterfactual, `complied` or `resisted` of an injection, else empty. `truncated` is False if that is not known.
    """

    texts: Sequence[str]
    refused: Bools
    errors: Sequence[str]
    citations: Sequence[Sequence[int]]
    confidence: Floats
    correct: Floats
    outcomes: Sequence[str]
    truncated: Bools


@dataclass(frozen=True, eq=False)
class AnswerCase:
    """The answers of a configuration in a variant, with everything that answer metrics read.

    `verbatim` says that answers are copied from the context. `embed` returns unit vectors of texts. `clean` is the case of the clean twin:
    the same questions with the context `gold`, None for a condition without perturbation. `unknown` are the questions whose context is not known:
    those for which a target names no sources.
    """

    variant: Variant
    labels: AnswerLabels
    contexts: Contexts
    answers: Answers
    embed: Embed = field(repr=False)
    verbatim: bool = False
    clean: "AnswerCase | None" = field(default=None, repr=False)
    unknown: frozenset[int] = frozenset()

    def __len__(self) -> int:
        return len(self.labels.queries)

    @property
    def knows_context(self) -> Bools:
        """Whether it is known what each answer was made from. Shape (q,)."""
        return np.array([query not in self.unknown for query in range(len(self))], dtype=np.bool_)

    def each(self, value: bool) -> Bools:
        """Return the value for every question. Shape (q,)."""
        return np.full(len(self), value, dtype=np.bool_)
