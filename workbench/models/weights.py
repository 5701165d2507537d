"""The files that loading a model folder can read, and the safeguards for weights in pickles, which can run code when they are loaded."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.errors import ModelError

# The names of pickles that sentence-transformers and transformers load.
_PICKLES = ("pytorch_model*.bin", "adapter_model*.bin")
# Other pickles, weights for other frameworks, code and documentation, none of which is read with torch as the backend.
_UNREAD = (
    *("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.onnx", "*.onnx_data", "*.xml", "*.h5", "*.ot", "*.msgpack", "*.tflite", "*.mlmodel"),
    *("*.py", "*.md", "*.csv", "*.log", "*.lock", "*.png", "*.jpg", "*.svg", "*.pdf", "LICENSE*", "NOTICE*"),
)
# How a model's own settings may ask for its weights. Anything else could load pickles in place of safetensors, or run what they contain.
_HARMLESS = {"weights_only": True, "use_safetensors": True, "allow_all_kernels": False}


def loaded_files(folder: Path) -> list[Path]:
    """Return the files that determine a model's vectors, sorted: weights, vocabularies and settings of all its modules.

    Pickles beside safetensors are left out, because they are not read. Raises ModelError for settings that would load other weights.
    """
    everything = list(_files(folder))
    _check_settings(everything)
    visible = [path for path in everything if not any(part.startswith(".") for part in path.relative_to(folder).parts)]
    return sorted(path for path in visible if (_replaces_safetensors(path) if _is_pickle(path) else not _matches(path, _UNREAD)))


def pickles(folder: Path) -> list[str]:
    """Return the loaded weights of a model that are pickles, as paths in its folder."""
    return [path.relative_to(folder).as_posix() for path in loaded_files(folder) if _is_pickle(path)]


def loading_options(folder: Path) -> dict[str, Any]:
    """Return the arguments of transformers that load safetensors, and from a pickle, for a model that has any, its tensors only."""
    return {"use_safetensors": None if pickles(folder) else True, "weights_only": True}


def _files(folder: Path, above: tuple[Path, ...] = ()) -> Iterator[Path]:
    """Yield all files under a folder, also through links, which a hub's cache consists of, but not through a link to a folder above."""
    here = folder.resolve()
    for path in folder.iterdir() if here not in above else ():
        if path.is_dir():
            yield from _files(path, (*above, here))
        elif path.is_file():
            yield path


def _matches(path: Path, patterns: tuple[str, ...]) -> bool:
    return any(path.match(pattern) for pattern in patterns)


def _is_pickle(path: Path) -> bool:
    return _matches(path, _PICKLES)


def _replaces_safetensors(path: Path) -> bool:
    """Return whether a pickle is loaded because its folder has no safetensors. Only transformers reads safetensors in several parts."""
    parts = path.match("pytorch_model-*.bin") and path.with_name("model.safetensors.index.json").is_file()
    return not parts and not path.with_name("model.safetensors").is_file()


def _check_settings(files: list[Path]) -> None:
    """Raise ModelError for settings that choose other weights than the safetensors in the same folder."""
    for path in files:
        if path.match("sentence_*_config.json"):
            found = [(key, value) for key, value in _items(_json(path)) if value is not _HARMLESS.get(key, value)]
            if found:
                key, value = found[0]
                raise ModelError(f"{path} sets {key} to {value!r}, which could load code", f"remove {key}, or use another model")
        elif path.match("*.index*.json"):
            weights = ("*.safetensors",) if ".safetensors." in path.name else _PICKLES
            shards = {str(shard) for shard in _json(path).get("weight_map", {}).values()}
            if strange := sorted(shard for shard in shards if Path(shard).name != shard or not _matches(Path(shard), weights)):
                raise ModelError(f"{path} names the weights {strange[0]!r}, which are of another kind or folder", "fetch the model again")


def _json(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(f"{path} is not a model's settings ({type(error).__name__})", "fetch or save the model again") from error


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield every key of nested mappings with its value."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield key, inner
        yield from _items(inner)
