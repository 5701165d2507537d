"""The Python blocks of every page run, in order. Those about judges and attributions show what the page says."""

import re
import time

import pytest
import yaml

from benchmarks.faultbench.cases import NONE
from tests.commands import workbench
from tests.docs.conftest import DOCS, FAULTBENCH, LESSONS, PAGES, blocks, name_of
from workbench.measures.attribution.causes import OWN_CAUSES
from workbench.monitor.alerts.state import signature
from workbench.monitor.log.reading import LoggedQuestions
from workbench.monitor.page import load_monitoring
from workbench.monitor.settings import MonitorSettings

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("page", [page for page in PAGES if page not in LESSONS and blocks(page, "python")], ids=name_of)
def test_the_code_of_a_page_runs(page, executed):
    executed(page)


def test_the_page_refuses_a_scorer_that_counts_words(executed):
    names, output = executed(DOCS / "how-to" / "judge_answers.md")
    found = names["found"]
    assert found.unscored == 0
    assert len(found.rows) == 96
    assert "not a judge: " in output


def test_the_page_judges_an_attribution(executed):
    names, output = executed(FAULTBENCH)
    table, cases = names["table"], names["cases"]
    assert table.to_numpy().sum() == len(cases)
    assert table["failed"].sum() == 0
    assert 40 <= table.loc["rank", "rank"] < table["rank"].sum()
    assert f"of {len(cases)} right" in output


def test_the_page_names_every_cause_in_order():
    assert re.findall(r"^\| `(\w+)` \|", FAULTBENCH.read_text("utf-8"), re.MULTILINE) == [*OWN_CAUSES, NONE]


def test_the_page_shows_what_an_index_that_only_adds_fails(executed):
    page = DOCS / "how-to" / "evaluate_your_system.md"
    names, output = executed(page)
    assert (names["report"].verdict, names["appended"].verdict) == ("passed", "failed")
    (shown,) = blocks(page, "text", "Stale data")
    assert {line for line in shown.splitlines() if line != "…"} <= set(output.splitlines())


def test_the_page_labels_measures_agreement_and_writes_a_dataset_that_is_checked(executed, workplace):
    page = DOCS / "how-to" / "label_questions.md"
    names, output = executed(page)
    assert "ann and bob both judged 4 documents" in output
    assert len(names["agreement"].disagreements) == 4
    (command,) = blocks(page, "bash")
    done = workbench(*command.split()[1:], cwd=workplace)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 faults" in done.stdout


def test_the_page_watches_its_log_and_takes_questions_back(executed, workplace):
    page = DOCS / "how-to" / "monitor_a_service.md"
    names, output = executed(page)
    assert re.fullmatch(r"\{\}\nhttp://127\.0\.0\.1:\d+\n\{\}\n", output)
    (settings,) = blocks(page, "text")
    assert MonitorSettings.of(yaml.safe_load(settings)).alerts.latency.limit == 2
    watch, take = (workbench(*command.split()[1:], cwd=workplace) for command in blocks(page, "bash"))
    assert watch.returncode == 0, watch.stderr
    assert watch.stdout.startswith(f"{len(names['ids'])} questions logged")
    folder, text = workplace / "outputs" / "monitoring", page.read_text("utf-8")
    assert (folder / "monitoring.html").is_file()
    view = load_monitoring(folder)
    assert view.open == ()
    service = LoggedQuestions(workplace / "service-logs").frame(["query", "answer", "hit_count"])
    assert [query.rpartition(" ")[2] for query in service["query"]] == ["taxi", "train", "bus"]
    assert service["answer"].notna().all()
    assert (service["hit_count"] > 0).all()
    assert {*dir(view)} >= {*re.findall(r"`(\w+)\(\)`", text)}
    assert take.returncode == 0, take.stderr


def test_the_page_recognises_the_signature_of_a_webhook(executed):
    is_genuine = executed(DOCS / "how-to" / "monitor_a_service.md").names["is_genuine"]
    now, body = int(time.time()), b'{"id": "latency-1"}'
    header = f"t={now},v1={signature('secret', now, body)}"
    assert is_genuine(header, body, "secret")
    assert not is_genuine(header, body + b" ", "secret")
    assert not is_genuine(header, body, "other")
    old = now - 1000
    assert not is_genuine(f"t={old},v1={signature('secret', old, body)}", body, "secret")
    assert not is_genuine("", body, "secret")
