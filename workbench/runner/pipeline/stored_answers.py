"""Contexts, answers, claims and tests of judges as the stages have stored them, for the stages after these."""

import json
from collections.abc import Iterable

import pandas as pd

from workbench.components.judging.trust import Trust
from workbench.components.perturb.outcomes import outcome_of
from workbench.core.records import Passage
from workbench.core.storage.result_store import StoredResult
from workbench.llm.replies.answers import CUT_REASONING

# The parts of the stage `verdicts`.
SUPPORT, OVERLAP = "support", "overlap"
FAILED = "a call of the judge's test on known answers failed"


def passages_of(entry: StoredResult) -> dict[int, tuple[Passage, ...]]:
    """Return the passages of each question to which the condition applies, in the order of the prompt."""
    about, rows = entry.table("contexts"), entry.table("passages")
    found: dict[int, list[Passage]] = {query: [] for query in about.loc[about["reason"] == "", "query"].tolist()}
    columns = ["query", "doc_id", "start", "end", "text", "title", "planted"]
    for query, *values in rows.sort_values(["query", "number"], kind="stable")[columns].itertuples(index=False, name=None):
        found[query].append(Passage(*values))
    return {query: tuple(passages) for query, passages in found.items()}


def answer_rows(entry: StoredResult, of_model: Iterable[StoredResult]) -> pd.DataFrame:
    """Return the table of a variant's answers without those that are reasoning, as the model's answers in all variants show.

    A template that writes the beginning of the reasoning into the prompt leaves only its end in a reply. A reply that was cut before the end has no
    mark at all, and only the other replies of the model show that it is no answer.
    """
    rows = entry.table("answers")
    if not any(each.table("answers")["unopened"].any() for each in of_model):
        return rows
    cut = rows["truncated"].eq(True).fillna(False).astype(bool) & ~rows["reasoned"] & (rows["error"] == "")
    empty = {"text": "", "citations": "[]", "refused": False, "error": CUT_REASONING.reason}
    return rows.assign(**{name: rows[name].mask(cut, value) for name, value in empty.items()})


def outcomes_of(contexts: StoredResult, rows: pd.DataFrame) -> dict[int, str]:
    """Return the outcome of each of the `answer_rows` to a context with a planted text: the label of a recorded answer, or what its text shows, else empty."""
    about = contexts.table("contexts")
    planted = dict(zip(about["query"].tolist(), about["planted"].tolist(), strict=True))
    given = zip(rows["query"].tolist(), rows["text"].tolist(), rows["error"].tolist(), rows["outcome"].tolist(), strict=True)
    return {
        query: label or (outcome_of(text, json.loads(planted[query])) if text else "")
        for query, text, error, label in given
        if planted[query] and not error
    }


def given_answers(entry: StoredResult) -> dict[int, str]:
    """Return the text of each answer by question, without refusals and failed answers."""
    rows = answer_rows(entry, [entry])
    given = rows[(rows["error"] == "") & ~rows["refused"] & rows["text"].str.strip().astype(bool)]
    return dict(zip(given["query"].tolist(), given["text"].tolist(), strict=True))


def stored_claims(entry: StoredResult) -> list[tuple[int, int, str]]:
    """Return question, number and text of each claim."""
    rows = entry.table("claims")
    rows = rows[rows["number"] >= 0]
    return list(zip(rows["query"].tolist(), rows["number"].tolist(), rows["text"].tolist(), strict=True))


def trust_in(entry: StoredResult) -> Trust:
    """Return the result of a test."""
    values = entry.values("trust")
    return Trust(**{**values, "weak_kinds": tuple(values["weak_kinds"])})
