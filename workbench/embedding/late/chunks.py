"""The vectors of chunks with `pooling: late`: one pass over the documents serves every chunking of the experiment."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
from filelock import FileLock

from workbench.core.files import store_errors
from workbench.core.fingerprint import fingerprint
from workbench.embedding.chunk_encoder import ChunkEncoder, EncoderChunks, EncodingPlan, PeerTables, plan_texts
from workbench.embedding.embed import KEY, EmbeddedTexts, VectorBuffer, read
from workbench.embedding.late.pooling import DocumentSlices, Slice, pool, reader_of
from workbench.embedding.openvino_conversion import UnpreparedModelError
from workbench.embedding.sentence_transformers import SentenceTransformersEmbedder
from workbench.errors import InputError
from workbench.records import Document
from workbench.storage.vector_cache import VectorCache


@dataclass(frozen=True)
class LateChunkEncoder(ChunkEncoder):
    """One pass over each document serves every chunking of the corpus."""

    embedder: SentenceTransformersEmbedder
    pooling: ClassVar[str] = "late"

    def embed(self, chunks: EncoderChunks, cache: VectorCache, label: str, buffer: VectorBuffer, peers: PeerTables) -> EmbeddedTexts:
        """Encode each document once for all that the cache lacks of these chunks and their peers."""
        documents, reader = chunks.documents, reader_of(self.embedder)
        lock = cache.path.parent / "late" / f"{fingerprint([reader.document_key(each).hex() for each in documents])}.lock"
        with store_errors(lock.parent):
            lock.parent.mkdir(parents=True, exist_ok=True)
            # Of several processes one makes the pass over these documents, the others find its vectors.
            with FileLock(lock):
                wanted = pd.concat([chunks.table, *peers()], ignore_index=True)
                encoded = pool(_document_slices(documents, wanted), reader, cache, label)
        own = _document_slices(documents, chunks.table)
        keys = np.frombuffer(b"".join(key for request in own for key in reader.keys(request)), dtype=KEY)
        lengths = np.concatenate([np.zeros(0, np.int64), *map(reader.lengths, own)])
        return EmbeddedTexts(read(keys, cache, buffer), lengths, encoded)

    def plan(self, chunks: EncoderChunks, cache: VectorCache, counted: set[bytes]) -> EncodingPlan:
        """The tokens of the documents that lack a slice; a document is encoded once for all configurations."""
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
        """None: whole documents are encoded."""

    def refuses_headers(self) -> str:
        """A header is not part of the document."""
        return "pooling: late does not go with enrich: true, a chunk's headings being in what its document is encoded of; leave one out"


def _document_slices(documents: Sequence[Document], chunks: pd.DataFrame) -> list[DocumentSlices]:
    """The slices of each document in a table of chunks (doc, start, end, header), in its order."""
    requests = []
    for _, rows in chunks.groupby("doc", sort=True):
        document = documents[int(rows["doc"].iloc[0])]
        columns = zip(rows["start"].tolist(), rows["end"].tolist(), rows["header"].tolist(), strict=True)
        requests.append(DocumentSlices(document, [Slice(start, end, _titled(document, start, header)) for start, end, header in columns]))
    return requests


def _titled(document: Document, start: int, header: str) -> bool:
    if header and (start or header != document.title):
        what = f"pooling: late has no place for the header {header[:60]!r} of {document.doc_id}:{start}: what it pools is in the document"
        raise InputError(what, "choose pooling: standard, or chunks without headers")
    return bool(header)
