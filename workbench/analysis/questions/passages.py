"""The texts of a run: the stretches of documents that hold everything shown of them."""

from bisect import bisect_right
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from workbench.errors import InputError
from workbench.results.run_tables import RunTables


class Passage(NamedTuple):
    """A stretch of a document from `start` on."""

    start: int
    text: str


def passage_of(run: RunTables, doc_id: str, start: int, end: int) -> Passage:
    """The stretch that holds [start, end) of a document; InputError without one in the run."""
    found = _by_document(run).get(doc_id, [])
    place = bisect_right(found, start, key=lambda passage: passage.start) - 1
    if place < 0 or end > found[place].start + len(found[place].text):
        raise InputError(f"the run has no text for {doc_id}:{start}-{end}", "make the outputs again with workbench sweep")
    return found[place]


def text_of(run: RunTables, doc_id: str, start: int, end: int) -> str:
    """The text of [start, end) of a document."""
    passage = passage_of(run, doc_id, start, end)
    return passage.text[start - passage.start : end - passage.start]


@lru_cache(maxsize=4)
def _by_document(run: RunTables) -> Mapping[str, list[Passage]]:
    found: dict[str, list[Passage]] = {}
    for doc_id, start, text in run.passages.sort_values(["doc_id", "start"])[["doc_id", "start", "text"]].itertuples(index=False):
        found.setdefault(doc_id, []).append(Passage(int(start), text))
    return found
