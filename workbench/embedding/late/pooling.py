"""Late pooling: a document is encoded once, and every chunk's vector is the normalised mean of its tokens' vectors there.

Günther, Mohr, Williams, Wang and Xiao 2024 (arXiv:2409.04701).
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from workbench.core import batching
from workbench.core.fingerprint import fingerprint
from workbench.embedding.late.windows import Frame, Pool, frame_of, window_starts
from workbench.embedding.sentence_transformers import SentenceTransformersEmbedder
from workbench.models.tokenizers import Ints, Tokens, model_tokenizer, tokenise
from workbench.records import Document
from workbench.storage.vector_cache import VectorCache, Vectors

# Windows that are encoded at once, and vectors that are held before they are kept.
_WINDOWS = 16
_VECTORS = 8_192


class Slice(NamedTuple):
    """The slice [start, end) of a document's text, in code points; `titled` pools the tokens of its title too."""

    start: int
    end: int
    titled: bool


class DocumentSlices(NamedTuple):
    """A document with the slices that are wanted of it."""

    document: Document
    slices: list[Slice]


@dataclass(frozen=True)
class Reader:
    """A late embedder with what would else be read from its files for every document: how its windows are framed, its identity."""

    embedder: SentenceTransformersEmbedder
    frame: Frame
    identity: bytes

    def document_key(self, document: Document) -> bytes:
        """All that decides a document's token vectors: 16 bytes of BLAKE2b of title and text, keyed by the embedder's identity."""
        content = hashlib.blake2b(key=self.identity, digest_size=16)
        for part in (document.title, document.text):
            encoded = part.encode("utf-8", "surrogatepass")
            content.update(len(encoded).to_bytes(8, "little") + encoded)
        return content.digest()

    def keys(self, asked: DocumentSlices) -> list[bytes]:
        """The item cache's key of each slice, by its document and its bounds."""
        whole = self.document_key(asked.document)
        texts = (f"{start} {end} {titled:d}" for start, end, titled in asked.slices)
        return [hashlib.blake2b(text.encode(), digest_size=16, key=whole).digest() for text in texts]

    def lengths(self, asked: DocumentSlices) -> Ints:
        """How many tokens are pooled for each slice: int64 (n)."""
        first, last = self.ranges(asked)
        return last - first

    def ranges(self, asked: DocumentSlices) -> tuple[Ints, Ints]:
        """The tokens [first, last) that share a character with each slice, or the one next to it where none does: int64 (n) each."""
        tokens, title = self._tokens(asked.document), _title(asked.document)
        shift = len(title) + 1 if title else 0
        slices = np.array(asked.slices, dtype=np.int64).reshape(-1, 3)
        first = np.searchsorted(tokens.ends, slices[:, 0] + shift, side="right")
        last = np.searchsorted(tokens.starts, slices[:, 1] + shift, side="left")
        first = np.where(slices[:, 2] > 0, 0, np.minimum(first, max(0, len(tokens.starts) - 1))).astype(np.int64)
        return first, np.maximum(last, first + 1).astype(np.int64)

    def windows(self, document: Document) -> int:
        """How many windows a document has."""
        return len(window_starts(self._size(document), self.frame.room))

    def tokens(self, document: Document) -> int:
        """How many tokens the model reads of a document: overlaps of windows, prompts and special tokens included."""
        return self.frame.encoded(self._size(document))

    def _size(self, document: Document) -> int:
        return max(1, len(self._tokens(document).starts))

    def _tokens(self, document: Document) -> Tokens:
        return tokenise([_text(document)], self.embedder.model)[0]


def reader_of(embedder: SentenceTransformersEmbedder) -> Reader:
    """The reader of an embedder with `pooling: late`."""
    frame = frame_of(embedder.model, embedder.window(), embedder.prompt("document"))
    return Reader(embedder, frame, bytes.fromhex(fingerprint(embedder.identity("document"))))


def pool(wanted: Sequence[DocumentSlices], reader: Reader, cache: VectorCache, label: str = "") -> int:
    """Put what the cache lacks of the slices there, in one pass over each document that lacks any; the tokens that were encoded.

    A document is committed whole; one with more slices than are held at once in parts, and encoded again if it was interrupted.
    """
    tokenise([_text(asked.document) for asked in wanted], reader.embedder.model)
    missing = _missing(wanted, reader, cache)
    tokens = sum(reader.tokens(asked.document) for asked in missing)
    with tqdm(total=tokens, unit="tok", unit_scale=True, desc=f"embed {label}".strip(), disable=not missing, leave=False) as bar:
        for group in _groups(missing, reader):
            found = _pooled(group, reader, bar)
            while held := list(islice(found, _VECTORS)):
                cache.put([key for key, _ in held], np.stack([vector for _, vector in held]))
    return tokens


def _missing(wanted: Sequence[DocumentSlices], reader: Reader, cache: VectorCache) -> list[DocumentSlices]:
    """What the cache lacks, the longest documents first, each slice once, also of documents that are there twice."""
    found: list[DocumentSlices] = []
    seen: set[bytes] = set()
    for asked in sorted(wanted, key=lambda asked: -len(asked.document.text)):
        slices = dict(zip(reader.keys(asked), asked.slices, strict=True))
        there = cache.present(list(slices)) | seen
        seen |= slices.keys()
        if lacking := [each for key, each in slices.items() if key not in there]:
            found.append(DocumentSlices(asked.document, lacking))
    return found


def _groups(missing: Sequence[DocumentSlices], reader: Reader) -> Iterator[list[DocumentSlices]]:
    """Documents that are encoded together; each alone with torch, whose vectors move with what stands beside them."""
    most = _WINDOWS if reader.embedder.encoder().backend == "openvino" else 1
    return batching.groups(missing, lambda asked: reader.windows(asked.document), most)


def _pooled(group: Sequence[DocumentSlices], reader: Reader, bar: "tqdm[Any]") -> Iterator[tuple[bytes, Vectors]]:
    """Key and vector of each slice of a group of documents."""
    embedder, frame = reader.embedder, reader.frame
    encodings = model_tokenizer(embedder.model).encode_batch_fast([_text(asked.document) for asked in group], add_special_tokens=False)
    # Of a document without a token that the model knows, a special one is pooled.
    ids = [encoding.ids or [*frame.after, *frame.before, 0][:1] for encoding in encodings]
    pools = [Pool(len(each), frame.room, *reader.ranges(asked)) for each, asked in zip(ids, group, strict=True)]
    keys = [reader.keys(asked) for asked in group]
    rows = ((number, row) for number, each in enumerate(ids) for row in frame.rows(each))
    while batch := list(islice(rows, _WINDOWS)):
        states = embedder.states([row for _, row in batch])
        bar.update(sum(len(row) for _, row in batch))
        for (number, _), found in zip(batch, states, strict=True):
            for place, vector in pools[number].add(frame.inner(found)):
                yield keys[number][place], vector


def _text(document: Document) -> str:
    """What is encoded: a chunk at 0 is embedded with the title and one space before it, and so is the document."""
    title = _title(document)
    return f"{title} {document.text}" if title else document.text


def _title(document: Document) -> str:
    return document.title if document.title.strip() else ""
