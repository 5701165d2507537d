"""The code says something about every part of docs/reference/*.md. `make check` shows that the pages are current."""

import re

import pytest

from tests.docs.conftest import DOCS, ROOT
from workbench import __all__ as public
from workbench.components.embedding.registry import EMBEDDERS
from workbench.components.registry import CHUNKERS, RERANKERS, RETRIEVERS
from workbench.core.schemas import SCHEMAS
from workbench.data.sources import SOURCES
from workbench.measures.metrics.registry import METRICS
from workbench.monitor.alerts.settings import AlertLimit, AlertSettings
from workbench.monitor.alerts.state import Webhook
from workbench.monitor.log.asgi import LoggedRoute
from workbench.monitor.settings import MonitorSettings
from workbench.systems.registry import TARGETS

TABLES = (SOURCES, CHUNKERS.builtin, EMBEDDERS.builtin, RETRIEVERS.builtin, RERANKERS.builtin, TARGETS.builtin)
MONITORING = (MonitorSettings, AlertSettings, AlertLimit, Webhook, LoggedRoute)
COMPONENTS = [*(part for table in TABLES for part in table.values()), *MONITORING]


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda component: component.__name__)
def test_every_field_of_a_component_is_described_by_a_sentence(component):
    fields = {name: field for name, field in component.model_fields.items() if name != "kind"}
    assert all((field.description or "").endswith(".") for field in fields.values()), fields


@pytest.mark.parametrize("name", METRICS.builtin)
def test_every_metric_has_a_formula_and_a_source(name):
    assert "–" not in (METRICS[name].formula, METRICS[name].source)


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=lambda schema: schema.name)
def test_every_column_has_a_meaning(schema):
    assert list(schema.phrases) == schema.names
    assert all(schema.phrases.values())
    assert schema.rows


def test_the_reference_of_the_api_names_everything_public():
    page = (DOCS / "reference" / "api.md").read_text("utf-8")
    assert all(f"`wb.{name}`" in page for name in public)


def test_the_reference_of_the_commands_names_every_exit_code():
    commands = "".join(path.read_text("utf-8") for path in (ROOT / "workbench" / "cli").glob("*.py"))
    codes = set(re.findall(r"\b(?:exit|SystemExit)\((\d+)", commands)) | set(re.findall(r"\b(?:else|==) (\d)\b", commands))
    page = (DOCS / "reference" / "commands.md").read_text("utf-8")
    assert {"0", "1", "2", "3", "4", "130"} <= codes <= set(re.findall(r"^\| (\d+) \|", page, re.MULTILINE))
