"""Ask a target all questions: its replies as chunks and rankings, matched with documents, and reasons for questions without a score."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pandas as pd

from workbench.components.retrieval.rank import Floats
from workbench.core.errors import RunError
from workbench.core.fingerprint import fingerprint
from workbench.core.records import Document, TargetHit
from workbench.core.schemas import SCHEMAS
from workbench.core.storage.result_store import ResultWriter, StoredResult
from workbench.core.text.display import excerpt
from workbench.core.text.formatting import listed
from workbench.core.text.progress import ProgressBar
from workbench.llm.models.tokenizers import BUDGET_VOCABULARY, Ints, vocabulary_digest
from workbench.llm.replies.answers import VERSION as REPLIES_VERSION
from workbench.measures.metrics.definition import NO_SOURCES
from workbench.measures.metrics.inputs import Labels, Retrieved
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.stage import Identity, Inputs, Node, Stage, TableMakers
from workbench.runner.pipeline.stage_results import StageResults
from workbench.systems.asking import TargetReply, TargetRequest, replies_of
from workbench.systems.base import Target, TargetResources
from workbench.systems.matching import HitMatcher

# The most hits in no document that are listed.
_LISTED = 10


def _targets_table(results: StageResults) -> pd.DataFrame:
    """Tabulate the requests to a target, those that failed, and the hits that could not be matched."""
    (target,), run = results.configuration.targets, results.run
    responses = results.entry("responses")
    hits, failures, named, unread = (
        responses.table("hits"),
        responses.table("failures"),
        responses.values("named"),
        responses.values("unread"),
    )
    faulty = hits[hits["fault"] != ""]
    unmatched, unplaced = faulty[faulty["doc"] < 0], faulty[faulty["doc"] >= 0]
    row = {
        "target": target.kind,
        "searches": target.searches,
        "answers": target.answers,
        "takes_context": target.takes_context,
        "asked": len(run.query_ids),
        "failed": len(failures),
        "error": failures["error"].iloc[0] if len(failures) else "",
        "empty": len(set(range(len(run.query_ids)) if target.searches else named) - set(hits["query"]) - set(failures["query"])),
        "hits": len(hits),
        "unmatched": len(unmatched),
        "examples": _examples(run, unmatched),
        "unplaced": len(unplaced),
        "unplaced_examples": _examples(run, unplaced),
        "without_text": int(((hits["doc"] >= 0) & (hits["start"] < 0) & (hits["fault"] == "")).sum()),
        "sourced": len(named),
        "unread": listed([f"{number} × {name}" for name, number in Counter(unread).items()], _LISTED) if unread else "",
    }
    return pd.DataFrame([row])


def _examples(run: RunContext, hits: pd.DataFrame) -> str:
    """Return the first hit of each fault with its question, as a JSON list."""
    faults = hits.drop_duplicates("fault")[["query", "fault"]].head(_LISTED).itertuples(index=False, name=None)
    return json.dumps([f"{run.query_ids[query]}: {excerpt(fault)}" for query, fault in faults], ensure_ascii=False)


def _samples_table(results: StageResults) -> pd.DataFrame:
    """Tabulate every text that a target asked its client for."""
    rows = results.entry("responses").table("samples")
    return rows.assign(query_id=results.run.query_ids[rows["query"].to_numpy("int64")])


class ResponsesStage(Stage):
    """The replies of a target, matched with the documents of the dataset.

    Table `hits`, a row for each hit of each question, with the columns of `RETURNED`: of its search, or else the sources of its
    answer. Table `sources`: the sources of its answers, if it names any, and values `named`: the questions for which it does. Table `failures`:
    query, error, and `unanswered`: the same of its answers. Table `samples`: query, number, prompt, reply of the texts that it asked its client
    for. Values `seconds`: those of each reply.
    Values `unread`: the names of the parts of answers that are no text. Value `searched`: whether the hits are those of a search.

    It also gives the tables and values of the stages `chunks` and `hits`.
    """

    name = "responses"
    # 2: a document outside the dataset keeps its place and score in the ranking, and a reply the names of its parts that are no text.
    # 4: the failures of answers. 5: the chunks and the ranking.
    version = 5
    inputs = ("corpus", "questions")
    setting = "target"
    uses_cache: ClassVar[bool] = True
    tables: ClassVar[TableMakers] = {SCHEMAS["targets"]: _targets_table, SCHEMAS["samples"]: _samples_table}

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        return bool(configuration.targets)

    def identity(self, node: Node, run: RunContext) -> Identity:
        """Return the target's settings with how hits are matched, what it can read of the dataset, and the vocabulary in which budgets are counted."""
        (target,), dataset = node.configuration.targets, run.dataset
        fields, filters = [dict(document.metadata) for document in dataset.documents], [dict(query.where) for query in dataset.queries]
        read = [run.questions_identity, fingerprint(fields), node.configuration.answering is not None, REPLIES_VERSION]
        read += [vocabulary_digest(BUDGET_VOCABULARY)]
        return Identity([target.identity(), target.match], [*read, *([fingerprint(filters)] if any(filters) else [])])

    def tables_of(self, configuration: Configuration) -> TableMakers:
        """Return the table of targets, and for one that answers that of its samples."""
        answers = any(target.answers for target in configuration.targets)
        return {schema: make for schema, make in self.tables.items() if answers or schema.name == "targets"}

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        (target,), run = inputs.configuration.targets, inputs.run
        replies = _replies(target, inputs)
        responses = responses_of(target, replies, run.dataset.documents, run.labels)
        for name, table in responses.tables.items():
            writer.table(name, table)
        for name, values in responses.contents.items():
            writer.values(name, values)
        # The next run makes failed requests again.
        if any(reply.error for given in replies.values() for reply in given):
            writer.mark_incomplete()


def _replies(target: Target, inputs: Inputs) -> dict[str, list[TargetReply]]:
    """Return the replies of the target in the order of the questions, by operation: `search`, `answer` or both."""
    queries, replies = inputs.run.dataset.queries, dict[str, list[TargetReply]]()
    if target.searches:
        replies["search"] = _asked(target, [TargetRequest("search", query, target.k) for query in queries], inputs)
        answers = target.answers and inputs.configuration.answering
        if queries and not answers and all(not reply.hits and not reply.error for reply in replies["search"]):
            what = f"the target {target.name} returned no hit for any of the questions"
            raise RunError(what, "check the name of its collection or index, the ids of questions in a file, and its settings")
    if target.answers and (inputs.configuration.answering or not target.searches):
        replies["answer"] = _asked(target, [TargetRequest("answer", query) for query in queries], inputs)
    return replies


def _asked(target: Target, requests: Sequence[TargetRequest], inputs: Inputs) -> list[TargetReply]:
    with ProgressBar(total=len(requests), unit="question", desc=f"ask {target.name}") as bar:
        return replies_of(target, requests, TargetResources(inputs.run.calls, inputs.run.dataset.corpus), bar.update)


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
