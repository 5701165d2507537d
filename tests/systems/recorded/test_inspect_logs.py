"""Logs of Inspect, written as inspect-ai 0.3.285 writes them."""

import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.systems.recorded.conftest import BERTH, PILOT, answer, search
from workbench.core.errors import InputError
from workbench.core.records import Query, TargetHit
from workbench.systems.base import TargetError
from workbench.systems.recorded.target import RecordedTarget


def sample(sample_id: object, question: object, text: str, **fields: Any) -> dict[str, Any]:
    message = {"id": "m", "content": text, "source": "generate", "role": "assistant", "model": "mockllm/model"}
    output = {"model": "mockllm/model", "choices": [{"message": message, "stop_reason": "stop"}], "completion": text, "time": 0.1}
    asked = {"id": sample_id, "epoch": 1, "input": question, "target": "a place", "messages": [message], "output": output}
    scored = {"scores": {"includes": {"value": "I", "answer": text}}, "metadata": {}, "store": {}, "events": [{}], "attachments": {}}
    return asked | scored | fields


SAMPLES = [
    sample("q1", BERTH.text, "A place.", metadata={"documents": [{"id": "a", "content": "A berth is a place."}]}),
    sample(1, [{"role": "user", "content": PILOT.text}], "The ship.", store={"Found:retrieved_contexts": []}),
]


def log(samples: list[Any], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A log in a zip, as Inspect writes it. Zstandard, its default, is written by hand: zipfile cannot before Python 3.14."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as packed:
        packed.writestr("header.json", "{}")
        for place, row in enumerate(samples):
            text = json.dumps(row).encode()
            if compression != 93:
                packed.writestr(f"samples/{place}_epoch_1.json", text, compression)
                continue
            member = zipfile.ZipInfo(f"samples/{place}_epoch_1.json")
            packed.writestr(member, pa.compress(text, "zstd", asbytes=True))
            member.compress_type, member.file_size, member.CRC = 93, len(text), zlib.crc32(text)
    return written.getvalue()


# The size of the first sample, as a zip has it.
SIZE = len(json.dumps(SAMPLES[0])).to_bytes(4, "little")


def encrypted(raw: bytes) -> bytes:
    """A log whose directory says that all files are encrypted."""
    directory = b"PK\x01\x02\x14\x03\x14\0"
    assert directory + b"\0\0" in raw
    return raw.replace(directory + b"\0\0", directory + b"\x01\0")


def damaged(raw: bytes) -> bytes:
    """A log whose first sample has other bytes in its middle."""
    with zipfile.ZipFile(io.BytesIO(raw)) as packed:
        member = packed.getinfo("samples/0_epoch_1.json")
    middle = member.header_offset + 30 + len(member.filename) + member.compress_size // 2
    return raw[:middle] + b"\xff" * 16 + raw[middle + 16 :]


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, 93])
def test_a_log_has_answers_and_the_documents_of_metadata_and_store(tmp_path: Path, compression: int) -> None:
    (tmp_path / "a.eval").write_bytes(log(SAMPLES, compression))
    target = RecordedTarget(name="other", path=str(tmp_path / "a.eval"))
    assert target.identity()["format"] == "inspect"
    assert (search(target), answer(target).text) == ((TargetHit("a", "A berth is a place."),), "A place.")
    assert (search(target, PILOT), answer(target, PILOT).text) == ((), "The ship.")


def test_a_log_in_json_is_the_same(recorded) -> None:
    content = {"version": 2, "status": "success", "eval": {}, "results": {"scores": []}, "samples": SAMPLES}
    target = recorded("a.json", content)
    assert (target.identity()["format"], answer(target).text, answer(target, PILOT).text) == ("inspect", "A place.", "The ship.")


def test_a_number_of_a_sample_is_no_id_of_a_question(recorded) -> None:
    # Inspect numbers samples without ids from 1.
    assert answer(recorded("a.json", {"samples": SAMPLES}), Query("1", BERTH.text)).text == "A place."


def test_a_sample_that_failed_is_no_answer(recorded) -> None:
    failed = sample("q1", BERTH.text, "", output={"model": "m", "choices": [], "completion": ""}, error={"message": "out of memory"})
    target = recorded("a.json", {"samples": [failed, SAMPLES[1]]})
    with pytest.raises(TargetError, match="the recorded request failed: out of memory"):
        answer(target)


def test_samples_of_several_epochs_are_chosen_by_their_epoch(recorded) -> None:
    samples = [SAMPLES[0], sample("q1", BERTH.text, "A bed.", epoch=2)]
    with pytest.raises(InputError, match=r"another result for the id 'q1' of .* choose rows with where: {epoch: its value}"):
        recorded("a.json", {"samples": samples}).check()
    assert answer(recorded("b.json", {"samples": samples}, where={"epoch": "2"})).text == "A bed."


def test_folders_in_a_log_that_was_packed_again_are_no_samples(tmp_path: Path) -> None:
    file = tmp_path / "a.eval"
    file.write_bytes(log(SAMPLES))
    with zipfile.ZipFile(file, "a") as packed:
        packed.mkdir("samples")
        packed.mkdir("samples/empty")
    assert answer(RecordedTarget(name="other", path=str(file))).text == "A place."


def test_a_broken_log_is_one_line(tmp_path: Path, wording) -> None:
    whole = log(SAMPLES, 93)
    broken = {
        "no zip": b"{}",
        "cut": whole[:200],
        "a changed byte": whole.replace(b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\xfe"),
        "another size": whole.replace(SIZE, b"\x07\0\0\0"),
        "no sample": log([]),
        "no object": log(["a sample"]),
        "an empty object": log([{}]),
        "another object": log([{"topic": "A berth", "reply": "A place."}]),
        "encrypted": encrypted(log(SAMPLES)),
        "encrypted by Zstandard": encrypted(whole),
        "an LZMA entry": damaged(log(SAMPLES, zipfile.ZIP_LZMA)),
        "a bzip2 entry": damaged(log(SAMPLES, zipfile.ZIP_BZIP2)),
        "a deflated entry": damaged(log(SAMPLES)),
        "a longer entry": log(SAMPLES, zipfile.ZIP_STORED).replace(SIZE, b"\xff\xff\x01\0"),
    }

    def read(name: str) -> None:
        file = tmp_path / f"{name}.eval"
        file.write_bytes(broken[name])
        RecordedTarget(name="other", path=str(file)).check()

    wording(read, dict(zip(broken, broken, strict=True)))
