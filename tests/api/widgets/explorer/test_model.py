import numpy as np
import pandas as pd
import pytest

from tests.api.widgets.explorer.conftest import with_failure
from workbench.api.widgets.explorer.model import ExplorerModel
from workbench.core.errors import InputError
from workbench.runner.execution.collect import collect

CONFIGURATIONS = ["fixed-64-0", "hierarchical-64-256"]


@pytest.fixture(scope="module")
def model(results):
    return ExplorerModel(results.tables)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_side_has_every_hit_of_the_table_with_what_was_cut_and_why(model, results, name):
    table = results.hits.query("configuration == @name")
    assert table["cut_reason"].nunique() > 1
    for query_id in model.query_ids:
        rows = table[table["query_id"] == query_id]
        shown = pd.DataFrame(model.side(name, query_id).chunks)
        columns = ["rank", "doc_id", "start", "end", "score", "delivered", "cut_reason"]
        pd.testing.assert_frame_equal(shown[columns], rows[columns].reset_index(drop=True), check_dtype=False)
        assert shown.loc[shown["delivered"], "kept"].tolist() == rows.loc[rows["delivered"], "kept"].tolist()


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_evidence_stands_at_the_first_chunk_with_some_and_with_all_of_it(model, results, name):
    hits, evidence = results.hits.query("configuration == @name"), results.tables.evidence
    ranks = []
    for query_id in model.query_ids:
        spans = evidence[evidence["query_id"] == query_id]
        for found, (_, alternatives) in zip(model.side(name, query_id).evidence, spans.groupby("need", sort=False), strict=True):
            pairs = hits[hits["query_id"] == query_id].merge(alternatives, on="doc_id", suffixes=("", "_span"))
            some = pairs[(pairs["start"] < pairs["end_span"]) & (pairs["end"] > pairs["start_span"])]
            whole = pairs[(pairs["start"] <= pairs["start_span"]) & (pairs["end"] >= pairs["end_span"])]
            assert found.rank == (some["rank"].min() if len(some) else 0)
            assert found.whole == (whole["rank"].min() if len(whole) else 0)
            ranks.append(found.rank)
    assert max(ranks) > 10


def test_gold_documents_stand_at_their_rank_or_are_not_retrieved(model, results):
    places = []
    for query_id in model.query_ids:
        judged = results.tables.judgements.query("query_id == @query_id and relevance > 0")
        ranked = list(dict.fromkeys(results.hits.query("configuration == 'fixed-64-0' and query_id == @query_id")["doc_id"]))
        side = model.side("fixed-64-0", query_id)
        assert {each.doc_id: each.place for each in side.documents} == {
            name: ranked.index(name) + 1 if name in ranked else 0 for name in judged["doc_id"]
        }
        places += [each.place for each in side.documents]
    assert 0 < min(filter(None, places)) < max(places)


def test_a_document_that_no_hit_has_is_not_retrieved(judged_model):
    run = judged_model.run
    (query_id, doc_id) = run.judgements.query("relevance > 0").iloc[0][["query_id", "doc_id"]]
    hits = run.hits[run.hits["doc_id"] != doc_id].reset_index(drop=True)
    without = ExplorerModel(type(run)(run.manifest, {**run.sources, "hits": lambda _: hits}))
    (document,) = without.side(run.names[0], query_id).documents
    assert (document.place, document.rank, document.delivered) == (0, 0, False)


def test_evidence_beyond_what_was_kept_is_missed_and_other_text_beyond_it_is_cut(model):
    text = "The ferry leaves at nine and costs four euros."
    hit = {"rank": 3, "doc_id": "new", "start": 0, "end": len(text), "score": 1.0, "delivered": True, "cut_reason": "", "kept": 17}
    loaded = model.with_documents({"new": text})
    chunk = loaded.chunk(hit, [("new", 10, 24)], {})
    expected = [
        ("The ferry ", "plain"),
        ("leaves ", "delivered"),
        ("at nine", "missed"),
        (" and costs four euros.", "cut"),
    ]
    assert [(piece.text, piece.role) for piece in chunk["pieces"]] == expected
    beyond = loaded.chunk(hit | {"delivered": False, "kept": 0, "cut_reason": "beyond k"}, [("new", 10, 24)], {})
    assert [(piece.text, piece.role) for piece in beyond["pieces"]][1] == ("leaves at nine", "missed")


def test_a_text_that_is_not_stored_is_shown_once_the_documents_are_loaded(model):
    unstored = [
        (query_id, chunk) for query_id in model.query_ids for chunk in model.side("fixed-64-0", query_id).chunks if not chunk["pieces"]
    ]
    query_id, chunk = unstored[0]
    text = "x" * chunk["end"]
    loaded = model.with_documents({chunk["doc_id"]: text}).side("fixed-64-0", query_id).chunks[chunk["rank"] - 1]
    assert "".join(piece.text for piece in loaded["pieces"]).startswith("xxx")


def test_a_claim_links_to_the_passage_that_decides_it(judged_model):
    run = judged_model.run
    claim = run.claims.query("condition == 'retrieved' and variant == '' and repeat == 0 and passage >= 0").iloc[0]
    side = judged_model.side(claim["configuration"], claim["query_id"], condition="retrieved")
    (answer,) = side.answers
    (marked,) = [piece for piece in answer.pieces if piece.label.startswith(f"{claim['number'] + 1} ")]
    targets = {piece.anchor for passage in answer.passages for piece in passage.pieces} | {passage.anchor for passage in answer.passages}
    assert marked.role == claim["verdict"]
    assert marked.target in targets


def test_all_conditions_are_shown_without_a_choice(judged_model):
    side = judged_model.side(judged_model.names[0], judged_model.query_ids[0])
    assert {answer.variant.condition for answer in side.answers} == set(judged_model.conditions)


def test_a_run_without_answers_has_no_conditions_and_one_without_evidence_still_has_gold(run):
    changes = {"pipeline": {"chunking": {"kind": "fixed", "size": 16}, "retrieval": {"kind": "bm25", "k": 2}}, "metrics": ["recall@3"]}
    model = ExplorerModel(collect(run(evidence=False, name="plain", **changes)))
    side = model.side(model.names[0], "q0")
    assert (model.conditions, list(side.answers), list(side.evidence)) == ([], [], [])
    assert [document.doc_id for document in side.documents] == ["boats"]


def test_an_unknown_question_and_a_failed_configuration_are_one_line(model):
    with pytest.raises(InputError, match=r"has no question 'hb-00' \(did you mean"):
        model.question("hb-00")
    with pytest.raises(InputError, match="failed: the model <i>x</i> is not there; choose a finished one"):
        ExplorerModel(with_failure(model.run)).known("<b>broken</b>")
    with pytest.raises(InputError, match=r"no configuration 'fixed-64' \(did you mean 'fixed-64-0'"):
        model.known("fixed-64")


def test_a_run_in_which_everything_failed_cannot_be_explored(model):
    failing = with_failure(model.run)
    nothing = failing.configurations[failing.configurations["error"].notna()].reset_index(drop=True)
    run = type(failing)(failing.manifest, {**failing.sources, "configurations": lambda _: nothing})
    with pytest.raises(InputError, match="no configuration of the run few finished"):
        ExplorerModel(run)


def test_values_are_those_of_the_table(model, results):
    rows = results.queries.query("configuration == 'fixed-64-0' and metric == 'ndcg@10'").set_index("query_id")["value"]
    values = [model.side("fixed-64-0", query_id, "ndcg@10").value for query_id in model.query_ids]
    np.testing.assert_allclose(values, rows.reindex(model.query_ids))
