"""Ask exported configurations in a process that cannot import Workbench."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

# Several folders, one after another: most of the time is that of importing torch.
ASK = """
import contextlib, io, json, os, runpy, sys
sys.modules["workbench"] = None
own, replies = ("packing", "printable", "prompt_tokens", "reorder", "retrieve", "searchers"), []
for folder, call, questions, words in json.load(sys.stdin):
    for name in own:
        sys.modules.pop(name, None)
    os.chdir(folder)
    sys.path[0], sys.argv = folder, ["retrieve.py", words]
    import retrieve
    answered = {name: eval(call, {"retrieve": retrieve, "text": text}) for name, text in questions.items()}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        words and runpy.run_path("retrieve.py", run_name="__main__")
    replies.append([answered, printed.getvalue()])
print(json.dumps(replies))
"""


class Asked(NamedTuple):
    """An exported folder, a call with `retrieve` and `text` for each question by its id, and a question for the command line."""

    folder: Path
    call: str
    questions: Mapping[str, str]
    words: str = ""


class Reply(NamedTuple):
    """What the calls return, and what the command prints."""

    answers: dict[str, Any]
    printed: str


def ask(asked: Iterable[Asked]) -> list[Reply]:
    """Ask folders in one process."""
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    given = json.dumps([(str(each.folder), each.call, dict(each.questions), each.words) for each in asked])
    done = subprocess.run([sys.executable, "-c", ASK], input=given, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    return [Reply(*reply) for reply in json.loads(done.stdout.splitlines()[-1])]
