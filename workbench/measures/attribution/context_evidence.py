"""The evidence that is missing from the contexts of a generator, each piece with the cause that keeps it out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from workbench.components.context.conditions import RETRIEVED
from workbench.components.context.question_labels import QuestionLabels, missing_characters
from workbench.core.records import Document, Passage
from workbench.measures.attribution.answer_causes import MissedEvidence
from workbench.measures.attribution.answer_text import delivers, delivers_part
from workbench.measures.attribution.causes import NOT_RETURNED
from workbench.measures.attribution.evidence_causes import missed_documents, missed_needs
from workbench.measures.attribution.evidence_state import EmbeddedExtent
from workbench.measures.metrics.case import Case, Cut
from workbench.measures.metrics.delivery import delivered_documents

# Retrieval delivered it, and the context had no room for it.
_NO_ROOM = "budget"
# The causes that affect contexts that are made from the labels, too.
_NEVER_CHUNKED = ("not_indexed", NOT_RETURNED)


@dataclass(frozen=True, eq=False)
class ContextEvidence:
    """The labels of each question, and the causes of what retrieval does not deliver.

    `needs` has them by question and the number of the need in it, `documents` by question and doc_id, for questions without evidence.
    """

    labels: Sequence[QuestionLabels]
    needs: Mapping[tuple[int, int], str]
    documents: Mapping[tuple[int, str], str]

    @classmethod
    def of(
        cls, case: Case, cut: Cut, extent: EmbeddedExtent, labels: Sequence[QuestionLabels], documents: Sequence[Document]
    ) -> "ContextEvidence":
        """Find the causes of everything that a ranking misses up to `cut`, where the candidates of a context end."""
        numbers = pd.Series(case.labels.need_query).groupby(case.labels.need_query).cumcount()
        misses = missed_needs(case, cut, extent)
        needs = zip(misses["query"].tolist(), numbers[misses["need"].tolist()].tolist(), misses["cause"].tolist(), strict=True)
        without = case.labels.answerable & ~case.labels.has_evidence
        found = missed_documents(case, delivered_documents(case, cut), extent, without)
        pairs = zip(found["query"].tolist(), found["doc"].tolist(), found["cause"].tolist(), strict=True)
        return cls(
            labels,
            {(query, number): cause for query, number, cause in needs},
            {(query, documents[doc].doc_id): cause for query, doc, cause in pairs},
        )

    def missed(self, query: int, passages: Sequence[Passage], condition: str) -> tuple[MissedEvidence, ...] | None:
        """List the evidence of a question that its context lacks. None if the question has no labels.

        Without evidence, any relevant document is enough. A context that contains the expected answer lacks nothing, and a piece of evidence
        is not missing if its delivered part contains the expected answer.
        """
        labels = self.labels[query]
        if delivers(passages, labels.answers):
            return ()
        if labels.needs:
            return tuple(
                MissedEvidence(_cause(self.needs.get((query, number), _NO_ROOM), condition), _place(need[0]))
                for number, need in enumerate(labels.needs)
                if all(missing_characters(span, passages) and not delivers_part(passages, span, labels.answers) for span in need)
            )
        if not labels.relevant:
            return None
        if labels.is_complete(passages):
            return ()
        causes = ((self.documents.get((query, doc_id), _NO_ROOM), doc_id) for doc_id in labels.relevant)
        return tuple(MissedEvidence(_cause(cause, condition), doc_id) for cause, doc_id in causes)


def _cause(retrieval: str, condition: str) -> str:
    return retrieval if condition == RETRIEVED or retrieval in _NEVER_CHUNKED else _NO_ROOM


def _place(span: Passage) -> str:
    return f"{span.doc_id}:{span.start}-{span.end}"
