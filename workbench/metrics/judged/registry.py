"""All metrics of judgements. To add one, write its function and a line here, or an entry point of another package."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from workbench.core.registry import Registry
from workbench.metrics.answers.case import AnswerValues
from workbench.metrics.answers.registry import ANSWERABLE, EXPECTED, GENERATED, IN_CONTEXT, AnswerScope
from workbench.metrics.case import Cut
from workbench.metrics.judged.answers import answer_correctness, answer_relevance, rubric
from workbench.metrics.judged.case import JudgedCase
from workbench.metrics.judged.claims import contradiction_rate, faithfulness, support_overlap
from workbench.metrics.judged.contexts import context_precision_gold, context_precision_judged, context_relevance
from workbench.metrics.judged.end_to_end import end_to_end

GIVEN = AnswerScope(lambda case: ~case.answers.refused, "refused")


_SCORE = "the judge of claims is a score"
_LACKING = {"verdicts": [_SCORE], "contradictions": [_SCORE, "it does not tell contradicted claims from absent ones"]}


@dataclass(frozen=True, slots=True)
class JudgedKind:
    """A metric of judgements: `compute(case, cut)`, the questions to which it applies, and how to read its values.

    One that `needs` verdicts or contradictions does not apply if the judge of claims does not give them. Without `of_answers` it reads contexts only, and questions whose answer
    failed have a value. Raise `version` when `compute` returns different values, because it is part of the key of stored scores.
    `definition` is the metric in a sentence, `formula` its value for one question, `source` its origin.
    """

    compute: Callable[[JudgedCase, Cut], AnswerValues]
    scopes: tuple[AnswerScope, ...] = ()
    definition: str = "defined by the package that provides it"
    formula: str = "–"
    source: str = "–"
    higher_is_better: bool = True
    proportion: bool = True
    of_answers: bool = True
    needs: Literal["scores", "verdicts", "contradictions"] = "scores"
    cut: Literal["none", "k"] = "none"
    version: int = 1
    family: ClassVar[Literal["answers"]] = "answers"

    @property
    def not_applicable(self) -> str:
        """Return the reasons for which the metric does not apply to a question."""
        reasons = [scope.reason for scope in self.scopes]
        return ", or ".join(reasons + _LACKING.get(self.needs, [])) or "–"


_RAGAS = "Es et al. 2024, Ragas"
_HERE = "Workbench"
_OF_CLAIMS = (*IN_CONTEXT, GENERATED, GIVEN)
_BUILTIN: dict[str, JudgedKind] = {
    "faithfulness": JudgedKind(
        faithfulness,
        _OF_CLAIMS,
        "share of the answer's claims that a passage of the context supports, by the judge `support`",
        "supported claims / claims",
        _RAGAS,
        needs="verdicts",
    ),
    "contradiction_rate": JudgedKind(
        contradiction_rate,
        _OF_CLAIMS,
        "share of the answer's claims that a passage of the context contradicts, by the judge `support`; lower is better",
        "contradicted claims / claims",
        _HERE,
        higher_is_better=False,
        needs="contradictions",
    ),
    "support_overlap": JudgedKind(
        support_overlap,
        _OF_CLAIMS,
        "how much of the answer's claims the words, numbers and sentences of the context contain, whichever judge is set; a score without verdicts",
        "mean of the claims' scores by the judge `overlap`",
        _HERE,
    ),
    "context_precision_gold": JudgedKind(
        context_precision_gold,
        (ANSWERABLE, *IN_CONTEXT),
        "share of the first k passages of the context that have evidence or, without evidence, are of a relevant document",
        "relevant passages / passages, among the first k",
        _HERE,
        of_answers=False,
        cut="k",
    ),
    "context_precision_judged": JudgedKind(
        context_precision_judged,
        (ANSWERABLE, *IN_CONTEXT),
        "share of the first k passages of the context that the judge `relevance` finds relevant",
        "passages with a relevance of at least `judging.thresholds.context_relevance` / passages, among the first k",
        _RAGAS,
        of_answers=False,
        cut="k",
        version=2,
    ),
    "context_relevance": JudgedKind(
        context_relevance,
        (ANSWERABLE, *IN_CONTEXT),
        "mean relevance of the passages of the context to the question, by the judge `relevance`",
        "mean of the passages' relevance",
        _RAGAS,
        of_answers=False,
    ),
    "answer_relevance": JudgedKind(
        answer_relevance,
        (ANSWERABLE,),
        "relevance of the answer to the question, by the judge `relevance`",
        "the judge's score; 0 for a refusal",
        _RAGAS,
    ),
    "answer_correctness": JudgedKind(
        answer_correctness,
        (ANSWERABLE, EXPECTED),
        "agreement of the answer with the expected answer or one of its variants, by the judge `correctness`",
        "the judge's score; 0 for a refusal",
        _RAGAS,
    ),
    "rubric": JudgedKind(
        rubric,
        (ANSWERABLE,),
        "quality of the answer as a whole, by the judge `rubric`",
        "the judge's score; 0 for a refusal",
        "Zheng et al. 2023, Judging LLM-as-a-Judge",
    ),
    "end_to_end": JudgedKind(
        end_to_end,
        IN_CONTEXT,
        "1 if the context has an expected document and no irrelevant passage, and the answer is faithful, relevant, correct and not too short, or if "
        "an unanswerable question is refused; without the test of faithfulness if the judge of claims is a score or the answer is copied",
        "1 if every test reaches its threshold, else 0; only tests that apply count",
        _HERE,
    ),
}
JUDGED_KINDS: Registry[JudgedKind] = Registry(_BUILTIN, "workbench.judged_metrics", JudgedKind)
