"""The process of the converters survives files that take too long, need too much memory or make it crash."""

import os
import signal
from pathlib import Path

import pytest

from tests.planted_modules import plant_modules
from workbench.data.conversion.process import ConverterProcess
from workbench.data.conversion.text import UnreadableFileError


def test_a_file_is_converted_in_another_process_after_one_that_fails(tmp_path: Path):
    (tmp_path / "a.md").write_text("# A\n\nText.\n")
    (tmp_path / "b.pdf").write_bytes(b"no PDF")
    with ConverterProcess(tmp_path) as process:
        with pytest.raises(UnreadableFileError, match="is no complete PDF"):
            process.convert(tmp_path / "b.pdf", ".pdf")
        first = process._process.pid
        converted, digest = process.convert(tmp_path / "a.md", ".md")
        assert (converted.text, len(digest), process._process.pid) == ("# A\n\nText.\n", 64, first)
        assert first != os.getpid()
        os.kill(first, signal.SIGKILL)
        with pytest.raises(UnreadableFileError, match=r"makes its converter end \(SIGKILL\)"):
            process.convert(tmp_path / "a.md", ".md")
        assert process.convert(tmp_path / "a.md", ".md")[0].text == "# A\n\nText.\n"
        again = process._process
        # Less than any file takes: the process is stopped, and the next file gets a new one.
        process.seconds = 0.000_001
        (tmp_path / "long.html").write_text("<p>word</p>" * 20_000)
        with pytest.raises(UnreadableFileError, match="takes more than 0 seconds"):
            process.convert(tmp_path / "long.html", ".html")
        assert not again.is_alive()


def test_links_out_of_the_folder_are_refused_by_the_process_too(tmp_path: Path):
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "link.txt").symlink_to(tmp_path / "secret.txt")
    with ConverterProcess(tmp_path / "docs") as process, pytest.raises(UnreadableFileError, match="outside of"):
        process.convert(tmp_path / "docs" / "link.txt", ".txt")


def test_modules_in_the_working_directory_are_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n")
    mark = plant_modules(tmp_path)
    monkeypatch.chdir(tmp_path)
    with ConverterProcess(tmp_path / "docs") as process:
        assert process.convert(tmp_path / "docs" / "a.md", ".md")[0].text == "# A\n"
    assert not mark.exists()


def test_a_text_above_the_limit_of_files_is_refused(tmp_path: Path):
    rows = "".join(f"<tr>{'<td rowspan=200>' + 'w' * 500 if not number else ''}<td>{number}" for number in range(200))
    (tmp_path / "rows.html").write_text(f"<table>{rows}</table>" * 12)
    with (
        ConverterProcess(tmp_path, max_file_mb=1) as process,
        pytest.raises(UnreadableFileError, match="as text has 1 MB, more than max_file_mb"),
    ):
        process.convert(tmp_path / "rows.html", ".html")


def test_tags_without_an_end_and_inside_of_very_many_others_end_before_the_limit_of_time(tmp_path: Path):
    email = b"From: ann@a.example\nContent-Type: text/html\n\n"
    # Each took over a minute.
    files = {
        "images.eml": (email + b"<img " * 300_000, "more than 100 tags are never closed"),
        "asides.html": (b"<div>" * 5_000 + b"<aside>a</aside>" * 300_000, "may not have 5,001 open at once"),
    }
    with ConverterProcess(tmp_path, seconds=30) as process:
        for name, (content, reason) in files.items():
            (tmp_path / name).write_bytes(content)
            with pytest.raises(UnreadableFileError, match=reason):
                process.convert(tmp_path / name, Path(name).suffix)
