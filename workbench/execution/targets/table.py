"""Build the tables of what targets served, and of the texts that they asked their client for."""

import json
from collections import Counter

import pandas as pd

from workbench.core.display import excerpt
from workbench.core.formatting import listed
from workbench.execution.result import Result
from workbench.pipeline.context import RunContext
from workbench.results.run_tables import empty
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
