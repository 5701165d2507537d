"""The base of the stages that judge the answers of a variant, and how they make their judgements: each distinct request once."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, TypeVar, get_args

from workbench.components.answering.base import AnswerResources
from workbench.components.judging.base import Judge, Judgement, JudgeRequest, Verdict
from workbench.components.judging.claims.base import AnswerClaims, ClaimSplitter, SplitRequest
from workbench.core.errors import RunError
from workbench.core.records import Variant
from workbench.core.storage.result_store import ResultWriter
from workbench.core.text.progress import ProgressBar
from workbench.llm.base import lost_tries
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.stage import Node, Stage


class JudgingStage(Stage):
    """A stage of configurations that answer, in a run with judges."""

    # Judges write the caches of calls and vectors, which only the process that runs the sweep has.
    uses_cache: ClassVar[bool] = True

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        return configuration.answering is not None and run.judging is not None


class JudgedStage(JudgingStage):
    """A stage with a result for each judged variant.

    The judges are those of the run, so what identifies them is in `Identity.run`.
    """

    setting: ClassVar[str] = "judging"

    def includes(self, variant: Variant, run: RunContext) -> bool:
        return variant.condition in run.judged_conditions

    def variant(self, variant: Variant) -> Variant:
        return variant

    def recorded(self, configuration: Configuration, run: RunContext) -> Any:
        """Return the identities of the judges."""
        return [self.identity(Node(self.name, configuration, part=part), run).run for part in self.parts(configuration, run)]


Outcome = TypeVar("Outcome", Judgement, AnswerClaims)
Request = TypeVar("Request", JudgeRequest, SplitRequest)
# What a judgement cost, and whether it came from the cache of calls. One that no call made took no seconds.
_CALL = ("seconds", "cached", "input_tokens", "output_tokens", "cost")


def judgements_of(judge: Judge, requests: Sequence[JudgeRequest], resources: AnswerResources, title: str) -> list[Judgement]:
    """Return the judgement of each request. Equal requests are judged once. Raises RunError for a judge that omits one or gives a wrong one."""
    asked = partial(judge.judge, resources=resources)
    return _each_once(requests, asked, judgement_fault, f"judge {judge.kind!r}", title, judge.calls_model)


def claims_of(splitter: ClaimSplitter, requests: Sequence[SplitRequest], resources: AnswerResources, title: str) -> list[AnswerClaims]:
    """Return the claims of each answer. Equal requests are split once. Raises RunError for a splitter that omits one or gives wrong ones."""
    asked = partial(splitter.split, resources=resources)
    return _each_once(requests, asked, claims_fault, f"claims {splitter.kind!r}", title, splitter.calls_model)


def _each_once(
    requests: Sequence[Request],
    asked: Callable[[Sequence[Request]], Iterator[tuple[int, Outcome]]],
    fault_of: Callable[[Outcome, Request], str],
    who: str,
    title: str,
    shown: bool,
) -> list[Outcome]:
    """Return the outcome of each request, of which equal ones are made once."""
    distinct = list(dict.fromkeys(requests))
    by_request = dict(zip(distinct, _in_order(asked(distinct), len(distinct), who, title, shown), strict=True))
    for request, outcome in by_request.items():
        if fault := fault_of(outcome, request):
            raise RunError(f"{who} gave {fault}", "correct its method")
    return [by_request[request] for request in requests]


def judgement_fault(judgement: Judgement, request: JudgeRequest) -> str:
    """Return the fault of a judgement, or an empty text."""
    if judgement.error:
        return "a score with an error" if judgement.score is not None else ""
    if judgement.score is None or not 0 <= judgement.score <= 1:
        return f"the score {judgement.score}, which is not from 0 to 1, and no error"
    if judgement.verdict not in get_args(Verdict):
        return f"the verdict {judgement.verdict!r}"
    if request.task != "support" or judgement.passage < 0:
        return ""
    if judgement.passage >= len(request.passages):
        return f"the passage {judgement.passage} of {len(request.passages)}"
    length = len(request.passages[judgement.passage].text)
    inside = -1 <= judgement.start <= judgement.end <= length
    return "" if inside else f"the words [{judgement.start}, {judgement.end}) of a passage of {length} characters"


def claims_fault(outcome: AnswerClaims, request: SplitRequest) -> str:
    """Return the fault of the claims of an answer, or an empty text."""
    for claim in outcome.claims:
        if not 0 <= claim.start < claim.end <= len(request.answer):
            return f"a claim at [{claim.start}, {claim.end}) of an answer of {len(request.answer)} characters"
        if not claim.text.strip() or any("\ud800" <= character <= "\udfff" for character in claim.text):
            return "a claim that is blank, or has half of a surrogate pair"
    return ""


def _in_order(outcomes: Iterator[tuple[int, Outcome]], number: int, who: str, title: str, shown: bool) -> list[Outcome]:
    placed: dict[int, Outcome] = {}
    # Only the calls of a model take long enough for a bar.
    with ProgressBar(total=number, unit="judgement", desc=title, disable=not shown) as bar:
        for place, outcome in outcomes:
            if place in placed or not 0 <= place < number:
                raise RunError(f"{who} gave the judgement {place} twice or of no request", "correct its method")
            placed[place] = outcome
            bar.update()
    if len(placed) < number:
        raise RunError(f"{who} gave {len(placed)} of {number} judgements", "correct its method")
    return [placed[place] for place in range(number)]


def record_calls(writer: ResultWriter, outcomes: Sequence[Judgement | AnswerClaims], calls_model: bool) -> None:
    """Write what the distinct calls cost as the values `calls`, and the reasons of missing judgements as `missing`.

    A failed call is made again by the next run, so it marks the entry incomplete. A reply that could not be read would be the same again, and
    so would the error of a judge without a model.
    """
    # Equal requests share an outcome, whose cost counts once.
    calls = list({id(outcome): outcome for outcome in outcomes}.values()) if calls_model else []
    writer.values("calls", {name: [getattr(outcome, name) for outcome in calls] for name in _CALL} | lost_tries(calls))
    errors = [(outcome.error, outcome.replied or not calls_model) for outcome in outcomes if outcome.error]
    missing = {"failed": [error for error, replied in errors if not replied], "unread": [error for error, replied in errors if replied]}
    writer.values("missing", {**missing, "of": len(outcomes) if calls_model or errors else 0})
    if missing["failed"]:
        writer.mark_incomplete()
