import json
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp

import pytest

from workbench.core.errors import ModelError
from workbench.llm.models.files import loaded_files, loading_options, model_fingerprint, pickles, require_safetensors


def model_folder(folder: Path, *names: str, **contents: object) -> Path:
    """A model folder with some files, each containing its name, and JSON files with given contents."""
    for name in ("config.json", *names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(name))
    for name, content in contents.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def loaded(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in loaded_files(folder)]


def test_a_pickle_of_a_module_is_a_loaded_file_beside_the_safetensors_of_another(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "m", "model.safetensors", "2_Dense/config.json", "2_Dense/pytorch_model.bin")
    assert loaded(folder) == ["2_Dense/config.json", "2_Dense/pytorch_model.bin", "config.json", "model.safetensors"]
    assert pickles(folder) == ["2_Dense/pytorch_model.bin"]
    with pytest.raises(ModelError, match=r"has weights in a pickle, 2_Dense/pytorch_model\.bin, .* allow_pickle: true"):
        require_safetensors(str(folder), allow_pickle=False)
    require_safetensors(str(folder), allow_pickle=True)


def test_pickles_beside_safetensors_and_copies_for_other_frameworks_are_not_loaded(tmp_path: Path) -> None:
    others = (
        "pytorch_model.bin",
        "training_args.bin",
        "onnx/model.onnx",
        "openvino/openvino_model.bin",
        "tf_model.h5",
        "README.md",
        "a.py",
    )
    folder = model_folder(tmp_path / "m", "model.safetensors", ".git/HEAD", *others)
    assert loaded(folder) == ["config.json", "model.safetensors"]
    assert loading_options(folder) == {"use_safetensors": True, "weights_only": True}
    require_safetensors(str(folder), allow_pickle=False)


def test_the_next_process_detects_changed_weights_of_the_same_size_and_time(tmp_path: Path, run_python: Callable[..., str]) -> None:
    folder = model_folder(tmp_path / "m", "model.safetensors")
    weights = folder / "model.safetensors"
    times = weights.stat()
    show = "import sys; from workbench.llm.models.files import model_fingerprint; print(model_fingerprint(sys.argv[1]))"
    before, own = run_python(show, str(folder)), model_fingerprint(str(folder))
    weights.write_text(weights.read_text().swapcase())
    os.utime(weights, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert weights.stat().st_size == times.st_size
    assert run_python(show, str(folder)) != before == own
    # This process has read the files once.
    assert model_fingerprint(str(folder)) == own


def test_weights_in_parts_count_like_whole_ones(tmp_path: Path) -> None:
    parts = ("model-00001-of-00001.safetensors", "pytorch_model-00001-of-00001.bin")
    index = {"model.safetensors.index": {"weight_map": {"a": parts[0]}}, "pytorch_model.bin.index": {"weight_map": {"a": parts[1]}}}
    assert pickles(model_folder(tmp_path / "both", *parts, **index)) == []
    assert pickles(model_folder(tmp_path / "pickled", parts[1])) == [parts[1]]
    # A module other than a transformer does not read an index.
    assert pickles(model_folder(tmp_path / "dense", "pytorch_model.bin", **index)) == ["pytorch_model.bin"]


def test_an_index_that_names_weights_elsewhere_is_refused(tmp_path: Path) -> None:
    for number, shard in enumerate(["../other/model.safetensors", "evil.bin", "/tmp/model.safetensors"]):
        folder = model_folder(tmp_path / str(number), **{"model.safetensors.index": {"weight_map": {"a": shard}}})
        with pytest.raises(ModelError, match="which are of another kind or folder"):
            model_fingerprint(str(folder))


def test_settings_that_could_load_code_with_the_weights_are_refused(tmp_path: Path, wording) -> None:
    def load(case: tuple[str, dict[str, object]]) -> None:
        place, settings = case
        folder = model_folder(Path(mkdtemp(dir=tmp_path)), "model.safetensors", ".hidden/x.json", **{place: settings})
        model_fingerprint(str(folder))

    cases: list[dict[str, object]] = [
        {"model_args": {"weights_only": False}},
        {"model_kwargs": {"weights_only": 0}},
        {"model_args": {"use_safetensors": False}},
        {"config_args": {"deeper": {"allow_all_kernels": True}}},
    ]
    places = ("sentence_bert_config", ".hidden/sentence_roberta_config")
    wording(load, [(place, settings) for place in places for settings in cases], ModelError)


def test_the_usual_settings_of_a_model_are_accepted(tmp_path: Path) -> None:
    settings = {"max_seq_length": 256, "do_lower_case": False, "model_args": {"use_safetensors": True, "dtype": "float32"}}
    assert loaded(model_folder(tmp_path / "m", sentence_bert_config=settings)) == ["config.json", "sentence_bert_config.json"]


def test_a_module_behind_a_link_is_in_the_fingerprint_and_a_circle_of_links_ends(tmp_path: Path) -> None:
    dense = model_folder(tmp_path / "dense", "model.safetensors")
    folder = model_folder(tmp_path / "m", "model.safetensors")
    (folder / "2_Dense").symlink_to(dense)
    (folder / "back").symlink_to(folder)
    assert "2_Dense/model.safetensors" in loaded(folder)
    assert not any(name.startswith("back") for name in loaded(folder))
