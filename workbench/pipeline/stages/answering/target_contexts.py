"""The contexts in which a target answers, as far as it names them."""

from collections.abc import Iterator

import pandas as pd

from workbench.context.assembly import PackedContext
from workbench.context.conditions import RETRIEVED
from workbench.context.delivered_slices import passage_of
from workbench.core.fingerprint import fingerprint
from workbench.models.tokenizers import BUDGET_VOCABULARY, tokenised
from workbench.perturb.planting import PlantedContext
from workbench.pipeline.context import RunContext
from workbench.pipeline.stage import Inputs
from workbench.pipeline.target_tables import RETURNED
from workbench.records import Passage

CANNOT_BE_GIVEN = "the target cannot be given a context"


def own_contexts(inputs: Inputs) -> list[PlantedContext]:
    """Return the context of each question: the sources that the target's answer names, else what its search returns.

    Empty if the contexts of the variant are packed, and not the target's own.
    """
    run = inputs.run
    if inputs.node.variant.condition != RETRIEVED:
        return [] if inputs.configuration.takes_context else [PlantedContext(reason=CANNOT_BE_GIVEN)] * len(run.dataset.queries)
    if "responses" not in inputs.entries:
        return []
    responses = inputs.entry("responses")
    named, sources, hits = set(responses.values("named")), responses.table("sources"), responses.table("hits")
    rows = pd.concat([sources, hits[~hits["query"].isin(named)]])
    by_query = {query: list(_passages(table, run)) for query, table in rows.groupby("query")}
    return [PlantedContext(_packed(by_query.get(query, []))) for query in range(len(run.dataset.queries))]


def _passages(rows: pd.DataFrame, run: RunContext) -> Iterator[Passage]:
    """Yield the text of each hit: that of the document where it is known, else what the target returned."""
    for row in rows.sort_values("rank")[list(RETURNED)].to_dict("records"):
        if row["doc"] >= 0 and not row["fault"]:
            document = run.dataset.documents[row["doc"]]
            whole = row["start"] < 0
            yield passage_of(document, 0 if whole else row["start"], len(document.text) if whole else row["end"])
        elif row["text"].strip():
            yield foreign_passage(row["doc_id"], row["text"])


def foreign_passage(doc_id: str, text: str) -> Passage:
    """Return a passage that is in no document of the dataset, under an id that no document and no other text has."""
    return Passage(f"{doc_id or 'unnamed'} [not in the dataset, {fingerprint(text)[:8]}]", 0, len(text), text)


def _packed(passages: list[Passage]) -> PackedContext:
    distinct = tuple(dict.fromkeys(passages))
    tokens = tuple(len(text.starts) for text in tokenised([passage.text for passage in distinct], BUDGET_VOCABULARY))
    return PackedContext(distinct, tuple(range(1, len(distinct) + 1)), tokens, total=sum(tokens))
