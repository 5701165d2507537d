from workbench.core.environment import find_upwards


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
