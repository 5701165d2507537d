import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from tests.dataset_tables import write_table
from workbench.core.errors import DatasetError, InputError
from workbench.core.records import Dataset, Qrel, Span
from workbench.data.sources import BeirSource, TableSource

DOCUMENTS = 'doc_id,title,text\nd,T,Ada wrote it. Bob read it.\ne,,"Eve, too"\n'
Load = Callable[..., Dataset]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """A folder with questions.csv and documents.csv of these contents, loaded."""

    def make(questions: str, documents: str = DOCUMENTS, **more: Any) -> Dataset:
        (tmp_path / "questions.csv").write_bytes(questions.encode())
        (tmp_path / "documents.csv").write_bytes(documents.encode())
        return TableSource(path=str(tmp_path), **more).load()

    return make


def faults(load: Load, *tables: str) -> list[str]:
    with pytest.raises(DatasetError) as caught:
        load(*tables)
    return [fault.rpartition("/")[2] if fault.count("/") else fault for fault in caught.value.faults]


def test_ids_are_separated_by_semicolon_or_bar_or_are_json(load: Load) -> None:
    rows = [
        "query,query_id,relevant_doc_ids,irrelevant_doc_ids",
        "a?,a,d;e,",
        "b?,b,d | e,",
        'c?,c,"[""d""]",e',
        'f?,f,"{""d"": 2, ""e"": 1}",',
    ]
    dataset = load("\n".join(rows))
    assert dataset.qrels == (
        *(Qrel(query, doc, 1) for query in "ab" for doc in "de"),
        *(Qrel("c", "d", 1), Qrel("c", "e", -1), Qrel("f", "d", 2), Qrel("f", "e", 1)),
    )
    assert [document.title for document in dataset.documents] == ["T", ""]
    assert dataset.documents[1].text == "Eve, too"


def test_other_columns_are_metadata_and_cells_that_spell_json_are_its_values(load: Load) -> None:
    dataset = load(
        'query,relevant_doc_ids,answer,type,year,"odd, name",answerable,split\na?,d,007,factoid,2020,"""2020""",TRUE,1\nb?,,,,,,False,\n'
    )
    first, second = dataset.queries
    assert first.answer == "007"
    assert dict(first.metadata) == {"type": "factoid", "year": 2020, "odd, name": "2020", "split": "1"}
    assert (second.answerable, dict(second.metadata)) == (False, {})
    assert first.query_id.startswith("q-")


def test_variants_of_the_answer_are_a_json_list_or_texts_with_bars(load: Load) -> None:
    rows = 'a?,d,Ada,Ada Byron | Lovelace\nb?,d,Eve,"[""E, Eve"", 7]"\nc?,d,Bob,Bobby\ne?,d,Eve,\n'
    queries = load(f"query,relevant_doc_ids,answer,answer_variants\n{rows}").queries
    assert [query.answer_variants for query in queries] == [("Ada Byron", "Lovelace"), ("E, Eve", "7"), ("Bobby",), ()]


def test_evidence_and_relevant_chunks_stand_in_cells(load: Load) -> None:
    evidence = json.dumps([[{"doc_id": "d", "start": 0, "end": 3, "text": "Ada"}]]).replace('"', '""')
    dataset = load(f'query,relevant_doc_ids,evidence,relevant_chunks\na?,d,"{evidence}",Bob read\nb?,,,"[""Bob  read"", ""Eve""]"\n')
    assert [need.alternatives for need in dataset.needs] == [
        (Span("d", 0, 3),),
        (Span("d", 14, 22),),
        (Span("d", 14, 22),),
        (Span("e", 0, 3),),
    ]
    assert [(qrel.query_id == dataset.queries[0].query_id, qrel.doc_id) for qrel in dataset.qrels] == [
        (True, "d"),
        (False, "d"),
        (False, "e"),
    ]


def test_a_byte_order_mark_and_line_ends_of_excel_are_read(load: Load) -> None:
    dataset = load('\ufeffquery,relevant_doc_ids\r\n"a\r\nb?",d\r\n', "\ufeff" + DOCUMENTS.replace("\n", "\r\n"))
    assert dataset.queries[0].text == "a\r\nb?"


def test_a_wrong_table_is_named_with_its_line(load: Load, wording) -> None:
    wording(
        load,
        [
            "relevant_doc_ids,answer\nd,x\n",
            "Query,relevant_doc_ids\na?,d\n",
            "query,relevant_docs_ids\na?,d\n",
            "query,relevant_doc_ids,x,x\na?,d,1,2\n",
            "query,relevant_doc_ids\na?,d,e\n",
            'query,relevant_doc_ids\n"a\nb?",d\nc?,"[d]"\n',
            'query,relevant_doc_ids\n"a"b?,d\n',
            "query,relevant_doc_ids\na?,gone\n",
            "query,relevant_doc_ids,answerable\na?,d,maybe\n",
            "query,relevant_doc_ids,evidence\na?,d,here\n",
        ],
        DatasetError,
    )


def test_a_table_of_documents_needs_its_columns(load: Load) -> None:
    found = faults(load, "query,relevant_doc_ids\na?,d\n", "docid,body\nd,Ada\n")
    assert found[:2] == [
        "documents.csv:1 has no use for column 'docid' (did you mean 'doc_id'?); rename it",
        "documents.csv:1 has no use for column 'body' (did you mean 'text'?); rename it",
    ]


def test_a_table_may_have_its_documents_elsewhere_and_says_when_it_has_none(load: Load, tmp_path: Path) -> None:
    load("query,relevant_doc_ids\na?,d\n")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "d.html").write_text("<title>T</title><p>Ada")
    file = str(tmp_path / "questions.csv")
    assert TableSource(path=file, documents=str(tmp_path / "d")).load().documents[0].text == "Ada"
    with pytest.raises(
        InputError, match=r"questions\.csv is a list of questions without documents; give .*documents\.csv as dataset\.documents"
    ):
        TableSource(path=file).load()


def test_a_split_keeps_its_questions(load: Load) -> None:
    questions = "query,relevant_doc_ids,split\na?,d,dev\nb?,d,test\nc?,d,\n"
    assert [query.text for query in load(questions, split="dev").queries] == ["a?", "c?"]
    with pytest.raises(InputError, match=r"has no split 'devel' \(did you mean 'dev'\?\); its splits are dev and test"):
        load(questions, split="devel")


def test_parquet_knows_its_types(tmp_path: Path) -> None:
    pd.DataFrame({"doc_id": [1, 2], "text": ["Ada", "Bob"]}).to_parquet(tmp_path / "documents.parquet")
    questions = {
        "query": ["a?", "b?", "c?"],
        "relevant_doc_ids": [[1, 2], [2], None],
        "irrelevant_doc_ids": [None, 1.0, None],
        "answerable": [True, True, False],
        "year": [2020, 2021, None],
        "code": ["2020", "x", None],
        "day": pd.to_datetime(["2020-01-02", None, None]),
    }
    pd.DataFrame(questions).to_parquet(tmp_path / "questions.parquet")
    dataset = TableSource(path=str(tmp_path)).load()
    a, b, c = (query.query_id for query in dataset.queries)
    assert dataset.qrels == (Qrel(a, "1", 1), Qrel(a, "2", 1), Qrel(b, "2", 1), Qrel(b, "1", -1))
    assert dict(dataset.queries[0].metadata) == {"year": 2020, "code": "2020", "day": "2020-01-02T00:00:00"}
    assert (c, dataset.queries[2].answerable, dict(dataset.queries[2].metadata)) == (c, False, {})


def test_parquet_that_is_none_or_holds_what_json_does_not_is_named(tmp_path: Path) -> None:
    pd.DataFrame({"doc_id": ["d"], "text": ["Ada"]}).to_parquet(tmp_path / "documents.parquet")
    pd.DataFrame({"query": ["a?"], "relevant_doc_ids": ["d"], "raw": [b"x"]}).to_parquet(tmp_path / "questions.parquet")
    with pytest.raises(DatasetError, match=r"questions\.parquet row 1 has a bytes in column 'raw'; write it as text"):
        TableSource(path=str(tmp_path)).load()
    (tmp_path / "questions.parquet").write_text("no parquet")
    with pytest.raises(InputError, match=r"questions\.parquet is not a parquet file"):
        TableSource(path=str(tmp_path)).load()


@pytest.mark.parametrize("days", [pa.array([0] * 1001 + [2**52], pa.timestamp("ms")), pa.array([0] * 1001 + [2**30], pa.date32())])
def test_a_date_in_parquet_that_no_calendar_has_is_named_with_its_row_and_column(tmp_path: Path, days: pa.Array) -> None:
    pd.DataFrame({"doc_id": ["d"], "text": ["Ada"]}).to_parquet(tmp_path / "documents.parquet")
    parquet.write_table(pa.table({"query": ["a?"] * 1002, "day": days}), tmp_path / "questions.parquet")
    with pytest.raises(DatasetError, match=r"questions\.parquet row 1002 has a value in column 'day' that cannot be read"):
        TableSource(path=str(tmp_path)).load()


def test_parquet_metadata_that_end_the_process_of_pyarrow_are_one_line(tmp_path: Path) -> None:
    pd.DataFrame({"doc_id": ["d"], "text": ["Ada"]}).to_parquet(tmp_path / "documents.parquet")
    questions = tmp_path / "questions.parquet"
    parquet.write_table(pa.table({"query": ["a?"], "relevant_doc_ids": ["d"]}), questions)
    # The column becomes required, after the counts of its missing values were written.
    raw = questions.read_bytes()
    questions.write_bytes(raw.replace(b"\x25\x02\x18\x05query", b"\x25\x00\x18\x05query"))
    assert questions.read_bytes() != raw
    with pytest.raises(InputError, match=r"questions\.parquet is not a parquet file \(.+\); write it again"):
        TableSource(path=str(tmp_path)).load()


def test_parquet_text_is_the_same_in_any_encoding(tmp_path: Path) -> None:
    pd.DataFrame({"doc_id": ["d"], "text": ["Ada"]}).to_parquet(tmp_path / "documents.parquet")
    names = ["kind", "plain", "delta", "number"]
    kinds = pa.array(["x", "y"]).dictionary_encode()
    table = pa.table([["a?", "b?"], [["d"], ["d"]], kinds, ["x", "y"], ["x", "y"], [1, 2]], ["query", "relevant_doc_ids", *names])
    encodings = {"plain": "PLAIN", "delta": "DELTA_BYTE_ARRAY"}
    parquet.write_table(table, tmp_path / "questions.parquet", use_dictionary=["kind", "query"], column_encoding=encodings)
    first, second = TableSource(path=str(tmp_path)).load().queries
    assert [dict(query.metadata) for query in (first, second)] == [
        {"kind": text, "plain": text, "delta": text, "number": number} for text, number in (("x", 1), ("y", 2))
    ]


def again(dataset: Dataset, suffix: str) -> Dataset:
    with TemporaryDirectory() as folder:
        write_table(dataset, Path(folder) / dataset.name, suffix)
        return TableSource(path=str(Path(folder) / dataset.name), recurrences=False).load()


@settings(max_examples=60)
@given(data=st.data())
def test_any_dataset_is_the_same_after_csv(datasets: Callable[..., st.SearchStrategy[Dataset]], data: st.DataObject) -> None:
    dataset = data.draw(datasets())
    assert again(dataset, ".csv") == dataset


@pytest.mark.slow
@settings(max_examples=15)
@given(data=st.data())
def test_a_dataset_whose_fields_have_one_type_is_the_same_after_parquet(
    datasets: Callable[..., st.SearchStrategy[Dataset]], data: st.DataObject
) -> None:
    fields = {"domain": st.sampled_from(["hr", "2020", "é\r\n"]), "year": st.integers(-(2**63), 2**63 - 1)}
    dataset = data.draw(datasets(st.fixed_dictionaries({}, optional=fields)))
    assert again(dataset, ".parquet") == dataset


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_covid_qa_is_the_same_after_tables(big_data: Callable[[str], Path], suffix: str) -> None:
    dataset = BeirSource(path=str(big_data("covid-qa")), recurrences=False).load()
    assert again(dataset, suffix) == dataset
