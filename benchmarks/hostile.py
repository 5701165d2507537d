"""Files made to be slow: seconds and memory of reading and of splitting them, at one size and at twice that size.

`python -m benchmarks hostile` reads files of 10 and 20 MB and splits texts of 1 and 2 MB, each case in a separate process. A ratio of
about 2 is linear; the claims allow 3. Then it splits one document of prose of 10, 50 and 200 MB: the memory beyond that of an empty process
may be 12 times its size from 50 MB on, and the time for a megabyte may not grow by more than half.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.claims import at_most
from workbench.components.registry import CHUNKERS
from workbench.core.records import Document
from workbench.data.checks import faults, notes
from workbench.data.sources import recognise
from workbench.runner.pipeline.chunk_table import chunk_tables

# Megabytes of the smaller file and of the smaller text.
READ, SPLIT = 10, 1
MOST_RATIO = 3.0
# Megabytes of one document of prose.
BOOKS = (10, 50, 200)
MOST_MEMORY = 12.0
MOST_GROWTH = 1.5
_HANDBOOK = Path(__file__).parent.parent / "experiments" / "handbook" / "documents"
_QUESTION = {"query": "?", "relevant_doc_ids": ["d"]}
# Files of about `size` bytes, or of `size / 100` lines: 200,000 at 20 MB.
FILES: dict[str, tuple[str, Callable[[int], str]]] = {
    "one line of text": ("documents/d.txt", lambda size: "word " * (size // 5)),
    "one line of Markdown": ("documents/d.md", lambda size: "> - word " * (size // 9)),
    "one line of HTML": (
        "documents/d.html",
        lambda size: "<p>Some words <b>and</b> more of them, in one paragraph of a line.</p>" * (size // 70),
    ),
    "one line of JSON": ("documents.jsonl", lambda size: json.dumps({"doc_id": "d", "text": "word " * (size // 5)})),
    "tiny lines of text": ("documents/d.txt", lambda size: "x\n" * (size // 100)),
    "tiny lines of Markdown": ("documents/d.md", lambda size: "- x\n" * (size // 100)),
    "tiny lines of HTML": ("documents/d.html", lambda size: "<p>x</p>\n" * (size // 100)),
    "tiny rows of JSON Lines": ("documents.jsonl", lambda size: "".join(f'{{"doc_id": "{n}", "text": "x"}}\n' for n in range(size // 100))),
    "tiny rows of CSV": ("documents.csv", lambda size: "doc_id,text\n" + "".join(f"{n},x\n" for n in range(size // 100))),
    "nested tables": ("documents/d.html", lambda size: "<table><tr><td>x" * (size // 10_000)),
    "nested lists": ("documents/d.html", lambda size: "<ul><li>x" * (size // 10_000)),
}
# Texts of about `size` characters, or of `size / 10` lines: 200,000 at 2 MB.
TEXTS: dict[str, Callable[[int], str]] = {
    "words on one line": lambda size: "word " * (size // 5),
    "sentences on one line": lambda size: "Some words end here. " * (size // 21),
    "one word": lambda size: "a" * size,
    "tiny lines": lambda size: "x\n" * (size // 10),
    "tiny list items": lambda size: "- x\n" * (size // 10),
    "tiny headings": lambda size: "# x\n" * (size // 10),
    "quotations": lambda size: "> x\n" * (size // 10),
}
KINDS: dict[str, dict[str, int]] = {
    "fixed": {"size": 256, "overlap": 64},
    "recursive": {"size": 256},
    "sentence": {"size": 256},
    "hierarchical": {"child": 128, "parent": 512},
    "markdown": {"size": 256},
}


def run() -> dict[str, object]:
    """Measure every file with `dataset check` and every text with every chunker."""
    cases = [("check", name, READ) for name in FILES] + [(kind, name, SPLIT) for name in TEXTS for kind in KINDS]
    found, claims = {}, []
    for what, name, size in cases:
        small, large = measured(what, name, size), measured(what, name, 2 * size)
        found[f"{what}: {name}"] = {"seconds": [small[0], large[0]], "megabytes of memory": large[1]}
        print(f"{what}: {name}: {small[0]:.2f} and {large[0]:.2f} s, {large[1]:,.0f} MB", flush=True)
        # Below a tenth of a second, starting dominates.
        if small[0] > 0.1:
            claims.append(at_most(f"{what}: {name}, seconds at twice the size", large[0] / small[0], MOST_RATIO))
    for kind in KINDS:
        books = {size: measured(kind, "book", size) for size in BOOKS}
        found[f"{kind}: one document"] = {f"{size} MB": {"seconds": seconds, "MB": memory} for size, (seconds, memory) in books.items()}
        print(
            f"{kind}: one document:",
            *(f"{size} MB {seconds:.0f} s {memory:,.0f} MB" for size, (seconds, memory) in books.items()),
            flush=True,
        )
        for size in BOOKS[1:]:
            growth = (books[size][0] / size) / (books[BOOKS[0]][0] / BOOKS[0])
            claims.append(at_most(f"{kind}: memory of {size} MB, as a multiple", books[size][1] / size, MOST_MEMORY))
            claims.append(at_most(f"{kind}: seconds a MB of {size} MB, to those of {BOOKS[0]} MB", growth, MOST_GROWTH))
    return {"measured": found, "claims": claims}


def measured(what: str, name: str, megabytes: int) -> tuple[float, float]:
    """Return seconds of CPU and megabytes of memory at most, of a separate process; for a book, without those of an empty process."""
    command = [sys.executable, "-m", "benchmarks.hostile", what, name, str(megabytes)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=1_800)
    seconds, memory = json.loads(done.stdout.splitlines()[-1])
    return seconds, memory


def _case(what: str, name: str, size: int) -> float:
    if what == "check":
        file, make = FILES[name]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / file
            path.parent.mkdir(exist_ok=True)
            path.write_text(make(size))
            table = path.suffix == ".csv"
            (Path(folder) / ("questions.csv" if table else "questions.json")).write_text(
                "query,relevant_doc_ids\n?,d\n" if table else json.dumps([_QUESTION])
            )
            start = time.process_time()
            draft = recognise(folder, None).read()
            print(len(faults(draft)), len(notes(draft)))
            return time.process_time() - start
    chunker = CHUNKERS[what].model_validate(KINDS[what])
    chunker.split(Document("w", "Load the vocabulary."))
    global _empty
    _empty = _memory() if name == "book" else 0.0
    document = Document("d", _book(size) if name == "book" else TEXTS[name](size))
    start = time.process_time()
    print(sum(map(len, chunk_tables([document], chunker))))
    return time.process_time() - start


def _book(size: int) -> str:
    text = "\n\n".join(path.read_text("utf-8") for path in sorted(_HANDBOOK.rglob("*.md")))
    return (text * (size // len(text) + 1))[:size]


def _memory() -> float:
    # The peak of `resource` is at first that of the process that started this one.
    (kilobytes,) = re.findall(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(kilobytes) / 1000


_empty = 0.0


if __name__ == "__main__":
    if len(sys.argv) > 2:
        seconds = _case(sys.argv[1], sys.argv[2], int(float(sys.argv[3]) * 1_000_000))
        print(json.dumps([seconds, _memory() - _empty]))
    else:
        run()
