"""What new users guess works, or names what they mean."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import workbench as wb

DATASET = wb.Dataset(
    "made",
    (wb.Document("a", "Some text of a document."), wb.Document("b", "Other words.")),
    (wb.Query("q1", "text"), wb.Query("q2", "words")),
    (wb.Qrel("q1", "a", 1), wb.Qrel("q2", "b", 1)),
)


def first_page(*_: object) -> list[str]:
    return ["a"]


def test_a_dataset_is_a_sequence_of_its_questions() -> None:
    assert (len(DATASET), DATASET[0].query_id, DATASET["q2"].text, [query.query_id for query in DATASET[1:]]) == (2, "q1", "words", ["q2"])  # type: ignore[union-attr]
    assert tuple(DATASET) == DATASET.queries
    assert bool(wb.Dataset("empty", DATASET.documents, (), ()))
    with pytest.raises(wb.InputError, match="no question 'q3'"):
        DATASET["q3"]


def test_the_table_that_a_dataset_advises_has_a_row_for_each_question() -> None:
    table = pd.DataFrame(DATASET.queries)
    assert table[["query_id", "text"]].values.tolist() == [["q1", "text"], ["q2", "words"]]


def test_scores_are_read_by_the_name_of_a_metric() -> None:
    scores = wb.evaluate(first_page, DATASET, ["recall@1", wb.mrr @ 10])
    assert scores["recall@1"] == scores[wb.recall @ 1] == 0.5
    assert list(scores) == ["recall@1", "mrr@10"]
    with pytest.raises(wb.InputError, match=r"no metric 'recal@1' \(did you mean 'recall@1'\?\); they have recall@1, mrr@10"):
        scores["recal@1"]


def test_results_are_read_by_the_name_of_a_configuration(results: wb.Results) -> None:
    assert list(results) == list(results.tables.names)
    assert len(results) == len(results.tables.names)
    assert results[results.tables.names[0]].name == results.tables.names[0]
    with pytest.raises(wb.InputError, match=r"no finished configuration 'configuration'; they are "):
        results["configuration"]


def test_the_summary_names_a_winner_only_if_the_verdict_does(results: wb.Results) -> None:
    lines = results.summary().splitlines()
    assert lines[0].startswith("Do not decide yet. ")
    assert results.verdict is not None
    assert results.verdict.winner is None
    assert [line.partition("?")[0] for line in lines[2:6]] == ["By how much", "How sure", "At what cost", "What still fails"]


def test_a_plot_is_the_leaderboard(results: wb.Results) -> None:
    assert results.plot().axes[0].get_yticklabels()[0].get_text() in results.tables.names


def test_two_runs_are_compared_question_by_question(results: wb.Results) -> None:
    a, b = results.tables.names[:2]
    between, within = results.compare(a, b, results.folder), results.compare(a, b)
    columns = ["difference", "low", "high", "n", "clusters"]
    # The interval of the primary metric within a run is that of its family.
    others = between.index.drop(str(results.tables.primary))
    pd.testing.assert_frame_equal(between.loc[others, columns], within.loc[others, columns], check_dtype=False)
    assert "p" not in between.columns


def test_two_runs_are_compared_on_the_questions_with_the_same_text_and_labels(results: wb.Results, tmp_path: Path) -> None:
    shutil.copytree(results.folder, tmp_path / "other")
    questions = results.tables.questions
    answerable = questions.index[questions["answerable"]]
    changed = questions.copy()
    changed.loc[answerable[:2], "text"] += " exactly"
    changed.to_parquet(tmp_path / "other" / "questions.parquet", index=False)
    a, b = results.tables.names[:2]
    between, within = results.compare(a, b, tmp_path / "other"), results.compare(a, b)
    primary = str(results.tables.primary)
    assert int(between.loc[primary, "n"]) == int(within.loc[primary, "n"]) - 2
    changed.assign(text="?").to_parquet(tmp_path / "other" / "questions.parquet", index=False)
    with pytest.raises(wb.InputError, match="have no question with the same id, text and labels; compare runs of the same dataset"):
        results.compare(a, b, tmp_path / "other")


@pytest.mark.parametrize("value", ["fixed", {"kind": "fixed"}])
def test_a_kind_of_chunking_is_that_of_an_experiment(value: Any) -> None:
    if isinstance(value, str):
        assert wb.Pipeline(chunking=value, retrieval="bm25").chunking == wb.Pipeline(retrieval=wb.BM25Retriever()).chunking  # type: ignore[arg-type]
        experiment = wb.Experiment("kinds", "experiments/handbook", sweep={"chunking": [value, "sentence"], "retrieval": ["bm25"]})
        assert experiment.names == ["fixed-256-0-bm25", "sentence-256-bm25"]
    else:
        with pytest.raises(wb.InputError, match="chunking 'fixed' needs 'size'"):
            wb.Pipeline(chunking=value)


def test_a_function_of_a_module_is_wrapped_as_a_chunker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_lines.py").write_text("def lines(text):\n    return text.split('\\n')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import my_lines  # type: ignore[import-not-found]

    table = wb.chunk_table([wb.Document("a", "one\ntwo")], my_lines.lines)
    assert table["text"].tolist() == ["one", "two"]
    assert wb.Pipeline(chunking=my_lines.lines, retrieval=wb.BM25Retriever()).chunking == wb.CallableChunker(callable="my_lines:lines")


def test_attributes_that_are_guessed_name_what_is_meant(results: wb.Results, wording: Callable[..., None]) -> None:
    scores = wb.evaluate(first_page, DATASET, "recall@1")
    pipeline = wb.Pipeline(retrieval=wb.BM25Retriever())
    owners: dict[str, tuple[object, str]] = {
        "Results": (results, "best winner to_csv to_df df shape misses slices configs mean errors report diff load leaderbord"),
        "Plots": (results.plot, "bar scatter comparison"),
        "Dataset": (DATASET, "questions docs to_df head shape labels save sample split documnets"),
        "Query": (DATASET.queries[0], "question id expected relevant"),
        "Document": (DATASET.documents[0], "id content page_content"),
        "Scores": (scores, "mean df per_query to_csv leaderboard"),
        "Pipeline": (pipeline, "search run evaluate"),
        "Experiment": (wb.Experiment("guessed", "experiments/handbook"), "run results save configs"),
        "wb": (wb, "run load_results custom_metric evalute BM25Retreiver CallableEmbedder faithfulness compare_runs"),
        "wb.Results": (wb.Results, "load"),
    }
    cases = {f"{name}.{guess}": (owner, guess) for name, (owner, guesses) in owners.items() for guess in guesses.split()}
    wording(lambda case: getattr(*case), cases, AttributeError)


def test_arguments_that_are_guessed_name_what_is_meant(results: wb.Results, wording: Callable[..., None]) -> None:
    a = results.tables.names[0]

    calls: dict[str, Callable[..., Any]] = {
        "evaluate(metric=)": lambda: wb.evaluate(first_page, DATASET, metric="recall@5"),  # type: ignore[call-arg]
        "evaluate(top_k=)": lambda: wb.evaluate(first_page, DATASET, "recall@5", top_k=5),  # type: ignore[call-arg]
        "evaluate of a path": lambda: wb.evaluate(first_page, "experiments/handbook"),  # type: ignore[arg-type]
        "an uncut metric": lambda: wb.evaluate(first_page, DATASET, wb.recall),  # type: ignore[arg-type]
        "a function as a metric": lambda: wb.evaluate(first_page, DATASET, [len]),  # type: ignore[list-item]
        "a number as a metric": lambda: wb.evaluate(first_page, DATASET, 5),  # type: ignore[arg-type]
        "a mapping as metrics": lambda: wb.evaluate(first_page, DATASET, {"recall": 5}),  # type: ignore[arg-type]
        "no name for a system": lambda: wb.compare([first_page], DATASET),  # type: ignore[arg-type]
        "leaderboard(metric=)": lambda: results.leaderboard(metric="recall@5"),  # type: ignore[call-arg]
        "leaderboard of a metric": lambda: results.leaderboard("recall@5"),  # type: ignore[call-arg]
        "leaderboard(slice=)": lambda: results.leaderboard(slice="type=lookup"),  # type: ignore[call-arg]
        "what_if(slice=)": lambda: results.what_if("recall@3", slice="x"),  # type: ignore[call-arg]
        "compare with nothing": lambda: results.compare(a),  # type: ignore[call-arg]
        "compare with results": lambda: results.compare(a, results),  # type: ignore[arg-type]
        "compare with itself": lambda: results.compare(a, a),
        "Pipeline(chunker=)": lambda: wb.Pipeline(chunker=wb.WholeChunker()),  # type: ignore[call-arg]
        "a kind that is misspelt": lambda: wb.Pipeline(chunking="sentense"),  # type: ignore[arg-type]
        "a model as an embedding": lambda: wb.Pipeline(embedding="all-MiniLM-L6-v2"),  # type: ignore[arg-type]
        "a function of a notebook": lambda: wb.Pipeline(chunking=lambda text: [text]),  # type: ignore[arg-type]
        "a function as an embedder": lambda: wb.Pipeline(embedding=first_page),  # type: ignore[arg-type]
        "a function as a retriever": lambda: wb.Pipeline(retrieval=first_page),  # type: ignore[arg-type]
        "a function as a reranker": lambda: wb.Pipeline(rerank=first_page),  # type: ignore[arg-type]
        "a function as a generator": lambda: wb.Pipeline(answering=first_page),  # type: ignore[arg-type]
        "a function as a judge": lambda: wb.Experiment("guessed", "experiments/handbook", judging={"support": first_page}),
        "a function as a target": lambda: wb.Experiment("guessed", "experiments/handbook", targets=[first_page]),  # type: ignore[list-item]
        "a function as callable": lambda: wb.CallableChunker(callable=first_page),  # type: ignore[arg-type]
        "an index of a path": lambda: wb.Pipeline(retrieval=wb.BM25Retriever()).index("experiments/handbook"),
        "an index of texts": lambda: wb.Pipeline(retrieval=wb.BM25Retriever()).index(["some text"]),  # type: ignore[list-item]
        "a text to split": lambda: wb.FixedChunker(size=64).split("some text"),  # type: ignore[arg-type]
        "load_dataset(spilt=)": lambda: wb.load_dataset("experiments/handbook", spilt="dev"),  # type: ignore[arg-type]
        "load_dataset of a table": lambda: wb.load_dataset(pd.DataFrame({"a": [1]})),  # type: ignore[arg-type]
        "a path of a number": lambda: wb.load(3),  # type: ignore[arg-type]
        "an experiment of a file": lambda: wb.Experiment("experiments/quickstart.yaml"),  # type: ignore[call-arg]
        "a subset of one id": lambda: DATASET.subset("q1"),
        "label of a missing run": lambda: wb.label(DATASET, "outputs/nowhere", annotator="ann", file="labels/ann.jsonl"),
        "what_if of a number": lambda: wb.what_if(3),  # type: ignore[arg-type]
    }
    wording(lambda call: call(), calls)
