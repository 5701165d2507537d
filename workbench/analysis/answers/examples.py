"""The same question in every condition: its contexts with evidence, planted text and the words that decide marked, and its answers with claims."""

import difflib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from workbench.analysis.answers.answered import answers_of
from workbench.analysis.answers.condition_scores import answer_score
from workbench.analysis.answers.values import condition_values, losing, perturbations, repeated_values
from workbench.analysis.judging.claims import ShownClaim, ShownClaims, claims_of
from workbench.analysis.judging.marked_claims import answer_pieces, passage_anchor, passage_pieces
from workbench.analysis.questions.passages import Piece, Stretch, passage_of
from workbench.context.conditions import CONDITIONS, GOLD, PERTURBATIONS, RETRIEVED
from workbench.core.fingerprint import fingerprint
from workbench.core.formatting import meant
from workbench.errors import InputError
from workbench.metrics.coverage import Floats
from workbench.results.run_tables import RunTables

_WORDS = re.compile(r"\s*\S+|\s+$")


@dataclass(frozen=True)
class ShownPassage:
    """A passage of a context by its `number` from 1. `cited`: whether the answer cites it. `planted` is what was planted in it, else empty.

    `anchor` identifies it on a page.
    """

    number: int
    doc_id: str
    start: int
    end: int
    cited: bool
    planted: str
    pieces: Sequence[Piece]
    anchor: str


@dataclass(frozen=True)
class ShownAnswer:
    """The first answer in a condition with its context. `score` is NaN without one.

    `missing` is why there is no answer: the call failed (`asked`), or the question has no such context. `cited` are numbers of passages from 1.
    `pieces` are the text with its claims, and `anchor` identifies the answer on a page.
    """

    condition: str
    perturbation: str
    score: float
    text: str
    refused: bool
    truncated: bool
    outcome: str
    missing: str
    asked: bool
    cited: Sequence[int]
    tokens: float
    passages: Sequence[ShownPassage]
    claims: ShownClaims
    pieces: Sequence[Piece]
    anchor: str

    @property
    def name(self) -> str:
        """Return the condition with its perturbation."""
        return "/".join(filter(None, [self.condition, self.perturbation]))


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question with its expected answer and its answers in the order of the conditions.

    `loss` is its largest loss of the answer score against the evidence alone, by the condition or attack `lost_to`. NaN and empty if unknown.
    """

    query_id: str
    text: str
    expected: str
    answerable: bool
    loss: float
    lost_to: str
    answers: Sequence[ShownAnswer]


def worst_losses(run: RunTables, configuration: str, most: int) -> list[AnsweredQuestion]:
    """Return up to `most` questions that lose something, the largest loss first.

    Without a condition to compare with, these are the questions that are not answered perfectly, the lowest score first.
    """
    losses, _ = _losses(run, configuration)
    order = np.argsort(-np.nan_to_num(losses, nan=-np.inf), kind="stable")
    chosen = [place for place in order.tolist() if losses[place] > 0][:most]
    return [question_in_conditions(run, configuration, str(run.questions["query_id"].iloc[place])) for place in chosen]


def question_in_conditions(run: RunTables, configuration: str, query_id: str, only: Sequence[str] = CONDITIONS) -> AnsweredQuestion:
    """Return a question in all conditions of a configuration's answers, or in `only` some. Raises InputError for an unknown question."""
    known = run.questions["query_id"].tolist()
    if query_id not in known:
        raise InputError(f"the run {run.name} has no question {query_id!r}{meant(query_id, known)}", "see results.questions")
    place = known.index(query_id)
    question = run.questions.iloc[place]
    losses, causes = _losses(run, configuration)
    answers = answers_in_conditions(run, configuration, query_id, only)
    expected, answerable = str(question["answer"] or ""), bool(question["answerable"])
    return AnsweredQuestion(query_id, str(question["text"]), expected, answerable, float(losses[place]), causes[place], answers)


def answers_in_conditions(run: RunTables, configuration: str, query_id: str, only: Sequence[str] = CONDITIONS) -> list[ShownAnswer]:
    """Return the first answers of a configuration to a question of the run in the order of the conditions."""
    rows = answers_of(run, configuration)
    chosen = rows[(rows["query_id"] == query_id) & (rows["repeat"] == 0) & rows["condition"].isin(only)]
    place = run.questions["query_id"].tolist().index(query_id)
    return [_answer(run, configuration, place, row) for row in sorted(chosen.to_dict("records"), key=_reading_order)]


def _reading_order(row: dict[Any, Any]) -> tuple[int, int]:
    families = PERTURBATIONS.get(row["condition"], ("",))
    return CONDITIONS.index(row["condition"]), families.index(row["variant"])


@lru_cache(maxsize=64)
def _losses(run: RunTables, configuration: str) -> tuple[Floats, list[str]]:
    """The largest loss of each question and its cause. Shape (questions,)."""
    metric = str(answer_score(run) or "")
    found = dict(_each_loss(run, configuration, metric)) if metric else {}
    if not found:
        return np.full(len(run.questions), np.nan), [""] * len(run.questions)
    table = np.nan_to_num(np.array(list(found.values())), nan=-np.inf)
    largest, names = table.argmax(axis=0), list(found)
    worst = table.max(axis=0)
    return np.where(np.isinf(worst), np.nan, worst), [names[place] for place in largest.tolist()]


def _each_loss(run: RunTables, configuration: str, metric: str) -> Iterator[tuple[str, Floats]]:
    present = perturbations(run, configuration, metric)
    if (GOLD, "") not in present:
        if (RETRIEVED, "") in present:
            yield RETRIEVED, 1 - condition_values(run, configuration, metric, RETRIEVED)
        return
    gold = condition_values(run, configuration, metric, GOLD)
    for condition, perturbation in losing(run, configuration, metric):
        name = "/".join(filter(None, [condition, perturbation]))
        yield name, gold - condition_values(run, configuration, metric, condition, perturbation)


def _answer(run: RunTables, configuration: str, place: int, row: dict[Any, Any]) -> ShownAnswer:
    metric, cited = answer_score(run), [number + 1 for number in json.loads(row["citations"])]
    scores = repeated_values(run, configuration, str(metric), row["condition"], row["variant"])[:1, place] if metric else np.zeros(0)
    anchor = f"a{fingerprint(configuration, row['query_id'], row['condition'], row['variant'])[:10]}"
    found = claims_of(run, configuration, (row["condition"], row["variant"], 0, row["query_id"]))
    slices = enumerate(json.loads(row["passages"]), 1)
    passages = [_passage(run, row["query_id"], place, each, place in cited, found.claims, anchor) for place, each in slices]
    return ShownAnswer(
        row["condition"],
        row["variant"],
        float(scores[0]) if len(scores) else np.nan,
        row["answer"],
        bool(row["refused"]),
        row["truncated"] is True,
        row["outcome"],
        row["error"] or row["reason"],
        not row["reason"],
        cited,
        float(row["context_tokens"]),
        passages,
        found,
        answer_pieces(row["answer"], found.claims, anchor),
        anchor,
    )


def _passage(
    run: RunTables, query_id: str, number: int, slice_: dict[str, Any], cited: bool, claims: Sequence[ShownClaim], answer: str
) -> ShownPassage:
    doc_id, start, end = slice_["doc_id"], int(slice_["start"]), int(slice_["end"])
    planted, original = slice_.get("planted", ""), passage_of(run, doc_id, start, end)
    deciding = [claim for claim in claims if claim.passage == number]
    if planted:
        pieces = passage_pieces(slice_["text"], 0, len(slice_["text"]), _planted(original[start:end], slice_["text"]), deciding, answer)
    else:
        spans = _evidence(run).get(query_id, ())
        evidence: list[Stretch] = [(low, high, "delivered") for document, low, high in spans if document == doc_id]
        pieces = passage_pieces(original, start, end, evidence, deciding, answer)
    return ShownPassage(number, doc_id, start, end, cited, planted, pieces, passage_anchor(answer, number))


def _planted(original: str, text: str) -> list[Stretch]:
    """Return the stretches of a text, in whole words, that the original does not have."""
    words, before = _WORDS.findall(text), _WORDS.findall(original)
    ends = np.cumsum([0, *map(len, words)]).tolist()
    changes = difflib.SequenceMatcher(None, before, words, autojunk=False).get_opcodes()
    places = [(ends[low], ends[high]) for tag, _, _, low, high in changes if tag in ("replace", "insert")]
    return [(high - len(text[low:high].lstrip()), high, "planted") for low, high in places]


@lru_cache(maxsize=4)
def _evidence(run: RunTables) -> dict[str, list[tuple[str, int, int]]]:
    spans: dict[str, list[tuple[str, int, int]]] = {}
    columns = (run.evidence[name].tolist() for name in ("query_id", "doc_id", "start", "end"))
    for query_id, doc_id, start, end in zip(*columns, strict=True):
        spans.setdefault(query_id, []).append((doc_id, start, end))
    return spans
