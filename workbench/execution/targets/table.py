"""Build the tables of what targets served, and of the texts that they asked their client for."""

import json

import pandas as pd

from workbench.core.display import excerpt
from workbench.execution.result import Result
from workbench.pipeline.context import RunContext
from workbench.results.run_tables import empty
from workbench.schemas import SCHEMAS

# The most hits in no document that are listed.
_LISTED = 10


def targets_table(context: RunContext, result: Result) -> pd.DataFrame:
    """Return the row of a target: what it was asked, what failed, and what could not be matched. Empty for another configuration."""
    target = result.configuration.target
    if target is None:
        return empty(SCHEMAS["targets"])
    responses = result.entry("responses")
    hits, failures = responses.table("hits"), responses.table("failures")
    unmatched = hits[hits["fault"] != ""]
    faults = unmatched.drop_duplicates("fault")[["query", "fault"]].head(_LISTED).itertuples(index=False, name=None)
    row = {
        "target": target.kind,
        "searches": target.searches,
        "answers": target.answers,
        "takes_context": target.takes_context,
        "asked": len(context.query_ids),
        "failed": len(failures),
        "error": failures["error"].iloc[0] if len(failures) else "",
        "hits": len(hits),
        "unmatched": len(unmatched),
        "examples": json.dumps([f"{context.query_ids[query]}: {excerpt(fault)}" for query, fault in faults], ensure_ascii=False),
        "without_text": int(((hits["doc"] >= 0) & (hits["start"] < 0) & (hits["fault"] == "")).sum()),
        "sourced": len(responses.values("named")),
    }
    return pd.DataFrame([row])


def samples_table(context: RunContext, result: Result) -> pd.DataFrame:
    """Return every text that a target asked its client for. Empty for another configuration."""
    if "responses" not in result.entries:
        return empty(SCHEMAS["samples"])
    rows = result.entry("responses").table("samples")
    return rows.assign(query_id=context.query_ids[rows["query"].to_numpy("int64")])
