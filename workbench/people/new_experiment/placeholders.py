"""Choose passages that cover the documents, for a person to ask about, with headings as placeholders until the questions are written."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

from workbench.components.chunking.headers import Headers, front_matter_end
from workbench.components.chunking.markdown import Block, blocks, parts_of
from workbench.core.fingerprint import fingerprint
from workbench.core.records import ACCEPTED_BY, PLACEHOLDER, PROVENANCE, SYNTHETIC, Document, Span
from workbench.core.text.words import words
from workbench.data.labels import TextSearch
from workbench.people.new_experiment.proposal import parts_read
from workbench.people.rare_words import RareWords

# Minutes in which a person reads a passage and writes the question that it answers.
MINUTES = 1.0
# Characters of a passage at most, and words at least. Longer ones answer several questions, shorter ones none.
_LONGEST, _FEWEST_WORDS = 500, 8
# A text in more places answers nothing by itself.
_MOST_PLACES = 20
# Rare words that distinguish passages below one heading.
_RARE, _SHORTEST_WORD = 3, 4


@dataclass(frozen=True)
class ProposedPassage:
    """A passage to ask about: its span, its text, the headings above it, and whether it is lines, such as a table, or running text."""

    span: Span
    text: str
    header: str
    lines: bool


def passages_of(document: Document) -> Iterator[ProposedPassage]:
    """Yield the passages of a document: neighbouring blocks below one heading, and parts of blocks that are longer than a passage."""
    headers, settings = Headers(document, enrich=True), front_matter_end(document.text)
    for offset, stop in parts_read(document.text):
        for start, end, lines in _slices(document.text[offset:stop]):
            span, text = Span(document.doc_id, start + offset, end + offset), document.text[start + offset : end + offset]
            if span.start >= settings and len(words(text)) >= _FEWEST_WORDS:
                yield ProposedPassage(span, text, headers.at(span.start) or document.doc_id, lines)


def _slices(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield the slices of a text that are passages, and whether each is lines. A block of another kind or a heading begins a new one."""
    begun: Block | None = None
    for part in _parts(text):
        if begun and part.kind == begun.kind and part.end - begun.start <= _LONGEST:
            begun = Block(begun.start, part.end, begun.kind)
            continue
        if begun and begun.kind != "heading":
            yield begun.start, begun.end, begun.kind == "lines"
        begun = part
    if begun and begun.kind != "heading":
        yield begun.start, begun.end, begun.kind == "lines"


def _parts(text: str) -> Iterator[Block]:
    """Yield the blocks of a text. One that is longer than a passage is cut between its sentences or lines."""
    for block in blocks(text):
        if block.kind == "heading" or block.end - block.start <= _LONGEST:
            yield block
        else:
            yield from (Block(*part, block.kind) for part in parts_of(text, block) if part[0] < part[1])


def choose_passages(documents: Sequence[Document], wanted: int, seed: int = 0) -> Iterator[ProposedPassage]:
    """Yield passages that cover the documents: each document in turn, and in it each section, running text and tables, and rare words.

    The same documents give the same passages.
    """
    found = {document.doc_id: list(passages_of(document)) for document in documents}
    known = RareWords([passage.text for passages in found.values() for passage in passages])
    weights = cache(known.weights)
    covered, used = set[str](), Counter[tuple[str, str | bool]]()
    queues = [found[doc_id] for doc_id in sorted(found, key=lambda doc_id: fingerprint(seed, doc_id))]

    def turn(passage: ProposedPassage) -> tuple[int, int, float, int]:
        new = sum(weight for word, weight in weights(passage.text).items() if word not in covered)
        doc_id = passage.span.doc_id
        return used[doc_id, passage.header], used[doc_id, passage.lines], -new, passage.span.start

    chosen = 0
    while chosen < wanted and any(queues):
        for queue in islice(filter(None, queues), wanted - chosen):
            passage = min(queue, key=turn)
            queue.remove(passage)
            covered |= weights(passage.text).keys()
            used.update([(passage.span.doc_id, passage.header), (passage.span.doc_id, passage.lines)])
            chosen += 1
            yield passage


def placeholder_rows(documents: Sequence[Document], wanted: int, known: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return passages to ask about as lines of questions.jsonl, each with the headings above it as a placeholder of its question.

    Equal texts are alternatives of one piece of evidence. `known` are the questions that exist.
    """
    search, texts = TextSearch(documents), {document.doc_id: document.text for document in documents}
    chosen = list(choose_passages(documents, wanted))
    rare = RareWords([passage.text for passage in chosen])
    taken, rows = set(known), list[dict[str, Any]]()
    for passage in chosen:
        places = list(islice(search.verbatim(passage.text), _MOST_PLACES + 1))
        text = passage.header.replace(" > ", ": ")
        text = text if text not in taken else f"{text}: {_rarest(passage, rare)}"
        if text not in taken and len(places) <= _MOST_PLACES:
            taken.add(text)
            rows.append(_row(text, list(dict.fromkeys([passage.span, *places])), texts))
    return rows


def _rarest(passage: ProposedPassage, rare: RareWords) -> str:
    """Return the rarest words of a passage in the order of its text."""
    weights = {word: weight for word, weight in rare.weights(passage.text).items() if len(word) >= _SHORTEST_WORD}
    rarest = sorted(weights, key=lambda word: -weights[word])[:_RARE]
    return " ".join(word for word in weights if word in rarest)


def _row(text: str, spans: Sequence[Span], texts: Mapping[str, str]) -> dict[str, Any]:
    evidence = [
        {"doc_id": span.doc_id, "start": span.start, "end": span.end, "text": texts[span.doc_id][span.start : span.end]} for span in spans
    ]
    return {
        "query_id": f"p-{fingerprint(text)[:8]}",
        "query": text,
        "relevant_doc_ids": list(dict.fromkeys(span.doc_id for span in spans)),
        "evidence": [evidence],
        SYNTHETIC: True,
        ACCEPTED_BY: "",
        PROVENANCE: {"part": PLACEHOLDER},
    }
