"""Workbench in processes that lack what Windows lacks (tests/like_windows.py). Nobody ran these on Windows."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.like_windows import ROOT, environment
from tests.tiny_dataset import write_dataset

HOLD = """
import os, sys, time
from pathlib import Path
from workbench.core import operating_system
file = os.open(sys.argv[1], os.O_RDWR)
getattr(operating_system, sys.argv[2])(file, *map(int, sys.argv[3:]))
print("held", flush=True)
time.sleep(600)
"""
TRY = """
import os, sys
from workbench.core import operating_system
file = os.open(sys.argv[1], os.O_RDWR)
try: getattr(operating_system, sys.argv[2])(file, *map(int, sys.argv[3:]))
except OSError as error: print(type(error).__name__)
else: print("free")
"""
FILES = """
import os, sys
from pathlib import Path
from workbench.core import operating_system as system
from workbench.core.files import append_lines, read_regular, write_text
folder = Path(sys.argv[1])
print(system.ON_WINDOWS, system.CAN_FORK, system.processor_flags(), system.grouped(["a", "b"]), hasattr(system, "fcntl"))
write_text(folder / "lines.txt", "ä\\nb")
append_lines(folder / "lines.txt", b"c\\n")
print(read_regular(folder / "lines.txt"))
system.link_or_copy(folder / "lines.txt", folder / "copy.txt")
print((folder / "copy.txt").is_symlink(), (folder / "copy.txt").read_bytes() == (folder / "lines.txt").read_bytes())
for name in ("made", "there"): (folder / name).mkdir()
system.move(folder / "made", folder / "there")
system.sync(folder)
with system.locked_folder(folder, lambda: print("waits")): print((folder / ".workbench.lock").is_file())
print(sorted(path.name for path in folder.iterdir() if path.suffix != ".py" and path.name != "__pycache__"))
"""


def run(folder: Path, script: str, *arguments: object, **variables: str) -> str:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, env=environment(folder) | variables, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


PRINTED = "from workbench.core.text.terminal import print_messages_safely, say\nprint_messages_safely()\nsay('\\u22121 \\u2264 2')"


def test_output_into_a_pipe_has_all_characters(tmp_path: Path) -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert run(tmp_path, PRINTED, **plain) == "−1 ≤ 2"
    assert run(tmp_path, PRINTED, PYTHONIOENCODING="cp1252") == "\\u22121 \\u2264 2"


def test_files_are_written_renamed_copied_and_locked_without_the_calls_that_windows_lacks(tmp_path: Path) -> None:
    assert run(tmp_path, FILES, tmp_path).splitlines() == [
        "True False frozenset() ['a', 'b'] False",
        repr("ä\nb\nc\n".encode()),
        "False True",
        "True",
        "['copy.txt', 'lines.txt', 'there']",
    ]


@pytest.mark.parametrize(("lock", "refused"), [(("lock_file",), "BlockingIOError"), (("lock_bytes", 512, 0x40000000), "PermissionError")])
def test_a_lock_is_refused_to_others_until_its_process_is_killed(lock: tuple[object, ...], refused: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"content")
    command = [sys.executable, "-c", HOLD, str(file), *map(str, lock)]
    with subprocess.Popen(command, env=environment(tmp_path), cwd=ROOT, stdout=subprocess.PIPE, encoding="utf-8") as holder:
        assert holder.stdout.readline() == "held\n"
        # Windows keeps readers from locked bytes, so that they are none of the content.
        assert file.read_bytes() == b"content"
        assert run(tmp_path, TRY, file, *lock) == refused
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert run(tmp_path, TRY, file, *lock) == "free"


SWEEP = """
import json, os, sys
from pathlib import Path
import workbench as wb
from workbench.cli.main import main

os.chdir(sys.argv[1])
def command(*words):
    try: print("exit", main(words, standalone_mode=False) or 0)
    except SystemExit as end: print("exit", end.code)

command("sweep", "tiny.yaml")
command("sweep", "tiny.yaml")
gate = ("gate", "outputs/tiny", "--configuration", "fixed-16-0-bm25-k5")
command(*gate, "--update-baseline", "baseline.json")
command(*gate, "--baseline", "baseline.json")
command("export", "outputs/tiny", "--configuration", "fixed-16-0-bm25-k5")
command("doctor")
command("init", "files")
results = wb.load("outputs/tiny")
manifest = json.loads(Path("outputs/tiny/manifest.json").read_text("utf-8"))
settings = manifest["fingerprints"]["settings"]
# Those of answers and judges name the precision of their encoder, bfloat16 where /proc shows that the processor has it.
kept = {name: {stage: value for stage, value in stages.items() if stage not in ("answering", "judging")} for name, stages in settings.items()}
seen = {"settings": kept, "metrics": results.metrics.round(9).to_csv(index=False)}
Path("seen.json").write_bytes(json.dumps(seen, sort_keys=True).encode())
"""
EXPERIMENT = """
name: tiny
dataset: {kind: golden, path: data}
pipeline: {embedding: {kind: hashed, max_tokens: 48}, answering: {kind: extractive}}
sweep:
  chunking: [{kind: fixed, size: 16, overlap: 0}]
  retrieval: [{kind: dense, k: 5}, {kind: bm25, k: 5}]
metrics: [span_recall@500t, recall@3, ndcg@3]
"""


@pytest.mark.slow
def test_a_sweep_with_notebooks_its_gate_export_doctor_and_init_give_what_they_give_on_linux(tmp_path: Path) -> None:
    seen = []
    for name in ("windows", "linux"):
        folder = tmp_path / name
        write_dataset(folder / "data", evidence=True)
        (folder / "tiny.yaml").write_text(EXPERIMENT, "utf-8")
        (folder / "files").mkdir()
        for file in ("con.md", "Boats.html"):
            (folder / "files" / file).write_text(
                "# Page\n\nThe harbour has forty boats in summer and nine in winter, and a kiosk.\n", "utf-8"
            )
        variables = environment(tmp_path) if name == "windows" else dict(os.environ)
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, [variables.get("PYTHONPATH"), str(ROOT / "tests" / "plugins" / "parts")]))
        command = [sys.executable, "-c", SWEEP, str(folder)]
        done = subprocess.run(command, env=variables, cwd=folder, capture_output=True, encoding="utf-8", check=False)
        assert done.returncode == 0, done.stderr
        assert re.findall("^exit (.*)", done.stdout, re.MULTILINE) == ["0"] * 7, done.stdout + done.stderr
        assert len(list((folder / "outputs" / "tiny").rglob("*.ipynb"))) >= 3
        assert (folder / "experiments" / "files" / "documents" / "document-con.md").is_file()
        seen.append((folder / "seen.json").read_text("utf-8"))
    assert seen[0] == seen[1]


WHOLE_FILES = (
    "tests/api/scoring/test_score.py",
    "tests/core/storage/test_damaged_cache_files.py",
    "tests/core/storage/test_result_store.py",
    "tests/core/test_files.py",
    "tests/monitor/log/test_compaction.py",
    "tests/monitor/log/test_log_writer.py",
    "tests/report/results/test_run_tables.py",
    "tests/report/results/test_table_file.py",
    "tests/runner/execution/test_local.py",
)


@pytest.mark.slow
@pytest.mark.parametrize("file", WHOLE_FILES)
def test_the_tests_of_a_file_pass(file: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "temporary"), file]
    done = subprocess.run(command, env=environment(tmp_path), cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout[-8_000:]
