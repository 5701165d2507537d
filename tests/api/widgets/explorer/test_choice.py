"""All panels of a run follow one choice, whichever of them changes it."""

from dataclasses import replace

import numpy as np
import pytest

import workbench as wb
from tests.api.widgets.explorer.conftest import made_explorer
from workbench.api.widgets.explorer.run_boundaries import RunBoundaries
from workbench.core.errors import InputError


@pytest.fixture
def explorer(results):
    return wb.explore(results, "fixed-64-0", "hierarchical-64-256")


def menus(panel):
    rows = [child for box in panel.widget.children if hasattr(box, "children") for child in box.children]
    return {child.description: child for child in rows}


def test_a_metric_and_a_slice_of_the_explorer_are_ranked_by_the_other_panel(explorer, results):
    ranking = explorer.what_if()
    controls = menus(ranking)
    explorer.panel.metric.value = "recall@5"
    explorer.panel.slice.value = chosen = explorer.panel.slice.options[1][1]
    assert (str(ranking.metric), ranking.slice) == ("recall@5", chosen)
    assert (controls["Metric"].value, controls["Cut"].value, controls["Slice"].value) == ("recall", 5, chosen)
    assert ranking.table["value"].tolist() == results.what_if("recall@5", chosen)["value"].tolist()


def test_a_metric_that_the_sweep_did_not_compute_is_listed_and_shown_too(explorer, results):
    ranking = explorer.what_if()
    menus(ranking)["Metric"].value = "complete"
    menus(ranking)["Cut at"].value = "k"
    menus(ranking)["Cut"].value = 4
    assert explorer.choice.metric == explorer.panel.metric.value == "complete@4"
    assert "complete@4" not in results.measures
    means = ranking.table.set_index("configuration")["value"]
    for side, name in (("first", "fixed-64-0"), ("second", "hierarchical-64-256")):
        assert explorer.selection[side].mean() == pytest.approx(means[name])
    assert "complete@4" in explorer.panel.both.value


def test_slices_that_are_joined_shorten_the_list(explorer, results):
    slices = [name for _, name in explorer.panel.slice.options if "=" in name and "&" not in name]
    members = results.rescorer.stored.slices
    first, second = next((a, b) for a in slices for b in slices if a.split("=")[0] != b.split("=")[0] and (members[a] & members[b]).any())
    explorer.what_if().choose(within=f"{first}&{second}")
    assert explorer.panel.slice.value == f"{first}&{second}"
    both = (members[first] & members[second]).sum()
    assert len(explorer.selection) == both < members[first].sum() + members[second].sum()


def test_the_chosen_configurations_are_marked_in_the_ranking(explorer):
    ranking = explorer.what_if()
    assert "fixed 64 · " not in ranking.static_html
    assert "hierarchical 64 in 256 (second)" in ranking.static_html
    explorer.panel.second.value = "fixed-128-0"
    assert "fixed 128 (second)" in ranking.static_html
    assert "hierarchical 64 in 256 (second)" not in ranking.static_html


def test_boundaries_are_those_of_the_first_configuration_on_the_evidence_of_the_question(explorer, results):
    boundaries = explorer.boundaries()
    display = boundaries.widget
    evidence = results.tables.evidence
    for query_id in evidence["query_id"].unique()[:3]:
        explorer.choice.query_id = query_id
        span = evidence[evidence["query_id"] == query_id].iloc[0]
        assert boundaries.panel.doc_id == span["doc_id"]
        numbered = boundaries.panel.boundaries.chunks
        inside = [number for number, chunk in enumerate(numbered, 1) if chunk.start < span["end"] and chunk.end > span["start"]]
        assert f"Evidence of {query_id}: chunk{'s' * (len(inside) > 1)} {inside[0]}" in boundaries.static_html
    assert boundaries.panel.chunker == wb.FixedChunker(size=64)
    hits = results.hits.query("configuration == 'fixed-64-0' and doc_id == @boundaries.panel.doc_id")
    assert len(hits) > 0
    assert {*zip(hits["start"], hits["end"], strict=True)} <= {(chunk.start, chunk.end) for chunk in boundaries.panel.boundaries.chunks}
    explorer.panel.first.value = "hierarchical-64-256"
    assert boundaries.panel.chunker == wb.HierarchicalChunker(child=64, parent=256)
    assert display.children[1] is boundaries.panel.widget


def test_moved_sliders_stay_with_the_next_question(explorer):
    boundaries = explorer.boundaries()
    boundaries.panel.choose(size=100)
    display = boundaries.widget
    before = display.children
    explorer.panel.questions.value = explorer.panel.questions.options[2][1]
    assert boundaries.panel.chunker.size == 100
    # New widgets for every question would reach the browser while it draws the last ones.
    assert display.children == before
    assert explorer.choice.query_id in before[0].value


def test_a_typed_question_leaves_the_other_panels_as_they_are(explorer):
    boundaries, ranking = explorer.boundaries(), explorer.what_if()
    before = boundaries.static_html, ranking.static_html
    explorer.ask("who pays for the taxi?")
    explorer.wait()
    assert explorer.choice.query_id == ""
    assert explorer.panel.questions.value is None
    assert boundaries.panel.boundaries.document.doc_id in before[0]
    assert ranking.static_html == before[1]
    explorer.panel.questions.value = explorer.panel.questions.options[1][1]
    assert explorer.choice.query_id == explorer.panel.questions.options[1][1] == explorer.sides[0].question.query_id


def test_without_its_dataset_a_run_has_no_boundaries_and_says_why(results, tmp_path):
    experiment = results.manifest["experiment"] | {"dataset": {"kind": "golden", "path": str(tmp_path / "nowhere")}}
    boundaries = wb.explore(replace(results, manifest={**results.manifest, "experiment": experiment})).boundaries()
    assert boundaries.panel is None
    assert "nowhere" in boundaries.note
    assert boundaries.note in boundaries.static_html
    assert boundaries.note in boundaries.widget.children[0].value


def test_a_metric_or_a_slice_to_begin_with_is_checked(results):
    explorer = wb.explore(results, metric="recall@3", within="type=none" if "type=none" in results.rescorer.stored.slices else "all")
    assert explorer.selection.attrs["metric"] == "recall@3"
    assert np.isfinite(explorer.selection["difference"]).any()
    with pytest.raises(InputError, match="there is no metric"):
        wb.explore(results, metric="recal@3")
    with pytest.raises(InputError, match="there is no slice"):
        wb.explore(results, within="nothing=here")
    with pytest.raises(InputError, match="within is of type int"):
        wb.explore(results, within=3)


def test_a_question_without_evidence_is_read_in_a_relevant_document_or_the_first_hit(judged_run):
    explorer = made_explorer(judged_run)
    first, (query_id, *_) = judged_run.names[0], explorer.model.query_ids
    assert explorer.model.place(first, query_id) == tuple(judged_run.evidence.query("query_id == @query_id").iloc[0][["doc_id", "start"]])
    run = replace(judged_run, sources={**judged_run.sources, "evidence": lambda _: judged_run.evidence.iloc[:0]})
    relevant = run.judgements.query("query_id == @query_id and relevance > 0")["doc_id"].iloc[0]
    assert made_explorer(run).model.place(first, query_id) == (relevant, 0)
    run = replace(run, sources={**run.sources, "judgements": lambda _: judged_run.judgements.iloc[:0]})
    hit = run.hits.query("configuration == @first and query_id == @query_id and rank == 1").iloc[0]
    assert made_explorer(run).model.place(first, query_id) == (hit["doc_id"], hit["start"])


class GivenChunking:
    """The dataset of a run, with a chunking that its experiment does not have."""

    def __init__(self, live, chunker):
        self.dataset, self._chunker, self._embedder = live.dataset, chunker, wb.StaticEmbedder()

    def chunking(self, configuration):
        return self._chunker, self._embedder


def test_a_chunking_that_follows_no_slider_is_shown_without_sliders(explorer):
    explorer.boundaries()
    langchain = wb.LangChainChunker(splitter="RecursiveCharacterTextSplitter", size=64, overlap=0)
    boundaries = RunBoundaries(explorer.model, explorer.choice, GivenChunking(explorer._live, langchain))
    assert boundaries.panel is None
    assert boundaries.note == ""
    assert f"Evidence of {explorer.choice.query_id}: chunk" in boundaries.static_html
    assert boundaries.widget.children[1].value in boundaries.static_html


def test_a_target_has_no_boundaries_and_says_so(results):
    manifest = dict(results.manifest)
    target = {"kind": "callable", "search": "ours:search", "name": "ours"}
    manifest["experiment"] = manifest["experiment"] | {"targets": [target]}
    manifest["configurations"] = {**manifest["configurations"], "ours": {"target": target}}
    explorer = wb.explore(replace(results, manifest=manifest))
    boundaries = explorer.boundaries()
    boundaries.choice.first = "ours"
    assert boundaries.panel is None
    assert "ours is a target" in boundaries.static_html
