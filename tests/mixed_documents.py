"""A folder of 30 mixed files, made by the programs that make such files: what a person has, with all that can be wrong with it."""

import io
import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import docx
import nbformat.v4
import pptx
from fpdf import FPDF
from pptx.util import Inches
from pypdf import PdfReader, PdfWriter

Sections = list[tuple[str, list[str]]]

BIKES: Sections = [
    (
        "Lending a bike",
        ["Members can borrow a cargo bike for up to three days.", "The deposit is 80 euros and is paid by card at the counter."],
    ),
    ("Returning a bike", ["Every bike must be returned to the shed before 18:30.", "A late return costs 15 euros for each started hour."]),
]
SHED: Sections = [
    (
        "Opening hours",
        ["The shed is open from 9:00 to 18:30 on workdays.", "On Saturdays the shed closes at 13:00, and on Sundays it stays closed."],
    ),
    (
        "Repairs",
        ["Volunteers must report broken brakes within two days.", "A repair kit contains two inner tubes, a pump and a chain tool."],
    ),
    ("Insurance", ["The insurance is a group policy of the city of Ghent.", "Damage above 500 euros has to be reported to the police."]),
]
ENERGY: Sections = [
    (
        "What a heat pump is",
        [
            "A heat pump is a machine that moves heat from the ground into the house.",
            "It needs about a quarter of the energy of a gas boiler.",
        ],
    ),
    (
        "Maintenance",
        ["Technicians should inspect the compressor every 24 months.", "The filter is cleaned twice a year, in April and in October."],
    ),
]
GERMAN: Sections = [
    (
        "Urlaub",
        [
            "Jede Mitarbeiterin hat im Jahr 30 Tage Urlaub, und Kinder unter zwölf Jahren geben zwei weitere Tage.",
            "Anträge müssen spätestens zwei Wochen vorher bei der Leitung eingereicht werden.",
        ],
    ),
    (
        "Reisekosten",
        [
            "Eine Dienstreise ist eine Reise, die die Leitung vorher genehmigt hat.",
            "Die Tagespauschale beträgt 28 Euro für jeden vollen Tag.",
        ],
    ),
]


def markdown(sections: Sections, title: str) -> str:
    return f"# {title}\n\n" + "\n\n".join(f"## {heading}\n\n{' '.join(texts)}" for heading, texts in sections) + "\n"


def word_file(sections: Sections, title: str) -> bytes:
    made = docx.Document()
    made.add_heading(title, 0)
    for heading, texts in sections:
        made.add_heading(heading, 1)
        for text in texts:
            made.add_paragraph(text)
    table = made.add_table(2, 2)
    for place, text in enumerate(("Part", "Price", "Inner tube", "7 euros")):
        table.cell(place // 2, place % 2).text = text
    return saved(made.save)


def slides(sections: Sections, title: str) -> bytes:
    deck = pptx.Presentation()
    first = deck.slides.add_slide(deck.slide_layouts[0])
    first.shapes.title.text = title
    for heading, texts in sections:
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = heading
        slide.placeholders[1].text = "\n".join(texts)
        slide.notes_slide.notes_text_frame.text = f"Say more about {heading.lower()}."
    table = deck.slides.add_slide(deck.slide_layouts[5]).shapes
    table.title.text = "Prices"
    cells = table.add_table(2, 2, Inches(1), Inches(2), Inches(4), Inches(1)).table
    for place, text in enumerate(("Bike", "Deposit", "Cargo bike", "80 euros")):
        cells.cell(place // 2, place % 2).text = text
    return saved(deck.save)


def saved(save: Callable[[io.BytesIO], object]) -> bytes:
    file = io.BytesIO()
    save(file)
    return file.getvalue()


def pdf(sections: Sections, title: str, repeat: int = 1, bookmarks: bool = False) -> bytes:
    """A PDF in which headings are larger, with running headers and page numbers."""

    class Report(FPDF):
        def header(self) -> None:
            self.set_font("Helvetica", size=8)
            self.cell(0, 10, f"{title} (draft)", new_x="LMARGIN", new_y="NEXT")

        def footer(self) -> None:
            self.set_y(-15)
            self.set_font("Helvetica", size=8)
            self.cell(0, 10, f"Page {self.page_no()}")

    made = Report()
    made.add_page()
    made.set_font("Helvetica", size=20)
    made.cell(0, 12, title, new_x="LMARGIN", new_y="NEXT")
    for _ in range(repeat):
        for heading, texts in sections:
            if bookmarks:
                made.start_section(heading)
            made.set_font("Helvetica", style="" if bookmarks else "B", size=11 if bookmarks else 14)
            made.cell(0, 12, heading, new_x="LMARGIN", new_y="NEXT")
            made.set_font("Helvetica", size=11)
            made.multi_cell(0, 6, " ".join(texts), new_x="LMARGIN", new_y="NEXT")
            made.ln(4)
    return bytes(made.output())


def encrypted(content: bytes) -> bytes:
    writer = PdfWriter(PdfReader(io.BytesIO(content)))
    writer.encrypt("secret", algorithm="AES-256")
    return saved(writer.write)


def scanned() -> bytes:
    """Two pages without text, as a scanner without text recognition makes them."""
    made = FPDF()
    for _ in range(2):
        made.add_page()
        made.rect(20, 20, 100, 100, style="F")
    return bytes(made.output())


def notebook(sections: Sections, title: str) -> bytes:
    cells = [nbformat.v4.new_markdown_cell(f"# {title}")]
    for heading, texts in sections:
        cells.append(nbformat.v4.new_markdown_cell(f"## {heading}\n\n{' '.join(texts)}"))
        cells.append(nbformat.v4.new_code_cell("deposit = 80\nprint(deposit)"))
    return nbformat.writes(nbformat.v4.new_notebook(cells=cells)).encode()


def page(sections: Sections, title: str) -> str:
    body = "".join(f"<h2>{heading}</h2><p>{' '.join(texts)}</p>" for heading, texts in sections)
    return f"<html><head><title>{title}</title><script>alert('no')</script></head><body>{body}</body></html>"


def zip_bomb() -> bytes:
    """A .docx of 50 kB that unpacks to 50 MB."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"<w>" + b" " * 50_000_000 + b"</w>")
    return file.getvalue()


def long_text(megabytes: float) -> str:
    """A text of about so many megabytes without equal paragraphs: a log of lendings, below headings."""
    draw = random.Random(7)
    names = ["Ada", "Bo", "Cem", "Dora", "Emil", "Fay", "Gus", "Hana", "Ivo", "Jin", "Kaya", "Lou"]
    parts, size, day = [], 0, 0
    while size < megabytes * 1_000_000:
        day += 1
        lines = [
            f"{draw.choice(names)} lent bike {draw.randrange(900)} for {draw.randrange(2, 70)} hours and paid {draw.randrange(5, 400)} euros."
            for _ in range(40)
        ]
        parts.append(f"# Day {day}\n\n{' '.join(lines)}\n")
        size += len(parts[-1])
    return "\n".join(parts)


def mixed_folder(folder: Path, megabytes: float = 20) -> dict[str, str]:
    """Write the files. Returns the reason for each that must not be read, as a part of the line that names it."""
    outside = folder.with_name(f"{folder.name}-outside.txt")
    outside.parent.mkdir(parents=True, exist_ok=True)
    outside.write_text("A secret of this machine.")
    good: dict[str, bytes] = {
        "README.md": markdown(BIKES, "Bike library").encode(),
        "rules/shed.md": markdown(SHED, "The shed").encode(),
        "rules/shed.html": page(SHED[:2], "Shed rules").encode(),
        "rules/Café über uns.md": markdown(ENERGY, "Über uns").encode(),
        "hr/urlaub.md": markdown(GERMAN, "Personal").encode(),
        "hr/latin1.txt": "Größere Beträge überweisen wir erst nach Prüfung. Die Prüfung dauert höchstens fünf Tage.\n".encode("latin-1"),
        "hr/utf16.txt": "The canteen is open from 11:30 to 14:00. A meal costs 6 euros.\n".encode("utf-16"),
        "bikes.docx": word_file(BIKES, "Bikes in Word"),
        "energy.docx": word_file(ENERGY, "Energy"),
        "deck.pptx": slides(BIKES, "Bikes on slides"),
        "training.pptx": slides(ENERGY, "Training"),
        "manual.pdf": pdf(SHED, "Manual of the shed", repeat=4),
        "marked.pdf": pdf(ENERGY, "Energy report", bookmarks=True),
        "analysis.ipynb": notebook(BIKES, "Analysis"),
        "notes/a b/with spaces.txt": b"The spare key is a brass key behind the boiler. Only two volunteers may use it.\n",
        "notes/windows.txt": b"The alarm code changes every 30 days.\r\nAsk Dora for the new code.\r\n",
        "page.htm": page(ENERGY, "Heat pumps").encode(),
        "old.markdown": markdown(GERMAN[:1], "Alt").encode(),
        "log.txt": long_text(megabytes).encode(),
    }
    bad: dict[str, tuple[bytes, str]] = {
        "secret.pdf": (encrypted(pdf(BIKES, "Secret")), "is encrypted"),
        "scan.pdf": (scanned(), "has no text on its 2 pages"),
        "empty.md": (b"", "is empty"),
        "blank.txt": (b" \n\n\t", "is empty"),
        "rubbish.txt": (random.Random(3).randbytes(4_000), "is binary"),
        "bomb.docx": (zip_bomb(), "unpacks to 50 MB"),
        "broken.pptx": (slides(BIKES, "Cut")[:3_000], "is not a complete .pptx file"),
        "broken.ipynb": (json.dumps({"cells": 3}).encode(), "cannot be read as a notebook"),
        "photo.png": (b"\x89PNG\r\n\x1a\n", "suffix '.png', which is not read"),
        ".hidden.md": (b"# Hidden\n", "is hidden"),
        "copy of README.md": (good["README.md"], "same text as README.md"),
    }
    for name, content in (good | {name: content for name, (content, _) in bad.items()}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (folder / "link.txt").symlink_to(outside)
    return {name: reason for name, (_, reason) in bad.items()} | {"link.txt": "outside of"}
