"""Load a sentence-transformers model and read the settings in its files."""

import functools
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from workbench.components.embedding.base import NO_WINDOW
from workbench.core.errors import ModelError
from workbench.core.storage.vector_cache import Vectors
from workbench.llm.models.files import loading_options, locate, verified
from workbench.llm.models.tokenizers import padded

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

T = TypeVar("T")
# Families that number positions from after the padding token, like fairseq, which leaves fewer for tokens.
_FAIRSEQ = (
    *("camembert", "data2vec-text", "ibert", "longformer", "luke", "mpnet", "roberta", "roberta-prelayernorm"),
    *("xlm-roberta", "xlm-roberta-xl", "xmod"),
)
_POSITIONS = 512


@functools.cache
def model_settings(model: str, name: str) -> dict[str, Any]:
    """Return one of the model's JSON files, read once per process, or an empty mapping if it is missing."""
    path = locate(model) / name
    try:
        return dict(json.loads(path.read_text("utf-8"))) if path.is_file() else {}
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} is not a model's settings ({type(error).__name__})", "fetch or save the model again") from error


def model_modules(model: str) -> list[dict[str, str]]:
    """Return the modules that a sentence-transformers model chains, with `type` and `path`. Empty for a plain transformer."""
    path = locate(model) / "modules.json"
    return list(json.loads(path.read_text("utf-8"))) if path.is_file() else []


def padding_id(model: str) -> int:
    """Return the id of the model's padding token, or 0 if its settings do not give one."""
    return int(model_settings(model, "config.json").get("pad_token_id") or 0)


def positions(model: str) -> int:
    """Return how many token positions the model has: 512 if its settings do not say, NO_WINDOW without a transformer."""
    if not (locate(model) / "config.json").is_file():
        return NO_WINDOW
    settings = model_settings(model, "config.json")
    stated = int(settings.get("max_position_embeddings") or settings.get("n_positions") or _POSITIONS)
    return stated - 1 - padding_id(model) if settings.get("model_type") in _FAIRSEQ else stated


@functools.lru_cache(maxsize=2)
def load(model: str, window: int) -> "SentenceTransformer":
    """Load the model, cut at `window` tokens, on CUDA if torch supports it. The last two models stay in memory."""
    import torch

    return read(model, window, "cuda" if torch.cuda.is_available() else "cpu")


def token_states(rows: Sequence[Sequence[int]], model: str, window: int) -> list[Vectors]:
    """Return the last hidden states of rows of token ids, special ones included, in one pass: float32 (tokens, hidden) per row."""
    import torch

    loaded = load(model, window)
    batch = padded(rows, max(len(row) for row in rows), padding_id(model))
    ids, mask = (torch.from_numpy(part).to(loaded.device) for part in batch)
    with torch.inference_mode():
        states = loaded[0]({"input_ids": ids, "attention_mask": mask}).get("token_embeddings")
    if states is None:
        raise ModelError(f"the model {model} returns no token vectors", "choose a transformer such as all-MiniLM-L6-v2")
    return [vectors[: len(row)] for vectors, row in zip(states.float().cpu().numpy(), rows, strict=True)]


def read(model: str, window: int, device: str) -> "SentenceTransformer":
    """Read the model from its files, for the caller alone."""
    from sentence_transformers import SentenceTransformer

    loaded = from_files(model, SentenceTransformer, "name another model or folder", device=device)
    if window < NO_WINDOW:
        loaded.max_seq_length = window
    return loaded


def from_files(model: str, make: Callable[..., T], fix: str, **settings: Any) -> T:
    """Make a model of sentence-transformers from its verified files, without running code in them."""
    import transformers

    transformers.utils.logging.disable_progress_bar()
    folder = verified(model)
    try:
        return make(str(folder), local_files_only=True, trust_remote_code=False, model_kwargs=loading_options(folder), **settings)
    except Exception as error:  # the library raises anything for a folder without a known model
        reason = " ".join(str(error).split())[:200]
        raise ModelError(f"the model {model} cannot be loaded ({type(error).__name__}: {reason})", fix) from error
