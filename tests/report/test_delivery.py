from collections.abc import Callable

import pytest

from workbench.report.results.run_tables import RunTables
from workbench.report.sentences import delivery_notes, most_of_corpus, other_budgets, short_deliveries, unfilled_budgets, whole_corpus
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import Outcome

MANY = [f"c{number}" for number in range(26)]


@pytest.fixture(scope="module")
def swept(run: Callable[..., Outcome]) -> Callable[..., RunTables]:
    def collected(*metrics: str, **retrieval: object) -> RunTables:
        sweep = {"retrieval": [{"kind": "dense", "k": 2, **retrieval}, {"kind": "bm25", "k": 2, **retrieval}]}
        return collect(run(name="delivered", sweep=sweep, metrics=list(metrics)))

    return collected


def test_a_budget_that_every_configuration_fills_with_what_is_measured_needs_no_note(swept: Callable[..., RunTables]) -> None:
    assert delivery_notes(swept("span_recall@10t", "recall@3")) == []


def test_a_corpus_that_fits_into_the_budget_is_told_from_too_few_matches(swept: Callable[..., RunTables]) -> None:
    whole, few = delivery_notes(swept("span_recall@5000t", "recall@3"))
    assert (
        whole == "The whole corpus fits into 5,000 tokens: fixed-16-0-k2 delivers everything that it finds, so the order does not matter."
    )
    assert few == "Too few chunks match to fill the token budget with fixed-16-0-bm25-k2 on 100.0 % of the questions."


def test_another_delivery_than_the_measured_one_is_named(swept: Callable[..., RunTables]) -> None:
    assert delivery_notes(swept("span_recall@10t", deliver={"tokens": 5})) == [
        "The measured text is not the delivered text: span_recall@10t reads 10 tokens, but all 2 configurations deliver 5."
    ]


def test_k_chunks_that_hold_fewer_tokens_than_a_metric_reads_are_named(swept: Callable[..., RunTables]) -> None:
    assert delivery_notes(swept("recall@3", "span_recall@500t")) == [
        "Metrics at 500t read 500 tokens of the ranking, but the k chunks that all 2 configurations deliver hold fewer."
    ]
    # The tokens of the curve of recall are in every run and were not asked for.
    assert delivery_notes(swept("recall@3")) == []


def test_26_configurations_stay_readable() -> None:
    sentences = [
        *other_budgets("span_recall@2000t", 2000, dict.fromkeys(MANY[:20], 1000) | dict.fromkeys(MANY[20:], 2000)),
        *whole_corpus(dict.fromkeys(MANY, 2000), 26),
        *unfilled_budgets({name: 0.1 + place / 100 for place, name in enumerate(MANY)}, 26),
        *short_deliveries([2000], dict.fromkeys(MANY[:8], 1200.0) | dict.fromkeys(MANY[8:], 2400.0), 26),
    ]
    assert sentences == [
        "The measured text is not the delivered text: span_recall@2000t reads 2,000 tokens, but c0, c1, c2, c3, c4, c5 and 14 more deliver 1,000.",
        "The whole corpus fits into 2,000 tokens: all 26 configurations deliver everything that they find, so the order does not matter.",
        "Too few chunks match to fill the token budget with all 26 configurations on 10.0 % to 35.0 % of the questions.",
        "Metrics at 2000t read 2,000 tokens of the ranking, but the k chunks that c0, c1, c2, c3, c4, c5 and 2 more deliver hold fewer.",
    ]


@pytest.mark.slow
def test_budgets_of_contexts_that_make_no_difference_are_named(run: Callable[..., Outcome]) -> None:
    sweep = {"context": [{"budget": 5}, {"budget": 400}, {"budget": 1000}], "answering": [{"kind": "extractive", "sentences": [1, 2]}]}
    pipeline = {"retrieval": {"kind": "bm25", "k": 2}}
    swept = collect(run(name="budgets", pipeline=pipeline, sweep=sweep, metrics=["span_recall@10t", "answer_recall"]))
    assert delivery_notes(swept) == [
        "Budgets of 400 and 1,000 tokens give the same contexts, because retrieval delivers no more text; "
        "set deliver of the retrieval to as many tokens as the largest budget to compare them."
    ]


@pytest.mark.parametrize(
    ("tokens", "corpus", "said"), [(2000, 2322.0, True), (2000, 4001.0, False), (2000, 1500.0, True), (2000, 0.0, False)]
)
def test_a_measured_text_of_most_of_the_corpus_is_said_to_tell_little(tokens: int, corpus: float, said: bool) -> None:
    notes = most_of_corpus(tokens, corpus)
    assert bool(notes) is said
    if corpus > tokens:
        assert notes == [] or notes[0].startswith("2,000 tokens are 86.1 % of all text (2,322 tokens)")
