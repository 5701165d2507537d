"""Which backend computes a model's vectors on this machine, decided before anything is named by them."""

import functools
import importlib.util
from pathlib import Path
from typing import Literal

from workbench.core.distribution import advice
from workbench.embedding import openvino_model
from workbench.embedding.base import Encoder
from workbench.embedding.openvino_conversion import Output, conversion_of
from workbench.errors import ModelError, StoreError

BackendChoice = Literal["auto", "torch", "openvino"]

_TORCH = "float32"


def encoder_of(model: str, asked: BackendChoice, output: Output = "sentence") -> Encoder:
    """The backend and its precision for a model, the same in every process of a machine with the same packages.

    ModelError where `openvino` is asked for and not there or cannot run the model; `auto` takes torch then, and says why.
    """
    if asked == "torch":
        return Encoder("torch", _TORCH)
    installed = openvino_model.installed()
    if asked == "auto" and not installed:
        return Encoder("torch", _TORCH, f"openvino is not installed: {advice('fast')}")
    if asked == "auto" and sees_gpu():
        return Encoder("torch", _TORCH, "torch sees a GPU")
    require_openvino()
    return _with_openvino(model, asked, output)


def require_openvino() -> None:
    """Raise ModelError where OpenVINO is not installed."""
    if not openvino_model.installed():
        raise ModelError("backend: openvino needs OpenVINO", advice("fast"))


def _with_openvino(model: str, asked: BackendChoice, output: Output) -> Encoder:
    try:
        conversion = conversion_of(model, output)
    except StoreError as error:
        # A cache that cannot be written is no reason to stop; a damaged one is, since what it holds decides names.
        if asked == "auto" and "cannot be written" in str(error):
            return Encoder("torch", _TORCH, f"{error}")
        raise
    if not conversion.refused:
        return Encoder("openvino", conversion.precision)
    if asked == "auto":
        return Encoder("torch", _TORCH, conversion.refused)
    raise ModelError(f"backend: openvino cannot run {model}: {conversion.refused}", "choose backend: torch")


@functools.cache
def sees_gpu() -> bool:
    """Whether torch has a GPU; a build for CPUs alone is known by its version file, without the seconds of an import."""
    spec = importlib.util.find_spec("torch")
    built = Path(str(spec.origin)).with_name("version.py") if spec else None
    if built and built.is_file() and "cuda: Optional[str] = None" in built.read_text() and "hip: Optional[str] = None" in built.read_text():
        return False
    import torch

    return torch.cuda.is_available()
