"""Write llms.txt, the index of the docs for language models (llmstxt.org); with --check, say whether it is stale."""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INDEX, PAGE = ROOT / "docs" / "README.md", ROOT / "llms.txt"
SKILL = ROOT / "skills" / "rag-workbench" / "SKILL.md"
START = (ROOT / "README.md", SKILL, ROOT / "docs" / "tutorial.md")
SECTIONS = ("How-to guides", "Reference", "Explanation")
# Begin a paragraph of prose.
_PROSE = re.compile(r"[A-Za-z`\[*]")


def paragraphs(page: Path) -> Iterator[str]:
    """Yield the paragraphs of a page below its title, without blocks, tables and comments."""
    text = re.sub(r"\A---\n.*?\n---\n", "", page.read_text("utf-8"), flags=re.DOTALL)
    text = re.sub(r"^```.*?^```$|<!--.*?-->", "", text, flags=re.MULTILINE | re.DOTALL)
    for part in re.split(r"\n\s*\n", text):
        if _PROSE.match(part) and not part.startswith(("[![", "![")):
            yield " ".join(part.split())


def title(page: Path) -> str:
    """Return the heading of a page."""
    (first, *_) = re.findall(r"^# (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return str(first)


def first_sentence(page: Path) -> str:
    """Return the first sentence of a page, without links."""
    text = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", next(paragraphs(page)))
    return re.split(r"(?<=[.!?:])\s", text, maxsplit=1)[0].rstrip(":")


def listed(heading: str) -> dict[Path, str]:
    """Return the pages that a section of the index of the docs lists, with what it says of them."""
    section = INDEX.read_text("utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| \[[^\]]+\]\(([^)#]+)\) \| (.+) \|$", section, re.MULTILINE)
    return {(INDEX.parent / target).resolve(): about for target, about in rows}


def _note(page: Path, about: str) -> str:
    """Return the first sentence of a page, or what the index says of one that is generated."""
    sentence = first_sentence(page)
    return about if sentence.startswith("Generated") else sentence


def llms_txt() -> str:
    """Return the index: the title and the first sentence of each page, with a link to its Markdown."""
    summary = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["description"]
    sections = {"Start": dict.fromkeys(START, ""), **{heading: listed(heading) for heading in SECTIONS}}
    lines = ["# Workbench", "", f"> {summary}", "", "Links are paths in the repository."]
    for heading, pages in sections.items():
        lines += ["", f"## {heading}", ""]
        lines += [f"- [{title(page)}]({page.relative_to(ROOT).as_posix()}): {_note(page, about)}" for page, about in pages.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if sys.argv[1:] != ["--check"]:
        PAGE.write_text(llms_txt(), "utf-8")
    elif not PAGE.is_file() or PAGE.read_text("utf-8") != llms_txt():
        sys.exit("llms.txt: stale; run make docs and commit")
