"""The tables of the replies of targets, and sentences about what targets did not serve."""

import json
from collections import Counter

import pandas as pd

from workbench.core.display import excerpt
from workbench.core.formatting import listed, plural
from workbench.execution.result import Result
from workbench.pipeline.context import RunContext
from workbench.pipeline.target_tables import UNMATCHED, UNPLACED
from workbench.results.run_tables import RunTables, empty
from workbench.schemas import SCHEMAS

# The most hits in no document that are listed.
_LISTED = 10


def targets_table(context: RunContext, result: Result) -> pd.DataFrame:
    """Return the row of a target: what it was asked, what failed, and what could not be matched. Empty for another configuration."""
    if "responses" not in result.entries:
        return empty(SCHEMAS["targets"])
    (target,) = result.configuration.targets
    responses = result.entry("responses")
    hits, failures = responses.table("hits"), responses.table("failures")
    faulty = hits[hits["fault"] != ""]
    unmatched, unplaced = faulty[faulty["doc"] < 0], faulty[faulty["doc"] >= 0]
    known = range(len(context.query_ids)) if target.searches else responses.values("named")
    row = {
        "target": target.kind,
        "searches": target.searches,
        "answers": target.answers,
        "takes_context": target.takes_context,
        "asked": len(context.query_ids),
        "failed": len(failures),
        "error": failures["error"].iloc[0] if len(failures) else "",
        "empty": len(set(known) - set(hits["query"]) - set(failures["query"])),
        "hits": len(hits),
        "unmatched": len(unmatched),
        "examples": _examples(context, unmatched),
        "unplaced": len(unplaced),
        "unplaced_examples": _examples(context, unplaced),
        "without_text": int(((hits["doc"] >= 0) & (hits["start"] < 0) & (hits["fault"] == "")).sum()),
        "sourced": len(responses.values("named")),
        "unread": listed([f"{number} × {name}" for name, number in Counter(responses.values("unread")).items()], _LISTED)
        if responses.values("unread")
        else "",
    }
    return pd.DataFrame([row])


def _examples(context: RunContext, hits: pd.DataFrame) -> str:
    """Return the first hit of each fault with its question, as a JSON list."""
    faults = hits.drop_duplicates("fault")[["query", "fault"]].head(_LISTED).itertuples(index=False, name=None)
    return json.dumps([f"{context.query_ids[query]}: {excerpt(fault)}" for query, fault in faults], ensure_ascii=False)


def samples_table(context: RunContext, result: Result) -> pd.DataFrame:
    """Return every text that a target asked its client for. Empty for another configuration."""
    if "responses" not in result.entries:
        return empty(SCHEMAS["samples"])
    rows = result.entry("responses").table("samples")
    return rows.assign(query_id=context.query_ids[rows["query"].to_numpy("int64")])


def missing_replies(run: RunTables) -> list[str]:
    """Return a line for each target that did not serve all questions."""
    failed = run.targets[run.targets["failed"] > 0]
    return [
        f"the target {row['configuration']} did not serve {plural(row['failed'], 'question')} of {row['asked']}, which are not scored "
        f"(first: {row['error']}){'' if row['target'] == 'recorded' else '; run again to ask only for these'}"
        for row in failed.to_dict("records")
    ]


def incomplete_replies(run: RunTables) -> list[str]:
    """Return a line for each target that found nothing for a question, whose hits have no known document or place, or with parts that are not read."""
    lines = []
    for row in run.targets.to_dict("records"):
        name, hits = row["configuration"], plural(row["hits"], "hit")
        if row["empty"]:
            lines.append(
                f"the target {name} found nothing for {plural(row['empty'], 'question')} of {row['asked']}; those with an answer score 0"
            )
        if row["unmatched"]:
            lines.append(
                f"{row['unmatched']} of {hits} of the target {name} could not be matched with the documents "
                f"(first: {json.loads(row['examples'])[0]}); see match in its settings{_lost(run, name, UNMATCHED)}"
            )
        if row["unplaced"]:
            lines.append(
                f"{row['unplaced']} of {hits} of the target {name} matched a document but not a place in it "
                f"(first: {json.loads(row['unplaced_examples'])[0]}); metrics of documents count them{_lost(run, name, UNPLACED)}"
            )
        if row["unread"]:
            lines.append(f"answers of the target {name} have parts that are no text and are not read: {row['unread']}")
    return lines


def _lost(run: RunTables, configuration: str, reason: str) -> str:
    """Say which metrics leave out which questions for a reason, metrics with the same questions together. Empty if none does."""
    rows = run.of("queries", configuration)
    rows = rows[(rows["state"] == "unscored") & rows["reason"].str.startswith(reason)]
    left_out: dict[tuple[str, ...], list[str]] = {}
    for metric, questions in rows.groupby("metric", sort=False)["query_id"]:
        left_out.setdefault(tuple(dict.fromkeys(questions)), []).append(str(metric))
    parts = [f"{listed(metrics)} {plural(len(questions), 'question')} ({listed(questions, 5)})" for questions, metrics in left_out.items()]
    return f"; left out without a score: of {', of '.join(parts)}" if parts else ""
