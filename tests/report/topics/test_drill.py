import base64
import json
import zlib

import numpy as np
import pandas as pd

from workbench.measures.attribution.causes import CAUSE_NAMES
from workbench.report.analysis.values import per_query
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.retrieval.questions import Passages, drill, packed
from workbench.runner.execution.collect import collect


def opened(found):
    return json.loads(zlib.decompress(base64.b64decode(found.packed)))


def fours(flat):
    return [flat[at : at + 4] for at in range(0, len(flat), 4)]


def of_texts(*texts):
    """The passages of a run whose documents d0, d1, ... are kept whole."""
    rows = [{"doc_id": f"d{number}", "start": 0, "end": len(text), "text": text} for number, text in enumerate(texts)]
    return Passages(RunTables({}, {"passages": lambda _: pd.DataFrame(rows)}))


def test_every_question_is_listed_with_its_values_and_misses(made):
    run = collect(made.ran(3))
    found = drill(run, run.names)
    data = opened(found)
    assert (found.shown, found.queries) == (120, 120)
    for place, name in enumerate(run.names):
        values = per_query(run, name, str(run.primary))
        assert np.allclose([query["v"][place] for query in data["queries"]], values, atol=5e-4)
        missed = [CAUSE_NAMES[cause] for query in data["queries"] for _, _, cause, _ in fours(query["m"][place])]
        assert sorted(missed) == sorted(run.of("causes", name)["cause"])


def test_delivered_text_reads_as_in_the_documents(made):
    outcome = made.ran(2)
    run = collect(outcome)
    data = opened(drill(run, run.names))
    texts = {document.doc_id: document.text for document in outcome.run.dataset.documents}
    for query in data["queries"][:20]:
        spent = [0, 0]
        for place, hits in enumerate(query["h"]):
            for rank, (number, passage, units, _) in enumerate(fours(hits), 1):
                doc, start, end = data["passages"][3 * passage : 3 * passage + 3]
                doc_id, stretches = data["documents"][str(doc)]
                (low, text), *_ = [one for one in stretches if one[0] <= start and end <= one[0] + len(one[1])]
                assert text[start - low : end - low] == texts[doc_id][start:end]
                assert number >= rank
                spent[place] += end - start if units < 0 else units
        assert all(spent)


def test_questions_that_differ_least_are_left_out_of_a_large_page(made):
    run = collect(made.ran(3))
    whole = drill(run, run.names)
    some = drill(run, run.names, most=len(whole.packed) // 2)
    assert 0 < some.shown < some.queries
    assert len(some.packed) <= len(whole.packed) // 2
    apart = {query["i"]: max(query["v"]) - min(query["v"]) for query in opened(whole)["queries"]}
    kept = {query["i"] for query in opened(some)["queries"]}
    assert min(apart[one] for one in kept) >= max(apart[one] for one in apart.keys() - kept)


def test_the_end_of_the_context_is_worded_in_the_singular_too(made):
    run = collect(made.ran(2, primary="chunk_precision@1", metrics=["chunk_precision@1"], name="single"))
    assert opened(drill(run, run.names))["limits"] == ["1 chunk", "1 chunk"]


def test_packed_data_can_be_unpacked_and_cannot_end_an_element():
    value = {"text": "</script><!-- é 😀 \x00", "numbers": [1, None, 0.5]}
    text = packed(value)
    assert "<" not in text
    assert json.loads(zlib.decompress(base64.b64decode(text))) == value


def test_half_a_surrogate_pair_is_replaced_by_one_character():
    assert json.loads(zlib.decompress(base64.b64decode(packed("a\ud800b")))) == "a?b"


def test_a_slice_has_one_number():
    passages = of_texts("x" * 100)
    hits = [passages.hit(rank, "d0", start, end, end, 0.5) for rank, (start, end) in enumerate([(0, 5), (5, 9), (0, 5)], 1)]
    assert hits == [(1, 0, -1, 0.5), (2, 1, -1, 0.5), (3, 0, -1, 0.5)]
    assert passages.slices == [0, 0, 5, 0, 5, 9]


def test_texts_of_hits_and_evidence_are_stored_once():
    passages = of_texts("x" * 2000)
    for start, end in ((0, 100), (50, 150), (150, 200)):
        passages.hit(1, "d0", start, end, end, 0.5)
    passages.place("d0", 1000, 1010)
    (doc_id, stretches) = passages.texts()[0]
    assert doc_id == "d0"
    assert [(start, len(text)) for start, text in stretches] == [(0, 200), (1000, 10)]
