import html.parser
import re

import nbformat
import pytest

from workbench.report.html import clean

CSP = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


class Page(html.parser.HTMLParser):
    """Every element with its attributes, and the text that is shown."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.ids, self.text = [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.ids += [value for name, value in attributes if name == "id"]

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def page(shown):
    return Page(shown.page)


def test_it_is_one_small_file_under_a_policy_that_loads_nothing(shown, page):
    assert ("meta", {"http-equiv": "Content-Security-Policy", "content": CSP}) in page.elements
    assert shown.report.stat().st_size < 2_000_000
    loads = [value for _, attributes in page.elements for name, value in attributes.items() if name in ("src", "href", "srcset", "data")]
    assert loads
    assert all(value.startswith(("#", "data:image/png;base64,")) for value in loads)


def test_it_has_no_script_no_handler_and_no_style_that_loads(shown, page):
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "iframe", "object", "embed", "svg", "link", "form", "base"}
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert "url(" not in shown.page
    assert "@import" not in shown.page


def test_what_documents_and_questions_say_is_text(page):
    assert "<script>window.x=1" in page.text
    assert "When are you <b>open</b>?" in page.text
    assert "b" not in {tag for tag, _ in page.elements}


def test_notebooks_hold_no_live_document_text(shown):
    for path in (shown.folder / "notebooks").glob("*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            for output in cell.get("outputs", []):
                shown_html = "".join(output.get("data", {}).get("text/html", ""))
                assert "<script" not in shown_html
                assert "<img" not in shown_html


def test_every_figure_says_what_it_shows(page):
    figures = [attributes for tag, attributes in page.elements if tag == "img"]
    assert len(figures) >= 4
    assert all(len(attributes["alt"]) > 30 for attributes in figures)


def test_links_lead_to_places_that_are_there_once(page):
    targets = [attributes["href"][1:] for tag, attributes in page.elements if tag == "a"]
    assert len(set(page.ids)) == len(page.ids)
    assert set(targets) <= set(page.ids)
    assert len(targets) >= 8


def test_configurations_are_headed_by_their_names(shown):
    for result in shown.outcome.results:
        name = result.configuration.name
        assert (f"<summary><h3>{name}</h3></summary>" in shown.page) == (not name.startswith("fixed-32"))


def test_what_failed_and_what_is_missing_is_at_the_top(shown, page):
    top = page.text[: page.text.index("Contents")]
    for name, error in shown.outcome.failures.items():
        assert name in top
        assert error in top
    assert "not in this report: fixed-32-0" in top


def test_code_and_parameters_are_left_out(page):
    assert "open_comparison" not in page.text
    assert "run_id" not in page.text
    assert "recorded:" not in page.text


def test_provenance_is_at_the_end(shown, page):
    end = page.text[page.text.rindex("Provenance") :]
    assert shown.outcome.bench.identity.corpus in end
    assert "chromadb" in end
    assert "20260101" in end


def test_no_configuration_is_called_a_winner(page):
    assert not re.search(r"\b(winner|wins|best|significant)\b", page.text, re.IGNORECASE)


@pytest.mark.parametrize(
    "attack",
    [
        "<script>window.x=1</script>",
        "<img src=http://evil onerror=alert(1)>",
        '<a href="javascript:alert(1)">x</a>',
        '<a href="data:text/html,<script>1</script>">x</a>',
        '<img src="data:image/svg+xml,<svg onload=alert(1)>">',
        '<p style="background:url(http://evil)">x</p>',
        "<svg><script>1</script></svg>",
        "<style>p{background:url(http://evil)}</style>",
        "<iframe src=http://evil></iframe>",
        '<p class="alert">x</p>',
        "<meta http-equiv=refresh content='0;url=http://evil'>",
    ],
)
def test_cleaning_leaves_nothing_that_acts_or_loads(attack):
    cleaned = clean(attack)
    assert not re.search(r"evil|javascript|alert|onerror|onload|script|style|svg|meta", cleaned)


def test_cleaning_keeps_what_is_ours():
    ours = '<div class="wb"><mark class="wb-missed">x</mark><img src="data:image/png;base64,aGk=" alt="hi" width="576"></div>'
    assert clean(ours) == ours
