"""Ids of documents are readable, unique, and names of files."""

from workbench.people.new_experiment.documents import document_id, same_id


def test_an_id_is_the_path_without_its_suffix_and_blanks():
    ids = {
        "leave.md": "leave",
        "hr/Leave policy (2024).docx": "hr/Leave-policy-2024",
        "Café über uns.pdf": "Café-über-uns",
        "a b/.../v1.2.txt": "a-b/document/v1.2",
        "报告.html": "报告",
        "???.md": "document",
    }
    assert {path: document_id(path, set()) for path in ids} == ids


def test_equal_ids_get_the_suffix_and_then_a_number():
    taken = set()
    for path in ("Report.pdf", "report.docx", "report .docx", "REPORT.docx"):
        taken.add(same_id(document_id(path, taken)))
    assert taken == {"report", "report-docx", "report-docx-2", "report-docx-3"}


def test_long_names_are_cut_within_what_file_systems_allow():
    name = document_id(f"{'ü' * 300}.md", set())
    assert len(name.encode()) == 160
    assert document_id(f"{'ü' * 300}.txt", {same_id(name)}) == f"{name}-txt"


def test_a_folder_with_a_suffix_of_documents_is_not_in_the_place_of_one():
    assert [document_id(file, ()) for file in ("a.html", "a.md/b.html", "x/A.TXT/c.md", "v1.2/d.md")] == [
        "a",
        "a-md/b",
        "x/A-TXT/c",
        "v1.2/d",
    ]


def test_names_that_no_file_has_on_windows_are_changed():
    assert [document_id(file, ()) for file in ("con.md", "Aux/nul.tar.md", "console.md", "a./b.md", "a:b.md")] == [
        "document-con",
        "document-Aux/document-nul.tar",
        "console",
        "a/b",
        "a-b",
    ]
