"""The jobs of the core, as a program: `python core_jobs.py FOLDER [MODULE …]` refuses the modules, works in the folder, and prints a line for each job.

The tests run it where packages of extras are refused, and where they are not installed. The folder has the dataset `data`.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

if __name__ == "__main__":
    sys.modules.update(dict.fromkeys(sys.argv[2:]))

import pandas as pd
import pytest
from click.testing import CliRunner

import workbench as wb
from workbench.cli.main import main
from workbench.core.environment import advice

dataset = wb.load_dataset("data") if Path("data").is_dir() else None


def search(query: str, k: int) -> list[dict[str, str]]:
    """Return whole documents, by common words."""
    words = set(query.lower().split())
    ranked = sorted(dataset.documents, key=lambda document: -len(words & set(document.text.lower().split())))
    return [{"doc_id": document.doc_id, "text": document.text} for document in ranked[:k]]


def answer(query: str) -> dict[str, object]:
    hits = search(query, 2)
    return {"text": hits[0]["text"][:40], "hits": hits}


def command(words: str, code: int = 0) -> str:
    """Run a command and return what it prints."""
    done = CliRunner().invoke(main, words.split(), env={"GITHUB_STEP_SUMMARY": None, "GITHUB_ACTIONS": None})
    assert done.exit_code == code, f"workbench {words}: {done.exit_code} {done.output} {done.exception}"
    return done.output


@contextmanager
def service() -> Iterator[str]:
    """Serve the answers on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the name is http.server's
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            reply = json.dumps({"answer": answer(body["query"])["text"], "sources": search(body["query"], body["k"])}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def write_experiment(name: str, target: str) -> None:
    head = f"name: {name}\ndataset: {{kind: golden, path: data}}\ntargets: [{target}]\n"
    Path(f"{name}.yaml").write_text(f"{head}gate: {{rules: ['recall@5 >= 0.1']}}\n", "utf-8")


def evaluate_a_callable() -> None:
    assert wb.evaluate(search, dataset)["recall@5"] == 1.0
    assert wb.evaluate(answer, dataset, ["span_recall@2000t", "token_f1"]).table["n"].min() > 0


def score_rankings() -> None:
    rankings = pd.DataFrame({"retrieved": [["a", "b"]], "relevant": [["b"]]})
    assert wb.score(rankings, ["mrr@10"])["mrr@10"] == 0.5


def sweep_recorded_answers() -> None:
    rows = [{"query_id": query.query_id, "hits": search(query.text, 3), "answer": answer(query.text)["text"]} for query in dataset.queries]
    Path("answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    write_experiment("recorded", "{kind: recorded, name: recorded, path: answers.jsonl}")
    shown = command("sweep recorded.yaml")
    # Said, not silently left out.
    assert "the answers are not judged, and not compared by meaning: that needs" in shown
    assert "the notebooks were left out: they need" in shown
    assert Path("outputs/recorded/report.html").stat().st_size > 10_000


def sweep_a_service() -> None:
    with service() as url:
        write_experiment("service", f'{{kind: http, name: service, preset: query, url: "{url}", search: {{}}, answer: {{}}}}')
        command("sweep service.yaml")


def read_a_run() -> None:
    results = wb.load("outputs/recorded")
    assert len(results.leaderboard()) == 1
    assert results.to_html("page.html")
    command("report outputs/recorded outputs/service")


def gate_a_run() -> None:
    assert "pass" in command("gate outputs/recorded --fail-below recall@5=0.5")
    command("gate outputs/recorded --update-baseline baseline.json")
    command("gate outputs/recorded --baseline baseline.json --report")
    command("checklist outputs/recorded", code=1)


def check_a_dataset() -> None:
    command("dataset check data")


def start_on_documents() -> None:
    command("init data/documents --name started --to started --questions 2")
    assert Path("started/started.yaml").is_file()


def test_by_the_plugin() -> None:
    # Where other modules are refused, pytest must not look into the plugins of other packages.
    ours = ["-p", "workbench.pytest_plugin"] if "PYTEST_DISABLE_PLUGIN_AUTOLOAD" in os.environ else []
    assert pytest.main(["-q", "-p", "no:cacheprovider", *ours, "--rag-experiment", "recorded.yaml", "recorded.yaml"]) in (0, 5)


def name_the_extra() -> None:
    """Everything else is one line, with the command that installs it."""
    Path("pipeline.yaml").write_text("name: pipeline\ndataset: {kind: golden, path: data}\n", "utf-8")
    Path("log").mkdir()
    named = {"sweep pipeline.yaml": "sweep", "plan pipeline.yaml": "sweep", "monitor log": "sweep", "lab": "lab"}
    for words, extra in named.items():
        line = command(words, code=2)
        assert line.count("\n") == 1, line
        assert line.startswith("workbench: ")
        assert advice(extra) in line
    calls: dict[str, tuple[Callable[[], object], ...]] = {
        "sweep": (lambda: wb.Pipeline(), lambda: wb.BM25Retriever().index(["a text"])),
        "lab": (lambda: wb.explore, lambda: wb.label),
    }
    for extra, made in calls.items():
        for call in made:
            with pytest.raises(wb.InputError, match=rf"needs [\w-]+; {re.escape(advice(extra))}$"):
                call()


QUICK = (evaluate_a_callable, score_rankings, check_a_dataset, name_the_extra)
SLOW = (sweep_recorded_answers, sweep_a_service, read_a_run, gate_a_run, start_on_documents, test_by_the_plugin)

if __name__ == "__main__":
    os.environ["WORKBENCH_PROGRESS"] = "none"
    jobs = QUICK if os.environ.get("QUICK") else (*QUICK, *SLOW)
    for job in jobs:
        job()
        print(job.__name__, flush=True)
