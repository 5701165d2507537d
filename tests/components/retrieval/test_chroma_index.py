import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import chromadb
import numpy as np
import pytest

from workbench.components.retrieval.chroma_index import (
    COLLECTION,
    SPACE,
    _audit,
    _collection,
    build_index,
    check_index,
    ensure_index,
    folder_bytes,
    index_recipe,
    open_client,
    open_collection,
    verified_index,
)
from workbench.core.errors import IndexBuildError
from workbench.core.records import Chunk, Document
from workbench.core.storage.stored_files import digest
from workbench.core.storage.vector_cache import Vectors

# Builds the index of the vectors in a file and prints whether it did.
BUILD = """
import sys
from pathlib import Path
import numpy as np
from workbench.components.retrieval.chroma_index import build_index
from workbench.core.records import Chunk, Document
vectors = np.load(sys.argv[2])
print(build_index(Path(sys.argv[1]), [Chunk(Document(f"d{n}", ""), n, n + 10) for n in range(len(vectors))], vectors))
"""
# Prints whether Chroma would report what it does.
TELEMETRY = """
import os
from workbench.components.retrieval.chroma_index import open_client
with open_client(Path(sys.argv[1]).with_name("other")) as client:
    print(os.environ["ANONYMIZED_TELEMETRY"], client.get_settings().anonymized_telemetry)
"""


def chunks(n: int) -> list[Chunk]:
    return [Chunk(Document(f"d{number}", ""), number, number + 10) for number in range(n)]


def nearest(folder: Path, vectors: Vectors) -> list[str]:
    with open_collection(folder) as collection:
        return [ids[0] for ids in collection.query(query_embeddings=vectors, n_results=1, include=[])["ids"]]


def finds(folder: Path, vectors: Vectors, expected: list[Chunk]) -> bool:
    """Whether nearly all vectors find their chunks: a graph of more than a thousand vectors answers approximately."""
    found = nearest(folder, vectors)
    return sum(each == chunk.chunk_id for each, chunk in zip(found, expected, strict=True)) >= 0.99 * len(expected)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "indexes" / "key"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, like_embeddings: Callable) -> Path:
    folder = tmp_path_factory.mktemp("finished") / "key"
    build_index(folder, chunks(1_200), like_embeddings(1_200))
    return folder


@pytest.mark.slow
def test_no_memory_of_the_process_is_in_the_files_and_chroma_tells_nobody(
    folder: Path, tmp_path: Path, like_embeddings: Callable, run_python: Callable
) -> None:
    np.save(tmp_path / "vectors.npy", like_embeddings(20))
    # The C library fills what it allocates with the complement of this byte, as memory that was used before has other content, such as keys.
    environment = {"MALLOC_PERTURB_": "90", "ANONYMIZED_TELEMETRY": "True"}
    assert run_python(BUILD + TELEMETRY, folder, tmp_path / "vectors.npy", env=environment).split() == ["True", "False", "False"]
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert [path.name for path in files if b"\xa5" * 8 in path.read_bytes()] == []
    # Chroma makes room for 100 vectors.
    (graph,) = folder.glob("*/data_level0.bin")
    content = graph.read_bytes()
    assert any(content[: len(content) // 5])
    assert not any(content[len(content) // 5 :])
    assert not any(graph.with_name("length.bin").read_bytes()[20 * 4 :])
    assert finds(folder, like_embeddings(20), chunks(20))


@pytest.fixture
def built(folder: Path, finished: Path) -> Path:
    """A finished index that a test may damage."""
    return Path(shutil.copytree(finished, folder))


def test_an_index_holds_the_vectors_with_their_ids_space_and_metadata(built: Path, like_embeddings: Callable) -> None:
    vectors = like_embeddings(1_200)
    with open_collection(built) as collection:
        held = collection.get(ids=["d7:7-17", "d1199:1199-1209"], include=["embeddings", "metadatas", "documents"])
        assert collection.count() == 1_200
        assert collection.name == COLLECTION
        assert collection.configuration_json["hnsw"]["space"] == SPACE == "cosine"
        answer = collection.query(query_embeddings=vectors[:1], n_results=1_200, include=["distances"])
    order = [held["ids"].index(name) for name in ("d7:7-17", "d1199:1199-1209")]
    np.testing.assert_allclose(np.asarray(held["embeddings"])[order], vectors[[7, 1_199]], atol=1e-6)
    assert [held["metadatas"][place] for place in order] == [
        {"doc_id": "d7", "start": 7, "end": 17},
        {"doc_id": "d1199", "start": 1199, "end": 1209},
    ]
    assert held["documents"] == [None, None]
    places = [int(name[1 : name.index(":")]) for name in answer["ids"][0]]
    np.testing.assert_allclose(answer["distances"][0], 1 - vectors[places] @ vectors[0], atol=1e-5)
    assert finds(built, vectors, chunks(1_200))


def test_the_manifest_tells_what_was_built(built: Path) -> None:
    manifest = json.loads((built / "workbench.json").read_text())
    assert (manifest["key"], manifest["vectors"], manifest["recipe"]) == ("key", 1_200, index_recipe())
    assert manifest["recipe"]["space"] == "cosine"
    assert manifest["files"].keys() == {path.relative_to(built).as_posix() for path in built.rglob("*.*")} - {"workbench.json"}
    assert folder_bytes(built) == sum(path.stat().st_size for path in built.rglob("*") if path.is_file()) > 1_200 * 32 * 4


def test_an_index_is_built_once_and_anew_when_it_was_deleted(built: Path, like_embeddings: Callable) -> None:
    assert not build_index(built, chunks(5), like_embeddings(5))
    with open_collection(built) as collection:
        assert collection.count() == 1_200
    shutil.rmtree(built)
    assert build_index(built, chunks(5), like_embeddings(5))
    assert nearest(built, like_embeddings(5)) == [chunk.chunk_id for chunk in chunks(5)]


def test_another_version_of_chroma_is_another_index(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = index_recipe()
    monkeypatch.setattr("workbench.components.retrieval.chroma_index.version", lambda _: "9.9.9")
    assert ours["chromadb"] == chromadb.__version__
    assert index_recipe() == ours | {"chromadb": "9.9.9"}


def test_more_vectors_than_chroma_takes_at_once_and_repeated_ones_are_all_held(folder: Path, like_embeddings: Callable) -> None:
    vectors = np.concatenate([like_embeddings(5_500), np.repeat(like_embeddings(1), 40, axis=0)])
    with open_client(folder.parent / "asked") as client:
        assert client.get_max_batch_size() < len(vectors)
    assert build_index(folder, chunks(len(vectors)), vectors)
    with open_collection(folder) as collection:
        assert set(collection.get(include=[])["ids"]) == {chunk.chunk_id for chunk in chunks(len(vectors))}
        answer = collection.query(query_embeddings=vectors, n_results=1, include=["distances"])
    assert np.max(answer["distances"]) < 1e-4


@pytest.mark.parametrize("n", [900, 5_600])
def test_every_opening_finds_the_same(folder: Path, n: int) -> None:
    # Directions without clusters are what approximate search is worst at, so that another graph finds others.
    vectors = np.random.default_rng(4).normal(size=(n, 384)).astype(np.float32)
    build_index(folder, chunks(n), vectors)
    found = []
    for _ in range(5):
        with open_collection(folder) as collection:
            found.append(collection.query(query_embeddings=vectors[:200] + vectors[200:400], n_results=100, include=[])["ids"])
    assert found[1:] == found[:1] * 4


def test_one_chunk_is_enough(folder: Path, like_embeddings: Callable) -> None:
    assert build_index(folder, chunks(1), like_embeddings(1))
    assert nearest(folder, like_embeddings(1)) == ["d0:0-10"]


def test_ids_are_any_text(folder: Path, like_embeddings: Callable) -> None:
    odd = [Chunk(Document(name, ""), 0, 5) for name in ("../../etc/passwd", "<script>", "a b\tc", "日本語", "d:0-5")]
    assert build_index(folder, odd, like_embeddings(5))
    assert nearest(folder, like_embeddings(5)) == [chunk.chunk_id for chunk in odd]


@pytest.mark.slow
def test_a_killed_build_leaves_nothing_that_is_believed(folder: Path, tmp_path: Path, fork: Callable, like_embeddings: Callable) -> None:
    np.save(tmp_path / "vectors.npy", like_embeddings(12_000, 64))
    child = fork(BUILD, folder, tmp_path / "vectors.npy")
    aside = folder.with_name("key.tmp")
    while not list(aside.glob("*/data_level0.bin")):
        assert child.poll() is None, child.communicate()
    child.kill()
    child.wait()
    assert not folder.exists()
    with pytest.raises(IndexBuildError, match="is damaged"):
        nearest(folder, like_embeddings(1))
    assert build_index(folder, chunks(300), like_embeddings(300))
    assert nearest(folder, like_embeddings(300)) == [chunk.chunk_id for chunk in chunks(300)]
    assert not aside.exists()


def test_of_two_processes_one_builds_and_every_vector_finds_itself(
    folder: Path, tmp_path: Path, fork: Callable, like_embeddings: Callable
) -> None:
    np.save(tmp_path / "vectors.npy", like_embeddings(2_000))
    children = [fork(BUILD, folder, tmp_path / "vectors.npy") for _ in range(2)]
    answers = [child.communicate(timeout=60) for child in children]
    assert sorted(out.strip() for out, _ in answers) == ["False", "True"], answers
    assert finds(folder, like_embeddings(2_000), chunks(2_000))


def test_an_index_that_lost_a_vector_is_refused(built: Path) -> None:
    with open_client(built) as client:
        client.get_collection(COLLECTION, embedding_function=None).delete(ids=["d7:7-17"])
    with (
        pytest.raises(IndexBuildError, match=r"key is damaged \(chroma.sqlite3 has changed since it was written\)"),
        open_collection(built),
    ):
        pass


DAMAGES: dict[str, Callable[[Path], object]] = {
    "gone": shutil.rmtree,
    "no manifest": lambda folder: (folder / "workbench.json").unlink(),
    "half a manifest": lambda folder: (folder / "workbench.json").write_text('{"vectors": 1'),
    "an empty manifest": lambda folder: (folder / "workbench.json").write_text("{}"),
    "another manifest": lambda folder: (folder / "workbench.json").write_text("[]"),
    "no database": lambda folder: (folder / "chroma.sqlite3").unlink(),
    "no database but text": lambda folder: (folder / "chroma.sqlite3").write_bytes(b"x" * (folder / "chroma.sqlite3").stat().st_size),
    "half a database": lambda folder: os.truncate(folder / "chroma.sqlite3", 100_000),
    "no graph": lambda folder: [shutil.rmtree(path) for path in folder.iterdir() if path.is_dir()],
    "half a graph": lambda folder: [os.truncate(path, 1_000) for path in folder.glob("*/data_level0.bin")],
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_index_is_refused_in_one_line(built: Path, damage: Callable[[Path], object]) -> None:
    damage(built)
    with pytest.raises(IndexBuildError) as caught, open_collection(built) as collection:
        collection.query(query_embeddings=np.ones((1, 32), np.float32), n_results=3)
    (line,) = caught.value.lines
    assert str(built) in line
    assert line.endswith("delete the folder and run again to rebuild it")


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_index_is_rebuilt_and_the_line_says_so(
    built: Path, damage: Callable[[Path], object], like_embeddings: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(built)
    assert check_index(built)
    ensure_index(built, chunks(1_200), like_embeddings(1_200))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"workbench: the index {built} was damaged (")
    assert check_index(built) == ""
    assert finds(built, like_embeddings(1_200), chunks(1_200))


def test_a_flipped_bit_in_any_file_is_noticed(built: Path) -> None:
    random = Random(15)
    for path in sorted(path for path in built.rglob("*.*") if path.is_file() and path.name != "workbench.json"):
        content = path.read_bytes()
        for _ in range(4):
            flipped, bit = bytearray(content), random.randrange(8 * len(content))
            flipped[bit // 8] ^= 1 << bit % 8
            path.write_bytes(flipped)
            assert check_index(built) == f"{path.relative_to(built).as_posix()} has changed since it was written"
        path.write_bytes(content)
    assert check_index(built) == ""


@pytest.mark.parametrize("forged", [(), ("key",), ("key", "content"), ("key", "content", "vectors")], ids=str)
def test_an_index_in_the_place_of_another_is_rebuilt(
    built: Path, like_embeddings: Callable, forged: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    own = json.loads((built / "workbench.json").read_text())
    other = built.with_name("other")
    build_index(other, chunks(1_100), like_embeddings(1_100, seed=9))
    shutil.rmtree(built)
    other.rename(built)
    manifest = json.loads((built / "workbench.json").read_text())
    (built / "workbench.json").write_text(json.dumps(manifest | {name: own[name] for name in forged}))
    ensure_index(built, chunks(1_200), like_embeddings(1_200))
    reason = {0: "it is the index other", 3: "it has 1100 of 1200 vectors"}.get(len(forged), "it was built from other vectors")
    assert capsys.readouterr().err == f"workbench: the index {built} was damaged ({reason}), so it was rebuilt\n"
    assert finds(built, like_embeddings(1_200), chunks(1_200))


def test_an_index_of_the_same_vectors_under_other_ids_is_rebuilt(
    built: Path, like_embeddings: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(built)
    build_index(built, chunks(1_200), np.roll(like_embeddings(1_200), 1, axis=0))
    ensure_index(built, chunks(1_200), like_embeddings(1_200))
    assert capsys.readouterr().err == f"workbench: the index {built} was damaged (it was built from other vectors), so it was rebuilt\n"
    assert finds(built, like_embeddings(1_200), chunks(1_200))


def test_an_index_of_another_version_of_chroma_is_rebuilt(built: Path, like_embeddings: Callable) -> None:
    manifest = json.loads((built / "workbench.json").read_text())
    (built / "workbench.json").write_text(json.dumps(manifest | {"recipe": manifest["recipe"] | {"chromadb": "0.0.1"}}))
    ensure_index(built, chunks(1_200), like_embeddings(1_200))
    assert verified_index(built).recipe == index_recipe()


def test_a_collection_whose_vectors_do_not_find_themselves_is_rebuilt(
    built: Path, like_embeddings: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = json.loads((built / "workbench.json").read_text())
    shutil.rmtree(built)
    build_index(built, chunks(1_200), like_embeddings(1_200, seed=9))
    other = json.loads((built / "workbench.json").read_text())
    (built / "workbench.json").write_text(json.dumps(other | {"content": manifest["content"]}))
    ensure_index(built, chunks(1_200), like_embeddings(1_200))
    assert "of the sampled vectors find themselves" in capsys.readouterr().err
    assert finds(built, like_embeddings(1_200), chunks(1_200))


@pytest.mark.parametrize("n", [1, 1_200])
def test_an_index_that_is_rebuilt_between_its_check_and_its_opening_is_refused(folder: Path, like_embeddings: Callable, n: int) -> None:
    build_index(folder, chunks(n), like_embeddings(n))
    manifest = verified_index(folder)
    shutil.rmtree(folder)
    build_index(folder, chunks(n), like_embeddings(n))
    with (
        pytest.raises(IndexBuildError, match="was rebuilt by another process while it was opened; run again"),
        _collection(folder, manifest),
    ):
        pass


def test_an_index_whose_manifest_is_another_one_once_its_files_are_copied_is_refused(built: Path) -> None:
    manifest = verified_index(built)
    (built / "workbench.json").write_text(manifest.model_copy(update={"content": "0" * 32}).model_dump_json())
    with pytest.raises(IndexBuildError, match="was rebuilt by another process while it was opened"), _collection(built, manifest):
        pass


@pytest.mark.parametrize(
    ("added", "error"), [(1_201, "1200 of the 1201 ids that were added, and 1200"), (1_199, "1199 of the 1199 .* 1200")]
)
def test_a_collection_with_other_ids_than_those_that_were_added_is_not_kept(
    built: Path, like_embeddings: Callable, added: int, error: str
) -> None:
    with open_collection(built) as collection:
        _audit(collection, chunks(1_200), like_embeddings(1_200))
        with pytest.raises(IndexBuildError, match=f"the index has {error} in all"):
            _audit(collection, chunks(added), like_embeddings(1_200)[:added])


@pytest.mark.parametrize("name", ["../outside", "/etc/hostname", "a/../../outside"])
def test_a_manifest_that_names_files_outside_the_index_is_refused(built: Path, name: str) -> None:
    (built.parent / "outside").write_text("text")
    manifest = json.loads((built / "workbench.json").read_text())
    files = manifest["files"] | {name: [4, digest(built.parent / "outside")]}
    (built / "workbench.json").write_text(json.dumps(manifest | {"files": files}))
    assert check_index(built) == f"its manifest names {name}, which is outside"


@pytest.mark.parametrize("n", [1, 1_200])
def test_searching_changes_no_file_of_an_index_and_a_sound_one_stays(
    folder: Path, like_embeddings: Callable, n: int, capsys: pytest.CaptureFixture[str]
) -> None:
    build_index(folder, chunks(n), like_embeddings(n))
    before = {path: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}
    # The journal of a stranger's killed process is not part of the index.
    (folder / "chroma.sqlite3-journal").write_bytes(bytes.fromhex("d9d505f920a163d7") + bytes(600))
    for _ in range(2):
        ensure_index(folder, chunks(n), like_embeddings(n))
        nearest(folder, like_embeddings(n))
    assert {path: path.read_bytes() for path in before} == before
    assert capsys.readouterr().err == ""


def test_vectors_that_do_not_find_themselves_are_not_kept(folder: Path, like_embeddings: Callable) -> None:
    vectors = like_embeddings(20)
    vectors[::2] = 0
    with pytest.raises(IndexBuildError, match="of the sampled vectors find themselves"):
        build_index(folder, chunks(20), vectors)
    assert not folder.exists()
    vectors[0, 0] = np.nan
    with pytest.raises(IndexBuildError, match="NaN"):
        build_index(folder, chunks(20), vectors)
    assert not [path for path in folder.parent.iterdir() if path.is_dir()]


def test_a_disk_that_is_full_is_one_line_and_leaves_nothing(
    folder: Path, tmp_path: Path, fork: Callable, like_embeddings: Callable
) -> None:
    np.save(tmp_path / "vectors.npy", like_embeddings(6_000, 64))
    script = f"""
import resource, signal
from workbench.core.errors import RunError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
try:
    {BUILD.strip().replace(chr(10), chr(10) + "    ")}
except RunError as error:
    print(error.lines)
"""
    line = fork(script, folder, tmp_path / "vectors.npy").output()
    assert line.count("\n") == 0
    assert "check that the disk has room" in line
    assert [path for path in folder.parent.iterdir() if path.is_dir()] == []
