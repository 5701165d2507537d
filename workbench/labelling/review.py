"""Review questions: who drafted them, and what people who accept, refuse or rewrite them decide."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workbench.core.display import excerpt
from workbench.labelling.actions import Value
from workbench.labelling.adjudication import Adjudicator
from workbench.records import ACCEPTED_BY, PROVENANCE, Query

# Who wrote the text of a question that was drafted, in its provenance.
_REWRITTEN_BY = "rewritten_by"


def drafted_by(query: Query) -> str:
    """Return who drafted a question, in parentheses, or an empty text if its provenance does not say."""
    author = str(_provenance(query).get("model") or "").strip()
    return f" ({excerpt(author)})" if author else ""


def drafted_part(query: Query) -> str:
    """Return which part of a synthetic question is drafted: the `question`, or the `answer` of a question that a person wrote."""
    return "answer" if _provenance(query).get("part") == "answer" else "question"


def reviewed(query: Query, judge: Adjudicator) -> tuple[Query, str]:
    """Return a question as people accept it, with the text that holds, and why it is left out if they refuse it, or an empty text.

    Everybody who rewrites or accepts the question gives a text: the rewrite, or else the dataset's. Where the texts differ, that of the
    adjudicator holds, else that of more than half of them. Without either the question stays as it is, also a draft, and the conflict is listed.
    """
    decisions = {name: own.decision(query.query_id) for name, own in judge.labels.items()}
    accepted = judge.settle(
        query.query_id, "acceptance", decisions if query.synthetic else {}, lambda value: "accepted" if value else "refused"
    )
    if accepted is False:
        return query, f"refused by {', '.join(name for name, decision in decisions.items() if decision is False)}"
    texts: dict[str, Value] = {
        name: own.rewritten(query.query_id) or query.text for name, own in judge.labels.items() if decisions[name] is True
    }
    text = judge.settle(query.query_id, "rewrite", texts, lambda value: repr(excerpt(str(value))))
    supporters = ", ".join(name for name, given in texts.items() if given == text)
    metadata = dict(query.metadata)
    if accepted is True and supporters:
        metadata[ACCEPTED_BY] = supporters
    if isinstance(text, str) and text != query.text:
        metadata[PROVENANCE] = {**_provenance(query), _REWRITTEN_BY: supporters}
        query = replace(query, text=text)
    return replace(query, metadata=metadata), ""


def _provenance(query: Query) -> Mapping[str, Any]:
    found = query.metadata.get(PROVENANCE)
    return found if isinstance(found, Mapping) else {}
