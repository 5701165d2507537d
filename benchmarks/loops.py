"""Hand-written loops for comparison: LangChain's splitters, SentenceTransformer.encode and a Chroma collection for each chunking.

`plain` follows the libraries' documentation: the tokeniser as LangChain's length function, batches of 32, one query at a time.
`sorted` is tuned by hand: word lengths are cached, equal texts of a chunking embedded once, longest first by tokens, in batches of 32,
all questions together, Chroma queried in bulk. `tuned` is the same with batches of 4,096 tokens. `encode` itself sorts each call's
texts by characters (sentence-transformers 6.2), so sorting by tokens gains little. All cut where Workbench cuts: windows between words and whole
sentences, sized by the model's tokens with room for its two special ones, so that all sides embed the same texts.
"""

import functools
import itertools
import re
import string
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
from langchain_text_splitters import CharacterTextSplitter, TextSplitter
from sentence_transformers import SentenceTransformer

from benchmarks.covid_qa import Place
from workbench.components.chunking.sentences import sentences
from workbench.core.records import Dataset

DELIVERED = 10
_BATCH_TOKENS = 4_096
_SPECIAL = 2
_PUNCTUATION = re.escape(
    string.punctuation + "".join(chr(code) for code in range(128, 0x10000) if unicodedata.category(chr(code)).startswith("P"))
)
# Where BERT's tokeniser begins a word: after a blank, before and after punctuation.
_WORD = rf"(?<=[\s{_PUNCTUATION}])(?=\S)|(?<=\S)(?=[{_PUNCTUATION}])"

Chunking = dict[str, Any]
Pieces = list[tuple[str, str]]
Answers = dict[str, list[int]]


class SentenceSplitter(TextSplitter):
    """Whole sentences (ours) up to the size, by LangChain's own merge, because its sentence splitters need downloads of nltk or spaCy."""

    def split_text(self, text: str) -> list[str]:
        """The chunks of a text."""
        edges = [0, *(start for start, _ in sentences(text) if start), len(text)]
        words = _words(self._chunk_size, 0, self._length_function, strip=False)
        parts: list[str] = []
        for sentence in (text[start:end] for start, end in itertools.pairwise(edges)):
            parts += [sentence] if self._length_function(sentence) <= self._chunk_size else words.split_text(sentence)
        return self._merge_splits(parts, "")


def splitter_of(chunking: Chunking, length: Callable[[str], int]) -> TextSplitter:
    """LangChain's splitter that makes the chunks of `fixed` or `sentence`."""
    size = chunking["size"] - _SPECIAL
    if chunking["kind"] == "sentence":
        return SentenceSplitter(chunk_size=size, chunk_overlap=0, length_function=length)
    return _words(size, chunking["overlap"], length)


def _words(size: int, overlap: int, length: Callable[[str], int], strip: bool = True) -> CharacterTextSplitter:
    sizes = {"chunk_size": size, "chunk_overlap": overlap, "length_function": length, "strip_whitespace": strip}
    return CharacterTextSplitter(separator=_WORD, is_separator_regex=True, **sizes)


def split(dataset: Dataset, splitter: TextSplitter) -> Pieces:
    """(document, text) of each chunk."""
    return [(document.doc_id, text) for document in dataset.documents for text in splitter.split_text(document.text)]


def places(dataset: Dataset, pieces: Pieces) -> list[Place]:
    """Locate chunks in their documents. LangChain's own `add_start_index` is wrong if sizes are not characters."""
    texts, found = {document.doc_id: document.text for document in dataset.documents}, list[Place]()
    for doc_id, text in pieces:
        # A chunk begins and ends after the one before it.
        after = max(found[-1][1] + 1, found[-1][2] + 1 - len(text)) if found and found[-1][0] == doc_id else 0
        start = texts[doc_id].index(text, after)
        found.append((doc_id, start, start + len(text)))
    return found


@dataclass
class Plain:
    """The straightforward loop; `run` returns the chunks and, for each question, the positions of the ten nearest."""

    model: SentenceTransformer
    folder: Path

    def run(self, dataset: Dataset, chunking: Chunking) -> tuple[Pieces, Answers]:
        """One chunking."""
        pieces = split(dataset, splitter_of(chunking, lambda text: len(self.model.tokenizer.tokenize(text))))
        texts = [text for _, text in pieces]
        collection = collection_of(self.folder, pieces, self.model.encode(texts, show_progress_bar=False))
        found = {}
        for query in dataset.queries:
            vector = self.model.encode([query.text], show_progress_bar=False)
            answer = collection.query(query_embeddings=vector, n_results=DELIVERED)
            found[query.query_id] = [int(place) for place in answer["ids"][0]]
        return pieces, found


@dataclass
class Tuned:
    """The tuned loop, which keeps word lengths and the questions' vectors from chunking to chunking.

    `size` maps the tokens of a batch's longest text to the number of texts in the batch.
    `tokens` counts the encoded tokens of chunks, `repeated` those of texts that an earlier chunking had too: a vector cache would save them.
    """

    model: SentenceTransformer
    folder: Path
    size: Callable[[int], int]
    tokens: int = 0
    repeated: int = 0
    asked: list[Any] = field(default_factory=list)
    _met: set[str] = field(default_factory=set)

    @functools.cached_property
    def length(self) -> Callable[[str], int]:
        """The tokens of a piece, counted once."""
        return functools.cache(lambda text: len(self.model.tokenizer.tokenize(text)))

    def run(self, dataset: Dataset, chunking: Chunking) -> tuple[Pieces, Answers]:
        """One chunking."""
        pieces = split(dataset, splitter_of(chunking, self.length))
        if not self.asked:
            self.asked = self._embed([query.text for query in dataset.queries])
        vectors = self._embed([text for _, text in pieces], counted=True)
        collection = collection_of(self.folder, pieces, np.stack(vectors))
        answer = collection.query(query_embeddings=np.stack(self.asked), n_results=DELIVERED, include=["distances"])
        found = [[int(place) for place in ids] for ids in answer["ids"]]
        return pieces, {query.query_id: ids for query, ids in zip(dataset.queries, found, strict=True)}

    def _embed(self, texts: Sequence[str], counted: bool = False) -> list[Any]:
        """The vector of each text; equal texts are encoded once."""
        distinct = list(dict.fromkeys(texts))
        lengths = [len(ids) for ids in self.model.tokenizer(distinct)["input_ids"]]
        if counted:
            self.tokens += sum(lengths)
            self.repeated += sum(length for text, length in zip(distinct, lengths, strict=True) if text in self._met)
            self._met.update(distinct)
        order = sorted(range(len(distinct)), key=lambda place: -lengths[place])
        known: dict[str, Any] = {}
        while order:
            batch = [distinct[place] for place in order[: self.size(lengths[order[0]])]]
            known.update(zip(batch, self.model.encode(batch, batch_size=len(batch), show_progress_bar=False), strict=True))
            order = order[len(batch) :]
        return [known[text] for text in texts]


def of_32(_: int) -> int:
    """Return the default batch size of sentence-transformers."""
    return 32


def of_tokens(longest: int) -> int:
    """Return how many texts have 4,096 tokens with their padding."""
    return max(1, _BATCH_TOKENS // longest)


def collection_of(folder: Path, pieces: Pieces, vectors: Any) -> Any:
    """A new collection with the chunks, each under its number."""
    client = chromadb.PersistentClient(str(folder))
    name = f"c{client.count_collections()}-chunks"
    collection = client.create_collection(name, configuration={"hnsw": {"space": "cosine"}}, embedding_function=None)
    step = client.get_max_batch_size()
    for first in range(0, len(pieces), step):
        part = slice(first, first + step)
        ids, about = [str(place) for place in range(len(pieces))[part]], [{"doc_id": doc_id} for doc_id, _ in pieces[part]]
        collection.add(ids=ids, embeddings=vectors[part], documents=[text for _, text in pieces[part]], metadatas=about)
    return collection
