"""Tables of the replies of a target: matched with documents, as chunks and rankings, and the reasons for questions without a score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from workbench.components.retrieval.rank import Floats
from workbench.core.records import Document, TargetHit
from workbench.core.storage.result_store import StoredResult
from workbench.llm.models.tokenizers import Ints
from workbench.measures.metrics.definition import NO_SOURCES
from workbench.measures.metrics.inputs import Labels, Retrieved
from workbench.runner.pipeline.stage_results import StageResults
from workbench.systems.asking import TargetReply
from workbench.systems.base import Target
from workbench.systems.matching import HitMatcher

RETURNED = {
    "query": "int64",
    "rank": "int64",
    "doc": "int64",
    "start": "int64",
    "end": "int64",
    "score": "float64",
    "doc_id": "str",
    "text": "str",
    "fault": "str",
}
_SLICE = ["doc", "start", "end"]
_SAMPLES = {"query": "int64", "number": "int64", "prompt": "str", "reply": "str"}
NO_TEXT = "the target returns neither text nor positions"
# How the reason begins why a question has no value, by whether the document of a hit is known.
UNMATCHED, UNPLACED = "a hit cannot be matched with the documents", "a hit matched a document but not a place in it"


@dataclass(frozen=True)
class TargetResponses:
    """The tables and values of the stage `responses`, by name, before they are stored."""

    tables: Mapping[str, pd.DataFrame]
    contents: Mapping[str, Any]

    def table(self, name: str) -> pd.DataFrame:
        return self.tables[name]

    def values(self, name: str) -> Any:
        return self.contents[name]

    @property
    def retrieved(self) -> Retrieved:
        """Return the ranking as metrics read it."""
        chunks, hits, ranking, about = (self.tables[name] for name in ("chunks", "exact_hits", "exact_ranking", "exact_about"))
        return Retrieved(chunks, hits, ranking, about["spread"].to_numpy(np.float64), whole_index=False)


# The tables and values of the stage `responses`, stored or not.
Responses: TypeAlias = StoredResult | TargetResponses


def responses_of(
    target: Target, replies: Mapping[str, Sequence[TargetReply]], documents: Sequence[Document], labels: Labels
) -> TargetResponses:
    """Match the replies to all questions with the documents. `replies` are those of the operations `search`, `answer` or both."""
    matcher, answers = HitMatcher(documents, target.match), replies.get("answer", ())
    searched = replies["search" if target.searches else "answer"]
    found = [reply.hits if reply.answer is None else reply.answer.sources or () for reply in searched]
    returned = _returned(list(enumerate(found)), matcher)
    sources = [(place, reply.answer.sources) for place, reply in enumerate(answers) if reply.answer and reply.answer.sources is not None]
    chunks = _chunk_rows(returned, labels)
    hits, ranking = _hit_rows(returned, chunks, labels)
    tables = {
        "hits": returned,
        "sources": _returned(sources, matcher),
        "failures": _failures(searched),
        "unanswered": _failures(answers),
        "samples": _samples(answers),
        "chunks": chunks,
        "exact_hits": hits,
        "exact_ranking": ranking,
        "exact_about": _about_rows(hits, labels.queries),
    }
    contents = {
        "seconds": {operation: [reply.seconds for reply in given if not reply.error] for operation, given in replies.items()},
        "searched": target.searches,
        "named": [place for place, _ in sources],
        "unread": [name for reply in answers if reply.answer for name in reply.answer.unread],
        "searches": {"names": ["exact"], "index_bytes": 0, "overlap": None},
    }
    return TargetResponses(tables, contents)


def _failures(replies: Sequence[TargetReply]) -> pd.DataFrame:
    rows = [(place, reply.error) for place, reply in enumerate(replies) if reply.error]
    return pd.DataFrame(rows, columns=["query", "error"]).astype({"query": "int64", "error": "str"})


def _samples(replies: Sequence[TargetReply]) -> pd.DataFrame:
    rows = [
        (place, number, sample.prompt, sample.reply)
        for place, reply in enumerate(replies)
        for number, sample in enumerate(reply.answer.samples if reply.answer else ())
    ]
    return pd.DataFrame(rows, columns=list(_SAMPLES)).astype(_SAMPLES)


def _returned(hits: Sequence[tuple[int, Sequence[TargetHit]]], matcher: HitMatcher) -> pd.DataFrame:
    """Return a row for each hit of each question (its position), in the target's order, matched with the documents."""
    rows = []
    for query, returned in hits:
        for rank, hit in enumerate(returned, 1):
            place = matcher.place(hit)
            score = np.nan if hit.score is None else float(hit.score)
            rows.append((query, rank, place.doc, place.start, place.end, score, hit.doc_id or "", hit.text or "", place.fault))
    return pd.DataFrame(rows, columns=list(RETURNED)).astype(RETURNED)


def _slices_of(returned: pd.DataFrame, lengths: Ints) -> pd.DataFrame:
    """Return the rows that are in a document, with the characters that they deliver: the whole document for a hit without characters."""
    rows = returned[returned["doc"] >= 0]
    whole = rows["start"] < 0
    ends = np.where(whole, lengths[rows["doc"].to_numpy()], rows["end"])
    return rows.assign(start=np.where(whole, 0, rows["start"]), end=ends)


def _chunk_rows(returned: pd.DataFrame, labels: Labels) -> pd.DataFrame:
    """Return the table `chunks` of the slices that a target returned, each once."""
    slices = _slices_of(returned, np.diff(labels.offsets) - 1)[_SLICE].drop_duplicates().sort_values(_SLICE, ignore_index=True)
    starts, ends = labels.positions(slices, "start", "end")
    return slices.assign(
        delivered_start=slices["start"],
        delivered_end=slices["end"],
        header=pd.array([""] * len(slices), dtype="str"),
        tokens=labels.tokens_in(starts, ends),
    )


def _hit_rows(returned: pd.DataFrame, chunks: pd.DataFrame, labels: Labels) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the tables of ranked chunks and of ranked documents. A hit in no document leaves its rank empty among chunks, and is document -1."""
    numbers = chunks[_SLICE].assign(chunk=np.arange(len(chunks)))
    ranked = _slices_of(returned, np.diff(labels.offsets) - 1).assign(score=_scores(returned))
    hits = ranked.merge(numbers, on=_SLICE).sort_values(["query", "rank"], kind="stable", ignore_index=True)
    # An unknown document counts as another document.
    names = "?" + returned["doc_id"].where(returned["doc_id"] != "", returned["text"])
    known = returned.assign(score=_scores(returned), named=np.where(returned["doc"] >= 0, returned["doc"].astype(str), names))
    documents = known.drop_duplicates(["query", "named"])
    documents = documents.assign(rank=documents.groupby("query").cumcount() + 1).reset_index(drop=True)
    return hits[["query", "rank", "chunk", "score"]], documents[["query", "rank", "doc", "score"]]


def _scores(returned: pd.DataFrame) -> "pd.Series[float]":
    """Return the target's scores, or the reciprocal ranks if any are missing, or rise with the rank as distances do."""
    scores = returned["score"]
    rising = (scores.diff() > 0) & (returned["query"].diff() == 0)
    return 1 / returned["rank"] if scores.isna().any() or np.isinf(scores).any() or rising.any() else scores


def _about_rows(hits: pd.DataFrame, queries: int) -> pd.DataFrame:
    """Return the table of the queries: the spread and the best of the scores. The target decides about ties."""
    scores = hits.groupby("query")["score"]
    table = pd.DataFrame({"spread": scores.std(ddof=0), "top": scores.max()}).reindex(range(queries))
    # As of a search without results: it looks unanswerable.
    table = table.fillna({"spread": 0.0, "top": -np.inf})
    return table.rename_axis("query").reset_index().assign(tied=False)


def unscored_reasons(responses: Responses, family: str, queries: int) -> list[str]:
    """Return for each question why a metric of a family has no value, or an empty text. What an answer without sources was made from is not known.

    A request that failed gives none. A hit whose characters are not known gives none to metrics of chunks and spans: they would count it as if
    it had not been returned.
    """
    searches, named = responses.values("searched"), set(responses.values("named"))
    reasons = ["" if searches or query in named else NO_SOURCES for query in range(queries)]
    returned, failures = responses.table("hits"), responses.table("failures")
    if family != "documents":
        for query, doc, fault in returned.loc[returned["fault"] != "", ["query", "doc", "fault"]].itertuples(index=False, name=None):
            reasons[query] = reasons[query] or f"{UNMATCHED if doc < 0 else UNPLACED}: {fault}"
    for query, error in failures.itertuples(index=False, name=None):
        reasons[query] = error
    return reasons


def unknown_questions(results: StageResults, family: str) -> list[int]:
    """Return the questions of which a target did not return enough to know what it missed by a metric of the family. Empty for a pipeline."""
    if "responses" not in results.entries:
        return []
    responses, queries = results.entry("responses"), results.run.labels.queries
    if family != "documents" and not gives_text(responses):
        return list(range(queries))
    return [query for query, reason in enumerate(unscored_reasons(responses, family, queries)) if reason]


def gives_text(responses: Responses) -> bool:
    """Return True if any hit has a text or characters, or there is no hit at all."""
    returned = responses.table("hits")
    return returned.empty or bool(((returned["start"] >= 0) | (returned["text"] != "")).any())


def without_unscored(scores: pd.DataFrame, family: str, responses: Responses) -> pd.DataFrame:
    """Return the scores of a target without those of questions of which it did not return enough to score."""
    if not responses.values("searched") and not responses.values("named"):
        return with_reasons(scores, [NO_SOURCES] * len(scores), "not_applicable")
    if family != "documents" and not gives_text(responses):
        return with_reasons(scores, [NO_TEXT] * len(scores), "not_applicable")
    return with_reasons(scores, unscored_reasons(responses, family, len(scores)), "unscored")


def with_reasons(scores: pd.DataFrame, reasons: Sequence[str], state: str) -> pd.DataFrame:
    """Return scores without the values of questions that have a reason."""
    reason = pd.Series(list(reasons), index=scores.index, dtype=object)
    lost = (reason != "") & (scores["state"] == "scored")
    empty: Floats = np.where(lost, np.nan, scores["value"])
    return scores.assign(
        value=empty,
        attainable=np.where(lost, np.nan, scores["attainable"]),
        state=scores["state"].where(~lost, state),
        reason=scores["reason"].where(~lost, reason),
    )
