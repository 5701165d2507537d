import json
from pathlib import Path

import pytest

from workbench.data.draft import DatasetDraft
from workbench.data.lines import json_kind, json_lines, parse_json, reason, tabbed_lines


def test_what_people_write_in_place_of_json_has_a_hint(wording) -> None:
    def reason_of(text: str) -> str:
        with pytest.raises(ValueError) as caught:
            parse_json(text)
        return reason(caught.value)

    wording(
        reason_of,
        [
            "{'a': 1}",
            "{“a”: 1}",
            '{"a": None}',
            "// a",
            '{"a": 1},',
        ],
        None,
    )


def test_kinds_have_the_names_of_json() -> None:
    kinds = ["an object", "a list", "a text", "true or false", "a number", "a decimal number", "null"]
    assert [json_kind(value) for value in ({}, [], "", True, 1, 1.5, None)] == kinds


def test_an_object_over_several_lines_is_one_fault(tmp_path: Path) -> None:
    file, draft = tmp_path / "x.jsonl", DatasetDraft("d")
    file.write_text(json.dumps({"a": 1, "b": 2}, indent=1))
    assert list(json_lines(file, draft)) == []
    assert draft.faults == [f"{file}:1 begins a JSON value of several lines; write each object on a line of its own"]


def test_a_line_that_is_no_object_is_a_fault(tmp_path: Path, wording) -> None:
    def fault_of(line: str) -> str:
        draft = DatasetDraft("d")
        (tmp_path / "x.jsonl").write_text(line)
        assert list(json_lines(tmp_path / "x.jsonl", draft)) == []
        return " | ".join(draft.faults)

    wording(
        fault_of,
        [
            "null",
            "1",
            "[1]",
            '"a"',
        ],
        None,
    )


def test_a_key_that_an_object_repeats_is_named() -> None:
    with pytest.raises(ValueError, match="the key 'evidence' appears more than once"):
        parse_json('{"query": "?", "evidence": [1], "x": {"a": 1, "b": 2}, "evidence": []}')


def test_a_header_in_another_order_is_a_fault_and_a_row_that_looks_like_one_is_read(tmp_path: Path) -> None:
    file, draft = tmp_path / "x.tsv", DatasetDraft("d")
    columns = ("query-id", "doc-id", "relevance")
    for header in ("query-id\tcorpus-id\tscore", "qid\tdocno\trel", "Query_ID\tx\ty", "id\td\t1"):
        file.write_text(f"{header}\nq\td\t2\n")
        lines = [line for line, _ in tabbed_lines(file, columns, draft)]
        assert lines == [*(["id\td\t1"] if header.endswith("1") else []), "q\td\t2"]
    assert draft.faults == []
    file.write_text("query-id\tscore\tcorpus-id\n1\t2\t3\n")
    assert list(tabbed_lines(file, columns, draft)) == []
    assert draft.faults == [
        f"{file}:1 has the columns query-id, score, corpus-id, not query-id, doc-id, relevance; write them in this order"
    ]
