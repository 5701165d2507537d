"""Of files with the same text, the original is the document, and its copies say so."""

from pathlib import Path

from workbench.data.conversion.process import ConverterProcess
from workbench.people.new_experiment.documents import Origins, convert_folder


def test_of_equal_files_the_one_with_the_plainer_path_is_kept(tmp_path: Path):
    source = tmp_path / "docs"
    groups = {
        "base-files.txt": ["base-files-copy.txt", "archive/base-files.txt", "base-files (1).txt"],
        "terms and rules.md": ["Copy of terms.md", "a/b.md"],
        "guide/long name of a report.md": ["guide/report_old.md"],
    }
    for original, copies in groups.items():
        for name in (original, *copies):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_text(f"The text of {original} is the same in all of them.\n")
    conversion = convert_folder(source, tmp_path / "made", Origins(source="docs"), ConverterProcess(source))
    assert {origin.file for origin in conversion.added} == set(groups)
    copies = {copy: original for original, several in groups.items() for copy in several}
    assert [each.file for each in conversion.skipped] == sorted(copies)
    assert {each.file: each.reason for each in conversion.skipped} == {
        copy: f"has the same text as {original}, which is kept, since its path is plainer" for copy, original in copies.items()
    }
    (source / "b.txt").write_text("The text of base-files.txt is the same in all of them.\n")
    again = convert_folder(source, tmp_path / "made", conversion.origins("docs"), ConverterProcess(source))
    assert [each.reason for each in again.skipped if each.file == "b.txt"] == [
        "has the same text as base-files.txt, which is a document already"
    ]


def test_a_copy_that_is_skipped_names_its_parts_that_are_not_read(tmp_path: Path):
    source = tmp_path / "docs"
    source.mkdir()
    (source / "a.html").write_text("<h1>Keys</h1><p>A key costs 9 euros.</p>")
    (source / "a-long.html").write_text("<h1>Keys</h1><p>A key costs 9 euros.</p><img src=plan.png><div hidden>Later</div>")
    conversion = convert_folder(source, tmp_path / "made", Origins(source="docs"), ConverterProcess(source))
    assert [each.reason for each in conversion.skipped] == [
        "has the same text as a.html, which is kept, since its path is plainer; it has 1 hidden part and 1 image that are not read"
    ]
