"""A tiny experiment: five Markdown pages, six questions, one chunking too long for the window, one model broken."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.answered_runs import answered
from tests.judged_runs import judged
from tests.made_runs import LONG, SIZES, one_question, settings
from tests.report.runs.test_comparison import BASE, NOISE
from tests.shared import built_once
from workbench.report.analysis.findings import findings
from workbench.report.render.html import write_report
from workbench.report.results.run_tables import RunTables
from workbench.report.runs.comparison_page import RunComparison
from workbench.report.runs.index import write_index
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.experiment.read import experiment_of
from workbench.runner.notebook_runner.kernels import Kernels
from workbench.runner.notebook_runner.notebooks import USED, notebook_path, run_notebook

if TYPE_CHECKING:
    from playwright.sync_api import Page


@dataclass(frozen=True)
class Shown:
    """A finished sweep with its report."""

    run: RunTables
    folder: Path
    report: Path

    @property
    def page(self) -> str:
        return self.report.read_text("utf-8")


@pytest.fixture(scope="session")
def kernels() -> Iterator[Kernels]:
    """Kernels of notebooks, forked from one process that has the imports."""
    with Kernels(USED, lambda _: None) as started:
        yield started


@pytest.fixture(scope="session")
def shown(
    tmp_path_factory: pytest.TempPathFactory, place: Path, run: Callable[..., Outcome], broken: dict[str, object], kernels: Kernels
) -> Shown:
    """A run with failures, the notebooks of its comparison and of its first configuration, and its report."""
    folder = place / "outputs" / "shown"

    def build(_: Path) -> None:
        outcome = run(name="shown", sweep={**SIZES, "embedding": [{"kind": "hashed", "max_tokens": 48}, {**broken, "max_tokens": 48}]})
        tables = write_outputs(outcome)
        for notebook, name, chosen in (
            ("comparison", "comparison", {}),
            ("configuration", tables.names[0], {"configuration": tables.names[0]}),
        ):
            parameters = {"results": str(folder), **chosen}
            target = folder / "notebooks" / f"{name}.ipynb"
            run_notebook(outcome.run.workspace.store, notebook_path(notebook), parameters, "tiny", target, kernels)
        write_report(RunTables.read(folder), folder / "report.html")

    built_once(tmp_path_factory, "shown", build)
    return Shown(RunTables.read(folder), folder, folder / "report.html")


HOSTILE = {
    "script": "</script><script>window.x=1</script><!--<script> </style><img src=http://evil.example/a.png onerror=window.x=2>",
    "wide": "😀😀 " + "w" * 3000 + " 𝒳 The bridge opens at nine. 😀 The ferry leaves at ten.",
    "right": "שלום עולם \u202e The gate is \x01 red.\u2028 عربى",
    "amp": "&lt;b&gt; &amp; ${x} {{ x }} <b>Bold</b> is said. ]]> \"quoted\" 'so'",
}
HOSTILE_QUESTIONS = [
    (
        "</script><script>window.x=3</script> which image?\x1b[2J\x9b31m\x00",
        "script",
        "<img src=http://evil.example/a.png onerror=window.x=2>",
    ),
    ("When does the bridge 😀 open?", "wide", "The bridge opens at nine."),
    ("When does the ferry leave?" + "y" * 400, "wide", "The ferry leaves at ten."),
    ("\u202eWhich gate? מה", "right", "The gate is \x01 red."),
    ('What is <b>bold</b> & "quoted"?', "amp", "<b>Bold</b> is said."),
]


def write_hostile(folder: Path) -> None:
    documents = "".join(json.dumps({"doc_id": f"{name}<i>", "text": text}) + "\n" for name, text in HOSTILE.items())
    (folder / "documents.jsonl").write_text(documents, "utf-8")
    rows = []
    for number, (query, name, span) in enumerate(HOSTILE_QUESTIONS):
        start = HOSTILE[name].index(span)
        need = [{"doc_id": f"{name}<i>", "start": start, "end": start + len(span)}]
        row = {
            "query_id": f"q{number}</script>",
            "query": query,
            "relevant_doc_ids": [f"{name}<i>"],
            "evidence": [need],
            "kind": f"<u>{number % 2}",
        }
        rows.append(json.dumps(row) + "\n")
    (folder / "questions.jsonl").write_text("".join(rows), "utf-8")


@pytest.fixture(scope="session")
def hostile(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """A report on documents and questions that try to be markup, overflow, turn the direction and miscount their letters."""
    folder = built_once(tmp_path_factory, "hostile", write_hostile)
    sweep = {"chunking": [{"kind": "fixed", "size": [16, 24], "overlap": 0}], "retrieval": [{"kind": "bm25", "k": 3}]}
    experiment = experiment_of(
        settings(
            place, name="hostile", dataset={"kind": "golden", "path": str(folder)}, sweep=sweep, metrics=["span_recall@40t", "recall@3"]
        ),
        "here",
    )
    outcome = run_experiment(experiment, place / "outputs", lambda _: None)
    tables = collect(outcome)
    return Shown(tables, outcome.folder, write_report(tables, outcome.folder / "report.html"))


@dataclass
class Seen:
    """A page that was opened, and what it said or asked for that it should not have."""

    page: "Page"
    complaints: list[str] = field(default_factory=list)


@pytest.fixture
def opened(chromium):
    """Open pages, which at the end must have written nothing into the console and have asked for nothing but themselves."""
    seen: list[Seen] = []

    def open_page(
        path: Path, scheme: str = "light", width: int = 1280, height: int = 900, ready: bool = True, fragment: str = "", **settings: object
    ) -> Seen:
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce", **settings
        )
        page, complaints = context.new_page(), list[str]()
        seen.append(Seen(page, complaints))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        own = (path.as_uri(), "blob:")
        page.on("request", lambda request: None if request.url.startswith(own) else complaints.append(request.url))
        page.goto(f"{path.as_uri()}{'#' if fragment else ''}{fragment}")
        if ready:
            page.wait_for_selector("html[data-ready]", timeout=30_000)
        return seen[-1]

    yield open_page
    for one in seen:
        one.page.context.close()
    assert [one.complaints for one in seen if one.complaints] == []


def page_of(run: RunTables, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(run, tmp_path_factory.mktemp("page") / "report.html")


QUICKSTART = {
    "embedding": [{"kind": "hashed"}],
    "chunking": [{"kind": "fixed", "size": [16, 20, 24, 28, 32, 36], "overlap": 0}],
    "rerank": ["none", {"kind": "mmr", "pool": 5}],
}


@pytest.fixture(scope="session")
def quickstart_page(made, tmp_path_factory) -> Path:
    """12 configurations of two parts on 120 questions, with answers in all conditions and judges."""
    values = np.clip(np.random.default_rng(3).normal(0.6, 0.3, (12, 120)) + np.linspace(0, 0.2, 12)[:, None], 0, 1)
    return page_of(judged(answered(made.valued(values.tolist(), name="like-quickstart", sweep=QUICKSTART))), tmp_path_factory)


@pytest.fixture(scope="session")
def untidy_page(untidy, tmp_path_factory) -> Path:
    return page_of(untidy, tmp_path_factory)


@pytest.fixture(scope="session")
def equivalent_page(made, tmp_path_factory) -> Path:
    """Three configurations whose differences are smaller than what matters."""
    level, random = np.random.default_rng(5).random(120) * 0.8 + 0.1, np.random.default_rng(6)
    values = [np.clip(level + random.normal(0, 0.01, 120), 0, 1) for _ in range(3)]
    run = made.valued(values, name="equivalent", smallest_difference=0.1)
    assert findings(run).equivalent
    return page_of(run, tmp_path_factory)


@pytest.fixture(scope="session")
def one_page(made, tmp_path_factory) -> Path:
    """Two configurations and one question."""
    return page_of(collect(made.ran(2, documents=1, name="single", dataset=one_question(made))), tmp_path_factory)


@pytest.fixture(scope="session")
def thousand_page(made, tmp_path_factory) -> Path:
    """Four configurations on 1,000 questions."""
    return page_of(collect(made.ran(4, documents=100)), tmp_path_factory)


@pytest.fixture(scope="session")
def hostile_page(hostile) -> Path:
    return hostile.report


@pytest.fixture(scope="session")
def answered_page(answered_run, tmp_path_factory) -> Path:
    return page_of(answered_run, tmp_path_factory)


@pytest.fixture(scope="session")
def several_runs(made, tmp_path_factory) -> Path:
    """A folder of runs: two that are compared, one under a long name, and a broken one."""
    folder = tmp_path_factory.mktemp("runs")
    varied = np.clip(BASE + 12 * (NOISE - NOISE.mean()), 0, 1)
    rows = {"then": [BASE] * 3, "now": [BASE, BASE - 0.2 + NOISE, varied], LONG.format(number=1, name="x")[:64]: [BASE]}
    for name, values in rows.items():
        (folder / name).mkdir()
        made.valued(values, name=name).write(folder / name)
    (folder / "broken").mkdir()
    (folder / "broken" / "manifest.json").write_text("{")
    pair = RunComparison.of(*(made.valued(rows[name], name=name) for name in ("then", "now")))
    (folder / "now" / "report.html").write_text("")
    pair.to_html(folder / "now" / "compared.html")
    return folder


@pytest.fixture(scope="session")
def comparison_page(several_runs) -> Path:
    return several_runs / "now" / "compared.html"


@pytest.fixture(scope="session")
def index_page(several_runs) -> Path:
    page = write_index(several_runs)
    assert page is not None
    return page
