"""Convert sentence-transformers models for OpenVINO once per machine, checked against torch and kept in WORKBENCH_CACHE, and run them on a CPU."""

import contextlib
import functools
import importlib.metadata
import logging
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np

from workbench.components.embedding.torch_model import model_modules, model_settings, padding_id, positions, read
from workbench.core import batching
from workbench.core.environment import cache_folder, requested_threads
from workbench.core.errors import ModelError
from workbench.core.fingerprint import fingerprint
from workbench.core.operating_system import available_cores, processor_flags
from workbench.core.storage.result_store import ResultWriter, Store
from workbench.core.storage.vector_cache import Vectors
from workbench.core.text.terminal import say_aside
from workbench.llm.models.files import locate, model_fingerprint
from workbench.llm.models.tokenizers import Ints, model_tokenizer, padded

if TYPE_CHECKING:
    import tokenizers
    import torch
    from sentence_transformers import SentenceTransformer

Precision = Literal["float32", "bfloat16"]

_HINTS: dict[str, str] = {"float32": "f32", "bfloat16": "bf16"}
# Padded tokens of a batch per thread (docs/performance.md).
_TOKENS_A_THREAD = 512
# Batch lengths are multiples of this: attention sums a shorter last group of tokens in another order, which in bfloat16 changes
# the third decimal of a vector. This way a vector does not depend on the other texts in its batch.
_GROUP = 16
# Of bfloat16. A gated feed-forward layer, as Qwen3 has, is split over half of the threads, and OpenVINO divides by that half:
# of one thread it ends the process with SIGFPE (openvinotoolkit/openvino issue 33300).
_LEAST_CORES = 2


def runtime() -> Any:
    """Import the package without its telemetry, which would write to the home folder and report conversions."""
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]  # None makes the import fail, which OpenVINO tolerates
    import openvino

    return openvino


def has_bfloat16() -> bool:
    """Return True if the processor multiplies bfloat16 natively, which is known only on Linux on x86, and OpenVINO has the cores for it."""
    return available_cores() >= _LEAST_CORES and not {"avx512_bf16", "amx_bf16"}.isdisjoint(processor_flags())


def compiled(graph: Path, precision: Precision) -> Any:
    """Return a converted model ready to run, on OMP_NUM_THREADS cores or on all."""
    # With pinning, two processes of one thread each would both use the first core.
    settings: dict[str, Any] = {"NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": _HINTS[precision], "ENABLE_CPU_PINNING": False}
    if threads := requested_threads():
        settings["INFERENCE_NUM_THREADS"] = max(threads, _LEAST_CORES) if precision == "bfloat16" else threads
    return runtime().Core().compile_model(str(graph), "CPU", settings)


def run(model: Any, texts: Sequence[str], name: str, window: int) -> Vectors:
    """Return unit vectors, float32 (n, dimension), of texts cut at a window. `name` is the model whose tokeniser is used."""
    rows = token_ids(texts, name, window)
    result = np.empty((len(rows), int(model.output(0).partial_shape[1].get_length())), dtype=np.float32)
    for batch, vectors in _answers(model, rows, name):
        result[batch] = vectors
    return result


def states(model: Any, rows: Sequence[Sequence[int]], name: str) -> list[Vectors]:
    """Return the vectors of each row's tokens, float32 (tokens, hidden), from a graph for tokens. Rows include special tokens."""
    vectors_of = {index: vectors[row] for batch, vectors in _answers(model, rows, name) for row, index in enumerate(batch)}
    return [vectors_of[index][: len(row)] for index, row in enumerate(rows)]


def _answers(model: Any, rows: Sequence[Sequence[int]], name: str) -> Iterator[tuple[Ints, Vectors]]:
    """Yield batches of row numbers with the graph's output for each row."""
    padding, most = padding_id(name), positions(name)
    # Pad to the next multiple of the group if the model has enough positions.
    lengths = np.array([max(len(row), min(-(-len(row) // _GROUP) * _GROUP, most)) for row in rows], dtype=np.int64)
    request = model.create_infer_request()
    tokens = _TOKENS_A_THREAD * int(model.get_property("INFERENCE_NUM_THREADS"))
    for batch in batching.padded_batches(lengths, tokens, len(rows)):
        ids, mask = padded([rows[index] for index in batch], int(lengths[batch[0]]), padding)
        yield batch, request.infer({"input_ids": ids, "attention_mask": mask}, share_inputs=True)[0]


def token_ids(texts: Sequence[str], name: str, window: int) -> list[list[int]]:
    """Return the ids of each text's tokens, cut at a window as sentence-transformers does: special tokens stay at the end."""
    return [encoding.ids for encoding in _cutting_tokenizer(name, window).encode_batch_fast(list(texts))]


@functools.lru_cache(maxsize=4)
def _cutting_tokenizer(name: str, window: int) -> "tokenizers.Tokenizer":
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_str(model_tokenizer(name).to_str())
    tokenizer.enable_truncation(window)
    return tokenizer


# A graph computes the vector of a text, or the vectors of its tokens for `pooling: late`.
Output = Literal["sentence", "tokens"]

# Increased when the same model is converted or judged in another way.
_VERSION = 2
_GRAPH = "model.xml"
# The smallest cosine to torch's float32 vectors that each precision may have. float32 must match, bfloat16 is rounded.
_LEAST: dict[Precision, float] = {"float32": 1 - 1e-6, "bfloat16": 0.9999}
_MODULES = ("Transformer", "Pooling", "Dense", "Normalize")
_PROBED_WINDOW = 512
# Inputs on which conversions typically fail: no text, one word, cases, scripts, and more than any window, in one batch.
_PROBES = (
    "",
    "harbour",
    "The Quick brown FOX jumps over 13 lazy dogs.",
    "😀 naïve café",
    "日本語のテキスト",
    "| Day | Until |\n|---|---|\n| Monday | 17:30 |",
    "Which berths are closed when the wind is above force nine, and who decides that they are? " * 3,
    "The harbour master keeps the log. " * 200,
)


class UnpreparedModelError(ModelError):
    """A model whose precision is unknown until it is converted, while loading models is forbidden."""


_preparing: ContextVar[bool] = ContextVar("preparing", default=True)


@contextlib.contextmanager
def without_preparing() -> Iterator[None]:
    """Forbid loading a model to convert it. One that was never converted raises UnpreparedModelError."""
    token = _preparing.set(False)
    try:
        yield
    finally:
        _preparing.reset(token)


class Conversion(NamedTuple):
    """A converted model's graph and its precision, or in `refused` the reason why it could not be converted."""

    graph: Path
    precision: Precision
    refused: str


def converted(model: str, output: Output = "sentence") -> Any:
    """Return the model's conversion, ready to run. The last three stay in memory."""
    conversion = conversion_of(model, output)
    return _compiled(conversion.graph, conversion.precision)


_compiled = functools.lru_cache(maxsize=3)(compiled)


def conversion_of(model: str, output: Output = "sentence") -> Conversion:
    """Return the model's conversion, making it if it is missing. Raises StoreError if it is damaged or cannot be saved."""
    return _conversion(model, output, cache_folder())


@functools.cache
def _conversion(model: str, output: Output, cache: Path) -> Conversion:
    # Prompts are part of the texts, not of the graph.
    files = model_fingerprint(model, "config_sentence_transformers.json")
    dimensions = model_settings(model, "config_sentence_transformers.json").get("truncate_dim")
    recipe = {"version": _VERSION, "model": files, "dimensions": dimensions, "bfloat16": has_bfloat16()}
    recipe |= {name: importlib.metadata.version(name) for name in ("openvino", "transformers", "sentence-transformers")}
    recipe |= {"output": output} if output != "sentence" else {}
    store, key = Store(cache), fingerprint(recipe)
    if not _preparing.get() and not store.has("openvino", key):
        raise UnpreparedModelError(f"the model {model} was never converted on this machine", "the first sweep converts it")
    entry = store.obtain("openvino", key, lambda writer: _convert(model, output, writer))
    verdict = entry.values("verdict")
    if entry.computed and verdict["refused"]:
        say_aside(f"workbench: {model} is embedded with torch, not with openvino: {verdict['refused']}")
    return Conversion(entry.folder / _GRAPH, cast(Precision, verdict["precision"]), verdict["refused"])


def _convert(model: str, output: Output, writer: ResultWriter) -> None:
    """Write `model.xml` with its weights, unless the model is refused, and `verdict`: refused (reason or empty), precision, cosines."""
    refused, cosines = _unlike(model), dict[str, float]()
    if not refused:
        loaded = read(model, min(_PROBED_WINDOW, positions(model)), "cpu").float().eval()
        refused, cosines = _tried(loaded, model, output, writer.folder / _GRAPH)
        if refused:
            # A mask row that hides everything, as local attention has beside padding, gives NaN in OpenVINO's fused attention.
            eager = _tried(loaded, model, output, writer.folder / _GRAPH, "eager")
            refused, cosines = (refused, cosines) if eager[0] else eager
    precision = "bfloat16" if cosines.get("bfloat16", 0) >= _LEAST["bfloat16"] else "float32"
    writer.values("verdict", {"refused": refused, "precision": precision, "cosines": cosines})


def _tried(loaded: "SentenceTransformer", model: str, output: Output, graph: Path, attention: str = "") -> tuple[str, dict[str, float]]:
    """Convert with the model's own attention or another kind, and return the reason for a refusal (or an empty text) and the cosines."""
    try:
        if attention:
            loaded[0].auto_model.set_attn_implementation(attention)
        runtime().save_model(_graph(loaded, output), graph, compress_to_fp16=False)
        cosines = _cosines(loaded, model, output, graph)
    except Exception as error:  # a tracer raises anything for an unknown model, which then runs with torch
        graph.unlink(missing_ok=True)
        return f"it cannot be converted ({type(error).__name__}: {' '.join(str(error).split())[:200]})", {}
    if cosines["float32"] >= _LEAST["float32"]:
        return "", cosines
    return f"its vectors would differ (cosine {cosines['float32']:.6f})", cosines


def _unlike(model: str) -> str:
    """Return why a model's settings rule out conversion, or an empty text."""
    for module in model_modules(model):
        package, _, name = module["type"].rpartition(".")
        if not package.startswith("sentence_transformers") or name not in _MODULES:
            return f"its module {module['type']} is none of {', '.join(_MODULES)}"
        if name == "Pooling" and not model_settings(model, f"{module['path']}/config.json").get("include_prompt", True):
            return "its pooling excludes the prompt"
    return "" if (locate(model) / "tokenizer.json").is_file() else "it has no tokenizer.json"


def _graph(loaded: "SentenceTransformer", output: Output) -> Any:
    """Build transformer, pooling and normalisation as one graph from token ids and their mask, or only the transformer for `tokens`."""
    import torch
    import transformers

    ids = torch.arange(200, 232).reshape(2, 16) % loaded[0].auto_model.config.vocab_size
    mask = torch.ones_like(ids)
    mask[1, 10:] = 0
    with torch.no_grad(), warnings.catch_warnings(), _same_logging():
        # A tracer warns about every branch it takes, and the probes check the graph with other inputs.
        warnings.simplefilter("ignore")
        transformers.utils.logging.set_verbosity_error()
        return runtime().convert_model(_joined(loaded, output), example_input={"input_ids": ids, "attention_mask": mask})


@contextlib.contextmanager
def _same_logging() -> Iterator[None]:
    """Leave the caller's logging as it was. OpenVINO sets the root logger, and keeps it set where a conversion fails."""
    loggers = [logging.getLogger(), logging.getLogger("transformers")]
    states = [(logger.level, logger.filters[:], logger.handlers[:]) for logger in loggers]
    try:
        yield
    finally:
        for logger, (level, filters, handlers) in zip(loggers, states, strict=True):
            logger.setLevel(level)
            logger.filters[:], logger.handlers[:] = filters, handlers


def _joined(loaded: "SentenceTransformer", output: Output) -> "torch.nn.Module":
    import torch

    class Joined(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.modules_in_order = loaded if output == "sentence" else torch.nn.ModuleList([loaded[0]])

        def forward(self, input_ids: "torch.Tensor", attention_mask: "torch.Tensor") -> "torch.Tensor":
            features = {"input_ids": input_ids, "attention_mask": attention_mask}
            for module in self.modules_in_order:
                features = module(features)
            if output == "tokens":
                return features["token_embeddings"]
            # Models of nested dimensions may keep only their first dimensions.
            return torch.nn.functional.normalize(features["sentence_embedding"][:, : loaded.truncate_dim], dim=1)

    return Joined()


def _cosines(loaded: "SentenceTransformer", model: str, output: Output, graph: Path) -> dict[str, float]:
    """Return the smallest cosine of each precision's probe vectors to sentence-transformers in float32, or 0 if it is not finite."""
    # Pass an empty prompt: None would select the model's default prompt.
    theirs = loaded.encode(list(_PROBES), prompt="", normalize_embeddings=True, show_progress_bar=False).astype(np.float64)
    smallest = {}
    for precision in ("float32", *(["bfloat16"] if has_bfloat16() else [])):
        ready = compiled(graph, cast(Precision, precision))
        ours = (run if output == "sentence" else _means)(ready, _PROBES, model, loaded.max_seq_length)
        cosines = (ours * theirs).sum(axis=1) / np.linalg.norm(theirs, axis=1) / np.linalg.norm(ours.astype(np.float64), axis=1)
        smallest[precision] = float(cosines.min()) if np.isfinite(cosines).all() else 0.0
    return smallest


def _means(ready: Any, texts: Sequence[str], model: str, window: int) -> Vectors:
    """Return the means of the tokens' vectors, as the model itself pools them."""
    rows = token_ids(texts, model, window)
    return np.stack([vectors.mean(axis=0) for vectors in states(ready, rows, model)])
