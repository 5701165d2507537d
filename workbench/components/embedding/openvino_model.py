"""Run a converted model on a CPU with OpenVINO: token ids in sorted batches to unit vectors."""

import functools
import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from workbench.components.embedding.torch_model import padding_id, positions
from workbench.core import batching
from workbench.core.environment import requested_threads
from workbench.core.storage.vector_cache import Vectors
from workbench.llm.models.tokenizers import Ints, model_tokenizer, padded

if TYPE_CHECKING:
    import tokenizers

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


def installed() -> bool:
    """Return True if OpenVINO is installed, without importing it."""
    return importlib.util.find_spec("openvino") is not None


def runtime() -> Any:
    """Import the package without its telemetry, which would write to the home folder and report conversions."""
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]  # None makes the import fail, which OpenVINO tolerates
    import openvino

    return openvino


def has_bfloat16() -> bool:
    """Return True if the processor multiplies bfloat16 natively, which is known only on Linux on x86, and OpenVINO has the cores for it."""
    try:
        if len(os.sched_getaffinity(0)) < _LEAST_CORES:
            return False
        flags = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except (AttributeError, OSError):
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags


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
