"""The laws of chunkers."""

import itertools
import random
from collections.abc import Iterator, Sequence

import numpy as np

from workbench.components.chunking.base import Chunker
from workbench.core.records import Chunk, Document
from workbench.llm.models.tokenizers import count, input_lengths, special_tokens, tokenise
from workbench.testing.law import SETTING_LAWS, Laws, every_setting_is_part_of_the_identity, given, shown

Documents = Sequence[Document]


# Documents on which chunkers go wrong: their ids name the cases, and the random ones come from a fixed seed.
SNIPPETS = (
    *("The mitochondrion is the powerhouse. ", "Why? ", "Unbelievable antidisestablishmentarianism! ", "e.g. 3.14 km", "a-b-c/d_e "),
    *("x" * 150, "\n", "\n\n", "\r\n", "\r\n\r\n", "\t", "   ", "\x0c", "\x00", "\u200b", "\u2028", "\u00a0"),
    *("😀👩‍👩‍👧 ", "e\u0301a\u0308 ", "日本語のテキスト。次の文。", "\u0301", "مرحبا بالعالم "),
    *(
        "# Heading\n",
        "## Part two\n\n",
        "Title\n=====\n",
        "- item one\n- item two\n",
        "1. first\n\n   more\n",
        "- \n",
        "> quoted\n> twice\n",
    ),
    *(
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
        "```py\ncode = 1\n\nmore()\n```\n",
        "    indented code\n",
        "[link]: http://x.org\n",
        "---\n",
        "<div>\n",
    ),
)
_TITLES = ("", "Heading", "A title: with words")
_PROSE = "Boats wait for the tide. The pilot boards at noon! Who pays?\n\nThe harbour office pays, and sends a receipt.\n\n"

BLANK_DOCUMENTS = (Document("empty", "", "title"), Document("blank", " \r\n\t\n\u2003", "title"))
LONG_DOCUMENTS = (
    Document("20,000 letters", "x" * 20_000),
    Document("10,000 ideographs", "日" * 10_000),
    Document("20,000 blanks", " \n" * 10_000 + "x"),
)


def _joined(number: int) -> Document:
    chosen = random.Random(number)
    return Document(f"mixed {number}", "".join(chosen.choices(SNIPPETS, k=chosen.randint(2, 40))), chosen.choice(_TITLES))


DOCUMENTS = (
    Document("one character", "x"),
    Document("one character with a title", "日", "A title: with words"),
    Document("one sentence", "The ferry leaves at seven.", "Ferries"),
    Document("prose", _PROSE * 6, "Heading"),
    Document("repeated text", "The same words again.\n\n" * 30),
    Document("one long word", "antidisestablishmentarianism" * 40),
    Document("surrounded by blanks", f"\n\n  \t{_PROSE}\r\n \n\n"),
    Document(
        "Markdown",
        "# Harbour\n\nIntroduction.\n\n## Fees\n\n- berth\n- crane\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n## Hours\n\nDaily.\n" * 3,
        "Port",
    ),
    Document("Windows line ends", _PROSE.replace("\n", "\r\n") * 3),
    Document("other scripts", "日本語のテキスト。次の文。 مرحبا بالعالم 😀👩‍👩‍👧 e\u0301a\u0308 " * 8, "Größe"),
    Document("control characters", "a\x00b\x0cc\u2028d\u200be\u00a0f" * 10),
    *BLANK_DOCUMENTS,
    *map(_joined, range(12)),
)


CHUNKER_LAWS = Laws(Chunker)


@CHUNKER_LAWS
def chunks_are_slices_of_their_document(chunker: Chunker, documents: Documents = DOCUMENTS) -> Iterator[str]:
    """A chunk is a slice [start, end) of its document's text, in code points, with the document's id."""
    for document, chunk in _every_chunk(chunker, documents):
        if chunk.doc_id != document.doc_id:
            yield f"{_on(document)}, a chunk has the doc_id {chunk.doc_id!r}"
        if not 0 <= chunk.start < chunk.end <= len(document.text):
            yield f"{_on(document)}, a chunk is [{chunk.start}, {chunk.end}) of {len(document.text)} characters"


@CHUNKER_LAWS
def no_chunk_is_blank(chunker: Chunker, documents: Documents = DOCUMENTS) -> Iterator[str]:
    """No chunk consists of blanks only, and a blank document has no chunks."""
    for document, chunk in _every_chunk(chunker, (*documents, *BLANK_DOCUMENTS)):
        if not (text := document.text[chunk.start : chunk.end]).strip():
            yield f"{_on(document)}, the chunk [{chunk.start}, {chunk.end}) is {shown(text)}"


@CHUNKER_LAWS
def chunks_are_ordered_by_start(chunker: Chunker, documents: Documents = DOCUMENTS) -> Iterator[str]:
    """Chunks are ordered by their start."""
    for document in documents:
        starts = [chunk.start for chunk in _split(chunker, document)]
        if starts != sorted(starts):
            yield f"{_on(document)}, the chunks start at {shown(starts)}"


@CHUNKER_LAWS
def chunks_are_distinct(chunker: Chunker, documents: Documents = DOCUMENTS) -> Iterator[str]:
    """No slice of a document is a chunk twice."""
    for document in documents:
        ids = [chunk.chunk_id for chunk in _split(chunker, document)]
        if repeated := sorted({chunk_id for chunk_id in ids if ids.count(chunk_id) > 1}):
            yield f"{_on(document)}, there are several chunks {repeated[0]}"


@CHUNKER_LAWS
def every_character_is_in_a_chunk(chunker: Chunker, documents: Documents = DOCUMENTS) -> Iterator[str]:
    """Every character that is not blank is in a chunk, unless the class sets `covers = False`."""
    for document in documents if chunker.covers else ():
        inside = np.zeros(len(document.text), dtype=np.bool_)
        for chunk in _split(chunker, document):
            inside[chunk.start : chunk.end] = True
        outside = [position for position in np.flatnonzero(~inside).tolist() if not document.text[position].isspace()]
        if outside:
            yield f"{_on(document)}, {len(outside)} characters are in no chunk, the first is {document.text[outside[0]]!r} at {outside[0]}"


@CHUNKER_LAWS
def the_same_document_has_the_same_chunks(chunker: Chunker, documents: Documents = DOCUMENTS) -> Iterator[str]:
    """Equal settings split a document into the same chunks, whatever was split before."""
    first = [_split(chunker, document) for document in documents]
    equal = type(chunker).model_validate(dict(reversed(chunker.model_dump().items())))
    for document, chunks in reversed(list(zip(documents, first, strict=True))):
        if (again := _split(equal, document)) != chunks:
            yield f"{_on(document)}, the chunks are first {shown(_slices(chunks))}, then {shown(_slices(again))}"


@CHUNKER_LAWS
def a_parent_contains_its_chunk(chunker: Chunker, documents: Documents = DOCUMENTS) -> Iterator[str]:
    """A chunk's parent is a slice of the document that contains the chunk."""
    for document, chunk in _every_chunk(chunker, documents):
        start, end = chunk.delivered
        if not 0 <= start <= chunk.start < chunk.end <= end <= len(document.text):
            yield f"{_on(document)}, the chunk [{chunk.start}, {chunk.end}) has the parent [{start}, {end})"


@CHUNKER_LAWS
def a_title_is_the_header_of_the_first_chunk(chunker: Chunker, documents: Documents = DOCUMENTS) -> Iterator[str]:
    """The header is the title for a chunk at 0 and empty elsewhere; with `enrich` it begins with the title everywhere."""
    for enrich in (False, True):
        for document, chunk in _every_chunk(chunker.model_copy(update={"enrich": enrich}), documents):
            expected = document.title if enrich or chunk.start == 0 else ""
            if not (chunk.header.startswith(expected) if enrich else chunk.header == expected):
                fix = "derive from CuttingChunker, which adds headers"
                yield f"{_on(document)} and enrich={enrich}, the chunk at {chunk.start} has the header {chunk.header!r}, not {expected!r}; {fix}"


@CHUNKER_LAWS
def no_input_is_longer_than_size(chunker: Chunker, documents: Documents = DOCUMENTS) -> Iterator[str]:
    """With `tokens: model`, the embedder's input for a chunk has at most `sizes[0]` tokens, if `covers` is set and a word fits."""
    size, vocabulary = chunker.sizes[0], chunker.vocabulary
    if size is None or chunker.tokens != "model" or not chunker.covers:
        return
    for document in documents:
        words = tokenise([document.text], vocabulary)[0].words
        longest_word = int(np.unique(words, return_counts=True)[1].max(initial=0))
        for chunk in _split(chunker, document):
            room = size - special_tokens(vocabulary) - count(chunk.header, vocabulary)
            length = int(input_lengths([chunk.embedded_text], vocabulary)[0])
            if room >= max(longest_word, size // 4) and length > size:
                yield f"{_on(document)}, the input of the chunk [{chunk.start}, {chunk.end}) has {length} tokens"


@CHUNKER_LAWS
def chunks_overlap_only_with_an_overlap(chunker: Chunker, documents: Documents = DOCUMENTS) -> Iterator[str]:
    """Neighbouring chunks overlap only if `sizes[1]` is an overlap, unless `sizes` gives no size either."""
    if chunker.sizes[1] or chunker.sizes == (None, None):
        return
    for document in documents:
        for chunk, following in itertools.pairwise(_split(chunker, document)):
            if chunk.end > following.start:
                overlap = f"[{chunk.start}, {chunk.end}) and [{following.start}, {following.end})"
                yield f"{_on(document)}, the chunks {overlap} overlap, and sizes is {chunker.sizes}"


# The laws that hold for any documents, which they take as their second argument.
DOCUMENT_LAWS = tuple(CHUNKER_LAWS)


@CHUNKER_LAWS
def a_long_text_is_split_to_its_end(chunker: Chunker, documents: Documents = LONG_DOCUMENTS) -> Iterator[str]:
    """A text of 20,000 characters without separators is split up to its last character."""
    for document in documents:
        end = max((chunk.end for chunk in _split(chunker, document)), default=0)
        if end != len(document.text):
            yield f"{_on(document)}, the chunks end at {end} of {len(document.text)} characters"


CHUNKER_LAWS.extend([*SETTING_LAWS, every_setting_is_part_of_the_identity])


def check_chunker(chunker: Chunker) -> None:
    """Check that a chunker keeps all of CHUNKER_LAWS. Raises LawError for the first that it breaks."""
    CHUNKER_LAWS.check(chunker)


def _split(chunker: Chunker, document: Document) -> list[Chunk]:
    with given(_on(document)):
        return chunker.split(document)


def _every_chunk(chunker: Chunker, documents: Documents) -> Iterator[tuple[Document, Chunk]]:
    return ((document, chunk) for document in documents for chunk in _split(chunker, document))


def _on(document: Document) -> str:
    return f"on the document {document.doc_id!r} ({shown(document.text)})"


def _slices(chunks: Sequence[Chunk]) -> list[tuple[int, int]]:
    return [(chunk.start, chunk.end) for chunk in chunks]
