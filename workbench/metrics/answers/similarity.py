"""Agreement of an answer with the expected answer in meaning."""

import numpy as np

from workbench.metrics.answers.overlap import without_citations
from workbench.metrics.case import Case, Cut, MetricValues
from workbench.metrics.definition import ANSWERABLE, EXPECTED, WORKBENCH, MetricDefinition


def answer_similarity(case: Case, _: Cut) -> MetricValues:
    """Cosine of the vectors of the answer and of the expected answer, the best over its variants: 0 for a refusal."""
    answers, values = case.answers, np.zeros(len(case))
    places = [place for place, expected in enumerate(case.labels.expected) if expected and _given(case, place)]
    texts = [without_citations(answers.texts[place]) for place in places]
    expected = [case.labels.expected[place] for place in places]
    distinct = list(dict.fromkeys([*texts, *(text for each in expected for text in each)]))
    if not distinct:
        return MetricValues(values)
    vectors = dict(zip(distinct, np.asarray(answers.embed(distinct), dtype=np.float64), strict=True))
    for place, text, wanted in zip(places, texts, expected, strict=True):
        values[place] = max(float(vectors[text] @ vectors[each]) for each in wanted)
    return MetricValues(values)


def _given(case: Case, place: int) -> bool:
    return not case.answers.refused[place] and bool(case.answers.texts[place].strip())


ANSWER_SIMILARITY = MetricDefinition(
    "answer_similarity",
    answer_similarity,
    aliases=("semantic_similarity",),
    reads=("answer",),
    requires=(ANSWERABLE, EXPECTED),
    definition="similarity of the answer to the expected answer by embeddings, the best over its variants",
    formula="cosine of all-MiniLM-L6-v2; 0 for a refusal",
    source=WORKBENCH,
    proportion=False,
    usual=True,
    compares="meaning",
)
