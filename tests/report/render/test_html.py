import base64
import hashlib
import html.parser
import itertools
import json
import re
import time
import zlib

import nbformat
import pytest

from workbench.report.analysis.decision import decide
from workbench.report.analysis.findings import findings
from workbench.report.analysis.setting_names import short_names
from workbench.report.render.html import policy, write_report
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.decision.opening import opening
from workbench.runner.execution.collect import collect


class Page(html.parser.HTMLParser):
    """Every element with its attributes, the text that is shown, and the contents of scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.ids, self.text, self.raw, self._in = [], [], "", [], None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.ids += [value for name, value in attributes if name == "id"]
        self._in = (tag, dict(attributes)) if tag in ("script", "style") else None

    def handle_endtag(self, tag):
        self._in = None

    def handle_data(self, data):
        if self._in:
            self.raw.append((*self._in, data))
        else:
            self.text += data

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def page(shown):
    return Page(shown.page)


def drill(page):
    (packed,) = [text for tag, attributes, text in page.raw if attributes.get("id") == "drill"]
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def digest(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_policy_allows_the_one_script_and_the_one_sheet_and_loads_nothing(page):
    (policy,) = [one["content"] for one in page.all("meta") if one.get("http-equiv") == "Content-Security-Policy"]
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    (script,) = [text for tag, attributes, text in page.raw if tag == "script" and "type" not in attributes]
    (style,) = [text for tag, _, text in page.raw if tag == "style"]
    assert directives == {
        "default-src": "'none'",
        "script-src": digest(script),
        "style-src": digest(style),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_the_page_loads_nothing(page, hostile):
    for one in (page, Page(hostile.page)):
        loads = [
            value
            for _, attributes in one.elements
            for name, value in attributes.items()
            if name in ("src", "href", "srcset", "data", "xlink:href")
        ]
        assert all(value.startswith("#") for value in loads)
        assert not {tag for tag, _ in one.elements} & {"iframe", "object", "embed", "link", "form", "base", "image", "img"}
        assert not [name for _, attributes in one.elements for name in attributes if name.startswith("on") or name == "style"]
        assert "url(" not in "".join(text for tag, _, text in one.raw if tag == "style")


def test_documents_and_questions_are_rendered_as_text(hostile):
    page = Page(hostile.page)
    assert len(page.all("script")) == 2
    assert not page.all("b")
    assert not page.all("i")
    assert not page.all("u")
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", hostile.page)
    asked = {query["i"]: query for query in drill(page)["queries"]}
    assert asked["q0</script>"]["t"].startswith("</script>")


def test_evidence_is_where_the_script_counts_it(hostile):
    data = drill(Page(hostile.page))
    (query,) = [one for one in data["queries"] if "ferry" in one["t"]]
    ((doc, low, high),) = query["n"]
    (start, text), *_ = [stretch for stretch in data["documents"][str(doc)][1] if stretch[0] <= low]
    # The script, like Python, counts code points.
    assert text[low - start : high - start] == "The ferry leaves at ten."


def test_notebooks_hold_no_live_document_text(shown):
    for path in (shown.folder / "notebooks").glob("*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            for output in cell.get("outputs", []):
                shown_html = "".join(output.get("data", {}).get("text/html", ""))
                assert "<script" not in shown_html
                assert "<img" not in shown_html


def test_the_decision_comes_before_anything_else(shown, page):
    first = opening(decide(findings(shown.run)))
    top = " ".join(page.text[: page.text.index("Ranking")].split())
    assert all(" ".join(text.split()) in top for text in (first.headline, first.step.sentence, *(fact.sentence for fact in first.facts)))


def test_every_figure_has_a_title_and_its_numbers(page):
    figures = [one for one in page.all("svg") if one.get("role") == "img"]
    assert all(one["aria-labelledby"] in page.ids for one in figures)
    assert page.text.count("The numbers of this figure") == len(figures)


def test_link_targets_exist_exactly_once(page):
    targets = [attributes["href"][1:] for attributes in page.all("a")]
    assert len(set(page.ids)) == len(page.ids)
    assert set(targets) <= set(page.ids)
    assert len(targets) >= 7


def test_every_part_is_a_landmark_or_headed_in_order(page):
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert {"header", "main", "nav", "footer"} <= {tag for tag, _ in page.elements}


def test_configurations_beyond_the_window_and_failed_ones_are_listed_separately(shown):
    table = shown.page[shown.page.index('<table id="ranking-table"') :]
    table = table[: table.index("</table>")]
    ranked, *apart = table.split('<tr class="cause">')
    assert "fixed-64" not in ranked
    assert "fixed-64" in apart[0]
    assert "Not ranked: chunks longer than the embedder&#39;s window of 48 tokens" in apart[0]
    for name in shown.run.failures:
        assert name not in ranked
        assert name in apart[-1]


def test_sections_name_configurations_as_people_do_and_by_their_names_on_hovering(shown):
    tables = shown.page[shown.page.index('id="costs-heading"') :]
    for name, short in short_names(shown.run).items():
        assert f">{name}</th>" not in tables
        assert name in shown.run.failures or f'<span title="{name}">{short}</span>' in tables


def test_provenance_is_at_the_end(shown, page):
    end = page.text[page.text.rindex("Provenance") :]
    assert shown.run.manifest["fingerprints"]["corpus"] in end
    assert "chromadb" in end
    assert "20260101" in end


def test_a_tie_set_names_no_winner(made, tmp_path):
    outcome = made.valued([[0.0, 1.0] * 60, [0.0, 1.0] * 60, [1.0, 0.0] * 60])
    page = Page(write_report(outcome, tmp_path / "report.html").read_text("utf-8"))
    assert findings(outcome).winner is None
    assert "No single winner" in page.text
    assert not re.search(r"\bwins\b|\bwinner\b(?<!No single winner)|significant", page.text, re.IGNORECASE)


def test_a_winner_is_named_if_there_is_one(made, tmp_path):
    outcome = made.valued([[1.0] * 100 + [0.0, 1.0] * 10, [0.0, 1.0] * 60, [0.0, 0.0, 1.0] * 40])
    page = Page(write_report(outcome, tmp_path / "report.html").read_text("utf-8"))
    assert findings(outcome).winner is not None
    assert (
        f"({findings(outcome).winner}). It finds more of the evidence than each of the other two."
        in page.text[: page.text.index("Ranking")]
    )


def test_one_configuration_alone_has_a_page(made, tmp_path):
    page = Page(write_report(collect(made.ran(1)), tmp_path / "report.html").read_text("utf-8"))
    assert "Ranking" in page.text
    assert "Pairwise comparison" not in page.text


def test_an_experiment_whose_configurations_all_failed_says_why(run, broken, tmp_path):
    failed = run(name="failed-page", pipeline={"embedding": broken})
    page = Page(write_report(collect(failed), tmp_path / "report.html").read_text("utf-8"))
    assert "No configuration can be ranked" in page.text
    assert "is not a model's settings" in page.text
    assert "Question by question" not in page.text


def test_equal_runs_give_equal_bytes(shown, tmp_path):
    assert write_report(RunTables.read(shown.folder), tmp_path / "report.html").read_bytes() == shown.report.read_bytes()


@pytest.mark.soak
def test_twenty_configurations_and_three_hundred_questions_stay_below_five_megabytes(made, tmp_path):
    outcome = made.ran(20, documents=30)
    started = time.perf_counter()
    size = write_report(collect(outcome), tmp_path / "report.html").stat().st_size
    assert len(outcome.results) == 20
    assert len(outcome.run.dataset.queries) == 300
    assert size < 5_000_000
    assert time.perf_counter() - started < 120


def test_a_policy_contains_the_hashes_of_script_and_style():
    found = policy("let x;", "p{}")
    assert found.count("sha256-") == 2
    assert "unsafe" not in found
    assert policy("let y;", "p{}") != found
