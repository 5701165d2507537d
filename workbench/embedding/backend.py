"""The choice of the backend that computes a model's vectors on this machine, made before their precision names anything."""

import functools
import importlib.util
from pathlib import Path
from typing import Literal

from workbench.core.environment import advice
from workbench.embedding import openvino_model
from workbench.embedding.base import Encoder
from workbench.embedding.openvino_conversion import Output, conversion_of
from workbench.errors import ModelError, StoreError

BackendChoice = Literal["auto", "torch", "openvino"]

_TORCH = "float32"


def encoder_of(model: str, choice: BackendChoice, output: Output = "sentence") -> Encoder:
    """The backend and its precision for a model, the same in every process of a machine with the same packages.

    Errors: ModelError where `openvino` is chosen and is not installed or cannot run the model; `auto` then takes torch, with the reason.
    """
    if choice == "torch":
        return Encoder("torch", _TORCH)
    if choice == "openvino":
        require_openvino()
    elif not openvino_model.installed():
        return Encoder("torch", _TORCH, f"openvino is not installed: {advice('fast')}")
    elif sees_gpu():
        return Encoder("torch", _TORCH, "torch sees a GPU")
    try:
        conversion = conversion_of(model, output)
    except StoreError as error:
        # A cache that cannot be written is no reason to stop; a damaged one is, since its content decides names.
        if choice == "auto" and "cannot be written" in str(error):
            return Encoder("torch", _TORCH, f"{error}")
        raise
    if not conversion.refused:
        return Encoder("openvino", conversion.precision)
    if choice == "openvino":
        raise ModelError(f"backend: openvino cannot run {model}: {conversion.refused}", "choose backend: torch")
    return Encoder("torch", _TORCH, conversion.refused)


def require_openvino() -> None:
    """Raise ModelError where OpenVINO is not installed."""
    if not openvino_model.installed():
        raise ModelError("backend: openvino needs OpenVINO", advice("fast"))


@functools.cache
def sees_gpu() -> bool:
    """Whether torch has a GPU; the version file of a build for CPUs alone says so without the seconds of an import."""
    spec = importlib.util.find_spec("torch")
    built = Path(str(spec.origin)).with_name("version.py") if spec else None
    if built and built.is_file() and "cuda: Optional[str] = None" in built.read_text() and "hip: Optional[str] = None" in built.read_text():
        return False
    import torch

    return torch.cuda.is_available()
