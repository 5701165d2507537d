"""An answer from Python is the one that a sweep of the same configuration gives, from the same context."""

import json
from pathlib import Path

import pytest

import workbench as wb
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import run_experiment

PIPELINES = [
    wb.Pipeline(
        chunking=wb.FixedChunker(size=64), retrieval=wb.BM25Retriever(), answering=wb.ExtractiveGenerator(sentences=1), context=packing
    )
    for packing in (wb.ContextPacking(budget=300, order="ends"), wb.ContextPacking(budget=1_000, drop_duplicates=0.5))
]


@pytest.fixture(scope="module")
def dataset(handbook_few: Path) -> wb.Dataset:
    return wb.load_dataset(handbook_few)


@pytest.mark.parametrize("pipeline", PIPELINES, ids=["ends", "distinct"])
def test_an_answer_and_its_context_are_those_of_the_sweep(pipeline: wb.Pipeline, dataset: wb.Dataset, tmp_path: Path) -> None:
    experiment = wb.Experiment("answered", dataset, pipeline=pipeline, metrics=["recall@5"], judging="none")
    rows = collect(run_experiment(experiment._spec, tmp_path, lambda _: None)).answers.set_index("query_id")
    index = pipeline.index(dataset, tmp_path)
    assert len(rows) == len(dataset.queries) > 10
    for query in dataset.queries:
        answer, row = index.answer(query.text), rows.loc[query.query_id]
        places = [(passage.doc_id, passage.start, passage.end) for passage in answer.passages]
        assert (answer.text, answer.refused, answer.confidence) == (row["answer"], row["refused"], row["confidence"])
        assert places == [(each["doc_id"], each["start"], each["end"]) for each in json.loads(row["passages"])]
        assert answer.citations == tuple(answer.passages[number] for number in json.loads(row["citations"]))
    assert rows["refused"].any()
    assert not rows["refused"].all()


def test_an_answer_shows_its_text_and_its_context(dataset: wb.Dataset, tmp_path: Path) -> None:
    answer = PIPELINES[0].index(dataset, tmp_path).answer(dataset.queries[0].text)
    assert str(answer) == answer.text
    assert answer.passages[0].doc_id in answer._repr_html_()


def test_an_answer_without_a_reply_is_an_error_with_its_reason(dataset: wb.Dataset, tmp_path: Path) -> None:
    (tmp_path / "answers.jsonl").write_text('{"query_id": "other", "answer": "Yes."}\n')
    pipeline = wb.Pipeline(retrieval=wb.BM25Retriever(), answering=wb.RecordedGenerator(path=str(tmp_path / "answers.jsonl")))
    with pytest.raises(wb.RunError, match="the question has no answer: "):
        pipeline.index(dataset, tmp_path).answer(dataset.queries[0].text)


def test_a_pipeline_without_a_generator_answers_nothing(dataset: wb.Dataset, tmp_path: Path) -> None:
    index = wb.Pipeline(retrieval=wb.BM25Retriever()).index(dataset, tmp_path)
    with pytest.raises(wb.InputError, match=r"the pipeline answers no questions; give it answering=, such as wb\.ExtractiveGenerator\(\)"):
        index.answer("what is a berth?")
    with pytest.raises(wb.InputError, match="the question is empty"):
        index.answer(" ")
