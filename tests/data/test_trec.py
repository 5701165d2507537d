import json
import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.errors import DatasetError, InputError
from workbench.core.records import Qrel
from workbench.data.formats.trec import escaped, read_qrels, read_run, unescaped, write_qrels, write_run
from workbench.data.sources import BeirSource, TrecSource

IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6) | st.text(" %20ABCF_\u2028\u00a0", min_size=1, max_size=8)
QRELS = st.lists(st.builds(Qrel, IDS, IDS, st.integers(-3, 10**9)))
SCORES = st.floats(allow_nan=False, allow_infinity=False)
RUNS = st.lists(st.tuples(IDS, IDS, st.integers(0, 10**6), SCORES), unique_by=lambda row: row[:2])


def run_table(*lines: tuple[str, str, int, float]) -> pd.DataFrame:
    return pd.DataFrame(lines, columns=["query_id", "doc_id", "rank", "score"])


@given(qrels=QRELS)
def test_qrels_are_read_as_they_were_written(qrels: list[Qrel]) -> None:
    with TemporaryDirectory() as folder:
        write_qrels(Path(folder) / "qrels", qrels)
        assert read_qrels(Path(folder) / "qrels") == tuple(qrels)


@given(run=RUNS, tag=IDS)
def test_runs_are_read_as_they_were_written_to_the_last_digit(run: list[tuple[str, str, int, float]], tag: str) -> None:
    with TemporaryDirectory() as folder:
        write_run(Path(folder) / "run", run_table(*run), tag)
        assert list(read_run(Path(folder) / "run").itertuples(index=False, name=None)) == run


def test_trec_eval_reads_what_is_written(tmp_path: Path) -> None:
    import ir_measures

    write_qrels(tmp_path / "qrels", [Qrel("q", "d1", 2), Qrel("q", "d2", 0), Qrel("r", "d1", 1)])
    write_run(tmp_path / "run", run_table(("q", "d2", 1, 0.9), ("q", "d1", 2, 0.1), ("r", "d1", 1, 3.0)), "mine")
    assert (tmp_path / "run").read_text().splitlines()[0] == "q Q0 d2 1 0.9 mine"
    qrels, run = (
        list(read(str(tmp_path / name))) for read, name in ((ir_measures.read_trec_qrels, "qrels"), (ir_measures.read_trec_run, "run"))
    )
    assert ir_measures.calc_aggregate([ir_measures.RR], qrels, run)[ir_measures.RR] == pytest.approx(0.75)


def test_controls_that_reverse_letters_are_encoded_and_decoded() -> None:
    fields = [f"a{control}b" for control in "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"]
    assert [field for field in fields if not re.fullmatch("a(%[0-9A-F]{2})+b", escaped(field))] == []
    assert [unescaped(escaped(field)) for field in fields] == fields


def test_ids_that_differ_only_in_blanks_stay_different_and_others_stay_as_they_are(tmp_path: Path) -> None:
    import ir_measures

    ids = ["a b", "a  b", "a_b", "a\tb", "a%20b", "50%", "\u00e9%2f", "\ufeffa", "a\u2028b", "%C3%BC"]
    written = [escaped(identity) for identity in ids]
    assert written == ["a%20b", "a%20%20b", "a_b", "a%09b", "a%2520b", "50%", "\u00e9%2f", "%EF%BB%BFa", "a%E2%80%A8b", "%25C3%25BC"]
    assert [unescaped(field) for field in written] == ids
    assert unescaped("http://x/%C3%BC%2F") == "http://x/%C3%BC%2F"
    write_qrels(tmp_path / "qrels", [Qrel("a b", "a b", 1), Qrel("a b", "a_b", 0)])
    write_run(tmp_path / "run", run_table(("a b", "a_b", 1, 0.9), ("a b", "a b", 2, 0.1)), "my run")
    qrels, run = ir_measures.read_trec_qrels(str(tmp_path / "qrels")), ir_measures.read_trec_run(str(tmp_path / "run"))
    assert ir_measures.calc_aggregate([ir_measures.RR], list(qrels), list(run))[ir_measures.RR] == pytest.approx(0.5)


def test_what_the_format_cannot_hold_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="an empty id cannot be written to a TREC file"):
        write_qrels(tmp_path / "qrels", [Qrel("q", "d", 1), Qrel("q", "", 1)])
    with pytest.raises(InputError, match="an empty id cannot be written to a TREC file"):
        write_run(tmp_path / "run", run_table(("q", "d", 1, 1.0)), "")
    with pytest.raises(InputError, match="the score inf cannot be written"):
        write_run(tmp_path / "run", run_table(("q", "d", 1, float("inf"))), "tag")
    assert list(tmp_path.iterdir()) == []


def test_qrels_name_documents_as_they_are_or_percent_encoded(folder: Path) -> None:
    (folder / "documents" / "a b.txt").write_text("Cid kept it.")
    (folder / "documents" / "a%20c.txt").write_text("Dan lost it.")
    (folder / "qrels.txt").write_text("1 0 a%20b 1\n1 0 a%20c 0\n2 0 d2 1\n")
    assert TrecSource(path=str(folder)).load().qrels == (Qrel("1", "a b", 1), Qrel("1", "a%20c", 0), Qrel("2", "d2", 1))


@pytest.mark.parametrize(
    ("read", "text", "faults"),
    [
        (
            read_qrels,
            "q 0 d 1\nq 0 d\n\nq 0 e 1.0\nq\t0\tf\t2\r\n",
            [
                "{file}:2 has 3 fields, not the 4 of query_id 0 doc_id relevance",
                "{file}:4 has the relevance '1.0', not a whole number",
            ],
        ),
        (
            read_run,
            "q Q0 d 1 nan t\nq Q0 e one 0.5 t\nq Q0 f 3 0.4\nq Q0 g 4 0.3 t\nq Q0 g 5 0.2 t\nq Q0 h 6 1_0 t\nq Q0 i 7 \u0663 t\nq Q0 j 8 +.5e-1 t\n",
            [
                "{file}:1 has rank '1' and score 'nan', not a whole and a finite number",
                "{file}:2 has rank 'one' and score '0.5', not a whole and a finite number",
                "{file}:3 has 5 fields, not the 6 of query_id Q0 doc_id rank score tag",
                "{file}:5 repeats document 'g' of question 'q' of {file}:4",
                "{file}:6 has rank '6' and score '1_0', not a whole and a finite number",
                "{file}:7 has rank '7' and score '\u0663', not a whole and a finite number",
            ],
        ),
    ],
    ids=["qrels", "run"],
)
def test_every_malformed_line_is_named(tmp_path: Path, read: Callable[[Path], object], text: str, faults: list[str]) -> None:
    file = tmp_path / "file"
    file.write_text(text, "utf-8")
    with pytest.raises(DatasetError) as caught:
        read(file)
    assert caught.value.faults == tuple(fault.format(file=file) for fault in faults)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "d1.txt").write_text("Ada wrote it.")
    (tmp_path / "documents" / "d2.txt").write_text("Bob read it.")
    (tmp_path / "topics.tsv").write_text("query_id\ttext\n1\twho wrote\tit\r\n2\twho read it\n")
    (tmp_path / "qrels.txt").write_text("1 0 d1 2\n1 0 d2 0\n2 0 d2 1\n")
    return tmp_path


def test_a_folder_with_the_usual_names_becomes_a_dataset(folder: Path) -> None:
    dataset = TrecSource(path=str(folder)).load()
    assert [(query.query_id, query.text) for query in dataset.queries] == [("1", "who wrote\tit"), ("2", "who read it")]
    assert dataset.qrels == (Qrel("1", "d1", 2), Qrel("1", "d2", 0), Qrel("2", "d2", 1))
    assert [document.doc_id for document in dataset.documents] == ["d1", "d2"]


def test_topics_qrels_and_documents_may_lie_apart(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    apart = tmp_path_factory.mktemp("apart")
    whole = TrecSource(path=str(folder)).load()
    for name in ("topics.tsv", "qrels.txt", "documents"):
        (folder / name).rename(apart / f"my-{name}")
    found = TrecSource(path=str(apart / "my-topics.tsv"), qrels=str(apart / "my-qrels.txt"), documents=str(apart / "my-documents")).load()
    assert (found.documents, found.queries, found.qrels) == (whole.documents, whole.queries, whole.qrels)


def test_topics_as_json_lines_keep_their_fields_and_splits(folder: Path) -> None:
    (folder / "topics.tsv").unlink()
    rows = [
        {"_id": 1, "text": "who wrote it", "split": "dev", "type": "factoid"},
        {"query_id": "2", "query": "who read it", "split": "test"},
    ]
    (folder / "topics.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert len(TrecSource(path=str(folder)).load().queries) == 2
    part = TrecSource(path=str(folder), split="dev").load()
    assert [(query.query_id, dict(query.metadata)) for query in part.queries] == [("1", {"split": "dev", "type": "factoid"})]
    assert {qrel.query_id for qrel in part.qrels} == {"1"}


def test_a_split_that_no_topic_names_is_one_line(folder: Path) -> None:
    with pytest.raises(InputError, match="has no split 'dev'; leave the split out, since no question names one"):
        TrecSource(path=str(folder), split="dev").load()
    (folder / "topics.tsv").unlink()
    (folder / "topics.jsonl").write_text('{"query_id": "1", "query": "who wrote it", "split": "dev"}')
    with pytest.raises(InputError, match=r"has no split 'dve' \(did you mean 'dev'\?\); its splits are dev"):
        TrecSource(path=str(folder), split="dve").load()


def test_every_fault_of_a_collection_is_reported_at_once(folder: Path) -> None:
    with (folder / "topics.tsv").open("a") as topics, (folder / "qrels.txt").open("a") as qrels:
        topics.write("3 no tab\n4\tunjudged\n")
        qrels.write("2 0 gone 1\n2 0 d1\n9 0 d1 1\n")
    with pytest.raises(DatasetError) as caught:
        TrecSource(path=str(folder)).load()
    assert [fault.removeprefix(f"{folder}/") for fault in caught.value.faults] == [
        "qrels.txt:4 judges document 'gone', but this document does not exist",
        "qrels.txt:5 has 3 fields, not the 4 of query_id 0 doc_id relevance",
        "qrels.txt:6 judges question '9', but this question does not exist",
        "topics.tsv:4 is not a question id and its text, separated by a tab",
        "topics.tsv:5 question '4' has no relevant document and is not marked unanswerable; label one, or set answerable: false",
    ]


def test_what_is_missing_is_one_line(folder: Path) -> None:
    (folder / "qrels.txt").unlink()
    with pytest.raises(
        InputError, match=r"has no judgements; expected qrels\.txt, qrels\.tsv or qrels; it contains documents and topics\.tsv"
    ):
        TrecSource(path=str(folder)).load()
    (folder / "topics.tsv").unlink()
    with pytest.raises(InputError, match=r"has no topics; expected topics\.tsv, .* or queries\.jsonl; it contains documents"):
        TrecSource(path=str(folder)).load()


def test_nfcorpus_as_trec_files_is_the_same_dataset(big_data: Callable[[str], Path], tmp_path: Path) -> None:
    whole = BeirSource(path=str(big_data("nfcorpus"))).load()
    write_qrels(tmp_path / "qrels.txt", whole.qrels)
    (tmp_path / "topics.tsv").write_text("".join(f"{query.query_id}\t{query.text}\n" for query in whole.queries), "utf-8")
    found = TrecSource(path=str(tmp_path), documents=str(big_data("nfcorpus") / "corpus.jsonl")).load()
    assert (found.documents, found.qrels) == (whole.documents, whole.qrels)
    assert [(query.query_id, query.text) for query in found.queries] == [(query.query_id, query.text) for query in whole.queries]
