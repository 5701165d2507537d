import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.fingerprint import file_digest, fingerprint, fingerprint_of_rows

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def _reversed_keys(value: object) -> object:
    if isinstance(value, dict):
        return {key: _reversed_keys(value[key]) for key in reversed(value)}
    return [_reversed_keys(item) for item in value] if isinstance(value, list) else value


@given(JSON)
def test_the_order_of_keys_does_not_count_however_deep(value: object) -> None:
    assert fingerprint(value) == fingerprint(_reversed_keys(value))


@given(st.lists(JSON, max_size=5))
def test_rows_that_come_one_by_one_have_the_fingerprint_of_their_list(rows: list) -> None:
    assert fingerprint_of_rows(iter(rows)) == fingerprint(rows)


@given(JSON, JSON)
def test_parts_do_not_run_into_each_other(one: object, other: object) -> None:
    assert fingerprint(one, other) != fingerprint([one, other])
    assert fingerprint([one], other) != fingerprint([one, other])


def test_values_of_different_types_differ() -> None:
    alike = [1, 1.0, "1", True, None, "null", "", 0, False, [], {}, [1], {"1": 1}, "é", "e\u0301"]
    assert len({fingerprint(value) for value in alike}) == len(alike)


def test_the_order_of_a_list_counts() -> None:
    assert fingerprint([1, 2]) != fingerprint([2, 1])


def test_it_is_the_same_for_ever() -> None:
    assert fingerprint("chunks", 1, {"b": [1.5, None], "a": "é"}) == "06bd61c5694d5653703ff0dd48932524"


def test_what_is_no_number_is_refused() -> None:
    for value in (float("nan"), float("inf"), -float("inf"), {"x": [float("nan")]}):
        with pytest.raises(ValueError, match="Out of range float"):
            fingerprint(value)


def test_unknown_types_are_refused() -> None:
    for value in (Path("a"), b"a", {1, 2}, object()):
        with pytest.raises(TypeError):
            fingerprint(value)


def test_it_does_not_depend_on_the_process(run_python: Callable[..., str]) -> None:
    script = "from workbench.core.fingerprint import fingerprint; print(fingerprint({'b': 1, 'a': ['x', {'d': 2, 'c': 3}]}))"
    seeds = {run_python(script, env={"PYTHONHASHSEED": seed}) for seed in ("0", "1", "4242")}
    assert seeds == {fingerprint({"a": ["x", {"c": 3, "d": 2}], "b": 1})}


def test_half_a_character_has_a_fingerprint_of_its_own() -> None:
    assert fingerprint("\ud800") != fingerprint("\ud801")


def test_the_digest_of_a_file_is_sha_256_of_its_bytes(tmp_path: Path) -> None:
    content = b"\x00\r\n" * 500_000
    (tmp_path / "file").write_bytes(content)
    assert file_digest(tmp_path / "file") == hashlib.sha256(content).hexdigest()
