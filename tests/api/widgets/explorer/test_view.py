import re
from html.parser import HTMLParser

import pytest

from tests.api.widgets.explorer.conftest import EVIL
from workbench.api.widgets.explorer.model import ExplorerModel
from workbench.api.widgets.explorer.view import both_html, failures_html, option_line, question_html, side_html, static_html
from workbench.measures.attribution.causes import CAUSE_WORDS

HARMLESS = {
    "div",
    "p",
    "span",
    "dl",
    "dt",
    "dd",
    "mark",
    "small",
    "a",
    "details",
    "summary",
    "strong",
    "table",
    "caption",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
}
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Elements(HTMLParser):
    """The elements and the text of HTML."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.text, self.ids, self.links = set(), set(), "", [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.ids += [value for name, value in attrs if name == "id"]
        self.links += [value for name, value in attrs if name == "href"]

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def hostile_model(hostile):
    return ExplorerModel(hostile.tables)


@pytest.mark.parametrize("number", [0, 1])
def test_hostile_texts_stay_text(hostile_model, number):
    query_id = hostile_model.query_ids[number]
    sides = [hostile_model.side(name, query_id) for name in hostile_model.names]
    names = ["<i>one</i>", "two"]
    for html in (side_html(sides[0], "First", names[0]), question_html(sides[0].question), static_html(sides[0].question, sides, names)):
        found = Elements(html)
        assert found.tags <= HARMLESS
        assert found.attributes <= {"style", "id", "href", "open", "scope", "role", "tabindex", "aria-label"}
        assert not CONTROLS.search(html)
    assert "<img src=x onerror=window.xss=3>" in Elements(question_html(sides[0].question)).text


def test_the_text_of_a_hostile_document_is_all_there(hostile_model):
    side = hostile_model.side(hostile_model.names[1], hostile_model.query_ids[0])
    text = Elements(side_html(side, "First", "one")).text.replace("evidence: ", "").replace("missed: ", "").replace("delivered: ", "")
    assert "Run <script>window.xss=1</script> and <img src=x onerror=window.xss=2> now." in text
    assert "<script>" in EVIL


def test_the_display_says_where_each_side_ranks_the_evidence_and_why_chunks_were_cut(results):
    model = ExplorerModel(results.tables)
    sides = {query_id: model.side("fixed-64-0", query_id) for query_id in model.query_ids}
    texts = {
        query_id: Elements(both_html([side, side], ["one", "two"]) + side_html(side, "First", "one")).text
        for query_id, side in sides.items()
    }
    late = [side for query_id in model.query_ids for side in [model.side("fixed-64-0", query_id)] if any(e.rank > 9 for e in side.evidence)]
    (place,) = [each for each in late[0].evidence if each.rank > 9][:1]
    assert f"rank {place.rank}" in texts[late[0].question.query_id]
    cut = [chunk for chunk in late[0].chunks if not chunk["delivered"]]
    assert f"Cut from the context: {len(cut)} chunks" in texts[late[0].question.query_id]
    assert "cut: beyond the token budget" in texts[late[0].question.query_id]
    assert any("The run does not store this text." in text for text in texts.values())


def test_evidence_that_no_chunk_has_is_not_retrieved(judged_model):
    run = judged_model.run
    none = run.hits.iloc[:0]
    model = ExplorerModel(type(run)(run.manifest, {**run.sources, "hits": lambda _: none, "context": lambda _: run.context.iloc[:0]}))
    side = model.side(run.names[0], model.query_ids[0])
    assert "missed · not retrieved" in Elements(both_html([side, side], ["one", "two"])).text
    assert "Nothing was delivered." in Elements(side_html(side, "First", "one")).text


def test_every_link_of_a_claim_leads_to_a_passage_of_the_same_side(judged_model):
    claims = judged_model.run.claims.query("condition == 'retrieved' and passage >= 0").iloc[0]
    side = judged_model.side(claims["configuration"], claims["query_id"], condition="retrieved")
    first, second = (Elements(side_html(side, position, "one")) for position in ("First", "Second"))
    assert first.links
    assert {link.removeprefix("#") for link in first.links} <= set(first.ids)
    assert not set(first.ids) & set(second.ids)


def test_the_static_table_names_question_configurations_ranks_and_answers(judged_model):
    sides = [judged_model.side(name, judged_model.query_ids[0], condition="retrieved") for name in judged_model.names]
    text = Elements(static_html(sides[0].question, sides, ["one", "two"])).text
    quoted = "".join(piece.text for piece in sides[0].evidence[0].need.pieces if piece.role in ("delivered", "missed"))
    for part in (sides[0].question.text, "First: one", "Second: two", f"evidence 1: “{quoted}”", "rank 1", sides[0].answers[0].text):
        assert part in text
    assert "No question passes the filters." in static_html(None, (), ())


def test_causes_are_named_as_people_say_them(results):
    model = ExplorerModel(results.tables)
    cause = next(cause for query_id in model.query_ids for cause in model.side("fixed-64-0", query_id).causes)
    side = next(side for query_id in model.query_ids for side in [model.side("fixed-64-0", query_id)] if cause in side.causes)
    assert CAUSE_WORDS[cause] in Elements(both_html([side, side], ["one", "two"])).text


def test_chunks_with_evidence_are_open_and_those_without_are_a_line(results):
    model = ExplorerModel(results.tables)
    for query_id in model.query_ids:
        side = model.side("fixed-64-0", query_id)
        html = side_html(side, "First", "one")
        for opened, rank in re.findall(r'<details style="[^"]*"( open)?><summary[^>]*><strong>(\d+)\. ', html):
            (chunk,) = [chunk for chunk in side.chunks if chunk["rank"] == int(rank)]
            assert bool(opened) == chunk["evident"]
        assert html.count("<strong>") >= sum(chunk["delivered"] for chunk in side.chunks)


def test_failures_are_listed_with_their_errors_and_escaped():
    found = Elements(failures_html({"<b>one</b>": "the model <i>x</i> is not there"}))
    assert "1 configuration failed and cannot be chosen" in found.text
    assert "<b>one</b>" in found.text
    assert found.tags <= HARMLESS
    assert failures_html({}) == ""


def test_a_line_of_the_list_is_short_and_shows_control_characters():
    assert option_line("q1", "word " * 100, -0.25).startswith(" −0.250  q1  word word")
    assert len(option_line("q1", "word " * 100, -0.25)) < 140
    assert option_line("q1", "a\u202eb", float("nan")) == "      –  q1  a\\u202eb"


def test_the_headings_of_a_table_of_claims_keep_their_words_and_a_wide_table_scrolls(judged_model):
    claims = judged_model.run.claims.query("condition == 'retrieved'").iloc[0]
    html = side_html(judged_model.side(claims["configuration"], claims["query_id"], condition="retrieved"), "First", "one")
    (table, *_) = re.findall(r'<table style="([^"]*)"', html)
    assert "overflow-wrap:normal" in table
    assert html.startswith('<div style="overflow-wrap:anywhere"><div style="width:0;min-width:100%;')
