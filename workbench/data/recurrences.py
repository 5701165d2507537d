"""Evidence that stands in the documents more than once: any of its places will do."""

from workbench.data.places import Places
from workbench.records import Dataset, Need, Span


def with_recurrences(dataset: Dataset) -> Dataset:
    """Every verbatim recurrence of a span, in its own or another document, becomes an alternative of the span's need.

    The alternatives given come first, then the recurrences by document and position. Judgements stay as they are: that a
    document repeats the words does not make it relevant. Doing it twice changes nothing.
    """
    if not dataset.needs:
        return dataset
    texts = {document.doc_id: document.text for document in dataset.documents}
    places = Places(dataset.documents)
    found: dict[str, list[Span]] = {}

    def recurring(span: Span) -> list[Span]:
        text = texts[span.doc_id][span.start : span.end]
        if text not in found:
            found[text] = places.verbatim(text)
        return found[text]

    needs = tuple(
        Need(need.query_id, tuple(dict.fromkeys((*need.alternatives, *(place for span in need.alternatives for place in recurring(span))))))
        for need in dataset.needs
    )
    return Dataset(dataset.name, dataset.documents, dataset.queries, dataset.qrels, needs)
