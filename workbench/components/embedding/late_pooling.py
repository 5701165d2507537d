"""Late pooling (Günther et al. 2024, arXiv:2409.04701): a chunk's vector is the normalised mean of its tokens' vectors in the document."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd

from workbench.components.embedding.embed import (
    KEY,
    ChunkEncoder,
    EmbeddedTexts,
    EncoderChunks,
    EncodingPlan,
    PeerTables,
    VectorBuffer,
    plan_texts,
    read,
    unit_fault,
)
from workbench.components.embedding.late_windows import Frame, Pool, frame_of, window_starts
from workbench.components.embedding.openvino import UnpreparedModelError
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.core import batching
from workbench.core.errors import InputError, RunError
from workbench.core.fingerprint import fingerprint
from workbench.core.records import Document
from workbench.core.storage.vector_cache import VectorCache, Vectors
from workbench.core.text.formatting import listed
from workbench.core.text.progress import ProgressBar
from workbench.llm.models.tokenizers import Ints, Tokens, model_tokenizer, tokenise

# Windows to encode at once, and vectors to commit at once.
_WINDOWS = 16
_VECTORS = 8_192


class Slice(NamedTuple):
    """The slice [start, end) of a document's text, in code points. `titled` pools the tokens of its title too."""

    start: int
    end: int
    titled: bool


class DocumentSlices(NamedTuple):
    """A document with the slices whose vectors are requested."""

    document: Document
    slices: list[Slice]


@dataclass(frozen=True)
class Reader:
    """A late embedder with its frame and identity, computed once for all documents."""

    embedder: SentenceTransformerEmbedder
    frame: Frame
    identity: bytes

    def document_key(self, document: Document) -> bytes:
        """Hash everything that determines a document's token vectors: 16 bytes of BLAKE2b of its title and text, keyed by the identity."""
        content = hashlib.blake2b(key=self.identity, digest_size=16)
        for part in (document.title, document.text):
            encoded = part.encode("utf-8", "surrogatepass")
            content.update(len(encoded).to_bytes(8, "little") + encoded)
        return content.digest()

    def keys(self, request: DocumentSlices) -> list[bytes]:
        """Return the item cache's key of each slice, made from its document and bounds."""
        key = self.document_key(request.document)
        texts = (f"{start} {end} {titled:d}" for start, end, titled in request.slices)
        return [hashlib.blake2b(text.encode(), digest_size=16, key=key).digest() for text in texts]

    def lengths(self, request: DocumentSlices) -> Ints:
        """Count the tokens pooled for each slice: int64 (n)."""
        first, last = self.ranges(request)
        return last - first

    def ranges(self, request: DocumentSlices) -> tuple[Ints, Ints]:
        """Return the tokens [first, last) that share a character with each slice, or else the token next to it: int64 (n) each."""
        tokens, title = self._tokens(request.document), len(_text(request.document)) - len(request.document.text)
        slices = np.array(request.slices, dtype=np.int64).reshape(-1, 3)
        first = tokens.ended(slices[:, 0] + title)
        last = tokens.before(slices[:, 1] + title)
        first = np.where(slices[:, 2] > 0, 0, np.minimum(first, max(0, len(tokens.starts) - 1))).astype(np.int64)
        return first, np.maximum(last, first + 1).astype(np.int64)

    def windows(self, document: Document) -> int:
        return len(window_starts(self._size(document), self.frame.room))

    def tokens(self, document: Document) -> int:
        """Count the tokens that the model reads of a document: overlaps of windows, prompts and special tokens included."""
        before, after, room = self.frame
        return self.windows(document) * (len(before) + len(after) + min(self._size(document), room))

    def _size(self, document: Document) -> int:
        return max(1, len(self._tokens(document).starts))

    def _tokens(self, document: Document) -> Tokens:
        return tokenise([_text(document)], self.embedder.model)[0]


def reader_of(embedder: SentenceTransformerEmbedder) -> Reader:
    """Return the reader of an embedder with `pooling: late`."""
    frame = frame_of(embedder.model, embedder.window(), embedder.prompt("document"))
    return Reader(embedder, frame, bytes.fromhex(fingerprint(embedder.identity("document"))))


def pool(requests: Sequence[DocumentSlices], reader: Reader, cache: VectorCache, label: str = "") -> int:
    """Compute the slices missing from the cache, each document in one pass, and return the number of encoded tokens."""
    # Tokenise all documents at once, for the tokeniser's threads. Later steps find the tokens in its cache.
    tokenise([_text(request.document) for request in requests], reader.embedder.model)
    missing = _missing(requests, reader, cache)
    tokens = sum(reader.tokens(request.document) for request in missing)
    # With torch, encode each document alone, since torch's vectors depend on the other texts in the batch.
    windows = _WINDOWS if reader.embedder.encoder().backend == "openvino" else 1
    with ProgressBar(total=tokens, unit="tok", unit_scale=True, desc=f"embed {label}".strip(), disable=not missing) as bar:
        for group in batching.groups(missing, lambda request: reader.windows(request.document), windows):
            # Commit a document as one. A document with many slices is committed in parts and encoded again after an interruption.
            pooled = _pooled(group, reader, bar)
            while batch := list(islice(pooled, _VECTORS)):
                vectors = np.stack([vector for _, vector in batch])
                if fault := unit_fault(vectors):
                    documents = listed([request.document.doc_id for request in group])
                    raise RunError(f"{reader.embedder.model} gave {fault} among the chunks of {documents}", "choose pooling: standard")
                cache.put([key for key, _ in batch], vectors)
    return tokens


def _missing(requests: Sequence[DocumentSlices], reader: Reader, cache: VectorCache) -> list[DocumentSlices]:
    """Return the slices missing from the cache, longest documents first, each slice once even if its document occurs twice."""
    missing: list[DocumentSlices] = []
    planned: set[bytes] = set()
    for request in sorted(requests, key=lambda request: -len(request.document.text)):
        slices = dict(zip(reader.keys(request), request.slices, strict=True))
        present = cache.present(list(slices)) | planned
        planned |= slices.keys()
        if lacking := [span for key, span in slices.items() if key not in present]:
            missing.append(DocumentSlices(request.document, lacking))
    return missing


def _pooled(group: Sequence[DocumentSlices], reader: Reader, bar: ProgressBar) -> Iterator[tuple[bytes, Vectors]]:
    """Yield the key and vector of each slice of a group of documents."""
    embedder, (before, after, room) = reader.embedder, reader.frame
    texts = [_text(request.document) for request in group]
    encodings = model_tokenizer(embedder.model).encode_batch_fast(texts, add_special_tokens=False)
    # Pool a special token of a document in which the model knows no token.
    ids = [encoding.ids or [*after, *before, 0][:1] for encoding in encodings]
    pools = [Pool(len(tokens), room, *reader.ranges(request)) for tokens, request in zip(ids, group, strict=True)]
    keys = [reader.keys(request) for request in group]
    rows = ((number, row) for number, tokens in enumerate(ids) for row in reader.frame.rows(tokens))
    while batch := list(islice(rows, _WINDOWS)):
        states = embedder.states([row for _, row in batch])
        bar.update(sum(len(row) for _, row in batch))
        for (number, row), vectors in zip(batch, states, strict=True):
            for place, vector in pools[number].add(vectors[len(before) : len(row) - len(after)]):
                yield keys[number][place], vector


def _text(document: Document) -> str:
    """Return the text to encode: a title and one space before the document, as in the input of a chunk at 0."""
    return f"{document.title} {document.text}" if document.title.strip() else document.text


@dataclass(frozen=True)
class LateChunkEncoder(ChunkEncoder):
    """An encoder that serves every chunking of the corpus with one pass over each document."""

    embedder: SentenceTransformerEmbedder
    pooling: ClassVar[str] = "late"

    def embed(self, chunks: EncoderChunks, cache: VectorCache, label: str, buffer: VectorBuffer, peers: PeerTables) -> EmbeddedTexts:
        """Encode each document once for all vectors missing for these chunks and their peers."""
        documents, reader, encoded = chunks.documents, reader_of(self.embedder), 0
        corpus = fingerprint([reader.document_key(document).hex() for document in documents])

        def encode() -> None:
            nonlocal encoded
            # One of several processes makes the pass over these documents, and the others find its vectors.
            with cache.lock("late", corpus):
                wanted = pd.concat([chunks.table, *peers()], ignore_index=True)
                encoded += pool(_document_slices(documents, wanted), reader, cache, label)

        requests = _document_slices(documents, chunks.table)
        keys = np.frombuffer(b"".join(key for request in requests for key in reader.keys(request)), dtype=KEY)
        lengths = np.concatenate([np.zeros(0, np.int64), *map(reader.lengths, requests)])
        return EmbeddedTexts(read(keys, cache, encode, buffer), lengths, encoded)

    def plan(self, chunks: EncoderChunks, cache: VectorCache, counted: set[bytes]) -> EncodingPlan:
        """Count the tokens of the documents with a missing slice. A document is encoded once for all configurations."""
        try:
            reader = reader_of(self.embedder)
        except UnpreparedModelError:
            return plan_texts([document.text for document in chunks.documents], self.embedder, cache, counted)
        tokens = 0
        for request in _document_slices(chunks.documents, chunks.table):
            key, keys = reader.document_key(request.document), reader.keys(request)
            if key not in counted and len(cache.present(keys)) < len(set(keys)):
                counted.add(key)
                tokens += reader.tokens(request.document)
        return EncodingPlan(tokens, 0)

    def texts(self, chunks: EncoderChunks) -> None:
        """Return None, since whole documents are encoded."""

    def refuses_headers(self) -> str:
        return "pooling: late does not go with enrich: true, since a chunk's headings are already in its encoded document; leave one out"


def _document_slices(documents: Sequence[Document], chunks: pd.DataFrame) -> list[DocumentSlices]:
    """Return the slices of each document in a table of chunks (doc, start, end, header), in the table's order."""
    requests = []
    for _, rows in chunks.groupby("doc", sort=True):
        document = documents[int(rows["doc"].iloc[0])]
        columns = zip(rows["start"].tolist(), rows["end"].tolist(), rows["header"].tolist(), strict=True)
        requests.append(DocumentSlices(document, [Slice(start, end, _titled(document, start, header)) for start, end, header in columns]))
    return requests


def _titled(document: Document, start: int, header: str) -> bool:
    if header and (start or header != document.title):
        what = f"pooling: late has no place for the header {header[:60]!r} of {document.doc_id}:{start}: it is not in the document"
        raise InputError(what, "choose pooling: standard, or chunks without headers")
    return bool(header)
