"""Items with labels: what a judge is asked, what a person or the author of an item decided, and which items belong together."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workbench.components.judging.base import JudgeRequest, Task
from workbench.components.judging.self_test import faithfulness_cases, relevance_cases
from workbench.components.judging.sentence_splitter import claims
from workbench.core.environment import data_folder
from workbench.core.records import Passage

HANDBOOK = Path("experiments/handbook")
# MTRAG: the lowest mean of the votes from 1 to 4 of a faithful or complete answer.
_FAITHFUL = 3.5


@dataclass(frozen=True)
class Item:
    """Requests whose mean score is that of the item, and whether a judge should approve it. Items of a `cluster` belong together."""

    requests: tuple[JudgeRequest, ...]
    approve: bool
    cluster: str
    contradicted: bool = False


@dataclass(frozen=True)
class LabelledSet:
    """A set of items for a task. `needs` is the folder of the data, empty for data of the package; `clusters` says what belongs together."""

    name: str
    task: Task
    what: str
    clusters: str
    items: Callable[[], Iterator[Item]]
    needs: str = ""

    @property
    def missing(self) -> bool:
        """True if the data are not on this machine."""
        return bool(self.needs) and not (data_folder() / self.needs).is_dir()

    def sampled(self, most: int | None) -> list[Item]:
        """All items, or at most this many drawn at random, half of them to approve; the same ones every time."""
        items = list(self.items())
        if most is None or most >= len(items):
            return items
        random = np.random.default_rng(20261123)
        sides = [[place for place, item in enumerate(items) if item.approve is side] for side in (True, False)]
        taken = [random.permutation(side)[: max(most // 2, most - len(other))] for side, other in zip(sides, sides[::-1], strict=True)]
        return [items[place] for place in sorted(np.concatenate(taken).tolist())]


def _passages(texts: list[str]) -> tuple[Passage, ...]:
    return tuple(Passage(f"passage-{number}", 0, len(text), text) for number, text in enumerate(texts))


def _handbook_answers() -> Iterator[tuple[dict[str, Any], dict[str, Any], list[str]]]:
    """Each recorded answer with its question and the texts of its passages."""
    questions = {row["query_id"]: row for row in _rows(HANDBOOK / "questions.jsonl")}
    documents: dict[str, str] = {}
    for row in _rows(HANDBOOK / "recorded" / "answers.jsonl"):
        for passage in row["passages"]:
            documents.setdefault(passage["doc_id"], (HANDBOOK / "documents" / f"{passage['doc_id']}.md").read_text("utf-8"))
        texts = [passage.get("text", documents[passage["doc_id"]][passage["start"] : passage["end"]]) for passage in row["passages"]]
        yield row, questions[row["query_id"]], texts


def _document(question: Mapping[str, Any]) -> str:
    return str((question["relevant_doc_ids"] or [question["query_id"]])[0])


def _handbook_claims() -> Iterator[Item]:
    for row, question, texts in _handbook_answers():
        for claim in row["claims"]:
            request = JudgeRequest("support", question["query"], row["answer"], claim["claim"], _passages(texts))
            verdict = claim["verdict"]
            yield Item((request,), verdict == "supported", _document(question), verdict == "contradicted")


def _minimal_edits() -> Iterator[Item]:
    for case in faithfulness_cases():
        request = JudgeRequest("support", "", case.answer, case.answer, _passages([case.context]))
        yield Item((request,), case.min_score is not None, case.context)


def _wice() -> Iterator[Item]:
    for row in _rows(data_folder() / "judge-labels" / "wice-claims.jsonl"):
        request = JudgeRequest("support", "", row["claim"], row["claim"], _passages(["\n".join(row["context"])]))
        yield Item((request,), row["label"] == "supported", row["id"])


def _mtrag() -> Iterator[Item]:
    """The answers with contexts and at least one claim. The score of an answer is the mean of its claims."""
    for row in _rows(data_folder() / "judge-labels" / "mtrag-answers.jsonl"):
        passages = _passages([context["text"] for context in row["contexts"]])
        split = [JudgeRequest("support", row["question"], row["answer"], claim.text, passages) for claim in claims(row["answer"])]
        if passages and split:
            yield Item(tuple(split), float(np.mean(row["human"]["faithfulness"])) >= _FAITHFUL, row["id"].split("|")[0])


def _complete() -> Iterator[Item]:
    """The answers of two models to questions that the passages answer at least in part; the expected answer is that of a person."""
    rows = list(_rows(data_folder() / "judge-labels" / "mtrag-answers.jsonl"))
    expected = {row["id"].split("|")[0]: row["answer"] for row in rows if row["model"] == "reference"}
    for row in rows:
        question = row["id"].split("|")[0]
        if row["model"] != "reference" and row["answerability"] in ("ANSWERABLE", "PARTIAL"):
            request = JudgeRequest("correctness", row["question"], row["answer"], expected=(expected[question],))
            yield Item((request,), float(np.mean(row["human"]["completeness"])) >= _FAITHFUL, question)


def _known_passages() -> Iterator[Item]:
    for case in relevance_cases():
        request = JudgeRequest("context_relevance", case.query, passages=_passages([case.context]))
        yield Item((request,), case.min_score is not None, case.query)


def _handbook_passages() -> Iterator[Item]:
    """The passages of the recorded answers to questions with evidence, each pair once, without altered copies."""
    seen = set()
    for row, question, texts in _handbook_answers():
        spans = [span for need in question["evidence"] for span in need]
        for passage, text in zip(row["passages"], texts, strict=True):
            if not spans or "change" in passage or (question["query_id"], text) in seen:
                continue
            seen.add((question["query_id"], text))
            holds = any(
                span["doc_id"] == passage["doc_id"] and span["start"] < passage["end"] and passage["start"] < span["end"] for span in spans
            )
            request = JudgeRequest("context_relevance", question["query"], passages=_passages([text]))
            yield Item((request,), holds, _document(question))


def _off_topic() -> Iterator[Item]:
    """Answers without a fault that answer, and those that answer another question."""
    for row, question, _ in _handbook_answers():
        if row["fault"] == "off_topic" or (row["fault"] is None and row["behaviour"] != "refused" and row["correct"] is not None):
            request = JudgeRequest("answer_relevance", question["query"], row["answer"])
            yield Item((request,), row["fault"] is None, _document(question))


def _correct() -> Iterator[Item]:
    for row, question, _ in _handbook_answers():
        if row["behaviour"] != "refused" and row["correct"] is not None:
            expected = (question["answer"], *question.get("answer_variants", ()))
            yield Item(
                (JudgeRequest("correctness", question["query"], row["answer"], expected=expected),), row["correct"], _document(question)
            )


SETS = (
    LabelledSet("handbook", "support", "claims of recorded answers: supported, or contradicted or absent", "documents", _handbook_claims),
    LabelledSet("minimal edits", "support", "the known answers of the self-test", "contexts", _minimal_edits),
    LabelledSet("WiCE", "support", "claims of Wikipedia and web pages: supported, or partially or not", "claims", _wice, "judge-labels"),
    LabelledSet(
        "MTRAG", "support", "whole answers, faithful if the mean of the votes is at least 3.5 of 4", "questions", _mtrag, "judge-labels"
    ),
    LabelledSet("known passages", "context_relevance", "the known passages of the self-test", "questions", _known_passages),
    LabelledSet(
        "handbook passages", "context_relevance", "passages with evidence, and others that were retrieved", "documents", _handbook_passages
    ),
    LabelledSet("off-topic answers", "answer_relevance", "recorded answers to the question, and to another", "documents", _off_topic),
    LabelledSet("correct answers", "correctness", "recorded answers that a person would accept, and others", "documents", _correct),
    LabelledSet(
        "MTRAG answers",
        "correctness",
        "answers of two large models, complete if the mean of the votes is at least 3.5 of 4",
        "questions",
        _complete,
        "judge-labels",
    ),
)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
