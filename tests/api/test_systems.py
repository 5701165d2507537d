"""Systems that exist only in Python are compared and evaluated like configurations."""

import json
import threading
from pathlib import Path

import pandas as pd
import pytest

import workbench as wb
from workbench.core.errors import InputError, RunError
from workbench.report.analysis.findings import findings
from workbench.report.analysis.pairwise import contrast, meanings
from workbench.report.topics.retrieval.costs import costs_table
from workbench.report.topics.retrieval.ranking import ranking_table
from workbench.report.topics.retrieval.slices import separation_of
from workbench.systems.callable.target import PythonTarget


@pytest.fixture(scope="module")
def dataset(handbook_few: Path) -> wb.Dataset:
    return wb.load_dataset(handbook_few)


@pytest.fixture(scope="module")
def index(dataset: wb.Dataset, tmp_path_factory: pytest.TempPathFactory) -> wb.Index:
    pipeline = wb.Pipeline(chunking=wb.FixedChunker(size=128), retrieval=wb.BM25Retriever())
    return pipeline.index(dataset, tmp_path_factory.mktemp("outputs"))


def test_two_versions_of_a_function_are_compared_on_the_same_questions(part, tmp_path):
    index = wb.Pipeline(chunking=wb.FixedChunker(size=128), retrieval=wb.BM25Retriever()).index(part, tmp_path)

    def backwards(query, k):
        return list(reversed(index.search(query, k)))

    results = wb.compare({"old": index.search, "new": backwards}, part, [wb.mrr @ 10, "recall@5"], k=10)
    assert list(results.leaderboard().index) == ["old", "new"]
    assert results.verdict.winner == "old"
    difference = results.compare("old", "new")
    assert difference is not None
    page = results.to_html(results.folder / "report.html").read_text("utf-8")
    assert len(page) > 50_000
    # It has no notebooks, and nobody knows the chunks of a function.
    assert "notebook" not in page
    assert "Faults of the chunks" not in page


def test_a_function_that_answers_is_scored_on_its_sources_and_its_answers(dataset, index):
    def my_rag(question):
        hits = index.search(question, 5)
        return {"answer": hits[0].text, "contexts": [hit.text for hit in hits]}

    scores = wb.evaluate(my_rag, dataset, ["recall@5", "support_overlap"])
    assert scores.table["metric"].tolist() == ["recall@5", "support_overlap"]
    own = wb.evaluate(index, dataset, ["recall@5"])
    found = scores.queries.query("metric == 'recall@5'").set_index("query_id")["value"]
    assert found.mean() > 0.5
    assert own.table["value"][0] >= found.mean()
    assert len(scores.results.answers) == len(dataset.queries)


def test_what_a_system_never_returned_is_not_called_missing_from_its_index(dataset, index):
    def two(question, k):
        return index.search(question, min(k, 2))

    # All evidence is in the index.
    results = wb.compare({"two": two, "index": index}, dataset, ["span_recall@2"])
    for name in ("two", "index"):
        found = results.causes(name)
        assert set(found["cause"]) <= {"not_returned", "boundary", "rank"}
        assert (
            found.loc[found["cause"] == "not_returned", "meaning"].str.startswith("the target returned text of the evidence for no").all()
        )
    assert (results.causes("two")["cause"] == "not_returned").any()
    with pytest.raises(InputError, match="compares systems that are known only in Python; sweep an experiment file"):
        results.export("two")


def test_values_that_depend_on_chunks_that_a_system_did_not_return_are_not_given(dataset, index):
    results = wb.compare({"index": index.search}, dataset, ["chunk_precision@5", "span_precision_omega"])
    own = wb.evaluate(index, dataset, ["chunk_precision@5", "span_precision_omega"]).table.set_index("metric")
    found = results.metrics.query("slice == 'all'").set_index("metric")
    assert found.loc["chunk_precision@5", "value"] == own.loc["chunk_precision@5", "value"] > 0
    assert own.loc["chunk_precision@5", "attainable"] < 1
    assert pd.isna(found.loc["chunk_precision@5", "attainable"])
    omega = results.queries.query("metric == 'span_precision_omega'")
    assert set(omega["state"]) == {"not_applicable"}
    assert "not all chunks of the index are known" in set(omega["reason"])
    with pytest.raises(InputError, match="span_precision_omega needs all chunks; leave it out, or evaluate an index"):
        wb.evaluate(index.search, dataset, ["span_precision_omega"])


def test_a_system_that_answers_nothing_scores_0_and_is_not_above_a_wrong_one(dataset, tmp_path):
    expected = {query.text: query.answer for query in dataset.queries}
    silent = {query.text for query in dataset.queries[::2]}
    texts = {"nothing": "", "wrong": "blue", "blank": " \n"}
    systems = {name: lambda question, text=text: text if question in silent else expected[question] for name, text in texts.items()}
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps({"query_id": q.query_id, "answer": systems["nothing"](q.text)}) + "\n" for q in dataset.queries))
    results = wb.compare({**systems, "file": path}, dataset, ["exact_match"])
    rows = results.queries.query("metric == 'exact_match' and state == 'scored'").pivot(
        index="query_id", columns="configuration", values="value"
    )
    assert rows.notna().all(axis=None)
    assert 0 < rows["nothing"].mean() < 1
    for name in ("wrong", "blank", "file"):
        assert rows[name].tolist() == rows["nothing"].tolist()


def test_a_target_is_evaluated_in_three_lines(dataset, index, tmp_path):
    file = tmp_path / "run.trec"
    lines = (
        f"{query.query_id} Q0 {hit.doc_id} {hit.rank} {hit.score} mine" for query in dataset.queries for hit in _distinct(index, query)
    )
    file.write_text("\n".join(lines))
    scores = wb.evaluate(wb.RecordedTarget(name="mine", path=str(file)), dataset, ["recall@5", "mrr@10"])
    own = wb.evaluate(lambda query, k: [hit.doc_id for hit in index.search(query, 100)][:k], dataset, ["recall@5", "mrr@10"], k=100)
    assert scores.table["value"].tolist() == own.table["value"].tolist()


def _distinct(index, query):
    seen = set()
    return [hit for hit in index.search(query.text, 100) if not (hit.doc_id in seen or seen.add(hit.doc_id))][:10]


def test_a_changed_function_does_not_get_the_results_of_an_earlier_one(dataset, index, tmp_path):
    first = wb.compare({"mine": index.search}, dataset, "recall@5", outputs=tmp_path)
    second = wb.compare({"mine": lambda query, k: index.search(query, k)[-1:]}, dataset, "recall@5", outputs=tmp_path)
    assert first.folder == second.folder == tmp_path / "comparison"
    values = second.queries.query("metric == 'recall@5' and state == 'scored'")["value"]
    assert values.mean() < 0.9


def test_a_system_that_fails_on_a_question_is_unscored_there(dataset, index):
    def flaky(query, k):
        if query == dataset.queries[0].text:
            raise OSError("the disk is away")
        return index.search(query, k)

    scores = wb.evaluate({"mine": flaky}["mine"], dataset, ["recall@5"])
    assert scores.table["unscored"][0] == 1
    results = wb.compare({"flaky": flaky, "whole": index.search}, dataset, ["recall@5"])
    assert "OSError: the disk is away" in set(results.queries["reason"])


def test_an_answer_without_sources_has_no_score_of_retrieval(dataset, index):
    def silent(question):
        return {"answer": index.search(question, 1)[0].text, "read": "a field that nobody knows"}

    scores = wb.evaluate(silent, dataset, ["recall@5", "support_overlap", "answer_recall"])
    table = scores.table.set_index("metric")
    assert table.loc["answer_recall", "n"] > 0
    recalls = scores.queries.query("metric == 'recall@5'")
    assert set(recalls["state"]) == {"not_applicable"}
    assert "the answer names no sources" in set(recalls["reason"])
    assert "\nrecall@5 applies to no question: the answer names no sources\n" in repr(scores)
    assert "applies to no question" in scores._repr_html_()
    with pytest.raises(wb.RunError, match="no list of hits but str; if it is an answer, ask for metrics of answers"):
        wb.evaluate(lambda question: index.search(question, 1)[0].text, dataset)


def test_what_a_function_of_answers_retrieved_is_not_known_and_no_cause_of_its_failures(dataset):
    results = wb.compare({"wrong": lambda _: "Blue.", "refuses": lambda _: "I do not know."}, dataset, ["answer_recall"])
    causes = results.tables.causes
    assert not set(causes["cause"]) & {"not_indexed", "boundary", "window", "duplicate", "rank", "budget"}
    assert set(causes["configuration"]) == {"wrong", "refuses"}
    summary = str(results.summary())
    assert "12 of 12 answers fail with wrong" in summary


def test_a_function_of_the_question_alone_is_evaluated_by_metrics_of_retrieval(dataset, index):
    def mine(question):
        return {"answer": "none", "sources": [hit.text for hit in index.search(question, 10)]}

    assert wb.evaluate(mine, dataset, ["recall@5"]).table["value"][0] > 0.5


def test_a_system_that_fails_on_everything_is_named(dataset, index, capsys):
    def broken(query, k):
        raise KeyError(query, k)

    results = wb.compare({"broken": broken, "whole": index.search}, dataset, ["recall@5"])
    assert list(results.failures) == ["broken"]
    assert "broken failed and is not compared: the target broken failed: its first 10 requests all failed" in capsys.readouterr().out


def test_what_cannot_be_compared_is_said_in_one_line(dataset, index):
    def broken(query, k):
        raise ValueError(f"{k} hits for {query}")

    with pytest.raises(InputError, match=r'there is no system to compare; write wb.compare\(\{"old": search'):
        wb.compare({}, dataset, "recall@5")
    with pytest.raises(InputError, match="mine is a int, which can neither search nor answer"):
        wb.compare({"mine": 3}, dataset, "recall@5")
    with pytest.raises(InputError, match="My System"):
        wb.compare({"My System": index.search}, dataset, "recall@5")
    with pytest.raises(RunError, match="every system failed; mine: the target mine failed: its first 10 requests all failed"):
        wb.compare({"mine": broken}, dataset, "recall@5")


def test_failed_requests_deliver_nothing_known_and_an_empty_list_of_sources_is_known(dataset, index):
    asked = {query.text: place for place, query in enumerate(dataset.queries)}

    def whole(question, k):
        return index.search(question, min(k, 3))

    def failing(question, k):
        if asked[question] % 3 == 0:
            raise OSError("down")
        return whole(question, k)

    def alone(_):
        return "the answer"

    results = wb.compare({"whole": whole, "failing": failing}, dataset, ["span_recall@3"])
    rows = results.configurations.set_index("configuration")
    tokens = (
        results.hits.query("delivered")
        .assign(length=lambda rows: rows["kept"] - rows["start"])
        .groupby(["configuration", "query_id"])["length"]
        .sum()
    )
    served = {query.query_id for query in dataset.queries if asked[query.text] % 3}
    # The questions that were served deliver the same text to both.
    assert tokens["whole"].reindex(sorted(served)).equals(tokens["failing"].reindex(sorted(served)))
    assert rows.loc["failing", "context_tokens"] > 0.8 * rows.loc["whole", "context_tokens"]
    area = results.metrics.query("metric == 'answerable_auroc' and slice == 'all'").set_index("configuration")
    assert separation_of(results.tables, "failing").value == area.loc["failing", "value"]
    unsourced = wb.compare({"alone": alone}, dataset, ["answer_recall"])
    assert pd.isna(unsourced.configurations["context_tokens"][0])
    assert unsourced.answers["context_tokens"].isna().all()
    found = findings(unsourced.tables)
    ranking = ranking_table(found)
    assert ranking
    assert "size" not in [column.title for column in ranking.columns]
    assert costs_table(found).rows[0].cells[-1].text == "–"
    assert not len(unsourced.metrics.query("metric == 'answerable_auroc'"))

    def answering(question):
        if asked[question] % 3 == 0:
            raise OSError("down")
        return {"answer": "I don't know.", "sources": [] if asked[question] % 3 == 1 else whole(question, 3)}

    found = wb.evaluate(answering, dataset, ["over_refusal_rate", "refusal_rate_without_gold"]).queries.set_index("query_id")
    for query in dataset.queries:
        states = found.loc[[query.query_id]].set_index("metric")
        if not query.answerable:
            assert set(states["state"]) == {"not_applicable"}
        elif asked[query.text] % 3 == 0:
            assert set(states["reason"]) == {"OSError: down"}
            assert set(states["state"]) == {"unscored"}
        elif asked[query.text] % 3 == 1:
            assert states.loc["refusal_rate_without_gold", "value"] == 1


def test_a_file_of_results_is_read_as_deep_as_the_metrics_read(dataset, index, tmp_path):
    lines = []
    for query in dataset.queries:
        hits = [{"doc_id": hit.doc_id, "start": hit.start, "end": hit.end, "score": hit.score} for hit in index.search(query.text, 60)]
        lines.append(json.dumps({"query_id": query.query_id, "hits": hits}))
    (tmp_path / "run.jsonl").write_text("\n".join(lines))
    metrics = ["mrr@10", "ndcg@10", "span_recall@2000t"]
    own, recorded = (wb.evaluate(system, dataset, metrics) for system in (index.search, str(tmp_path / "run.jsonl")))
    for metric in metrics:
        assert own[metric] == recorded[metric]


def test_a_constant_added_to_all_values_changes_no_test(dataset):
    def short(_):
        return "yes"

    def long(question):
        return " ".join(["word"] * (3 + len(question) % 4))

    found = []
    for constant in (0, 1000):

        def length(_, answer, constant=constant):
            return constant + len(answer.split())

        length.__name__ = f"length_{constant}"
        results = wb.compare({"short": short, "long": long}, dataset, [wb.metric(proportion=False)(length)])
        found.append(
            results.comparisons.query(f"metric == 'length_{constant}'")[["difference", "low", "high", "p_adjusted"]].to_numpy(float)
        )
    assert found[0] == pytest.approx(found[1], abs=1e-9)


def test_an_error_beside_no_hits_or_no_answer_fails_its_question(dataset, index):
    broken = dataset.queries[0].text

    def search(question, k):
        return {"hits": [], "error": "backend down"} if question == broken else index.search(question, k)

    def answer(question):
        return {"answer": "", "error": "rate limit"} if question == broken else "the answer"

    for system, metric, error in ((search, "recall@5", "backend down"), (answer, "answer_recall", "rate limit")):
        rows = wb.evaluate(system, dataset, [metric]).queries.set_index("query_id")
        row = rows.loc[dataset.queries[0].query_id]
        assert (row["state"], row["reason"]) == ("unscored", f"the result is an error: {error}")
        assert (rows["state"] == "unscored").sum() == 1


@pytest.mark.parametrize("bad", ["10 \ud800 euros", {"text": "half \udc00", "id": "x"}])
def test_half_of_a_surrogate_pair_fails_its_question_alone(bad, dataset, index):
    broken = dataset.queries[0].text

    def search(question, k):
        return [bad] if question == broken else index.search(question, k)

    def answer(question):
        return str(bad if isinstance(bad, str) else bad["text"]) if question == broken else "the answer"

    for system, metric in ((search, "recall@5"), (answer, "answer_recall")):
        rows = wb.evaluate(system, dataset, [metric]).queries.set_index("query_id")
        assert rows.loc[dataset.queries[0].query_id, "reason"] == "the reply contains half of a surrogate pair, which is no text"
        assert (rows["state"] == "unscored").sum() == 1


@pytest.mark.parametrize(
    "bad", [{"error": "down \ud800"}, {"answer": "x", "finish_reason": "\ud800"}, {"answer": "x", "input_tokens": 10**30}]
)
def test_half_of_a_surrogate_pair_in_an_error_and_a_count_that_is_none_fail_no_other_question(bad, dataset):
    broken = dataset.queries[0].text
    rows = wb.evaluate(lambda question: bad if question == broken else "the answer", dataset, ["answer_recall"]).queries
    row = rows.set_index("query_id").loc[dataset.queries[0].query_id]
    assert (row["state"] == "scored") == ("input_tokens" in bad)
    assert (rows["state"] == "scored").sum() >= 1


def test_a_system_that_is_still_running_is_named_in_the_notes(dataset, index):
    never, target_name = threading.Event(), "slow_search"

    def slow_search(question, k):
        if question == dataset.queries[0].text:
            never.wait()
        return index.search(question, k)

    note = "1 call that took too long still runs in this process: slow_search"
    target = PythonTarget(name=target_name.replace("_", "-"), search=slow_search, timeout=0.5)
    assert note in wb.evaluate(target, dataset, ["recall@5"]).notes
    never.set()


def test_a_system_without_a_value_has_no_place_and_pairs_name_causes_of_answers(dataset, index):
    expected = {query.text: query.answer for query in dataset.queries}

    def whole(question):
        return {"answer": expected[question], "sources": index.search(question, 5)}

    def silent(question):
        return {"answer": "", "sources": index.search(question, 5)}

    results = wb.compare(
        {"whole": whole, "silent": silent, "search": index.search}, dataset, ["answer_recall"], judging={"correctness": {"kind": "overlap"}}
    )
    places = results.leaderboard()["place"]
    assert places["whole"] == 1
    assert pd.isna(places["search"])
    pair = contrast(results.tables, "whole", "silent")
    assert set(pair.a.causes) <= {"empty", "not_returned", "boundary", "rank"}
    assert "empty" in pair.a.causes
    assert set(pair.a.causes) <= set(meanings(results.tables))
    assert "blanks between chunks" not in meanings(results.tables)["other"]


def test_answers_without_any_hit_are_scored(dataset, tmp_path):
    rows = [{"query_id": query.query_id, "hits": [], "answer": query.answer or "I do not know."} for query in dataset.queries]
    (tmp_path / "run.jsonl").write_text("\n".join(map(json.dumps, rows)))
    scores = wb.evaluate(str(tmp_path / "run.jsonl"), dataset, ["exact_match", "recall@5"])
    assert (scores["exact_match"], scores["recall@5"]) == (1.0, 0.0)
