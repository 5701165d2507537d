"""The files that were left out of a dataset are read from the record beside its documents."""

import json
from pathlib import Path

import pytest

from workbench.data.files import ORIGINS, unread_files


def test_the_record_gives_files_and_reasons(tmp_path: Path):
    skipped = [{"file": "a.pdf", "reason": "is encrypted"}]
    (tmp_path / ORIGINS).write_text(json.dumps({"source": "x", "skipped": skipped}))
    assert unread_files({"kind": "golden", "path": str(tmp_path)}) == skipped


@pytest.mark.parametrize("content", ["", "[]", '{"skipped": 3}', '{"skipped": [{"file": "a"}]}', "[" * 9_000])
def test_other_files_of_the_name_are_no_record(tmp_path: Path, content: str):
    (tmp_path / ORIGINS).write_text(content)
    assert unread_files({"path": str(tmp_path)}) == []


def test_a_dataset_without_a_record_or_a_path_has_none(tmp_path: Path):
    assert unread_files({"path": str(tmp_path)}) == unread_files({"kind": "nfcorpus"}) == unread_files(None) == []
    (tmp_path / "elsewhere.json").write_text('{"skipped": [{"file": "a", "reason": "b"}]}')
    (tmp_path / ORIGINS).symlink_to(tmp_path / "elsewhere.json")
    assert unread_files({"path": str(tmp_path)}) == []
