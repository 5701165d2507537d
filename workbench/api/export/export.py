"""Export a configuration as a folder that runs without Workbench: its collection, its settings and retrieve.py."""

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from workbench.components.context import packing
from workbench.components.embedding.late_windows import frame_of
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.components.reranking import marginal_relevance
from workbench.components.reranking.base import Reranker
from workbench.components.reranking.cross_encoder import CrossEncoderReranker
from workbench.components.reranking.late_interaction import LateInteractionReranker
from workbench.components.reranking.mmr import MMRReranker
from workbench.components.retrieval.base import Retriever
from workbench.components.retrieval.bm25 import BM25Retriever
from workbench.components.retrieval.chroma_index import build_index
from workbench.components.retrieval.dense import DenseRetriever
from workbench.components.retrieval.hybrid import HybridRetriever
from workbench.components.retrieval.rank import tie_breakers
from workbench.core.errors import InputError
from workbench.core.files import read_json, store_errors
from workbench.core.operating_system import move
from workbench.core.records import Chunk
from workbench.core.text import printable, words
from workbench.llm.models.files import locate
from workbench.llm.models.tokenizers import CHARACTERS, CL100K, Ints, count, tokenise, tokenizer_file
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.local import check_code, context_of
from workbench.runner.execution.plan import plan_experiment
from workbench.runner.experiment.read import ExperimentSpec, experiment_of_run
from workbench.runner.pipeline.chunk_table import Chunks
from workbench.runner.pipeline.configuration import Configuration, PipelineConfiguration
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.graph import Graph
from workbench.runner.pipeline.stage_results import Entries, StageResults

_SETTINGS, _PROGRAM = "settings.json", "retrieve.py"


def export_configuration(output: Path, name: str | None, target: Path | None, allow_code: bool = False) -> Path:
    """Export a configuration of a finished sweep's output folder to `target` and return the target.

    The name may be None if the folder has a single configuration. `target` defaults to `<output>/export/<configuration>`, where a new
    export replaces an earlier one.

    Raises InputError if the output, the configuration or its results do not exist, if the target does, or if the configuration names
    code and `allow_code` is not set.
    """
    experiment, configuration = _chosen(output, name)
    own = target is None
    target = target or output / "export" / configuration.name
    if target.exists() and not (own and _settings_of(target).get("configuration") == configuration.name):
        raise InputError(f"{target} already exists", "choose another folder, or move it away")
    if configuration.export_fault:
        raise InputError(f"{configuration.name} {configuration.export_fault} and cannot be exported", "choose another configuration")
    alone = replace(experiment, configurations=(configuration,), allow_code=allow_code)
    check_code(alone)
    if not plan_experiment(alone, output.parent).complete:
        raise InputError(
            f"{output.parent} lacks results of {configuration.name}", "run the sweep again, since data or code may have changed"
        )
    graph = Graph(context_of(replace(experiment, allow_code=allow_code), output.parent))
    aside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    with store_errors(target.parent):
        aside.mkdir(parents=True)
        try:
            _write(graph.run, graph.walk(configuration), aside)
            if target.exists():
                shutil.rmtree(target)
            move(aside, target)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    return target


def _settings_of(export: Path) -> dict[str, Any]:
    file = export / _SETTINGS
    if not ((export / _PROGRAM).is_file() and file.is_file()):
        return {}
    settings = read_json(file, "the settings of the export", "name a new folder, or delete this one")
    return settings if isinstance(settings, dict) else {}


def _chosen(output: Path, name: str | None) -> tuple[ExperimentSpec, Configuration]:
    experiment = experiment_of_run(RunTables.read(output))
    known = {configuration.name: configuration for configuration in experiment.configurations}
    if name is None and len(known) > 1:
        raise InputError(f"{output} has {len(known)} configurations", f"choose one with --configuration: {', '.join(known)}")
    chosen = known.get(name) if name is not None else next(iter(known.values()))
    if chosen is None:
        raise InputError(f"{output} has no configuration {name!r}", f"they are {', '.join(known)}")
    return experiment, chosen


def _write(run: RunContext, result: StageResults, folder: Path) -> None:
    configuration, chunks = result.configuration.pipeline, run.chunks(result.entry("chunks"))
    # This order breaks ties.
    order = np.argsort(tie_breakers([chunk.chunk_id for chunk in chunks]))
    settings, needed = write_components(configuration, result.entries, run.chunks(result.entry("chunks")), order, folder)
    passages = list(_passages(run, [chunks[place] for place in order.tolist()]))
    write_lines(folder / "passages.jsonl", passages)
    budget = configuration.delivery(run.primary).tokens
    if budget:
        starts, first = _token_starts(run, passages)
        np.savez_compressed(folder / "tokens.npz", starts=starts, first=first)
    context, also_needed = write_prompt(configuration, passages, folder)
    content = {
        "configuration": configuration.name,
        "dataset": run.dataset.name,
        **settings,
        "deliver": {"tokens": budget} if budget else None,
        "context": context,
    }
    (folder / _SETTINGS).write_bytes(f"{json.dumps(content, indent=2, ensure_ascii=False)}\n".encode())
    pinned = [f"{package}=={version(package).split('+')[0]}\n" for package in dict.fromkeys([*needed, *also_needed, "numpy", "regex"])]
    (folder / "requirements.txt").write_bytes("".join(pinned).encode())
    for program in (_PROGRAM, "searchers.py", "reorder.py", "prompt_tokens.py"):
        shutil.copyfile(Path(__file__).with_name(program), folder / program)
    for module in (packing, printable, marginal_relevance, words):
        shutil.copy(str(module.__file__), folder)


def _passages(run: RunContext, chunks: Sequence[Chunk]) -> Iterator[dict[str, Any]]:
    """Yield the passage that each chunk delivers: chunk_id, slice (equal for equal slices), doc_id, start, end, text."""
    texts = {document.doc_id: document.text for document in run.dataset.documents}
    slices: dict[tuple[str, int, int], int] = {}
    for chunk in chunks:
        start, end = chunk.delivered
        number = slices.setdefault((chunk.doc_id, start, end), len(slices))
        place = {"chunk_id": chunk.chunk_id, "slice": number, "doc_id": chunk.doc_id, "start": start, "end": end}
        yield place | {"text": texts[chunk.doc_id][start:end]}


def _token_starts(run: RunContext, passages: Sequence[Mapping[str, Any]]) -> tuple[Ints, Ints]:
    """Return the characters of each slice at which tokens start, slice after slice, and the place of each slice's first, with the end."""
    labels, documents = run.labels, {document.doc_id: place for place, document in enumerate(run.dataset.documents)}
    slices = {passage["slice"]: passage for passage in passages}.values()
    origins = labels.offsets[[documents[passage["doc_id"]] for passage in slices]]
    starts, ends = (origins + [passage[edge] for passage in slices] for edge in ("start", "end"))
    low, high = np.searchsorted(labels.token_starts, [starts, ends])
    inside = [labels.token_starts[first:end] - start for first, end, start in zip(low, high, starts, strict=True)]
    return np.concatenate(inside), np.concatenate([[0], np.cumsum(high - low)])


_WORDS, _MODEL, _VECTORS = ("bm25s", "PyStemmer"), ("sentence-transformers", "torch"), ("chromadb",)


def write_lines(file: Path, rows: Iterable[object]) -> None:
    """Write JSON Lines."""
    file.write_bytes("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode())


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
