import ast
import html
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import nbformat
import numpy as np
import pandas as pd
import pytest

from tests.made_runs import SIZES, Made
from workbench.core.text.formatting import share
from workbench.measures.statistics.verdict import METHODS
from workbench.report.analysis.findings import findings
from workbench.report.model import SummaryItem
from workbench.report.render.html import document_of
from workbench.report.render.html import rendered as html_page
from workbench.report.render.plain import summary_lines, summary_markdown
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.registry import answers
from workbench.report.views import ComparisonView
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import Outcome

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "comparison.ipynb"
# What a null result must say of nothing.
CLAIMS = ("winner", "winners", "wins", "win", "won", "best", "better", "beats", "beat", "superior", "outperforms", "leads", "victory")
# What is said of none: the question, its denial, and what the methods are called.
DENIALS = ("What won?", "No winner", *METHODS)
N = 120
noise = np.random.default_rng(5)
BASE = noise.random(N) * 0.5


# The questions of every run by a word, in their order.
QUESTIONS = ("won", "margin", "certainty", "cost", "faults", "weakest", "more", "data")
Said = NamedTuple("Said", [(name, SummaryItem) for name in QUESTIONS])


def asked(run: RunTables) -> Said:
    return Said(*answers(findings(run)))


def told(said: Said) -> str:
    return "\n".join(f"{one.question} {one.sentence} {one.detail}" for one in said)


def rendered(run: RunTables) -> str:
    """All that the cells of the comparison notebook display, what the terminal prints, and the summary as Markdown."""
    view, parts = ComparisonView(run), []
    code = [cell.source for cell in nbformat.read(NOTEBOOK, as_version=4).cells if cell.cell_type == "code"]
    for source in code[3:-1]:
        (expression,) = ast.parse(source).body
        shown = eval(ast.unparse(expression), {"view": view, "display": lambda *shown: shown})
        parts += shown if isinstance(shown, tuple) else [shown]
    parts.append(view.overview())
    text = re.sub(r"<[^>]+>", " ", " ".join(f"{part.html} {part.alt}" for part in parts))
    return "\n".join([html.unescape(" ".join(text.split())), *summary_lines(run), summary_markdown(run), told(asked(run))])


def claims(text: str) -> list[str]:
    for denial in DENIALS:
        text = text.replace(denial, "")
    return [word for word in re.findall(r"\w+", text.lower()) if word in CLAIMS]


@pytest.fixture(scope="module")
def equal(made) -> RunTables:
    """One and the same chunking, delivered to the same budget, under two names."""
    return collect(made.ran(1, sweep={"retrieval": [{"kind": "bm25", "k": 5}, {"kind": "bm25", "k": 6}]}, name="equal"))


@pytest.fixture(scope="module")
def tied(made) -> RunTables:
    return made.valued([np.clip(BASE + noise.normal(0, 0.3, N), 0, 1) for _ in range(3)], name="tied")


@pytest.fixture(scope="module")
def clear(made) -> RunTables:
    return made.valued([BASE, BASE + 0.3 + noise.random(N) * 0.1, BASE + 0.1 * noise.random(N)], name="clear")


def test_equal_configurations_read_as_equal_everywhere(equal: RunTables) -> None:
    said, text = asked(equal), rendered(equal)
    assert said.won.sentence == "No winner: fixed-256-0-k5 and fixed-256-0-k6 have the same span_recall@60t on every question."
    assert said.margin.sentence.startswith("There is no difference: ")
    assert said.certainty.sentence == "There is no difference to test."
    assert said.more.sentence == "No number of questions would separate equal configurations."
    assert "the same" in text
    assert claims(text) == []


def test_a_tie_set_of_several_has_no_winner(tied: RunTables) -> None:
    said, text = asked(tied), rendered(tied)
    assert said.won.sentence.startswith("No winner: the 3 configurations are statistically indistinguishable by span_recall@60t (fixed-")
    assert "which may be chance" in said.margin.sentence
    assert re.search(r"are statistically indistinguishable: p = [01]\.\d{3} after correction for 3 comparisons", said.certainty.sentence)
    assert re.fullmatch(
        r"These 120 questions show a difference of 0\.\d{3} in span_recall@60t with 80\s% power; "
        r"to show one of 0\.020, about [\d,]+ would be needed in all\.",
        said.more.sentence,
    )
    assert "New questions are assumed to come with new documents in the present proportion." in said.more.detail
    assert "= statistically indistinguishable" in "\n".join(summary_lines(tied))
    assert claims(text) == []


@pytest.mark.slow
def test_few_questions_and_lone_configurations_make_no_claim(made) -> None:
    few = made.valued([BASE[:20], BASE[:20] + 0.3], documents=2, name="few")
    assert asked(few).won.sentence == "No winner: only 20 questions have a value for every configuration, but at least 30 are required."
    assert asked(few).more.sentence == "At least 10 more questions for any claim."
    equal = made.valued([BASE[:20], BASE[:20]], documents=2, name="few-equal")
    assert asked(equal).more.sentence == "At least 10 more questions for any claim."
    alone = collect(made.ran(1))
    assert asked(alone).won.sentence == "No winner: fixed-16-0 is the only configuration to rank."
    assert asked(alone).margin.sentence.startswith("There is no second configuration to compare with; fixed-16-0 has span_recall@60t ")
    assert claims(rendered(few)) == claims(rendered(alone)) == []


@pytest.mark.slow
def test_a_report_without_a_ranking_says_why(outcome_of_sizes, made) -> None:
    sizes = outcome_of_sizes()
    cut = [one for one in sizes.results if one.truncated.any()]
    windowed = collect(Outcome(sizes.experiment, sizes.graph, sizes.primary, cut))
    assert "scores reflect the window, not the chunking" in asked(windowed).won.sentence
    assert asked(windowed).won.detail == "Beyond the embedder's window, so not compared: fixed-64-0."
    unscored = made.valued([np.full(N, np.nan), np.full(N, np.nan)], name="unscored")
    assert asked(unscored).won.sentence == "No winner: no question has a score by span_recall@60t."
    failed = collect(Outcome(sizes.experiment, sizes.graph, sizes.primary, [], {"one": "no model"}))
    assert asked(failed).won == ("What won?", "No winner: every configuration failed.", "Failed: one.")
    for run in (windowed, unscored, failed):
        assert claims(rendered(run)) == []


def test_a_winner_is_named_with_margin_certainty_and_cost(clear: RunTables) -> None:
    said = asked(clear)
    assert said.won.sentence == "fixed-24-0 wins by span_recall@60t: with 95 % confidence it is the best of 3 configurations."
    assert re.match(
        r"By \+0\.\d{3} \[0\.\d{3}, 0\.\d{3}\] over fixed-32-0 on 120 questions: span_recall@60t 0\.\d{3} against", said.margin.sentence
    )
    assert said.certainty.sentence.startswith(
        "With 95 % confidence every other configuration is behind; fixed-24-0 against fixed-32-0: p < 0.001"
    )
    assert re.fullmatch(r"fixed-24-0 costs 96 chunks without encoding and [\d.]+( to [\d.]+)? ms per question\.", said.cost.sentence)
    assert said.more.sentence.startswith("No more are needed to show a difference of 0.020: these 120 questions show a difference of 0.0")
    assert "120 questions" in said.data.sentence
    assert "fixed-24-0" in (line := "\n".join(summary_lines(clear)))
    assert "winner" in line


@pytest.mark.slow
def test_vectors_from_the_cache_cost_the_same_tokens_and_no_seconds(run: Callable[..., Outcome]) -> None:
    computed, cached = (collect(run(name=name, sweep=SIZES)) for name in ("first", "again"))
    assert set(cached.timings.query("name == 'tokens_encoded'")["value"]) == {0.0}
    sentence = asked(cached).cost.sentence
    assert sentence == asked(computed).cost.sentence
    assert re.match(
        r"fixed-\d+-0 costs \d+ tokens to encode in \d+ chunks, [\d.]+ MB of index and [\d.]+( to [\d.]+)? ms per question", sentence
    )
    assert " s of encoding" not in told(asked(cached))
    assert "from the cache" in rendered(cached)


def test_a_run_without_repeated_times_gives_one_measurement_which_decides_nothing(tied: RunTables) -> None:
    timings = tied.timings[~tied.timings["name"].str.endswith(("_low", "_high"))]
    once = RunTables(tied.manifest, {**tied.sources, "timings": lambda _: timings})
    assert re.search(r"[\d.]+ ms per question \(one measurement\)", asked(once).cost.sentence)
    assert all("p50" not in one.frontier for one in findings(once).priced[1:])


@pytest.mark.slow
def test_a_cheaper_configuration_with_the_same_model_is_not_called_faster_by_noise(made: Made) -> None:
    """The times are 15.3 and 30.5 ms, as one report compared them for one model."""
    values = np.clip(BASE + noise.normal(0, 0.3, N), 0, 1)
    dense = {"retrieval": {"kind": "dense", "k": 5}, "embedding": {"kind": "hashed"}}
    run = made.valued([np.clip(values + 0.01, 0, 1), np.roll(values, 1)], pipeline=dense, name="noisy")
    times = {"fixed-16-0": (14.1, 30.5, 31.2), "fixed-24-0": (12.0, 15.3, 16.9)}
    ends = ("_low", "", "_high")
    rows = [(name, f"latency_question_p50{end}", value) for name in times for end, value in zip(ends, times[name], strict=True)]
    timings = pd.DataFrame(rows, columns=["configuration", "name", "value"])
    sentence = asked(RunTables(run.manifest, {**run.sources, "timings": lambda _: timings})).cost.sentence
    assert re.fullmatch(
        r"fixed-16-0 costs [\d,]+ tokens to encode in \d+ chunks and 14 to 31 ms per question; no other configuration of the tie set "
        r"is shown to cost less, per question, to store or to encode\.",
        sentence,
    )


def test_few_documents_limit_the_claim(made) -> None:
    said = asked(made.valued([BASE[:60], BASE[:60] + 0.3 + 0.1 * noise.random(60)], documents=6, name="six"))
    assert said.won.sentence == "No winner: the questions come from only 6 documents, but at least 10 are required."
    assert said.certainty.sentence.startswith("Not certain enough for a claim; ")
    assert said.more.sentence == "Questions about at least 4 more documents for any claim."
    least = made.valued([BASE[:40], BASE[:40] + 0.3 + 0.1 * noise.random(40)], documents=4, name="four")
    said, page = asked(least), rendered(least)
    assert said.certainty.sentence == "Nothing was tested, because the questions come from fewer than 5 documents (4)."
    assert "documents: 4" in said.margin.sentence
    assert page.count("documents: 4") >= 4
    assert claims(page) == []


def test_fewer_faults_win_where_the_metric_counts_them(made) -> None:
    rows = [BASE + 0.4, BASE, BASE + 0.3 + 0.1 * noise.random(N)]
    said = asked(made.valued(rows, primary="irrelevant@3", name="lower"))
    assert said.won.sentence.startswith("fixed-24-0 wins by irrelevant@3")
    assert re.match(r"By −0\.\d{3} \[−", said.margin.sentence)
    assert said.margin.sentence.endswith("lower is better.")
    assert said.margin.detail.startswith("The lowest of several means is partly luck")
    assert said.faults.sentence == "irrelevant@3 counts faults itself, so misses have no causes."


def test_a_baseline_is_called_so(made) -> None:
    said = asked(made.valued([BASE, BASE + 0.3, BASE + 0.1 * noise.random(N)], baseline="fixed-16-0", name="based"))
    assert "over the baseline fixed-16-0" in said.margin.sentence
    lost = asked(made.valued([np.full(N, np.nan), BASE + 0.3, BASE], baseline="fixed-16-0", name="unbased"))
    assert lost.won.detail == "The baseline fixed-16-0 cannot be compared, so all pairs are."


def test_faults_and_slices_are_those_of_the_leader(made) -> None:
    said = asked(collect(made.ran(2)))
    assert re.match(
        r"fixed-(16|24)-0 misses evidence on \d+ of 120 questions \(\d+\.\d\s%\), (on \d+ of these first|each time) because (it|a chunk boundary|repeated text) \w+",
        said.faults.sentence,
    )
    assert re.match(r"fixed-(16|24)-0 is weakest on kind=(even|odd) \(60 questions\): span_recall@60t ", said.weakest.sentence)


def test_questions_with_more_relevant_documents_than_the_metric_reads_are_counted_apart(made) -> None:
    run = made.valued([BASE + 0.2, BASE], primary="recall@1", name="beyond")
    causes, asked_for = run.causes, run.questions["query_id"].tolist()
    rows = [
        {"query_id": name, "doc_id": "d0", "cause": "rank", "subject": "evidence", "need": -1, "rank": 0, "repeat": 0}
        for name in asked_for[:5]
    ]
    judged = run.judgements[~run.judgements["query_id"].isin(asked_for[:5])]
    labels = [(name, f"d{place}") for name in asked_for[:5] for place in range(1 if name == asked_for[0] else 2)]
    more = pd.DataFrame([{"query_id": name, "doc_id": doc, "relevance": 1} for name, doc in labels])
    lost = pd.concat([causes[:0], pd.DataFrame(rows).assign(configuration=run.names[0], condition="retrieved")])
    tables = {"causes": lambda _: lost, "judgements": lambda _: pd.concat([judged, more])}
    said = asked(RunTables(run.manifest, {**run.sources, **tables})).faults.sentence
    assert said.startswith(
        f"{run.names[0]} misses a relevant document on 5 of 120 questions ({share(5, 120)}), each time because it ranks too low; "
    )
    assert said.endswith("; 4 of them have more than 1 relevant documents, and miss some in every ranking.")


def test_a_winner_by_less_than_matters_and_by_a_one_sided_test_is_said_to_be_that(clear) -> None:
    found = findings(clear)
    margin = found.margin
    small = replace(found, manifest={**clear.manifest, "smallest_difference": 0.9})
    gain = f"; its gain over {margin.b}, {margin.difference.value:.3f}, is less than 0.900, the smallest difference that matters to the experiment."
    assert Said(*answers(small)).won.sentence.endswith(f"it is the best of 3 configurations{gain}")
    both_sided = tuple(replace(each, p_adjusted=0.084) for each in found.verdict.comparisons)
    decided = replace(found)
    vars(decided).update(verdict=replace(found.verdict, comparisons=both_sided))
    weak = Said(*answers(decided))
    ending = "; the test of the best is one-sided, and the two-sided comparison below is not significant."
    assert weak.won.sentence.endswith(f"it is the best of 3 configurations{ending}")
    assert weak.certainty.sentence.endswith("does not separate these two: it is two-sided, and the test of the best is one-sided.")


def test_the_questions_that_are_needed_are_a_rough_number_in_all(tied, made) -> None:
    (needed,) = re.findall(r"about ([\d,]+) would be needed in all", asked(tied).more.sentence)
    assert int(needed.replace(",", "")) > 120
    assert re.fullmatch(r"[1-9][0-9]{0,2}0*", needed.replace(",", ""))
    some = np.where((np.arange(N) % 4 == 0) & (np.arange(N) > 0), BASE, np.nan)
    few = asked(made.valued([some, np.clip(some + noise.normal(0, 0.3, N), 0, 1)], missing="not_applicable", name="29")).more.sentence
    assert few.startswith("At least 1 more question for any claim; to show a difference of 0.020 with 80 % power, about ")
    (needed,) = re.findall(r"about ([\d,]+) would be needed in all", few)
    assert int(needed.replace(",", "")) > 30


def test_a_slice_that_is_better_than_all_questions_is_not_called_the_weakest(made) -> None:
    """Slices need not have all questions, so the lowest of the large ones can be above the mean."""
    run = collect(made.ran(2))
    metrics = run.sources["metrics"](None)
    raised = metrics.assign(value=metrics["value"].where(metrics["slice"] == "all", metrics["value"] + 0.3))
    sentence = asked(RunTables(run.manifest, {**run.sources, "metrics": lambda _: raised})).weakest.sentence
    assert re.match(
        r"No slice is worse than all questions together, 0\.\d+ by span_recall@60t; kind=\w+ \(60 questions\) comes closest", sentence
    )


def test_every_answer_is_a_sentence(equal, tied, clear, made) -> None:
    for outcome in (equal, tied, clear, collect(made.ran(1))):
        for one in asked(outcome):
            assert one.question.endswith("?")
            assert one.sentence.endswith(".")
            assert not one.detail or one.detail.endswith(".")
            assert not re.search(r"nan|None\b(?!;)|  |\.\.", one.sentence + one.detail)


def test_a_few_documents_with_most_questions_are_named_and_can_count_equally(made) -> None:
    run = collect(made.ran(2, name="even"))
    assert "equal weight" not in asked(run).data.detail
    sizes = [*[0] * 60, *range(1, 12), *range(1, 12), *range(1, 12), *range(1, 12), *[0] * 16]
    questions = run.questions.assign(cluster=sizes)
    heavy = RunTables(run.manifest, {**run.sources, "questions": lambda _: questions})
    assert asked(heavy).data.detail.endswith(
        "1 document of 12 holds half of the questions and so decides most; average: documents in the experiment gives all documents equal weight."
    )
    equal = asked(collect(made.ran(2, name="equal-documents", average="documents")))
    assert (
        equal.data.detail
        == "span_recall@60t is over 120 questions in 12 clusters, each the questions about one document, with equal weight."
    )


def test_with_equal_documents_tables_verdict_and_page_agree(made) -> None:
    values = np.clip(BASE + noise.normal(0, 0.3, N), 0, 1)
    run = made.valued([values, np.where(np.arange(N) < 10, 1.0, values)], name="weights", average="documents")
    ranked = findings(run).standings.ranked
    assert [one.name for one in ranked] == list(findings(run).verdict.ranked)
    by_document = pd.Series(values).groupby(run.questions["cluster"]).mean()
    assert findings(run).standings.by(run.primary)[-1].means[str(run.primary)].value == pytest.approx(by_document.mean())
    assert "Every mean counts documents equally" in html_page(document_of(run))
