"""The pytest plugin: a test for each rule of an experiment's gate, fixtures, and a table. This file contains hooks only.

Every pytest of an environment with Workbench loads it, so it imports the rest of Workbench only for `--rag-experiment`.
"""

from pathlib import Path

import pytest

from workbench.suite import fixtures
from workbench.suite.options import add_options, options_of


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the fixtures and the marker, and collect the experiment besides the files that were named."""
    config.pluginmanager.register(fixtures, "workbench-fixtures")
    config.addinivalue_line("markers", "rag: tests of the rules of an experiment (Workbench)")
    options = options_of(config)
    if options is None:
        return
    from workbench.suite.rag_suite import SUITE, RagSuite

    config.stash[SUITE] = RagSuite(options)
    named = {(config.invocation_params.dir / arg.partition("::")[0]).resolve() for arg in config.args}
    if (config.invocation_params.dir / options.experiment).resolve() not in named:
        config.args.append(str(options.experiment))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the experiment of `--rag-experiment`."""
    options = options_of(parent.config)
    if options is None or file_path.resolve() != (parent.config.invocation_params.dir / options.experiment).resolve():
        return None
    from workbench.suite.collection import ExperimentFile

    return ExperimentFile.from_parent(parent, path=file_path)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table of the suite."""
    if options_of(terminalreporter.config) is None:
        return
    from workbench.printable import printable_line
    from workbench.suite.kinds import suite_table

    reports = [each for reports in terminalreporter.stats.values() for each in reports if isinstance(each, pytest.TestReport)]
    terminalreporter.section("RAG test suite")
    for line in suite_table(reports):
        terminalreporter.write_line(printable_line(line))
