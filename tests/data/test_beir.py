import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.core.errors import DatasetError, InputError
from workbench.core.records import Dataset, Need, Qrel, Span
from workbench.data.sources import BeirSource

CORPUS = ['{"_id": "d", "title": "T", "text": "Ada wrote it. Bob read it."}', '{"_id": 2, "text": "Nobody."}']
QUERIES = ['{"_id": "q", "text": "Who?", "metadata": {"type": "factoid", "answer": "Ada"}}', '{"_id": "r", "text": "Who else?"}']
QRELS = "query-id\tcorpus-id\tscore\nq\td\t2\nq\t2\t0\n"
Load = Callable[..., Dataset]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """A BEIR folder with these lines, loaded; `qrels` by split."""

    def make(
        corpus: list[str] = CORPUS,
        queries: list[str] = QUERIES,
        qrels: dict[str, str] | None = None,
        evidence: list[str] | None = None,
        split: str | None = "test",
    ) -> Dataset:
        (tmp_path / "qrels").mkdir(exist_ok=True)
        (tmp_path / "corpus.jsonl").write_text("\n".join(corpus))
        (tmp_path / "queries.jsonl").write_text("\n".join(queries))
        for name, text in (qrels or {"test": QRELS}).items():
            (tmp_path / "qrels" / f"{name}.tsv").write_bytes(text.encode())
        if evidence is not None:
            (tmp_path / "evidence.jsonl").write_text("\n".join(evidence))
        return BeirSource(path=str(tmp_path), split=split, recurrences=False).load()

    return make


def faults(load: Load, **parts: object) -> list[str]:
    with pytest.raises(DatasetError) as caught:
        load(**parts)
    return [re.sub(r"/\S*/(?=\w+\.)", "", fault) for fault in caught.value.faults]


def evidence(start: int, end: int, **more: object) -> str:
    return json.dumps({"query_id": "q", "doc_id": "d", "start": start, "end": end} | more)


def test_a_split_is_its_judgements_and_the_queries_they_judge(load: Load) -> None:
    dataset = load(qrels={"test": QRELS, "dev": "query-id\tcorpus-id\tscore\nr\t2\t1\n"})
    assert [document.doc_id for document in dataset.documents] == ["d", "2"]
    assert dataset.documents[0].title == "T"
    assert dataset.qrels == (Qrel("q", "d", 2), Qrel("q", "2", 0))
    (query,) = dataset.queries
    assert (query.text, query.answer, dict(query.metadata)) == ("Who?", "Ada", {"type": "factoid"})


def test_without_a_split_all_judgements_are_read(load: Load) -> None:
    dataset = load(qrels={"test": QRELS, "dev": "r\t2\t1\r\n"}, split=None)
    assert set(dataset.qrels) == {Qrel("q", "d", 2), Qrel("q", "2", 0), Qrel("r", "2", 1)}
    assert [query.query_id for query in dataset.queries] == ["q", "r"]


def test_unanswerable_queries_belong_to_the_split_they_name_or_to_all(load: Load) -> None:
    marked = [
        '{"_id": "u1", "text": "?", "metadata": {"answerable": false, "split": "test"}}',
        '{"_id": "u2", "text": "?", "metadata": {"answerable": false, "split": "dev"}}',
        '{"_id": "u3", "text": "?", "metadata": {"type": "unanswerable"}}',
    ]
    assert [query.query_id for query in load(queries=QUERIES + marked).queries] == ["q", "u1", "u3"]


def test_rows_that_share_a_need_are_alternatives_and_others_stand_alone(load: Load) -> None:
    rows = [evidence(0, 3, need=1), evidence(14, 17, need=1), evidence(0, 3, need=1), evidence(4, 9), evidence(10, 12, need=None)]
    assert load(evidence=rows).needs == (
        Need("q", (Span("d", 0, 3), Span("d", 14, 17))),
        Need("q", (Span("d", 4, 9),)),
        Need("q", (Span("d", 10, 12),)),
    )


def test_evidence_of_other_splits_is_left_out_and_without_a_split_is_a_fault(load: Load) -> None:
    stray = json.dumps({"query_id": "r", "doc_id": "d", "start": 0, "end": 3})
    assert load(evidence=[stray]).needs == ()
    lost = json.dumps({"query_id": "gone", "doc_id": "d", "start": 0, "end": 3})
    found = faults(load, evidence=[lost], split=None)
    assert "evidence.jsonl:1 evidence of question 'gone' belongs to no question" in found


def test_evidence_that_is_not_in_its_document_is_a_fault(load: Load) -> None:
    rows = [
        evidence(0, 3, text="Ada"),
        evidence(0, 3, text="Eve"),
        evidence(0, 99),
        evidence(0, 3, doc_id="x"),
        evidence(0, 3, doc_id=None),
    ]
    assert faults(load, evidence=rows) == [
        "evidence.jsonl:2 evidence of question 'q' says 'Eve', but document 'd' has 'Ada' at [0, 3)",
        "evidence.jsonl:3 evidence of question 'q' is [0, 99) in document 'd' of 26 characters",
        "evidence.jsonl:4 evidence of question 'q' points to document 'x', but this document does not exist",
        "evidence.jsonl:5 has null in 'doc_id', not a text",
    ]


def test_a_row_of_judgements_in_another_form_is_a_fault(load: Load) -> None:
    fault = "test.tsv:4 is not query-id, corpus-id and a whole score, separated by tabs"
    for row in ("q\td", "q\td\tx", "q\td\t1.0", "q 0 d 1", "q\t0\td\t1"):
        assert faults(load, qrels={"test": QRELS + row}) == [fault], row


def test_judgements_of_what_is_not_there_are_faults(load: Load) -> None:
    assert faults(load, qrels={"test": QRELS + "q\tx\t1\ns\td\t1\nq\td\t1\n"}) == [
        "test.tsv:4 judges document 'x', but this document does not exist",
        "test.tsv:5 judges question 's', but this question does not exist",
        "test.tsv:6 judges document 'd' for question 'q' a second time, differently",
    ]


def test_quotes_and_very_long_fields_in_judgements_are_only_text(load: Load) -> None:
    long = "x" * 200_000
    corpus = [*CORPUS, json.dumps({"_id": '"odd', "text": "."}), json.dumps({"_id": long, "text": "."})]
    dataset = load(corpus=corpus, qrels={"test": f'{QRELS}q\t"odd\t1\nq\t{long}\t1\n'})
    assert [qrel.doc_id for qrel in dataset.qrels] == ["d", '"odd', long, "2"]


@pytest.mark.parametrize(("metadata", "kind"), [("words", "a text"), (["list"], "a list"), (5, "a number")])
def test_metadata_that_is_no_object_is_a_fault(load: Load, metadata: object, kind: str) -> None:
    found = faults(load, queries=[QUERIES[0], json.dumps({"_id": "r", "text": "?", "metadata": metadata})])
    assert found == [f"queries.jsonl:2 has {kind} in 'metadata', not an object"]


def test_repeated_ids_are_faults(load: Load) -> None:
    found = faults(load, corpus=[*CORPUS, CORPUS[0]], queries=[*QUERIES, QUERIES[0]])
    assert found == [
        "corpus.jsonl:3 repeats the document id 'd' of corpus.jsonl:1; ids must be unique",
        "queries.jsonl:3 repeats the question id 'q' of queries.jsonl:1; ids must be unique",
    ]


def test_what_is_missing_is_one_line(load: Load, tmp_path: Path) -> None:
    load()
    with pytest.raises(InputError, match=r"has no split 'tset' \(did you mean 'test'\?\); its splits are test"):
        BeirSource(path=str(tmp_path), split="tset").load()
    (tmp_path / "corpus.jsonl").unlink()
    with pytest.raises(InputError, match=r"has no corpus; expected corpus\.jsonl; it contains qrels and queries\.jsonl"):
        BeirSource(path=str(tmp_path)).load()


@pytest.mark.parametrize(
    ("name", "documents", "queries", "spans"), [("covid-qa", 98, 1380, 1380), ("chroma-chunking", 5, 472, 790), ("clapnq", 597, 600, 0)]
)
def test_the_real_sets_have_their_published_counts(
    big_data: Callable[[str], Path], name: str, documents: int, queries: int, spans: int
) -> None:
    dataset = BeirSource(path=str(big_data(name)), recurrences=False).load()
    assert (len(dataset.documents), len(dataset.queries)) == (documents, queries)
    assert sum(len(need.alternatives) for need in dataset.needs) == spans
    if name == "clapnq":
        assert Counter(query.answerable for query in dataset.queries) == {True: 300, False: 300}
