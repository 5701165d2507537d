"""The questions of report.html in Chromium: two configurations are compared, a question opens, and the address says which."""

import json
from pathlib import Path
from urllib.parse import urlencode

import pytest

from workbench.report.analysis.findings import findings
from workbench.report.analysis.pairwise import contrast
from workbench.report.render.html import write_report
from workbench.report.topics.retrieval.evidence_ranks import evidence_ranks
from workbench.report.topics.retrieval.questions import EvidencePhrases
from workbench.runner.execution.collect import collect

pytestmark = pytest.mark.browser
TEXTS = "all => all.map(one => one.textContent)"


@pytest.fixture(scope="module")
def three(made):
    return findings(collect(made.ran(3)))


@pytest.fixture(scope="module")
def three_page(three, tmp_path_factory) -> Path:
    return write_report(three, tmp_path_factory.mktemp("three") / "report.html")


def ids(page) -> list[str]:
    return page.eval_on_selector_all("#queries-list a", "all => all.map(one => one.dataset.id)")


def group(page, name: str):
    return page.locator("#queries-groups button").filter(has_text=name)


def test_the_counts_of_any_pair_are_those_of_its_contrast(opened, three, three_page):
    page = opened(three_page).page
    for a, b in (three.names[:2], three.names[1:], (three.names[2], three.names[0])):
        options = page.eval_on_selector_all("#queries-a option", TEXTS)
        for key, name in (("a", a), ("b", b)):
            page.select_option(
                f"#queries-{key}", next(str(at) for at, text in enumerate(options) if text.endswith(f"fixed {name.split('-')[1]}"))
            )
        pair = contrast(three, a, b)
        numbers = [int(text) for text in page.eval_on_selector_all("#queries-over p b", TEXTS)]
        assert numbers == [pair.a.queries, pair.b.queries, pair.ties]
        assert group(page, "differ").text_content() == f"differ {pair.a.queries + pair.b.queries}"
        assert page.eval_on_selector_all(
            "#queries-list .number", "all => all.map(one => Math.abs(parseFloat(one.textContent.replace('−', '-'))))"
        ) == sorted(
            page.eval_on_selector_all(
                "#queries-list .number", "all => all.map(one => Math.abs(parseFloat(one.textContent.replace('−', '-'))))"
            ),
            reverse=True,
        )


def test_an_opened_question_says_what_each_side_does_with_the_evidence(opened, three, three_page):
    a, b = three.names[0], three.names[2]
    query_id = next(
        one for one, ranks in evidence_ranks(three, a).items() if ranks[0].in_part and evidence_ranks(three, b)[one][0].delivered
    )
    panel = opened(three_page, fragment=urlencode({"q": query_id, "a": a, "b": b})).page.locator("#query-detail")
    assert panel.is_visible()
    fates = panel.locator(".needed .fate").all_text_contents()[2:]
    assert fates == [EvidencePhrases(three, name).joined(query_id) for name in (a, b)]
    assert "fixed 32 delivers the piece of evidence, fixed 16 only a part." in panel.locator(".says").text_content()
    assert panel.locator(".slopes .cut").count() == 2
    assert panel.locator("mark").first.text_content() in three.passages["text"].str.cat()


def test_the_address_restores_the_question_and_the_pair_also_when_going_back(opened, three, three_page):
    page, (first, second) = opened(three_page).page, three.names[:2]
    for place in (0, 1):
        page.locator("#queries-list a").nth(place).click()
    at = page.url
    chosen, title = ids(page)[1], page.locator("#query-detail h3").text_content()
    assert f"q={chosen}" in at
    assert all(f"{key}=fixed-" in at for key in "ab")
    assert page.locator("#queries-list a[aria-current]").get_attribute("data-id") == chosen
    page.go_back()
    page.wait_for_function("name => document.querySelector('#query-detail h3').textContent !== name", arg=title)
    page.go_forward()
    page.wait_for_function("name => document.querySelector('#query-detail h3').textContent === name", arg=title)
    again = opened(three_page, fragment=at.partition("#")[2]).page
    assert again.locator("#query-detail h3").text_content() == title
    other = opened(three_page, fragment=urlencode({"q": chosen, "a": second, "b": first})).page
    assert other.locator("#queries-a option:checked").text_content().endswith("fixed 24")


def test_keys_move_through_the_list_and_close_but_not_while_typing(opened, three_page):
    page = opened(three_page).page
    page.locator("#queries-list a").first.press("Enter")
    page.wait_for_selector("#query-detail h3:focus")
    order = ids(page)
    current = "document.querySelector('#queries-list a[aria-current]').dataset.id"
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate(current) == order[2]
    page.keyboard.press("k")
    assert page.evaluate(current) == order[1]
    page.locator("#queries-text").focus()
    page.keyboard.type("kj")
    page.keyboard.press("Backspace")
    page.keyboard.press("Backspace")
    assert page.evaluate("new URLSearchParams(location.hash.slice(1)).get('q')") == order[1]
    page.locator("#query-detail h3").focus()
    page.keyboard.press("Escape")
    assert not page.locator("#query-detail").is_visible()
    assert page.evaluate("document.activeElement.dataset.id") == order[1]


def test_questions_are_filtered_by_words_fields_and_the_reason(opened, three, three_page):
    page = opened(three_page).page
    group(page, "all").click()
    page.fill("#queries-text", "room 3-4 kind=even")
    assert ids(page) == ["q3-4"]
    page.fill("#queries-text", "kind=odd")
    assert page.text_content("#queries-count").startswith("60 questions")
    page.fill("#queries-text", "")
    group(page, "differ").click()
    a, b = (page.locator(f"#queries-{key} option:checked").text_content().split()[-1] for key in "ab")
    pair = contrast(three, f"fixed-{a}-0", f"fixed-{b}-0")
    split = [one for side in (pair.a, pair.b) for one in side.causes.get("boundary", ())]
    page.select_option("#queries-cause", "split over chunks")
    assert page.text_content("#queries-count").startswith(f"{len(split)} question")
    assert set(ids(page)) <= set(split)


def test_a_long_list_shows_the_first_50_and_the_rest_when_asked(opened, untidy_page):
    page = opened(untidy_page).page
    group(page, "all").click()
    rows, more = page.locator("#queries-list li"), page.locator("#queries-more")
    assert rows.count() == 50
    assert more.text_content() == "Show 70 more questions"
    more.click()
    assert rows.count() == 120
    assert not more.is_visible()


def test_a_question_id_elsewhere_on_the_page_opens_the_question(opened, quickstart_page):
    page = opened(quickstart_page).page
    link = page.locator("main section:not(#queries) [data-query]").first
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    link.click()
    page.wait_for_selector("#query-detail h3:focus")
    assert page.locator("#query-detail .note").first.text_content().startswith(link.get_attribute("data-query"))
    page.keyboard.press("Escape")
    assert link.evaluate("one => one === document.activeElement")


def test_text_of_a_document_is_text_and_its_evidence_is_marked(opened, hostile):
    page = opened(hostile.report).page
    group(page, "all").click()
    page.fill("#queries-text", "ferry")
    page.locator("#queries-list a").click()
    marks = page.locator("#query-detail mark").all_text_contents()
    assert marks
    assert all(mark in "The ferry leaves at ten." for mark in marks)
    assert any(len(mark) > 10 for mark in marks)
    page.fill("#queries-text", "")
    for link in page.locator("#queries-list a").all():
        link.click()
    assert page.evaluate("typeof window.x") == "undefined"


def test_an_unanswerable_question_misses_nothing(opened, answered_page):
    page = opened(answered_page).page
    group(page, "not answerable").click()
    page.locator("#queries-list a").first.click()
    said = page.locator("#query-detail .says").text_content()
    assert said.startswith("The documents do not answer this question, so there is no evidence to find.")
    assert "A refusal is right:" in said
    assert "missed" not in page.locator("#query-detail").text_content()
    assert not page.locator("#query-detail .needed").count()


def test_one_configuration_is_read_alone(opened, made, tmp_path):
    page = opened(write_report(collect(made.ran(1)), tmp_path / "report.html")).page
    assert not page.locator("#queries-b").is_visible()
    page.locator("#queries-list a").first.click()
    assert "fixed" in page.locator("#query-detail .says b").text_content()
    assert page.locator("#query-detail .fate").count() == 2


@pytest.mark.parametrize("width", [1920, 1280, 640, 390])
def test_the_panel_is_beside_the_list_on_wide_screens_and_whole_on_all(opened, untidy_page, width):
    page = opened(untidy_page, width=width).page
    page.locator("#queries-list a").first.click()
    page.wait_for_selector("#query-detail h3:focus")
    boxes = {name: page.locator(name).bounding_box() for name in (".question-side", "#query-detail", ".slopes")}
    beside = boxes["#query-detail"]["x"] >= boxes[".question-side"]["x"] + boxes[".question-side"]["width"]
    assert beside == (width >= 1200)
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes.values())
    texts = "[...document.querySelectorAll('.slopes text')].filter((one) => { const [box, all] = [one.getBoundingClientRect(), one.ownerSVGElement.getBoundingClientRect()]; return box.left < all.left - 1 || box.right > all.right + 1; }).length"
    assert page.evaluate(texts) == 0


def test_without_a_script_the_leading_pair_is_read(opened, three_page):
    page = opened(three_page, ready=False, java_script_enabled=False).page
    text = page.inner_text("#queries-static")
    assert "differ" in text
    assert "is behind: split over chunks" in text


@pytest.fixture(scope="module")
def formatted_page(made, tmp_path_factory) -> Path:
    """The page of a document with a table and code, in which the evidence is a cell of the table."""
    folder = tmp_path_factory.mktemp("formatted")
    table, code = "| port | opens |\n| --- | --- |\n| north | at nine |\n", "```sh\ncrane  --lift\n\n  mast\n```\n"
    text = f"# Ports\n\nThey open early.\n\n{table}\nLift by command:\n\n{code}"
    (folder / "documents").mkdir()
    (folder / "documents" / "d.md").write_text(text, "utf-8")
    start = text.index("at nine")
    need = [{"doc_id": "d", "start": start, "end": start + len("at nine")}]
    row = {"query_id": "q", "query": "When does the north port open?", "relevant_doc_ids": ["d"], "evidence": [need]}
    (folder / "questions.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    run = collect(made.ran(1, name="formatted", dataset={"kind": "golden", "path": str(folder)}, sweep={"chunking": [{"kind": "whole"}]}))
    return write_report(run, folder / "report.html")


def test_tables_and_code_of_a_passage_keep_their_lines_in_a_fixed_width(opened, formatted_page):
    page = opened(formatted_page).page
    group(page, "all").click()
    page.locator("#queries-list a").first.click()
    passage = page.locator("#query-detail .passage").first
    assert passage.inner_text().startswith("# Ports\n\nThey open early.")
    assert passage.locator("pre").all_text_contents() == [
        "| port | opens |\n| --- | --- |\n| north | at nine |\n",
        "```sh\ncrane  --lift\n\n  mast\n```\n",
    ]
    assert passage.locator("pre mark").all_text_contents() == ["at nine"]
    assert "monospace" in passage.locator("pre").first.evaluate("one => getComputedStyle(one).fontFamily")
