"""What is written for agents: llms.txt lists every page, and the skill names tools and commands that exist and run."""

import json
import re
import runpy
import shlex
import shutil
from pathlib import Path

import anyio
import pytest
import yaml

from tests.commands import workbench
from tests.docs.conftest import DOCS, PAGES, ROOT, blocks
from tests.made_runs import Made
from workbench.agents.folder import WorkingFolder
from workbench.agents.server import INSTRUCTIONS, AgentServer
from workbench.cli.main import main
from workbench.measures.attribution.causes import CAUSES

SKILL = ROOT / "skills" / "rag-workbench" / "SKILL.md"
TEXT = SKILL.read_text("utf-8")
COMMANDS = [command for command in re.findall(r"`(workbench [^`]+)`", TEXT) if not command.startswith("workbench mcp")]


def tools_of(folder: Path) -> list[str]:
    server = AgentServer(WorkingFolder.of(folder, Path("outputs")), None)
    return [tool.name for tool in anyio.run(server.list_tools)]


def test_llms_txt_links_every_page_once_with_a_sentence() -> None:
    text = (ROOT / "llms.txt").read_text("utf-8")
    assert text == runpy.run_path(str(DOCS / "llms.py"))["llms_txt"]()
    links = re.findall(r"^- \[.+\]\((.+?)\): .{20,}$", text, re.MULTILINE)
    assert sorted(set(links)) == sorted(links)
    assert {(ROOT / link) for link in links} >= set(PAGES) - {DOCS / "README.md"}
    assert all((ROOT / link).is_file() for link in links)


def test_the_front_matter_of_the_skill_is_as_the_specification_says() -> None:
    front = yaml.safe_load(TEXT.split("---\n")[1])
    assert front["name"] == SKILL.parent.name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", front["name"])
    assert 1 <= len(front["description"]) <= 1024
    assert len(front["compatibility"]) <= 500
    assert set(front) <= {"name", "description", "license", "compatibility", "metadata"}
    assert TEXT.count("\n") < 150


def test_the_skill_teaches_the_tools_in_the_order_of_the_server(tmp_path: Path) -> None:
    tools = tools_of(tmp_path)
    table = TEXT.partition("## Order of work")[2].partition("\n1. ")[0]
    assert re.findall(r"`(\w+)`", table.replace("`ls outputs`", "")) == tools
    assert ", ".join(tools) in INSTRUCTIONS
    causes = re.findall(r"`(\w+)` needs|`(\w+)` another|`(\w+)` more", TEXT)
    assert {name for names in causes for name in names if name} <= {cause.name for cause in CAUSES}


def test_the_page_starts_the_server_and_lists_its_tools(tmp_path: Path) -> None:
    page = DOCS / "how-to" / "let_an_agent_work.md"
    (settings,) = (json.loads(text)["mcpServers"]["workbench"] for text in blocks(page, "json"))
    command, *words = [settings["command"], *settings["args"]]
    assert (command, words[0]) == ("workbench", "mcp")
    options = main.commands["mcp"].make_context("mcp", [str(tmp_path) if word.startswith("/") else word for word in words[1:]]).params
    assert (options["allow_runs"], options["minutes"]) == (True, 20)
    rows = re.findall(r"^\| (`.+`) \| ", page.read_text("utf-8"), re.MULTILINE)
    assert [name for row in rows for name in re.findall(r"`(\w+)`", row)] == tools_of(tmp_path)


def test_the_commands_of_the_skill_exist() -> None:
    assert len(COMMANDS) >= 6
    assert all(command.split()[1] in main.commands for command in COMMANDS)


@pytest.mark.slow
def test_the_commands_of_the_skill_run_in_its_order(made: Made, tmp_path: Path) -> None:
    shutil.copytree(made.data(4), tmp_path / "data")
    (experiment,) = blocks(SKILL, "yaml")
    (tmp_path / "experiment.yaml").write_text(experiment, "utf-8")
    for command in COMMANDS:
        words = shlex.split(command.replace("FOLDER", "data/documents"))[1:]
        done = workbench(*words, cwd=tmp_path)
        assert done.returncode == 0, f"{command}: {done.stderr}"
