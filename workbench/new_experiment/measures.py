"""Measure what the choice of a chunking depends on: lengths, headings, tables, paragraphs and sentences."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from workbench.chunking.markdown import Block, blocks, parts_of
from workbench.generation.drafting.phrasing import Language, language_of
from workbench.generation.drafting.statements import documents_in_parts
from workbench.models.files import MINILM
from workbench.models.tokenizers import Tokens, tokenise
from workbench.records import Document

# The window of all-MiniLM-L6-v2, which reads nothing beyond it.
WINDOW = 256
# Documents that are measured, spread evenly, and blocks of each whose sentences are.
_MEASURED, _BLOCKS = 400, 40
# A document with this many headings has sections.
_HEADINGS = 2


@dataclass(frozen=True)
class CorpusMeasures:
    """Measurements of documents, in tokens of all-MiniLM-L6-v2. A value of a distribution is its median unless described otherwise.

    `fitting` is the share of all tokens that is in documents of at most a window,
    `headed` is the share of documents with at least two headings, `fixed_blocks` the share of text in tables, code and lists.
    `languages` are the shares of documents by language, with an empty text for other languages.
    """

    documents: int
    tokens: int
    document: float
    longest: float
    fitting: float
    headed: float
    section: float
    fixed_blocks: float
    paragraph: float
    sentence: float
    long_sentence: float
    languages: dict[Language, float]


@dataclass
class _Lengths:
    documents: list[float] = field(default_factory=list)
    sections: list[float] = field(default_factory=list)
    paragraphs: list[int] = field(default_factory=list)
    sentences: list[int] = field(default_factory=list)
    headed: int = 0
    fixed: int = 0
    measured: int = 0


def measure(documents: Sequence[Document]) -> CorpusMeasures:
    """Measure documents: a sample of many, and parts of long ones. Sizes of the others follow from their characters."""
    sample = [documents[index] for index in np.linspace(0, len(documents) - 1, min(len(documents), _MEASURED)).astype(int)]
    found, languages = _Lengths(), list[Language]()
    characters = sum(_measure(document, found, languages) for document in sample)
    ratio = found.measured / max(1, characters)
    lengths = [len(document.text) * ratio for document in documents]
    return CorpusMeasures(
        documents=len(documents),
        tokens=round(sum(lengths)),
        document=_middle(lengths),
        longest=max(lengths, default=0.0),
        fitting=sum(length for length in lengths if length <= WINDOW) / max(1.0, sum(lengths)),
        headed=found.headed / max(1, len(sample)),
        section=_middle(found.sections),
        fixed_blocks=found.fixed / max(1, found.measured),
        paragraph=_middle(found.paragraphs),
        sentence=_middle(found.sentences),
        long_sentence=float(np.quantile(found.sentences, 0.9)) if found.sentences else 0.0,
        languages={language: languages.count(language) / len(languages) for language in dict.fromkeys(languages)},
    )


def _measure(document: Document, found: _Lengths, languages: list[Language]) -> int:
    """Add the lengths of a document. Returns the characters that were measured."""
    headings = characters = 0
    for _, text in documents_in_parts([document]):
        tokens = tokenise([text], MINILM)[0]
        found_blocks = blocks(text)
        sizes = _sizes(tokens, found_blocks)
        headings += _sections(found_blocks, sizes, found)
        for block in found_blocks[:_BLOCKS]:
            if block.kind == "text":
                found.sentences += _sizes(tokens, [Block(*part, "text") for part in parts_of(text, block)])
        found.measured += len(tokens.starts)
        characters += len(text)
    found.headed += headings >= _HEADINGS
    languages.append(language_of(document.text[:20_000]))
    return characters


def _sections(found_blocks: Sequence[Block], sizes: Sequence[int], found: _Lengths) -> int:
    """Add the lengths of sections, paragraphs and other blocks. Returns the number of headings."""
    section = headings = 0
    for block, size in zip(found_blocks, sizes, strict=True):
        if block.kind == "heading":
            headings += 1
            if section:
                found.sections.append(section)
            section = 0
        section += size
        if block.kind == "text":
            found.paragraphs.append(size)
        elif block.kind == "lines":
            found.fixed += size
    if section and headings:
        found.sections.append(section)
    return headings


def _sizes(tokens: Tokens, slices: Iterable[Block]) -> list[int]:
    edges = np.array([(block.start, block.end) for block in slices], dtype=np.int64).reshape(-1, 2)
    sizes: list[int] = (tokens.before(edges[:, 1]) - tokens.before(edges[:, 0])).tolist()
    return sizes


def _middle(values: Sequence[float]) -> float:
    return float(np.median(values)) if values else 0.0
