"""The sentences about answers: what they claim, and how often that is wrong."""

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tests.answered_runs import Planted, answered, without_expected
from workbench.core.schemas import SCHEMAS
from workbench.core.text.formatting import number, signed
from workbench.measures.statistics.effects import EffectReading
from workbench.report.analysis.answer_values import VERBATIM, answering
from workbench.report.analysis.decomposition import decomposition_of, decomposition_table
from workbench.report.analysis.findings import findings
from workbench.report.answer_sentences import cut_sentences, hold_answer, loss_sentences, missing_sentence
from workbench.report.model import Prose
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.answers.conditions import conditions, losses_table
from workbench.report.topics.answers.costs import cost_sentence
from workbench.runner.execution.collect import collect

LOSING = {"gold": 0.9, "gold_distractors": 0.9, "retrieved": 0.4}
# Of the wrong answers, all from the evidence alone and none of the others are refused.
CURT = {"gold": 1.0, "gold_distractors": 0.0, "retrieved": 0.0, "injection": 0.0}
BOUNDS = r"\[−?\d\.\d+, −?\d\.\d+\]"


def held(run):
    return next((hold_answer(run, name) for name in answering(run)[:1]), None)


def test_a_run_without_answers_has_no_such_question(unanswered):
    assert held(unanswered) is None


def test_the_page_has_the_sentence(answered_run):
    assert conditions(findings(answered_run)).blocks[0] == Prose(held(answered_run).sentence)


def test_a_large_loss_is_claimed_and_an_absent_one_is_not(unanswered):
    run = answered(unanswered, Planted(conditions=list(LOSING), right=LOSING, refused=dict.fromkeys(LOSING, 0.0)))
    sentence = held(run).sentence
    assert re.search(r"It loses 0\.\d+ \[0\.\d+, 0\.\d+\] through retrieval\.", sentence)
    assert re.search(
        r"No loss is shown to distractors \(−?0\.\d+ \[−0\.\d+, 0\.\d+\]; a loss of 0\.\d+ would be shown with 80 % power\)\.", sentence
    )


@pytest.mark.parametrize(
    ("condition", "cause", "context"),
    [("retrieved", "through retrieval", "from what it retrieves"), ("gold_distractors", "to distractors", "with distractors")],
)
def test_evidence_that_is_refused_more_often_is_no_ceiling_and_its_loss_is_given_with_and_without_the_refusals(
    unanswered, condition, cause, context
):
    right = {"gold": 0.75, "gold_distractors": 0.7, "retrieved": 0.7}
    run = answered(unanswered, Planted(conditions=list(right), right=right, refused=CURT, unanswerable=0))
    name = answering(run)[0]
    table = run.answers[run.answers["configuration"] == name].pivot(index="query_id", columns="condition", values="refused").astype(bool)
    scores = run.queries.query("metric == 'answer_recall' and configuration == @name")
    scores = scores.pivot(index="query_id", columns="condition", values="value").reindex(table.index)
    loss, kept = scores["gold"] - scores[condition], ~table["gold"]
    sentence = held(run).sentence
    assert "No loss is shown" not in sentence
    assert f"The evidence alone is no ceiling: {table['gold'].sum()} of 120 answers from it are refused, but " in sentence
    assert f"0 of 120 {context}" in sentence
    rest = number(loss[kept].mean())
    others = sentence.split(" The evidence alone is no ceiling: ")[1].split(". ")[1]
    assert others.startswith("On questions that are answered from it, the loss is ")
    assert re.search(rf" {rest} {BOUNDS} {cause} \({kept.sum()} questions\)", others)
    (row,) = [row for row in losses_table(decomposition_of(run, name)).rows if row.cells[0].text == cause.split()[-1]]
    assert row.cells[1].text == signed(loss.mean())
    reading = decomposition_table(run).set_index(["configuration", "part"]).loc[(name, cause.split()[-1])]
    assert (reading["reading"], reading["answered_n"], reading["refused"]) == ("masked by refusals", kept.sum(), 0)
    assert reading["refused_alone"] == pytest.approx(table["gold"].mean())


def test_a_loss_in_spite_of_refused_evidence_is_claimed_and_the_one_without_refusals_beside_it(unanswered):
    right = {"gold": 0.8, "retrieved": 0.3}
    sentence = held(answered(unanswered, Planted(conditions=list(right), right=right, refused=CURT))).sentence
    assert re.search(rf"It loses 0\.\d+ {BOUNDS} through retrieval\. The evidence alone is no ceiling: ", sentence)


def test_better_answers_than_from_the_evidence_alone_are_no_absent_loss(unanswered):
    right = {"gold": 0.5, "retrieved": 0.9}
    sentence = held(answered(unanswered, Planted(conditions=list(right), right=right, refused={"gold": 0.0, "retrieved": 1.0}))).sentence
    assert re.search(
        rf"The answers from what it retrieves are better than those from the evidence alone, by 0\.\d+ {BOUNDS}, so that this is no ceiling\.$",
        sentence,
    )
    assert "No loss is shown" not in sentence


def test_evidence_that_is_always_refused_answers_nothing(unanswered):
    right = {"gold": 0.0, "retrieved": 0.5}
    run = answered(unanswered, Planted(conditions=list(right), right=right, refused={"gold": 1.0, "retrieved": 0.0}))
    assert "None is answered from the evidence alone." in held(run).sentence


def test_attacks_on_evidence_that_is_refused_more_often_show_no_absent_loss(unanswered):
    right = {"gold": 0.7, "retrieved": 0.7, "injection": 0.7}
    sentence = held(answered(unanswered, Planted(conditions=list(right), right=right, refused=CURT))).sentence
    assert re.search(
        rf"Under 6 of 6 attacks the evidence alone is refused more often, which hides a loss; the largest that is left is 0\.\d+ {BOUNDS} by injection/\w+\.$",
        sentence,
    )


def test_of_repeats_a_question_counts_as_answered_if_no_answer_from_the_evidence_is_refused(unanswered):
    right = {"gold": 0.7, "retrieved": 0.7}
    run = answered(unanswered, Planted(conditions=list(right), right=right, refused=CURT, repeats=3, unanswerable=0))
    name = answering(run)[0]
    rows = run.answers[(run.answers["configuration"] == name) & (run.answers["condition"] == "gold")]
    (loss,) = decomposition_of(run, name).losses
    assert (loss.alone.refused, loss.alone.of) == (rows["refused"].sum(), 360)
    assert loss.answered.comparison.difference.n == (~rows.groupby("query_id")["refused"].any()).sum()


def test_a_closed_book_score_says_how_many_answers_are_refused(unanswered):
    right = {"none": 0.1, "gold": 0.9, "retrieved": 0.9}
    said = held(answered(unanswered, Planted(conditions=list(right), right=right, refused={"none": 1.0}, unanswerable=0)))
    assert re.search(
        r"the closed-book share\. Of 120 answers \d+ are refused, which says nothing about what the model knows\.", said.detail
    )
    open_book = held(answered(unanswered, Planted(conditions=list(right), right=right, refused={"none": 0.0}, unanswerable=0)))
    assert "refused, which" not in open_book.detail


def test_shown_losses_share_a_sentence_and_no_other_follows(unanswered):
    right = {"gold": 1.0, "gold_distractors": 0.3, "retrieved": 0.2}
    sentence = held(answered(unanswered, Planted(conditions=list(right), right=right))).sentence
    assert re.search(r"It loses 0\.\d+ \[[^]]*\] through retrieval and 0\.\d+ \[[^]]*\] to distractors\.$", sentence)


def test_what_a_generator_that_copies_the_context_cannot_do_is_not_said_of_it(unanswered):
    right = {"none": 0.0, "gold": 0.9, "retrieved": 0.4, "injection": 0.9}
    run = answered(unanswered, Planted(conditions=list(right), right=right, refused={"none": 0.5, "gold": 0.3, "injection": 1.0}))
    said = held(run)
    assert "the closed-book share" in said.detail
    assert "no loss is shown" in said.sentence
    assert re.search(
        r"is missing with the evidence alone \(\d of 116 answers are refused\): generator, judge and label error, and right answers in other words\.",
        said.detail,
    )
    copies = run.queries.assign(reason=VERBATIM)
    said = held(replace(run, sources={**run.sources, "queries": lambda _: copies}))
    assert "closed-book" not in said.detail
    assert "no loss is shown" not in said.sentence
    assert "through retrieval" in said.sentence


def test_contexts_without_all_evidence_are_counted(unanswered):
    run = answered(unanswered, Planted(conditions=list(LOSING), right=LOSING))
    table = run.answers
    first = table.loc[table["condition"] == "gold", "query_id"].unique()[:7]
    cut = table.assign(gold=table["gold"].mask((table["condition"] == "gold") & table["query_id"].isin(first), False))
    sentence = held(replace(run, sources={**run.sources, "answers": lambda _: cut})).sentence
    assert re.search(r"The contexts with the evidence lack a part of it on 7 of \d+ questions; raise the budget of the context\.", sentence)
    assert "lack" not in held(run).sentence


def test_means_over_other_questions_say_so(unanswered):
    run = answered(unanswered, Planted(conditions=list(LOSING), right=LOSING))
    means = run.metrics
    fewer = means.assign(n=means["n"].mask((means["condition"] == "retrieved") & (means["metric"] == "answer_recall"), 11))
    rows = run.queries
    others = (rows["condition"] == "retrieved") & (rows["metric"] == "answer_recall")
    others &= others.groupby(rows["configuration"]).cumsum() > 11
    values = rows.assign(value=rows["value"].mask(others))
    sentence = held(replace(run, sources={**run.sources, "metrics": lambda _: fewer, "queries": lambda _: values})).sentence
    assert re.search(r"with what it retrieves \(on 11 questions, not \d+\)\.", sentence)
    assert "(on " not in held(run).sentence


def test_the_reason_of_failed_answers_comes_first(unanswered):
    run = answered(unanswered, Planted(conditions=["retrieved"], failed=1.0))
    assert re.fullmatch(r"No answer of \S+ is scored by answer_recall: the server timed out \(60 s\)[^.]*\. .*", held(run).sentence)


def test_absent_losses_share_a_sentence(unanswered):
    run = answered(unanswered, Planted(conditions=list(LOSING), right=dict.fromkeys(LOSING, 0.5), refused=dict.fromkeys(LOSING, 0.0)))
    assert re.search(r"No loss is shown through retrieval \([^)]* power\) or to distractors \([^)]* power\)\.$", held(run).sentence)


def test_the_largest_loss_under_attack_is_named(answered_run):
    assert re.search(
        r"7 of 8 attacks lower answer_recall; the largest loss is 0\.\d+ \[.*\] by counterfactual/(before|after)\.",
        held(answered_run).sentence,
    )


def test_missing_answers_are_counted_with_their_reason(answered_run):
    name, other = answering(answered_run)
    table = answered_run.answers
    failed = table[table["error"] != ""].groupby("configuration").size()
    asked = table[table["reason"] == ""].groupby("configuration").size()
    assert missing_sentence(answered_run, name) == (
        f"{failed[name]} of {asked[name]:,} answers of {name} are missing and not scored: the server timed out (60 s). "
        f"{failed[other]} answers of other configurations are missing, too."
    )


def with_cut(run: RunTables, shares: Mapping[str, float], reasoned: bool = False) -> RunTables:
    """The run with the first answers of each configuration cut off, as large a share as is given."""
    rows = run.answers
    place, of = rows.groupby("configuration").cumcount(), rows.groupby("configuration")["query_id"].transform("size")
    cut = place < rows["configuration"].map(shares).fillna(0) * of
    table = rows.assign(truncated=cut.astype("boolean"), reasoned=pd.array([reasoned] * len(rows), dtype="boolean"))
    return replace(run, sources={**run.sources, "answers": lambda _: table})


def test_answers_that_were_cut_off_are_counted_if_they_are_more_than_a_few(answered_run):
    run = replace(answered_run, sources={**answered_run.sources, "answers": lambda _: answered_run.answers.query("error == ''")})
    name, other = answering(run)
    of = {each: int((run.of("answers", each)["reason"] == "").sum()) for each in (name, other)}
    assert cut_sentences(run) == cut_sentences(with_cut(run, {name: 0.03})) == []
    (line,) = cut_sentences(with_cut(run, {name: 0.5}))
    cut = int((with_cut(run, {name: 0.5}).of("answers", name).query("reason == ''")["truncated"]).sum())
    assert line == f"{cut:,} of {of[name]:,} answers of {name} were cut off at the token limit; raise max_tokens"
    assert f"{line}." in held(with_cut(run, {name: 0.5})).sentence
    unclear, certain = cut_sentences(with_cut(run, {name: 0.5, other: 1}))
    assert certain == line
    assert unclear == (
        f"{of[other]:,} of {of[other]:,} answers of {other} were cut off at the token limit, and no reply marks its reasoning, so these texts may "
        "be reasoning in place of answers; raise max_tokens"
    )
    (line,) = cut_sentences(with_cut(run, {other: 1}, reasoned=True))
    assert "in place of answers" not in line


def test_the_cost_of_an_answer_is_its_time_and_its_tokens(answered_run):
    name = answering(answered_run)[0]
    assert (
        cost_sentence(answered_run, name)
        == f"An answer of {name} from what it retrieves costs 320 ms in the median, 240 prompt tokens and 12 answer tokens."
    )


def test_prices_are_stated_per_answer_and_for_all(unanswered):
    run = answered(unanswered, Planted(conditions=["retrieved"]))
    priced = replace(run, sources={**run.sources, "answers": lambda _, table=run.answers: table.assign(cost=0.00125)})
    assert cost_sentence(priced, answering(priced)[0]).endswith("and a price of 0.001250; the price of all 120 answers is 0.1500.")


def test_the_answers_of_a_target_are_not_said_to_cost_nothing(unanswered):
    run = answered(unanswered, Planted(conditions=["retrieved"]))
    name = answering(run)[0]
    dtypes = dict(SCHEMAS["targets"].dtypes)
    row = {column: name if dtype == "str" else False if dtype == "bool" else 0 for column, dtype in dtypes.items()}
    target = pd.DataFrame([row]).astype(dtypes)
    sources = {"answers": lambda _: run.answers.assign(model=""), "targets": lambda _: target}
    own, asked = replace(run, sources=run.sources | {"answers": sources["answers"]}), replace(run, sources=run.sources | sources)
    assert "cost no calls of a language model" in cost_sentence(own, name)
    assert cost_sentence(asked, name).startswith(f"The 120 answers of {name} are those of a target, whose own costs are not known")


def test_answers_without_a_cost_have_no_sentence_about_it(unanswered):
    run = answered(unanswered, Planted(conditions=["retrieved"], failed=1.0))
    free = replace(run, sources={**run.sources, "timings": lambda _, table=run.timings: table[:0]})
    assert cost_sentence(free, answering(free)[0]) == ""


def test_the_largest_claimed_loss_is_a_significant_one(answered_run):
    parts = decomposition_of(answered_run, answering(answered_run)[0])
    largest = max(parts.losses, key=lambda loss: loss.difference.value)
    unsure = replace(largest, reading=EffectReading.UNDECIDED)
    sentence = loss_sentences(answered_run, replace(parts, losses=tuple(unsure if loss is largest else loss for loss in parts.losses)))[-1]
    assert sentence.startswith("6 of 8 attacks lower answer_recall")
    assert unsure.name not in sentence


def test_without_expected_answers_the_reason_is_named(unanswered):
    sentence = held(without_expected(answered(unanswered))).sentence
    assert re.fullmatch(r"No answer of \S+ is scored by answer_recall: no expected answer; unanswerable\.", sentence)


def test_an_attack_on_too_few_questions_does_not_hide_the_other_losses(unanswered):
    run = answered(unanswered, Planted(conditions=[*LOSING, "counterfactual"], right=LOSING | {"counterfactual": 0.9}))
    asked = run.questions["query_id"].tolist()
    rows = run.queries[~((run.queries["condition"] == "counterfactual") & run.queries["query_id"].isin(asked[20:]))]
    sentence = held(replace(run, sources={**run.sources, "queries": lambda _: rows})).sentence
    assert re.search(r"It loses 0\.\d+ \[0\.\d+, 0\.\d+\] through retrieval\.", sentence)
    assert sentence.endswith("too few for a claim about a loss to counterfactual/before and to counterfactual/after.")


def test_without_the_evidence_alone_no_loss_is_claimed(unanswered):
    run = answered(unanswered, Planted(conditions=["retrieved"]))
    assert held(run).sentence.endswith("without the condition gold its losses cannot be separated.")


def test_the_evidence_alone_without_a_scored_answer_are_not_an_absent_condition(unanswered):
    run = answered(unanswered, Planted(conditions=["gold", "retrieved"]))
    means = run.metrics.query("condition != 'gold'")
    assert held(replace(run, sources={**run.sources, "metrics": lambda _: means})).sentence.endswith(
        "without scored answers to the condition gold its losses cannot be separated."
    )


def test_too_few_questions_allow_no_claim(made):
    run = answered(collect(made.ran(2, documents=2)), Planted(conditions=list(LOSING), right=LOSING))
    assert "too few for a claim about losses" in held(run).sentence


def test_if_every_call_failed_no_score_is_given(unanswered):
    run = answered(unanswered, Planted(conditions=["gold", "retrieved"], failed=1.0))
    assert held(run).sentence.startswith("No answer of ")
    assert "240 of 240 answers" in held(run).sentence


@pytest.mark.soak
def test_a_loss_that_does_not_exist_is_claimed_in_at_most_5_per_cent_of_runs(unanswered):
    same, claimed, worlds = {"gold": 0.7, "gold_distractors": 0.7, "retrieved": 0.7}, 0, 200
    for world in range(worlds):
        run = answered(unanswered, Planted(conditions=list(same), right=same, unanswerable=0, seed=world))
        name = findings(run).standings.ranked[0].name
        claimed += any(sentence.startswith("It loses") for sentence in loss_sentences(run, decomposition_of(run, name)))
    # Three standard errors above 5 %.
    assert claimed / worlds <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / worlds)
