"""Ask a target all questions."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

import pandas as pd

from workbench.core.errors import RunError
from workbench.core.fingerprint import fingerprint
from workbench.core.schemas import SCHEMAS
from workbench.core.storage.result_store import ResultWriter
from workbench.core.text.display import excerpt
from workbench.core.text.formatting import listed
from workbench.core.text.progress import ProgressBar
from workbench.llm.models.files import model_fingerprint
from workbench.llm.models.tokenizers import BUDGET_VOCABULARY
from workbench.llm.replies.answers import VERSION as REPLIES_VERSION
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.stage import Identity, Inputs, Node, Stage, TableMakers
from workbench.runner.pipeline.stage_results import StageResults
from workbench.runner.pipeline.target_tables import responses_of
from workbench.systems.asking import TargetReply, TargetRequest, replies_of
from workbench.systems.base import Target, TargetResources

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

    Table `hits`, a row for each hit of each question, with the columns of `target_tables.RETURNED`: of its search, or else the sources of its
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
        read += [model_fingerprint(BUDGET_VOCABULARY)]
        return Identity([target.identity(), target.match], [*read, *([fingerprint(filters)] if any(filters) else [])])

    def tables_of(self, configuration: Configuration) -> TableMakers:
        """Return the table of targets, and for one that answers that of its samples."""
        answers = any(target.answers for target in configuration.targets)
        return {schema: make for schema, make in self.tables.items() if answers or schema.name == "targets"}

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        """Ask the questions. If a request failed, the next run asks again."""
        (target,), run = inputs.configuration.targets, inputs.run
        replies = _replies(target, inputs)
        responses = responses_of(target, replies, run.dataset.documents, run.labels)
        for name, table in responses.tables.items():
            writer.table(name, table)
        for name, values in responses.contents.items():
            writer.values(name, values)
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
