"""The vectors of chunks with `pooling: late`: one pass over the documents serves every chunking of the experiment."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from filelock import FileLock

from workbench.core import batching
from workbench.core.files import store_errors
from workbench.core.fingerprint import fingerprint
from workbench.embedding.embed import EmbeddedTexts, VectorBuffer, in_memory
from workbench.embedding.late.pooling import DocumentSlices, Slice, pool, reader_of
from workbench.embedding.sentence_transformers import SentenceTransformersEmbedder
from workbench.errors import InputError
from workbench.records import Document
from workbench.storage.vector_cache import VectorCache

_GOT_AT_ONCE = 10_000


def embed_late(
    documents: Sequence[Document],
    tables: Sequence[pd.DataFrame],
    embedder: SentenceTransformersEmbedder,
    cache: VectorCache,
    label: str,
    room: VectorBuffer = in_memory,
) -> EmbeddedTexts:
    """The vectors of the first table of chunks, in `room`; what the cache lacks for any of the tables is encoded now, a document once."""
    reader = reader_of(embedder)
    lock = cache.path.parent / "late" / f"{fingerprint([reader.document_key(each).hex() for each in documents])}.lock"
    with store_errors(lock.parent):
        lock.parent.mkdir(parents=True, exist_ok=True)
        # Of several processes one makes the pass over these documents, the others find its vectors.
        with FileLock(lock):
            encoded = pool(asked_of(documents, pd.concat(tables, ignore_index=True)), reader, cache, label)
    own = asked_of(documents, tables[0])
    keys = [key for asked in own for key in reader.keys(asked)]
    lengths = [reader.lengths(asked) for asked in own]
    vectors = room((len(keys), len(cache.get(keys[:1])[keys[0]]) if keys else 0))
    for part in batching.blocks(len(keys), _GOT_AT_ONCE):
        found = cache.get(keys[part])
        vectors[part] = np.stack([found[key] for key in keys[part]])
    return EmbeddedTexts(vectors, np.concatenate(lengths) if lengths else np.zeros(0, np.int64), encoded)


def asked_of(documents: Sequence[Document], chunks: pd.DataFrame) -> list[DocumentSlices]:
    """The slices of each document in a table of chunks (doc, start, end, header), in its order."""
    found = []
    for _, rows in chunks.groupby("doc", sort=True):
        document = documents[int(rows["doc"].iloc[0])]
        columns = zip(rows["start"].tolist(), rows["end"].tolist(), rows["header"].tolist(), strict=True)
        found.append(DocumentSlices(document, [Slice(start, end, _titled(document, start, header)) for start, end, header in columns]))
    return found


def _titled(document: Document, start: int, header: str) -> bool:
    if header and (start or header != document.title):
        what = f"pooling: late has no place for the header {header[:60]!r} of {document.doc_id}:{start}: what it pools is in the document"
        raise InputError(what, "choose pooling: standard, or chunks without headers")
    return bool(header)
