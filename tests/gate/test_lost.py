"""Lost documents, evidence and answers: hand-made changes of a small corpus, and agreement with a recomputation from the tables."""

from collections import defaultdict
from dataclasses import replace

import pytest

from tests.answered_runs import Planted, answered, with_causes
from tests.lost_runs import FACTS, FILLER, Sweep, documents
from workbench.core.records import Span
from workbench.gate.baseline import Baseline, Differences, baseline_of
from workbench.gate.losses import LabelledPlaces, LostLabel, RankedSpans, cause_of_loss, lost_questions
from workbench.gate.rules import Subject
from workbench.report.analysis.causes import QuestionLoss
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import Outcome


@pytest.fixture(scope="module")
def before(swept: Sweep) -> Baseline:
    run = swept()
    return baseline_of([run], run.names[0])


@pytest.fixture(scope="module")
def good(unanswered: RunTables) -> RunTables:
    """A run with answers."""
    return answered(unanswered)


@pytest.fixture(scope="module")
def broken(unanswered: RunTables) -> RunTables:
    """The same run with far more wrong answers."""
    return answered(unanswered, Planted(right=dict.fromkeys(Planted().right, 0.2)))


@pytest.fixture(scope="module")
def explained(broken: RunTables) -> RunTables:
    """The run with wrong answers and their causes."""
    return with_causes(broken)


def lost_of(run: RunTables, baseline: Baseline, *subjects: str) -> list[QuestionLoss]:
    return lost_questions(run, run.names[0], baseline, [Subject(name) for name in subjects])


def test_an_unchanged_run_lost_nothing(swept: Sweep, before: Baseline) -> None:
    assert lost_of(swept(), before) == []


def test_a_plain_baseline_knows_no_questions(swept: Sweep, before: Baseline) -> None:
    assert lost_of(swept(size=8), replace(before, plain=True)) == []


def test_stale_versions_that_displace_a_document_are_named(swept: Sweep, before: Baseline) -> None:
    stale = {f"old-lamp-{year}": FACTS["lamp"].replace("nine", "eight") for year in (2021, 2022, 2023)}
    (lost,) = lost_of(swept(documents() | stale), before)
    assert (lost.query_id, lost.subject, lost.missing) == ("lamp", "evidence", "lamp:176-240")
    assert (lost.rank_before, lost.rank_after, lost.cause) == (1, 4, "displaced")
    assert (lost.metric, lost.value_before, lost.value_after) == ("need_recall@2", 1.0, 0.0)
    assert set(lost.displaced_by) == set(stale)
    assert lost.explanation.startswith("all 3 documents ahead of it are new: old-lamp-")
    assert lost.explanation.endswith("; it fell from rank 1 to 4")
    assert (lost.before[0]["doc_id"], lost.before[0]["relevant"]) == ("lamp", True)
    assert lost.after[3]["doc_id"] == "lamp"
    assert lost.after[0]["text"] == FACTS["lamp"].replace("nine", "eight")


def test_without_evidence_the_documents_are_compared_by_their_ranks(swept: Sweep) -> None:
    def unlabelled(run: RunTables) -> RunTables:
        measures = {name: run.manifest["metrics"][name] for name in ("recall@2", "precision@2")}
        return replace(run, manifest=dict(run.manifest) | {"metrics": measures, "primary": "recall@2"})

    run = unlabelled(swept())
    stale = {f"old-well-{year}": FACTS["well"].replace("forty", "fifty") for year in (2021, 2022)}
    after = unlabelled(swept(documents() | stale))
    (lost,) = lost_of(after, baseline_of([run], run.names[0]))
    assert (lost.query_id, lost.subject, lost.missing, lost.rank_before, lost.rank_after) == ("well", "document", "well", 1, 3)
    assert lost.cause == "displaced"


def test_a_metric_of_faults_loses_nothing(swept: Sweep) -> None:
    metrics = ["irrelevant@2", "recall@2"]
    run = swept(metrics=metrics, primary="irrelevant@2")
    assert str(run.primary) == "irrelevant@2"
    stale = {f"old-well-{year}": FACTS["well"].replace("forty", "fifty") for year in (2021, 2022)}
    lost = lost_of(swept(documents() | stale, metrics=metrics, primary="irrelevant@2"), baseline_of([run], run.names[0]))
    assert [(each.query_id, each.subject, each.metric) for each in lost] == [("well", "document", "recall@2")]


def test_evidence_that_smaller_chunks_cut_has_the_cause_of_the_miss(swept: Sweep) -> None:
    metrics = ["need_recall@2", "recall@2"]
    whole, run = swept(metrics=metrics), swept(size=8, metrics=metrics)
    lost = lost_of(run, baseline_of([whole], whole.names[0]))
    assert {(each.query_id, each.cause) for each in lost} == {(row.query_id, row.cause) for row in run.causes.itertuples()}
    assert {each.cause for each in lost} == {"boundary"}
    assert all(each.explanation.startswith("a chunk boundary cuts it; it ") for each in lost)


def test_without_an_attribution_of_evidence_the_hits_show_what_cut_it(swept: Sweep, before: Baseline) -> None:
    run = swept(size=8)
    assert run.causes.empty
    assert {(each.subject, each.cause) for each in lost_of(run, before)} == {("evidence", "boundary")}


def test_a_changed_document_is_the_cause_of_what_it_lost(swept: Sweep, before: Baseline) -> None:
    texts = documents() | {"door": documents()["door"].replace(FACTS["door"], "No." * 20)}
    (lost,) = lost_of(swept(texts), before)
    assert (lost.query_id, lost.cause, lost.rank_before, lost.rank_after) == ("door", "changed", 1, 0)
    assert lost.explanation == "the text of door changed, and it fell from rank 1 out of the hits"


def test_evidence_that_moved_within_a_changed_document_is_lost_like_any_other(swept: Sweep, before: Baseline) -> None:
    stale = {f"old-lamp-{year}": FACTS["lamp"].replace("nine", "eight") for year in (2021, 2022, 2023)}
    moved = documents() | stale | {"lamp": f"{FILLER} " * 8 + FACTS["lamp"]}
    (lost,) = lost_of(swept(moved), before)
    assert (lost.query_id, lost.subject, lost.cause, lost.rank_before) == ("lamp", "evidence", "changed", 1)
    assert (lost.value_before, lost.value_after) == (1.0, 0.0)
    # The baseline keeps places, not texts, and the text at these places is another now.
    assert lost.before[0]["text"] == "its text then is not known"
    assert FACTS["lamp"] not in "".join(hit["text"] for hit in lost.before)


def test_a_removed_document_is_named_once_and_not_also_by_its_evidence(swept: Sweep, before: Baseline) -> None:
    whole = swept()
    gone = whole.hits["doc_id"] == "roof"
    queries = whole.queries.assign(
        value=whole.queries["value"].mask((whole.queries["query_id"] == "roof") & (whole.queries["value"] > 0), 0.0)
    )
    run = replace(whole, sources={**whole.sources, "hits": lambda _: whole.hits[~gone], "queries": lambda _: queries})
    (lost,) = lost_questions(run, run.names[0], before, changes=Differences(removed=("roof",), corpus=True))
    assert (lost.query_id, lost.subject, lost.missing, lost.cause) == ("roof", "document", "roof", "removed")
    assert (lost.rank_before, lost.rank_after, lost.explanation) == (1, 0, "roof was removed from the corpus")


def test_a_question_whose_metric_did_not_fall_lost_nothing(swept: Sweep, before: Baseline) -> None:
    run = swept()
    hits = run.hits[run.hits["doc_id"] != "roof"]
    other = replace(run, sources={**run.sources, "hits": lambda _: hits})
    assert lost_of(other, before) == []
    values = before.values[before.values["query_id"] != "roof"]
    assert {each.query_id for each in lost_of(other, replace(before, values=values))} == {"roof"}


def test_a_rank_beyond_the_hits_that_a_baseline_keeps_is_unknown(swept: Sweep, before: Baseline) -> None:
    run = swept(size=8)
    known = {each.query_id for each in lost_of(run, before)}
    assert lost_of(run, replace(before, hits=before.hits.iloc[:0])) == []
    one = replace(before, hits=before.hits.iloc[:1].assign(query_id="other"))
    lost = lost_of(run, one)
    assert {each.query_id for each in lost} == known
    assert {each.rank_before for each in lost} == {0}
    assert all(each.explanation.endswith("the hits that the baseline keeps do not show where it was") for each in lost)


def test_the_metrics_of_the_rules_choose_by_which_a_loss_counts(swept: Sweep) -> None:
    stale = {"old-door": FACTS["door"].replace("brass", "steel")}
    run = swept(documents() | stale, metrics=["recall@2", "recall@1", "need_recall@2", "need_recall@1", "precision@2"])
    known = swept(metrics=["recall@2", "recall@1", "need_recall@2", "need_recall@1", "precision@2"])
    baseline = baseline_of([known], known.names[0])
    assert lost_of(run, baseline) == []
    (lost,) = lost_of(run, baseline, "need_recall@1")
    assert (lost.query_id, lost.metric, lost.rank_before, lost.rank_after) == ("door", "need_recall@1", 1, 2)
    assert lost.explanation == "the document ahead of it is new: old-door; it fell from rank 1 to 2"


def test_lost_documents_agree_with_a_recomputation_from_the_tables(few: Outcome) -> None:
    run = collect(few)
    for first in run.names:
        for second in run.names:
            lost = lost_questions(run, second, baseline_of([run], first), [Subject("recall@5")], Differences())
            found = {(each.query_id, each.missing.rpartition(":")[0] or each.missing) for each in lost if each.subject == "document"}
            assert found == lost_documents(run, first, second) - {
                (each.query_id, each.missing.rpartition(":")[0]) for each in lost if each.subject == "evidence"
            }


def lost_documents(run: RunTables, first: str, second: str) -> set[tuple[str, str]]:
    """Relevant documents among the first five of one configuration (in its first ten hits) and not of the other, where recall@5 fell."""
    tops: list[dict[str, set[str]]] = []
    for name, depth in ((first, 10), (second, 10**6)):
        top: dict[str, dict[str, None]] = defaultdict(dict)
        rows = run.hits[(run.hits["configuration"] == name) & (run.hits["rank"] <= depth)].sort_values(["query_id", "rank"])
        for row in rows.itertuples():
            if len(top[row.query_id]) < 5 or row.doc_id in top[row.query_id]:
                top[row.query_id][row.doc_id] = None
        tops.append({query_id: set(docs) for query_id, docs in top.items()})
    rows = run.queries[run.queries["metric"] == "recall@5"]
    values = rows.pivot(index="query_id", columns="configuration", values="value")
    lost = set()
    for row in run.judgements[run.judgements["relevance"] > 0].itertuples():
        fell = values.loc[row.query_id, first] > values.loc[row.query_id, second]
        if fell and row.doc_id in tops[0].get(row.query_id, ()) and row.doc_id not in tops[1].get(row.query_id, ()):
            lost.add((row.query_id, row.doc_id))
    return lost


def test_worse_answers_have_their_values_their_text_and_the_attributed_cause(good: RunTables, explained: RunTables) -> None:
    broken, name = explained, good.names[0]
    lost = [each for each in lost_questions(broken, name, baseline_of([good], name)) if each.subject == "answer"]
    metric = lost[0].metric
    one, two = (scores(run, name, metric) for run in (good, broken))
    assert {each.query_id for each in lost} == {query_id for query_id in one if one[query_id] > two[query_id]}
    assert len(lost) > 20
    answers = broken.answers[(broken.answers["configuration"] == name) & (broken.answers["condition"] == "retrieved")].set_index("query_id")
    causes = broken.causes[(broken.causes["configuration"] == name) & (broken.causes["condition"] == "retrieved")]
    causes = causes[causes["subject"] == "answer"].set_index("query_id")["cause"].to_dict()
    for each in lost:
        assert each.answer == answers.loc[each.query_id, "answer"]
        assert (each.value_before, each.value_after) == (one[each.query_id], two[each.query_id])
        assert each.cause == causes[each.query_id]
    drops = [each.drop for each in lost]
    assert drops == sorted(drops, reverse=True)


def test_an_answer_without_judges_is_a_refusal_or_unexplained(good: RunTables, broken: RunTables) -> None:
    name = good.names[0]
    lost = [each for each in lost_questions(broken, name, baseline_of([good], name)) if each.subject == "answer"]
    assert {(each.cause, each.answer.startswith("I cannot")) for each in lost} == {("refusal", True), ("unsure", False)}


def test_answers_in_another_condition_are_compared_there(unanswered: RunTables, good: RunTables) -> None:
    broken = answered(unanswered, Planted(right=dict(Planted().right) | {"gold": 0.1}))
    name = good.names[0]
    metric = next(each for each in good.measures if good.measures[each].of_answers)
    subject = Subject(metric, condition="gold")
    lost = [each for each in lost_questions(broken, name, baseline_of([good], name), [subject]) if each.subject == "answer"]
    assert len(lost) > 50
    assert {each.missing for each in lost} == {f"{metric}[condition=gold]"}


def scores(run: RunTables, configuration: str, metric: str) -> dict[str, float]:
    rows = run.queries[(run.queries["configuration"] == configuration) & (run.queries["metric"] == metric)]
    rows = rows[(rows["condition"] == "retrieved") & (rows["state"] == "scored")]
    return dict(zip(rows["query_id"], rows["value"], strict=True))


def test_an_answer_that_lacks_its_evidence_is_explained_by_what_happened_to_it(good: RunTables, explained: RunTables) -> None:
    broken, name = explained, good.names[0]
    queries = broken.queries.assign(value=broken.queries["value"].mask(broken.queries["metric"] == "recall@3", 0.0))
    run = replace(broken, sources={**broken.sources, "hits": lambda _: broken.hits.iloc[:0], "queries": lambda _: queries})
    removed = Differences(removed=tuple(broken.judgements["doc_id"].unique()))
    lost = lost_questions(run, name, baseline_of([good], name), changes=removed)
    rows = broken.causes[(broken.causes["configuration"] == name) & (broken.causes["condition"] == "retrieved")]
    failed = set(rows.loc[(rows["subject"] == "answer") & (rows["cause"] == "rank"), "query_id"])
    # Values are planted, so that the value and the hits must both say that the baseline found the document.
    found = {query_id for query_id, value in scores(good, name, "recall@3").items() if value > 0} & {
        query_id
        for query_id, hits in good.of("hits", name).groupby("query_id")
        if set(hits.sort_values("rank")["doc_id"].drop_duplicates()[:3]) & set(_relevant(good, query_id))
    }
    answers = [each for each in lost if each.subject == "answer"]
    assert {each.query_id for each in answers if each.cause == "removed"} == {each.query_id for each in answers} & failed & found
    assert found & failed
    assert all(each.explanation.endswith(" was removed from the corpus") for each in answers if each.cause == "removed")


def _relevant(run: RunTables, query_id: str) -> list[str]:
    rows = run.judgements
    return rows.loc[(rows["query_id"] == query_id) & (rows["relevance"] > 0), "doc_id"].tolist()


def test_documents_that_were_ahead_before_displaced_nothing() -> None:
    before, after = (
        RankedSpans([(rank, Span(doc_id, 0, 9)) for rank, doc_id in enumerate(names, 1)])
        for names in (("old", "roof"), ("old", "new", "roof"))
    )
    lost = LostLabel(LabelledPlaces("roof", -1, [Span("roof", 0, 0)]), Span("roof", 0, 0), 2, 3)
    changes = Differences(changed=("old",), added=("new",), corpus=True)
    cause, _, displaced_by = cause_of_loss(lost, before, after, changes, distinct=True)
    assert (cause, displaced_by) == ("displaced", ("new",))
