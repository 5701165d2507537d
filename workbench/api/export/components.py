"""Write what a configuration runs with into an export: indexes, models, texts, and the tokens of its prompt."""

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workbench.components.embedding.late.windows import frame_of
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.components.reranking.base import Reranker
from workbench.components.reranking.cross_encoder import CrossEncoderReranker
from workbench.components.reranking.late_interaction import LateInteractionReranker
from workbench.components.reranking.mmr import MMRReranker
from workbench.components.retrieval.base import Retriever
from workbench.components.retrieval.bm25 import BM25Retriever
from workbench.components.retrieval.chroma_index import build_index
from workbench.components.retrieval.dense import DenseRetriever
from workbench.components.retrieval.hybrid import HybridRetriever
from workbench.core.errors import InputError
from workbench.llm.models.files import locate
from workbench.llm.models.tokenizers import CHARACTERS, CL100K, Ints, count, tokenise, tokenizer_file
from workbench.runner.pipeline.chunk_table import Chunks
from workbench.runner.pipeline.configuration import PipelineConfiguration
from workbench.runner.pipeline.stage_results import Entries

_WORDS, _MODEL, _VECTORS = ("bm25s", "PyStemmer"), ("sentence-transformers", "torch"), ("chromadb",)


def write_lines(file: Path, rows: Iterable[object]) -> None:
    """Write JSON Lines."""
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


def write_components(
    configuration: PipelineConfiguration, entries: Entries, chunks: Chunks, order: Ints, folder: Path
) -> tuple[dict[str, Any], list[str]]:
    """Write indexes, models and texts, with chunks in this order. Return the settings and the packages that they need.

    Raises InputError for a configuration that runs only with Workbench or with a server.
    """
    texts = _Texts(configuration, chunks.inputs, order, folder)
    settings, needed = texts.retriever(configuration.retrieval), list(texts.needed)
    embedding = configuration.embedding
    if isinstance(embedding, SentenceTransformerEmbedder):
        settings["embedding"] = {"window": configuration.window, "query_prompt": embedding.prompt("query")}
        _copy_model(embedding.model, folder / "model")
        build_index(folder / "collection", chunks, np.asarray(entries["vectors"][""].array("vectors")))
        (folder / "collection.lock").unlink(missing_ok=True)
        needed += [*_VECTORS, *_MODEL]
    settings["rerank"] = texts.reranker(configuration.rerank) if configuration.rerank else None
    if isinstance(configuration.rerank, CrossEncoderReranker | LateInteractionReranker):
        needed += _MODEL
    return settings, list(dict.fromkeys(needed))


class _Texts:
    """The texts of a configuration's chunks in the export's order, and what is made of them."""

    def __init__(self, configuration: PipelineConfiguration, inputs: Sequence[str], order: Ints, folder: Path) -> None:
        self._configuration, self._folder = configuration, folder
        self._texts = [inputs[place] for place in order.tolist()]
        self.needed: list[str] = []

    def retriever(self, retriever: Retriever, name: str = "index") -> dict[str, Any]:
        """Write a retriever's own index. Return its settings."""
        settings = retriever.model_dump(mode="json")
        if isinstance(retriever, BM25Retriever):
            retriever.index(self._texts).save(str(self._folder / name))
            self.needed += _WORDS
            return settings | {"index": name}
        if isinstance(retriever, HybridRetriever):
            members = {each: self.retriever(member, f"{name}-{number}") for number, (each, member) in enumerate(retriever.retrievers)}
            return settings | {"retrievers": members}
        if isinstance(retriever, DenseRetriever) and isinstance(self._configuration.embedding, SentenceTransformerEmbedder):
            return settings
        embedding = self._configuration.embedding
        raise self._refused(f"{retriever.kind} with {embedding.kind if embedding else 'no embedder'}")

    def reranker(self, reranker: Reranker) -> dict[str, Any]:
        """Write the texts and the model of a reranker. Return its settings."""
        settings: dict[str, Any] = {"kind": reranker.kind, "pool": reranker.pool}
        write_lines(self._folder / "texts.jsonl", self._texts)
        if isinstance(reranker, MMRReranker) and isinstance(self._configuration.embedding, SentenceTransformerEmbedder):
            return settings | {"relevance": reranker.relevance}
        if isinstance(reranker, CrossEncoderReranker):
            _copy_model(reranker.model, self._folder / "reranker")
            return settings | {"folder": "reranker", "window": reranker.window()}
        if isinstance(reranker, LateInteractionReranker):
            return settings | self._late_interaction(reranker.token_embedder)
        raise self._refused(f"rerank {reranker.kind}")

    def _late_interaction(self, embedder: SentenceTransformerEmbedder) -> dict[str, Any]:
        own = self._configuration.embedding
        name = "model" if isinstance(own, SentenceTransformerEmbedder) and own.model == embedder.model else "reranker"
        if name != "model":
            _copy_model(embedder.model, self._folder / name)
        prompts = {"query": embedder.prompt("query"), "document": embedder.prompt("document")}
        frames = {role: frame_of(embedder.model, embedder.window(), prompt) for role, prompt in prompts.items()}
        counts = {role: [len(frame.before), len(frame.after)] for role, frame in frames.items()}
        return {"folder": name, "window": embedder.window(), "prompts": prompts, "frame": counts}

    def _refused(self, what: str) -> InputError:
        return InputError(
            f"{self._configuration.name} ({what}) cannot be exported",
            "choose a configuration of sentence-transformers, bm25 or hybrid, reranked by mmr, late-interaction or cross-encoder",
        )


def _copy_model(model: str, folder: Path) -> None:
    shutil.copytree(locate(model), folder, ignore=shutil.ignore_patterns(".git*"))


_TOKENIZER = "tokenizer.json"
_PACKAGES = {CL100K: ("bpe-openai",), CHARACTERS: ()}
# Any question does: its tokens are subtracted.
_QUESTION = "question"


def write_prompt(
    configuration: PipelineConfiguration, passages: Sequence[Mapping[str, Any]], folder: Path
) -> tuple[dict[str, Any] | None, Sequence[str]]:
    """Write the tokens of every slice. Return the settings of `context` and the packages that it needs; None for a configuration without answers."""
    generator, packing = configuration.answering, configuration.context
    if generator is None or packing is None:
        return None, ()
    vocabulary = generator.vocabulary
    slices = {passage["slice"]: passage["text"] for passage in passages}
    starts = [tokens.starts for tokens in tokenise(list(slices.values()), vocabulary)]
    first = np.cumsum([0, *map(len, starts)], dtype=np.int64)
    np.savez_compressed(folder / "prompt.npz", starts=np.concatenate([np.zeros(0, dtype=np.int64), *starts]), first=first)
    # A longer question may take more room in the prompt.
    counts = generator.overhead(_QUESTION) != generator.overhead(f"{_QUESTION} {_QUESTION}")
    # A slice with a token takes one of the budget.
    most = packing.budget if configuration.retrieval.deliver else configuration.retrieval.k
    if counts and vocabulary not in _PACKAGES:
        shutil.copyfile(tokenizer_file(vocabulary), folder / _TOKENIZER)
    settings = packing.model_dump(mode="json", exclude={"kind"}) | {
        "overhead": generator.overhead(_QUESTION) - (count(_QUESTION, vocabulary) if counts else 0),
        "around": [generator.passage_overhead(number + 1) for number in range(min(len(slices), most))],
        "vocabulary": None if not counts else vocabulary if vocabulary in _PACKAGES else _TOKENIZER,
        "deliver": configuration.retrieval.deliver is not None,
    }
    return settings, _PACKAGES.get(vocabulary, ("tokenizers",)) if counts else ()
