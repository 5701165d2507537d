"""Links of the docs lead somewhere, experiments are valid, commands exit 0."""

import importlib
import re
import shlex
from pathlib import Path

import pytest
import yaml

from tests.commands import workbench
from tests.docs.conftest import DOCS, PAGES, README, ROOT, blocks, every_block, name_of
from workbench.data.sources import SOURCES
from workbench.runner.experiment.gate_keys import gate_of
from workbench.runner.experiment.read import experiment_of

# These sweep for minutes, or need the big sets: tests/cli and tests/runner/execution run their options.
SWEEPS = "sweep"


def prose(page: Path) -> str:
    """The text of a page without its blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to a page's headings."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_a_file_and_a_heading(page):
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)]*))?\)", prose(page)):
        place = (page.parent / target).resolve() if target else page
        assert place.exists(), target
        if anchor:
            assert anchor in anchors(place), f"{target}#{anchor}"


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name_of)
def test_the_names_that_a_page_imports_exist(page):
    for module, names in re.findall(r"^from (workbench[\w.]*) import (.+)$", "\n".join(blocks(page, "python")), re.MULTILINE):
        for name in names.split(","):
            assert hasattr(importlib.import_module(module), name.strip()), f"{module} has no {name.strip()}"


def test_the_index_lists_every_page():
    listed = {(DOCS / target).resolve() for target in re.findall(r"\]\(([^)#:]+)", (DOCS / "README.md").read_text("utf-8"))}
    assert {page for page in PAGES if page.parent != ROOT} - listed == {DOCS / "README.md"}


@pytest.mark.parametrize(("page", "text"), every_block("yaml"))
def test_experiments_and_datasets_in_the_docs_are_valid(page, text):
    settings = yaml.safe_load(text)
    if "name" in settings:
        assert experiment_of(settings, name_of(page)).configurations
    elif "gate" in settings:
        assert gate_of(settings, name_of(page)).floors
    else:
        for line in text.strip().splitlines():
            source = yaml.safe_load(line)["dataset"]
            SOURCES[source["kind"]].model_validate(source)


COMMANDS = {line for _, text in every_block("sh") for line in text.strip().splitlines() if line.startswith("workbench ")}


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted(command for command in COMMANDS if command.split()[1] != SWEEPS))
def test_commands_of_the_docs_exit_0(command, workplace):
    done = workbench(*shlex.split(command)[1:], cwd=workplace)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_two_commands_of_the_readme_are_targets_of_the_makefile():
    makefile = (ROOT / "Makefile").read_text()
    for line in ("make quickstart", "make test"):
        assert f"```sh\n{line}\n" in README.read_text("utf-8")
        assert f"\n{line.removeprefix('make ')}: " in makefile


def require_tests(names: list[str]) -> None:
    """Check that files of tests, and the tests that are named after `::`, exist."""
    for name in names:
        path, _, test = name.partition("::")
        assert (ROOT / "tests" / path).is_file(), path
        assert not test or f"def {test}(" in (ROOT / "tests" / path).read_text("utf-8"), name


def test_every_attack_of_the_page_on_reliability_names_its_tests():
    table = (DOCS / "reliability.md").read_text("utf-8").partition("## Attacks")[2].partition("## ")[0]
    _, _, *rows = [line for line in table.splitlines() if line.startswith("|")]
    for row in rows:
        tests = row.strip("| ").split(" | ")[-1]
        names = re.findall(r"`([^`]+)`", tests)
        assert names or tests == "the same", row
        require_tests(names)


def test_every_claim_about_security_names_tests_that_exist():
    """Each paragraph, and each item with a heading, ends with a comment that names the tests of what it says."""
    page = (ROOT / "SECURITY.md").read_text("utf-8").partition("## How to report")[0]
    items = [item for block in page.split("\n\n") for item in re.split(r"\n(?=- \*\*)", block)]
    claims = [item for item in items if item and not item.startswith("#") and not item.endswith((":", "authors."))]
    assert len(claims) > 10
    for claim in claims:
        (names,) = re.findall(r"<!-- tests: (.+) -->\Z", claim)
        require_tests(names.split(", "))


def test_what_people_write_and_read_stays_short() -> None:
    """A page that grows makes another shorter. The reference is written by code."""
    pages = [ROOT / "README.md", *DOCS.glob("*.md"), *DOCS.glob("how-to/*.md"), *DOCS.glob("explanation/*.md")]
    assert sum(page.read_text("utf-8").count("\n") for page in pages) <= 6_500
    assert README.read_text("utf-8").count("\n") <= 90
