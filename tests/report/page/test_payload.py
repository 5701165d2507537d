import base64
import json
import zlib

import numpy as np

from workbench.analysis.pairwise import examined
from workbench.analysis.standings import standings
from workbench.attribution.evidence_causes import CAUSES, misses_of
from workbench.report.page.payload import payload


def opened(found):
    return json.loads(zlib.decompress(base64.b64decode(found.text)))


def looked(outcome):
    return [examined(outcome.bench, one.result, outcome.primary) for one in standings(outcome).ranked]


def fours(flat):
    return [flat[at : at + 4] for at in range(0, len(flat), 4)]


def test_every_question_is_there_with_its_values_and_misses(made):
    outcome = made.ran(3)
    found = payload(outcome.bench, looked(outcome), outcome.primary)
    data = opened(found)
    assert (found.kept, found.queries) == (120, 120)
    for place, standing in enumerate(standings(outcome).ranked):
        scores = standing.result.scores.table("scores")
        values = scores[scores["metric"] == str(outcome.primary)]["value"].to_numpy()
        assert np.allclose([query["v"][place] for query in data["queries"]], values, atol=5e-4)
        missed = [list(CAUSES)[cause] for query in data["queries"] for _, _, cause, _ in fours(query["m"][place])]
        assert sorted(missed) == sorted(misses_of(outcome.bench, standing.result, outcome.primary)["cause"])


def test_delivered_text_reads_as_in_the_documents(made):
    outcome = made.ran(2)
    data = opened(payload(outcome.bench, looked(outcome), outcome.primary))
    for query in data["queries"][:20]:
        spent = [0, 0]
        for place, hits in enumerate(query["h"]):
            for rank, (number, passage, units, _) in enumerate(fours(hits), 1):
                doc, start, end = data["passages"][3 * passage : 3 * passage + 3]
                (low, text), *_ = [one for one in data["documents"][str(doc)][1] if one[0] <= start and end <= one[0] + len(one[1])]
                assert text[start - low : end - low] == outcome.bench.dataset.documents[doc].text[start:end]
                assert number >= rank
                spent[place] += end - start if units < 0 else units
        assert all(spent)


def test_what_does_not_fit_is_left_out_by_how_little_it_differs(made):
    outcome = made.ran(3)
    ranked = looked(outcome)
    whole = payload(outcome.bench, ranked, outcome.primary)
    some = payload(outcome.bench, ranked, outcome.primary, most=len(whole.text) // 2)
    assert 0 < some.kept < some.queries
    assert len(some.text) <= len(whole.text) // 2
    apart = {query["i"]: max(query["v"]) - min(query["v"]) for query in opened(whole)["queries"]}
    kept = {query["i"] for query in opened(some)["queries"]}
    assert min(apart[one] for one in kept) >= max(apart[one] for one in apart.keys() - kept)
