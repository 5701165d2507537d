import html
import re

import pytest

from workbench.api.results import load
from workbench.core.errors import InputError
from workbench.report.views import ConfigurationView
from workbench.runner.execution.collect import collect


@pytest.fixture(scope="module")
def view(shown):
    return load(shown.folder).configuration(shown.run.names[0])


def words(shown) -> str:
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", shown.html).split()))


def test_settings_and_headline_come_first(view):
    text = words(view.overview())
    assert "fixed-16-0" in text
    assert "of the evidence within 500 tokens" in text
    assert re.search(r"chunking fixed, .*size 16, overlap 0", text)


def test_every_metric_has_its_interval_and_counts(view):
    text = words(view.metrics())
    assert all(metric in text for metric in ("span_recall@500t", "recall@3", "ndcg@3"))
    assert "unscored" in text


def test_the_worst_questions_show_evidence_as_text(view):
    html = view.worst().html
    assert ">delivered:</small>" in html
    assert "&lt;script&gt;" in html
    assert "<script" not in html
    assert "<img" not in html


def test_missed_evidence_is_labelled_in_words(run):
    few = collect(run(name="few", primary="span_recall@2"))
    html = ConfigurationView(few, few.names[0]).worst().html
    assert ">missed:</small>" in html
    assert re.search(r">(missed|partly delivered)</dt>", html)


def test_questions_are_listed_worst_first(view):
    rows = re.findall(r'<tr>\s*<th scope="row"[^>]*>(q\d)</th>\s*<td[^>]*>([\d.]+)', view.queries().html)
    values = [float(value) for _, value in rows]
    assert len(values) == 6
    assert values == sorted(values)


def test_lengths_name_the_window(view):
    assert "the window is 48" in view.lengths().alt


def test_separation_and_ties_are_shown(view):
    text = words(view.separation())
    assert "weak separation" in text
    assert "tie breaker" in text


def test_latency_and_gap_of_the_index_are_shown(view):
    assert "p95" in words(view.latency())
    assert "overlap@5" in words(view.latency())


def test_an_unknown_name_is_refused_with_the_one_meant(shown):
    name = shown.run.names[0]
    with pytest.raises(InputError, match=f"did you mean {name!r}"):
        load(shown.folder).configuration(name + "x")


def test_a_configuration_that_fails_says_why(shown):
    with pytest.raises(InputError, match=r"fixed-16-0-broken failed: .*is not a model's settings"):
        load(shown.folder).configuration("fixed-16-0-broken")
