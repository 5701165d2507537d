"""A sentence-transformers model in memory, and its settings as its files give them."""

import functools
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.embedding.base import NO_WINDOW
from workbench.errors import ModelError
from workbench.models.files import locate, verified
from workbench.models.tokenizers import padded
from workbench.storage.vector_cache import Vectors

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


# Families whose positions begin behind the padding token's number, as fairseq's did, so that fewer are left for tokens.
_FAIRSEQ = (
    *("camembert", "data2vec-text", "ibert", "longformer", "luke", "mpnet", "roberta", "roberta-prelayernorm"),
    *("xlm-roberta", "xlm-roberta-xl", "xmod"),
)
_POSITIONS = 512


@functools.cache
def model_settings(model: str, name: str) -> dict[str, Any]:
    """One of the model's JSON files, read once a process; empty where it has none."""
    path = locate(model) / name
    try:
        return dict(json.loads(path.read_text("utf-8"))) if path.is_file() else {}
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} is not a model's settings ({type(error).__name__})", "fetch or save the model again") from error


def model_modules(model: str) -> list[dict[str, str]]:
    """The modules that a sentence-transformers model chains, with `type` and `path`; empty for a plain transformer."""
    path = locate(model) / "modules.json"
    return list(json.loads(path.read_text("utf-8"))) if path.is_file() else []


def padding_id(model: str) -> int:
    """The id of the model's padding token; 0 where its settings do not say."""
    return int(model_settings(model, "config.json").get("pad_token_id") or 0)


def positions(model: str) -> int:
    """How many tokens the model has positions for; 512 where its settings do not say, NO_WINDOW where it has no transformer."""
    if not (locate(model) / "config.json").is_file():
        return NO_WINDOW
    settings = model_settings(model, "config.json")
    stated = int(settings.get("max_position_embeddings") or settings.get("n_positions") or _POSITIONS)
    return stated - 1 - padding_id(model) if settings.get("model_type") in _FAIRSEQ else stated


@functools.lru_cache(maxsize=2)
def load(model: str, window: int) -> "SentenceTransformer":
    """The loaded model, cut at `window` tokens, on CUDA where torch has it; the last two stay in memory."""
    import torch

    return read(model, window, "cuda" if torch.cuda.is_available() else "cpu")


def token_states(rows: Sequence[Sequence[int]], model: str, window: int) -> list[Vectors]:
    """The last hidden states of rows of token ids, special ones included, in one pass: float32 (tokens, hidden) a row."""
    import torch

    loaded = load(model, window)
    batch = padded(rows, max(len(row) for row in rows), padding_id(model))
    ids, mask = (torch.from_numpy(part).to(loaded.device) for part in batch)
    with torch.inference_mode():
        states = loaded[0]({"input_ids": ids, "attention_mask": mask}).get("token_embeddings")
    if states is None:
        raise ModelError(f"the model {model} gives no vectors of tokens", "choose a transformer such as all-MiniLM-L6-v2")
    return [vectors[: len(row)] for vectors, row in zip(states.float().cpu().numpy(), rows, strict=True)]


def read(model: str, window: int, device: str) -> "SentenceTransformer":
    """The model read from its files, for the caller alone."""
    import transformers
    from sentence_transformers import SentenceTransformer

    transformers.utils.logging.disable_progress_bar()
    folder = verified(model)
    try:
        loaded = SentenceTransformer(str(folder), device=device, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # the library raises anything for a folder that holds no model it knows
        reason = " ".join(str(error).split())[:200]
        raise ModelError(
            f"the model {model} cannot be loaded ({type(error).__name__}: {reason})", "name another model or folder"
        ) from error
    if window < NO_WINDOW:
        loaded.max_seq_length = window
    return loaded
