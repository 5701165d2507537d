import html
import re

import pytest

from workbench.errors import InputError
from workbench.report.open import open_configuration


@pytest.fixture(scope="module")
def view(place, shown):
    return open_configuration(place / "tiny.yaml", shown.outcome.results[0].configuration.name, place / "outputs")


def words(fragment) -> str:
    return html.unescape(" ".join(re.sub(r"<style>.*?</style>|<[^>]+>", " ", str(fragment.html), flags=re.DOTALL).split()))


def test_settings_and_headline_come_first(view):
    text = words(view.overview())
    assert "fixed-16-0" in text
    assert "of the evidence within 500 tokens" in text
    assert "chunking fixed, tokens model, size 16, overlap 0" in text


def test_every_metric_has_its_interval_and_counts(view):
    text = words(view.metrics())
    assert all(metric in text for metric in ("span_recall@500t", "recall@3", "ndcg@3"))
    assert "unscored" in text


def test_the_worst_questions_show_evidence_as_text(view):
    html = str(view.worst().html)
    assert 'class="wb-delivered"' in html
    assert "&lt;script&gt;" in html
    assert "<script" not in html
    assert "<img" not in html


def test_missed_evidence_is_labelled_in_words(run):
    from workbench.report.configuration import ConfigurationView

    html = str(ConfigurationView(run(name="few", primary="span_recall@2")).worst().html)
    assert 'class="wb-missed"' in html
    assert ">missed</small>" in html
    assert "<strong>missed</strong>" in html or "<strong>partly delivered</strong>" in html


def test_questions_are_listed_worst_first(view):
    rows = re.findall(r'<tr><th scope="row"[^>]*>(q\d)</th>\s*<td[^>]*>([\d.]+)', str(view.queries().html))
    values = [float(value) for _, value in rows]
    assert len(values) == 6
    assert values == sorted(values)


def test_lengths_name_the_window(view):
    assert "the window is 48" in view.lengths().alt


def test_separation_and_ties_are_told(view):
    text = words(view.separation())
    assert "weak separation" in text
    assert "tie breaker" in text


def test_latency_and_gap_of_the_index_are_told(view):
    assert "p95" in words(view.latency())
    assert "overlap@5" in words(view.index_gap())


def test_an_unknown_name_is_refused_with_the_one_meant(place, shown):
    name = shown.outcome.results[0].configuration.name
    with pytest.raises(InputError, match=f"did you mean {name}"):
        open_configuration(place / "tiny.yaml", name + "x", place / "outputs")


@pytest.mark.usefixtures("shown")
def test_a_configuration_that_fails_says_why(place):
    with pytest.raises(InputError, match=r"fixed-16-0-broken failed: .*tokenizer\.json"):
        open_configuration(place / "tiny.yaml", "fixed-16-0-broken", place / "outputs")
