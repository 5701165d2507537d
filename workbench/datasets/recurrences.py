"""Make every place of a repeated piece of evidence an alternative."""

from workbench.datasets.text_search import TextSearch
from workbench.records import Dataset, Need, Span


def with_recurrences(dataset: Dataset) -> Dataset:
    """Every verbatim recurrence of a span, in its own or another document, becomes an alternative of the span's need.

    The given alternatives come first, then the recurrences by document and position. Judgements do not change, since repeating the
    words does not make a document relevant. A second call changes nothing.
    """
    if not dataset.needs:
        return dataset
    texts = {document.doc_id: document.text for document in dataset.documents}
    places = TextSearch(dataset.documents)
    found: dict[str, list[Span]] = {}
    needs = []
    for need in dataset.needs:
        wanted = dict.fromkeys(texts[span.doc_id][span.start : span.end] for span in need.alternatives)
        found |= {text: places.verbatim(text) for text in wanted if text not in found}
        recurring = (span for text in wanted for span in found[text])
        needs.append(Need(need.query_id, tuple(dict.fromkeys((*need.alternatives, *recurring)))))
    return Dataset(dataset.name, dataset.documents, dataset.queries, dataset.qrels, tuple(needs))
