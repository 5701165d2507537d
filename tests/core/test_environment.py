import json
from pathlib import Path

import pytest

from workbench.core import environment
from workbench.core.environment import NAME, advice, find_upwards


@pytest.mark.parametrize(
    ("origin", "from_it"),
    [
        ({"url": "file://{place}", "dir_info": {}}, True),
        ({"url": "file://{place}/a%20b.whl", "archive_info": {}}, True),
        ({"url": "file://{place}", "dir_info": {"editable": True}}, False),
        ({"url": "file://{place}/gone.whl", "archive_info": {}}, False),
        ({"url": "https://example.org/a.whl", "archive_info": {}}, False),
        (None, False),
    ],
)
def test_an_extra_is_installed_from_where_the_package_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: dict, from_it: bool
) -> None:
    (tmp_path / "a b.whl").touch()
    place = tmp_path / "packages" / f"{NAME.replace('-', '_')}-0.1.0.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 0.1.0\n")
    if origin:
        (place / "direct_url.json").write_text(json.dumps(origin).replace("{place}", tmp_path.as_posix()))
    monkeypatch.syspath_prepend(place.parent)
    environment._origin.cache_clear()
    try:
        source = f"{tmp_path}{'/a b.whl' if 'whl' in str(origin) else ''}" if from_it else NAME
        assert advice("lab", "sweep") == f"pip install '{source}[lab,sweep]'"
    finally:
        environment._origin.cache_clear()


def test_a_relative_path_is_looked_for_here_and_then_above(tmp_path, monkeypatch):
    (tmp_path / "outputs" / "run").mkdir(parents=True)
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    assert find_upwards("outputs/run") == tmp_path / "outputs" / "run"
    (deep / "outputs" / "run").mkdir(parents=True)
    assert find_upwards("outputs/run").resolve() == deep / "outputs" / "run"


def test_an_absolute_path_is_taken_as_it_is_and_a_missing_one_is_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_upwards(tmp_path) == tmp_path
    assert find_upwards(tmp_path / "missing") is None
    assert find_upwards("missing/everywhere") is None
