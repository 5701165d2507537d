"""Agreement of an answer with the expected answer in meaning."""

import numpy as np

from workbench.metrics.answers.case import AnswerCase, AnswerValues
from workbench.metrics.answers.overlap import without_citations


def answer_similarity(case: AnswerCase) -> AnswerValues:
    """Cosine of the vectors of the answer and of the expected answer, the best over its variants: 0 for a refusal."""
    answers, values = case.answers, np.zeros(len(case))
    places = [place for place, expected in enumerate(case.labels.expected) if expected and _given(case, place)]
    texts = [without_citations(answers.texts[place]) for place in places]
    expected = [case.labels.expected[place] for place in places]
    distinct = list(dict.fromkeys([*texts, *(text for each in expected for text in each)]))
    if not distinct:
        return AnswerValues(values)
    vectors = dict(zip(distinct, np.asarray(case.embed(distinct), dtype=np.float64), strict=True))
    for place, text, wanted in zip(places, texts, expected, strict=True):
        values[place] = max(float(vectors[text] @ vectors[each]) for each in wanted)
    return AnswerValues(values)


def _given(case: AnswerCase, place: int) -> bool:
    return not case.answers.refused[place] and bool(case.answers.texts[place].strip())
