import importlib
import sys
from pathlib import Path

import pytest

from workbench.core.errors import InputError
from workbench.core.imported_functions import imported, module_identity, require_current, require_permission, source_identity


def test_functions_need_a_permission_and_are_all_named() -> None:
    require_permission((), allow_code=False)
    require_permission(("os:system",), allow_code=True)
    with pytest.raises(InputError) as caught:
        require_permission(("os:system", "json:loads"), allow_code=False)
    (line,) = caught.value.lines
    assert line.startswith("the experiment runs code: os:system, json:loads; add --allow-code")


def test_a_working_directory_that_is_importable_keeps_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = list(sys.path)
    assert imported("json:loads")("1") == 1
    assert sys.path == before


def test_a_module_of_the_working_directory_is_found_but_hides_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"found_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text("class Cutter:\n    def cut(text):\n        return [text]\n")
    (tmp_path / "json.py").write_text("loads = None\n")
    before = list(sys.path)
    assert imported(f"{name}:Cutter.cut")("a") == ["a"]
    assert imported("json:loads")("1") == 1
    assert sys.path == before
    monkeypatch.delitem(sys.modules, name)


def test_the_identity_of_a_module_is_its_source_or_the_version_of_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"digested_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text("def cut(text):\n    return [text]\n")
    (digest,) = before = source_identity(f"{name}:cut")
    assert len(digest) == 64
    (tmp_path / f"{name}.py").write_text("def cut(text):\n    return []\n")
    assert source_identity(f"{name}:cut") == before, "the code that runs is the one that was imported"
    with pytest.raises(
        InputError, match=rf"{name}\.py was changed after it was imported; restart the kernel, or reload it with importlib\.reload"
    ):
        require_current(f"{name}:cut")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.reload(sys.modules[name])
    require_current(f"{name}:cut")
    assert source_identity(f"{name}:cut") != before
    assert module_identity("builtins")[0].startswith("Python 3.")
    assert module_identity("a_module_that_was_never_imported")[0].startswith("Python 3.")
    monkeypatch.delitem(sys.modules, name)
