"""What loading a model folder may run. Each hostile folder would leave a marker file."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.components.embedding.static import StaticEmbedder
from workbench.components.embedding.torch_model import read
from workbench.core.errors import ModelError
from workbench.llm.models.files import MINILM, locate, model_fingerprint

from .conftest import copy_model

CUSTOM = """
import pathlib
pathlib.Path({marker!r}).write_text("ran")
from sentence_transformers.sentence_transformer.modules import Pooling
from transformers import BertConfig, BertModel


class Custom(Pooling):
    pass
"""


class Marking:
    """An object that creates a folder when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.marker),)


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "marker"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The default model in a folder whose files can be replaced."""
    target = tmp_path / "model"
    target.mkdir()
    copy_model(target)
    return target


def change(path: Path, update: Callable[[Any], object]) -> None:
    settings = json.loads(path.read_text("utf-8"))
    update(settings)
    path.unlink()
    path.write_text(json.dumps(settings))


@pytest.mark.parametrize("type_", ["custom.Custom", "modeling_custom.Custom"])
def test_a_folder_with_a_module_of_its_own_runs_none_of_it(folder: Path, marker: Path, type_: str) -> None:
    (folder / f"{type_.partition('.')[0]}.py").write_text(CUSTOM.format(marker=str(marker)))
    change(folder / "modules.json", lambda modules: modules[1].update(type=type_))
    with pytest.raises(ModelError, match=r"cannot be loaded \(ValueError: .*is not part of Sentence Transformers"):
        read(str(folder), 64, "cpu")
    assert not marker.exists()


def test_a_folder_whose_settings_map_classes_to_its_code_runs_none_of_it(folder: Path, marker: Path) -> None:
    (folder / "custom.py").write_text(CUSTOM.format(marker=str(marker)))
    classes = {"AutoConfig": "custom.BertConfig", "AutoModel": "custom.BertModel"}
    change(folder / "config.json", lambda config: config.update(auto_map=classes, trust_remote_code=True))
    change(folder / "tokenizer_config.json", lambda config: config.update(auto_map={"AutoTokenizer": ["custom.Custom", "custom.Custom"]}))
    read(str(folder), 64, "cpu")  # as the BERT that transformers has
    assert not marker.exists()


@pytest.mark.parametrize("settings", [{"weights_only": False, "use_safetensors": False}, {"weights_only": False}])
def test_settings_of_a_folder_cannot_have_its_pickle_run(folder: Path, marker: Path, settings: dict[str, bool]) -> None:
    torch.save({"evil": Marking(marker)}, folder / "pytorch_model.bin")
    if "use_safetensors" not in settings:
        (folder / "model.safetensors").unlink()
    change(folder / "sentence_bert_config.json", lambda config: config.update(model_args=settings))
    for embedder in (SentenceTransformerEmbedder(model=str(folder)), SentenceTransformerEmbedder(model=str(folder), allow_pickle=True)):
        with pytest.raises(ModelError, match="which could load code"):
            embedder.check()
        with pytest.raises(ModelError, match="which could load code"):
            embedder.encode(["text"], "document")
    assert not marker.exists()


def test_pickles_load_where_the_embedder_allows_them_and_only_their_tensors(folder: Path, marker: Path) -> None:
    tensors = load_file(locate(MINILM) / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(tensors, folder / "pytorch_model.bin")
    for careful in (SentenceTransformerEmbedder(model=str(folder), backend="torch"), StaticEmbedder(model=str(folder))):
        for use in (careful.check, lambda careful=careful: careful.encode(["text"], "document")):
            with pytest.raises(ModelError, match=r"weights in a pickle, pytorch_model\.bin, which could run code"):
                use()
    allowed = SentenceTransformerEmbedder(model=str(folder), backend="torch", allow_pickle=True)
    usual = SentenceTransformerEmbedder(backend="torch")
    assert (allowed.encode(["text"], "document") == usual.encode(["text"], "document")).all()
    other = folder.with_name("other")
    shutil.copytree(folder, other)
    torch.save(tensors | {"evil": Marking(marker)}, other / "pytorch_model.bin")
    with pytest.raises(ModelError, match="UnpicklingError"):
        SentenceTransformerEmbedder(model=str(other), backend="torch", allow_pickle=True).encode(["text"], "document")
    assert not marker.exists()


def test_the_weights_of_a_second_module_are_in_the_identity(folder: Path) -> None:
    dense = torch.nn.Linear(384, 8)
    other = folder.with_name("other")
    module = {"idx": 3, "name": "3", "path": "2_Dense", "type": "sentence_transformers.models.Dense"}
    settings = {"in_features": 384, "out_features": 8, "bias": True, "activation_function": "torch.nn.modules.linear.Identity"}
    change(folder / "modules.json", lambda modules: modules.insert(2, module))
    (folder / "2_Dense").mkdir()
    (folder / "2_Dense" / "config.json").write_text(json.dumps(settings))
    torch.save({f"linear.{name}": value for name, value in dense.state_dict().items()}, folder / "2_Dense" / "pytorch_model.bin")
    shutil.copytree(folder, other)
    torch.save({f"linear.{name}": -value for name, value in dense.state_dict().items()}, other / "2_Dense" / "pytorch_model.bin")
    one, two = (SentenceTransformerEmbedder(model=str(place), backend="torch", allow_pickle=True) for place in (folder, other))
    assert abs(one.encode(["text"], "document") - two.encode(["text"], "document")).max() > 0.1
    assert one.identity("document") != two.identity("document")
    assert model_fingerprint(str(folder)) != model_fingerprint(str(other))
