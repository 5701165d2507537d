"""The texts of a run: the stretches of documents that hold everything shown of them."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from workbench.errors import InputError
from workbench.results.run_tables import RunTables


@dataclass(frozen=True)
class Passage:
    """A stretch of a document from `start` on; `passage[low:high]` is the text between two positions of the document."""

    start: int
    text: str

    @property
    def end(self) -> int:
        """The position after the last character."""
        return self.start + len(self.text)

    def __getitem__(self, part: slice) -> str:
        return self.text[part.start - self.start : part.stop - self.start]


def passage_of(run: RunTables, doc_id: str, start: int, end: int) -> Passage:
    """The stretch that holds [start, end) of a document; InputError without one in the run."""
    found = _by_document(run).get(doc_id, [])
    place = bisect_right(found, start, key=lambda passage: passage.start) - 1
    if place < 0 or end > found[place].end:
        raise InputError(f"the run has no text for {doc_id}:{start}-{end}", "make the outputs again with workbench sweep")
    return found[place]


def text_of(run: RunTables, doc_id: str, start: int, end: int) -> str:
    """The text of [start, end) of a document."""
    return passage_of(run, doc_id, start, end)[start:end]


@lru_cache(maxsize=4)
def _by_document(run: RunTables) -> Mapping[str, list[Passage]]:
    found: dict[str, list[Passage]] = {}
    for doc_id, start, text in run.passages.sort_values(["doc_id", "start"])[["doc_id", "start", "text"]].itertuples(index=False):
        found.setdefault(doc_id, []).append(Passage(int(start), text))
    return found
