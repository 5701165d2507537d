"""Each format becomes Markdown with its headings, and a file that cannot be read says why."""

import io
import json
import zipfile
from importlib.metadata import version
from itertools import pairwise
from pathlib import PurePath

import docx
import nbformat
import pytest
from markdown_it import MarkdownIt

from tests.mixed_documents import BIKES, ENERGY, SHED, encrypted, notebook, page, pdf, saved, scanned, slides, word_file, zip_bomb
from workbench.data.conversion.office.markup import office_file
from workbench.data.conversion.registry import BY_SUFFIX, FORMATS, convert, format_of, unknown_format
from workbench.data.conversion.text import UnreadableFileError


def refused(suffix: str, raw: bytes) -> str:
    with pytest.raises(UnreadableFileError) as error:
        convert(suffix, raw)
    return str(error.value)


def test_every_format_is_found_by_its_suffix_in_any_case():
    assert {each.name for each in FORMATS} == {"markdown", "text", "html", "email", "pdf", "docx", "pptx", "notebook"}
    assert all(format_of(PurePath(f"a{suffix.upper()}")) is each for suffix, each in BY_SUFFIX.items())
    assert format_of(PurePath("a.png")) is None
    versions = f"pypdfium2 {version('pypdfium2')}, simplemma {version('simplemma')}"
    assert BY_SUFFIX[".pdf"].converter == f"pdf {BY_SUFFIX['.pdf'].version} with {versions}"
    assert BY_SUFFIX[".md"].converter == f"markdown {BY_SUFFIX['.md'].version}"


@pytest.mark.parametrize("suffix", [".rst", ".adoc", ".org", ".tex", ".log", ".csv", ".text", ".mkd", ".mdx", ".qmd"])
def test_texts_with_other_suffixes_stay_as_they_are(suffix: str):
    text = "Fees\n====\n\n.. note:: Adults pay 9 euros, \\emph{always}.\n\n| a | b |\n"
    assert convert(suffix, text.encode()).text == text
    assert BY_SUFFIX[suffix].to == (".md" if suffix in (".mkd", ".mdx", ".qmd") else ".txt")


def test_files_of_other_formats_come_with_advice():
    reasons = {
        name: unknown_format(PurePath(name))
        for name in ("a.XLSX", "b.odt", "c.epub", "d.msg", "e.png", "f.zip", "g.json", "h.xyz", "README")
    }
    assert reasons == {
        "a.XLSX": "has the suffix '.xlsx', which is not read; save its sheets as .csv",
        "b.odt": "has the suffix '.odt', which is not read; save it as .docx",
        "c.epub": "has the suffix '.epub', which is not read; convert it to .html or .pdf",
        "d.msg": "has the suffix '.msg', which is not read; save its messages as .eml",
        "e.png": "has the suffix '.png', which is not read; recognise its text (OCR) and save it as .txt",
        "f.zip": "has the suffix '.zip', which is not read; unpack it",
        "g.json": "has the suffix '.json', which is not read; save its texts as .txt or .md",
        "h.xyz": "has the unknown suffix '.xyz'; rename it to .txt if it is text",
        "README": "has no suffix; rename it to .txt if it is text",
    }
    assert not {suffix for suffix in BY_SUFFIX if "unknown" not in unknown_format(PurePath(f"a{suffix}"))}


def test_a_word_document_keeps_headings_and_tables():
    text = convert(".docx", word_file(BIKES, "Bikes")).text
    assert text.startswith("# Bikes\n\n## Lending a bike\n\nMembers can borrow a cargo bike")
    assert "| Part | Price |\n| --- | --- |\n| Inner tube | 7 euros |" in text


def test_headings_of_a_word_document_without_a_title_keep_their_levels():
    made = docx.Document()
    for level, text in ((1, "Bikes"), (2, "Lending"), (1, "Shed")):
        made.add_heading(text, level)
        made.add_paragraph(f"A sentence about {text}.")
    assert [line for line in convert(".docx", saved(made.save)).text.split("\n") if line.startswith("#")] == [
        "# Bikes",
        "## Lending",
        "# Shed",
    ]


def test_slides_become_sections_with_lists_tables_and_notes():
    text = convert(".pptx", slides(BIKES, "Bikes")).text
    assert text.startswith("# Bikes\n\n## Lending a bike\n\n- Members can borrow")
    assert "Say more about returning a bike." in text
    assert "| Bike | Deposit |\n| --- | --- |\n| Cargo bike | 80 euros |" in text


def test_a_notebook_keeps_its_texts_and_its_code():
    text = convert(".ipynb", notebook(BIKES, "Analysis")).text
    assert text.startswith("# Analysis\n\n## Lending a bike\n\n")
    assert "```python\ndeposit = 80\nprint(deposit)\n```" in text


def cells(*sources: str, language: object = "python") -> str:
    """Return the text of a notebook whose cells are code where they begin with `!`."""
    made = [nbformat.v4.new_code_cell(each[1:]) if each.startswith("!") else nbformat.v4.new_markdown_cell(each) for each in sources]
    raw = nbformat.writes(nbformat.v4.new_notebook(cells=made)).replace(
        '"metadata": {},', f'"metadata": {{"language_info": {{"name": {json.dumps(language)}}}}},'
    )
    return convert(".ipynb", raw.encode()).text


def headings(text: str) -> list[str]:
    tokens = MarkdownIt("commonmark").parse(text)
    return [after.content for token, after in pairwise(tokens) if token.type == "heading_open"]


@pytest.mark.parametrize(
    "language", ["a`b", "x\n```\n# Planted\n", "```", "r\u2028# Planted", "\x85# Planted", "y" * 9_000, ["# Planted"], None, ""]
)
def test_the_language_of_a_notebook_cannot_end_the_fence_of_its_code(language: object):
    text = cells("# One", "!# a comment", "# Two", language=language)
    assert headings(text) == ["One", "Two"]
    assert "# a comment" in text
    assert max(map(len, text.split("\n"))) < 60


@pytest.mark.parametrize("language", ["python", "c++", "C#", "F#", "Wolfram Language", "q.js", "common-lisp"])
def test_the_language_of_a_notebook_is_behind_its_fences(language: str):
    assert cells("!a = 1", language=language) == f"```{language}\na = 1\n```\n"


@pytest.mark.parametrize(
    "source",
    [
        "```",
        "~~~~ text",
        "  ```py\na = 1\n~~~",
        "````\n```",
        "<!-- hidden",
        "<pre>\n\na",
        "<?php",
        "<!DOCTYPE\n\nb",
        "<![CDATA[\n\nc",
        "<textarea>",
    ],
)
def test_a_block_without_an_end_does_not_go_on_in_the_next_cell_of_a_notebook(source: str):
    text = cells("# One", source, "# Two", "!a = 1", "# Three")
    assert headings(text) == ["One", "Two", "Three"]
    assert source in text


@pytest.mark.parametrize("source", ["```\na\n```", "- item\n\n  ```\n  code", "> ```\n> code", "<b>bold", "a `b"])
def test_cells_of_a_notebook_that_end_stay_as_they_are(source: str):
    assert cells("# One", source, "# Two") == f"# One\n\n{source}\n\n# Two\n"


def test_a_page_gets_its_title_as_heading_and_loses_its_scripts():
    text = convert(".html", page(ENERGY, "Energy").encode()).text
    assert text.startswith("# Energy\n\n## What a heat pump is\n\n")
    assert "alert" not in text


def test_lines_of_a_pdf_become_paragraphs_below_headings_without_running_headers():
    converted = convert(".pdf", pdf(SHED, "Manual", repeat=6))
    text = converted.text
    assert "\n## Opening hours\n\nThe shed is open from 9:00 to 18:30 on workdays. On Saturdays the shed closes at 13:00" in text
    assert text.startswith("Manual (draft)\n\n# Manual\n\n")
    assert text.count("(draft)") == 1
    assert "Page" not in text
    assert converted.notes == ("repeats 1 line in the margins of its pages, kept once: 'Manual (draft)' on 3 pages",)


def test_bookmarks_of_a_pdf_are_headings_although_the_type_is_the_same():
    text = convert(".pdf", pdf(ENERGY, "Energy report", bookmarks=True)).text
    assert "\n# Maintenance\n\nTechnicians should inspect" in text


def test_files_without_text_say_what_they_are():
    assert refused(".pdf", scanned()) == "has no text on its 2 pages, as scanned images; recognise the text first (OCR)"
    assert refused(".pdf", encrypted(pdf(BIKES, "Secret"))) == "is encrypted; remove its password"
    assert refused(".pdf", b"%PDF-1.7\nrubbish") == "is no complete PDF"
    assert refused(".md", b" \n") == "is empty"
    assert refused(".html", b"<p></p>") == "has no text"
    assert refused(".ipynb", b'{"cells": 3}').startswith("cannot be read as a notebook")
    assert refused(".txt", b"%PDF-1.7 a PDF with another name") == "is a PDF, not a text file; export it as text (UTF-8)"


def test_archives_that_unpack_to_far_more_than_their_size_are_not_unpacked():
    assert refused(".docx", zip_bomb()) == "unpacks to 50 MB, as no file of text does"
    assert refused(".docx", word_file(BIKES, "x")[:2_000]).startswith("is not a complete .docx file")
    assert refused(".docx", slides(BIKES, "x")) == "is a ZIP archive, but no .docx file"
    old = b"\xd0\xcf\x11\xe0" + bytes(600)
    assert refused(".docx", old) == "is in the format of Office before 2007; save it as .docx"
    assert refused(".pptx", old + "EncryptedPackage".encode("utf-16-le")) == "is encrypted; remove its password"


def changed(raw: bytes, changes: dict[str, str], without: str = "") -> bytes:
    """Return an office file with other texts in its parts, and without one of them."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as source, zipfile.ZipFile(file, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name.endswith((".xml", ".rels")):
                for old, new in changes.items():
                    content = content.replace(old.encode(), new.encode())
            if name != without:
                target.writestr(name, content)
    return file.getvalue()


STRICT = {
    f"http://schemas.openxmlformats.org/{name}/2006/": f"http://purl.oclc.org/ooxml/{name}/"
    for name in ("officeDocument", "wordprocessingml", "drawingml", "presentationml")
}
KINDS = {
    f"presentationml.{kind}.main": {"presentationml.presentation.main": f"presentationml.{kind}.main"} for kind in ("slideshow", "template")
}


@pytest.mark.parametrize(("suffix", "changes"), [(".docx", STRICT), (".pptx", STRICT), *((".pptx", changes) for changes in KINDS.values())])
def test_office_files_in_rarer_forms_have_the_same_text(suffix: str, changes: dict[str, str]):
    raw = (word_file if suffix == ".docx" else slides)(BIKES, "Bikes")
    rarer = changed(raw, changes)
    assert rarer != raw
    assert convert(suffix, rarer) == convert(suffix, raw)


def test_office_files_that_cannot_be_read_come_with_advice():
    advice = {
        ".docx": "open it in Word or LibreOffice and save it again as .docx",
        ".pptx": "open it in PowerPoint or LibreOffice and save it again as .pptx",
    }
    word, presentation = word_file(BIKES, "x"), slides(BIKES, "x")
    broken = [
        (".docx", changed(word, {"<w:body>": "<w:body><w:p>"})),
        (".docx", changed(word, {}, without="word/document.xml")),
        (".pptx", changed(presentation, {"<p:cSld": "<p:cSld <"})),
        (".pptx", changed(presentation, {}, without="ppt/slides/slide1.xml")),
        (".pptx", changed(presentation, {"relationships/officeDocument": "relationships/other"})),
        (".pptx", changed(presentation, {"presentation.main+xml": "other.main+xml"})),
    ]
    for suffix, raw in broken:
        assert refused(suffix, raw) == f"cannot be read as {suffix}; {advice[suffix]}"
    assert "Lending a bike" in convert(".docx", changed(word, {'<w:style w:type="paragraph"': "<w:style"})).text


EVIL = b'<?xml version="1.0"?>%s<!DOCTYPE d [<!ENTITY e SYSTEM "file:///etc/hostname">]><d>&e;</d>'
OFFICE = [(".docx", word_file, "word/document.xml"), (".pptx", slides, "ppt/presentation.xml")]


def with_parts(raw: bytes, parts: dict[str, bytes], renamed: dict[str, str] | None = None) -> bytes:
    """Return an office file with other contents of parts, and with other names of parts in names, relations and types."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as source, zipfile.ZipFile(file, "w") as target:
        contents = {name: source.read(name) for name in source.namelist()} | parts
        for name, content in contents.items():
            made = name
            for old, new in (renamed or {}).items():
                made, content = made.replace(old, new), content.replace(old.encode(), new.encode())
            target.writestr(made, content)
    return file.getvalue()


@pytest.mark.parametrize(
    "before", [b"", b"<!--" + b" " * 5_000 + b"-->", b"<?" + b"p " * 90_000 + b"?>"], ids=["start", "comment", "instruction"]
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(("suffix", "made", "part"), OFFICE)
def test_xml_with_a_document_type_is_not_parsed_wherever_it_is_declared(suffix, made, part, encoding, before):
    evil = (EVIL % before).decode().encode(encoding)
    assert refused(suffix, with_parts(made(BIKES, "x"), {part: evil})) == "has XML that declares entities, as no office program writes it"


@pytest.mark.parametrize(("suffix", "made", "part"), OFFICE)
def test_a_converter_gets_no_document_type_in_a_part_of_any_name(suffix, made, part):
    raw, name = made(BIKES, "x"), part.rpartition("/")[2]
    other = name.replace(".xml", ".svg")
    evil = with_parts(raw, {part: EVIL % b""}, {name: other})
    with zipfile.ZipFile(office_file(evil, part.partition("/")[0], suffix)) as archive:
        assert other in {each.rpartition("/")[2] for each in archive.namelist()}
        assert not [each for each in archive.namelist() if b"<!DOCTYPE" in archive.read(each)]
    assert refused(suffix, evil).startswith(f"cannot be read as {suffix}; open it in ")
    # Pictures may have one, and are not read.
    picture = b'<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "svg11.dtd"><svg/>'
    assert convert(suffix, with_parts(raw, {f"{part.partition('/')[0]}/media/image1.svg": picture})) == convert(suffix, raw)


def test_control_characters_and_line_ends_of_other_systems_do_not_stay():
    assert convert(".txt", "\ufeffone\r\ntwo\x0c\x1bthree  \rfour".encode()).text == "one\ntwo\nthree\nfour\n"


def test_a_text_in_which_nothing_can_be_seen_is_no_document():
    for text in ("\u200b" * 100, "\u00a0\n\u2003\u200b", "\u2060\ufe0f\u200d".replace("\ufe0f", ""), "\U000e0041\U000e0042"):
        assert refused(".md", text.encode()) == "has no text"
    assert convert(".md", "\u200b7".encode()).text == "\u200b7\n"


def test_xml_of_an_office_file_that_is_no_xml_is_one_line_with_the_fix():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("word/document.xml", "<w:document/>".encode("utf-32"))
    assert refused(".docx", file.getvalue()).startswith("cannot be read as .docx; open it in Word")
