"""The gold context: the slices that perfect retrieval with a chunking would deliver."""

import math
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from workbench.context.answer_words import content_words
from workbench.context.delivered_slices import DeliveredSlices, fewest_covering
from workbench.context.question_labels import QuestionLabels, missing_characters
from workbench.records import Passage


def gold_passages(labels: QuestionLabels, slices: DeliveredSlices, k: int | None) -> list[Passage]:
    """Return the fewest slices with the evidence, need by need. Without evidence, return the best slices of relevant documents, at most k.

    Of a need's alternatives, the first is chosen of those that lose the fewest characters in the chunks.
    """
    if labels.needs:
        chosen = [passage for need in labels.needs for passage in _of_need(need, slices)]
        return list(dict.fromkeys(chosen))
    return best_of_documents([slices.of_document(doc_id) for doc_id in labels.relevant], labels)[:k]


def best_of_documents(documents: Sequence[Sequence[Passage]], labels: QuestionLabels) -> list[Passage]:
    """Order the slices of documents by the rare words that they share with the question and its expected answers.

    The best slice of every document comes first, then every document's second.
    """
    wanted = set(content_words(labels.query.text)).union(*map(content_words, labels.answers))
    words = {passage: wanted & set(content_words(passage.text)) for passages in documents for passage in passages}
    frequency = {word: sum(word in found for found in words.values()) for word in wanted}
    weight = {passage: sum(math.log1p(len(words) / frequency[word]) for word in sorted(found)) for passage, found in words.items()}
    by_document = [sorted(passages, key=lambda passage: -weight[passage]) for passages in documents]
    return [passage for rank in zip_longest(*by_document) for passage in rank if passage is not None]


def _of_need(need: Iterable[Passage], slices: DeliveredSlices) -> list[Passage]:
    covers = [(span, fewest_covering(span, slices.around(span))) for span in need]
    return min(covers, key=lambda cover: missing_characters(*cover))[1] if covers else []
