"""The pytest plugin: a test for each rule of an experiment's gate, fixtures, and a table. This file contains hooks only.

Every pytest of an environment with Workbench loads it, so it imports the rest of Workbench only for `--rag-experiment`.
"""

from pathlib import Path

import pytest

from workbench.testing.suite import fixtures


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("rag", "tests of a RAG system (Workbench)")
    add = group.addoption
    add("--rag-experiment", metavar="FILE", help="Sweep this experiment, and collect a test for each rule of its key gate.")
    add("--rag-outputs", metavar="DIR", default="outputs", help="The folder for results and the store.  [default: outputs]")
    add("--rag-set", action="append", default=[], metavar="PATH.TO.KEY=VALUE", help="Change a value of the experiment; can be repeated.")
    add("--rag-configuration", metavar="NAME", help="The configuration to check.  [default: that of the gate, or the only one]")
    add("--rag-baseline", metavar="FILE", help="Compare with this baseline: a file, or the folder of a run.")
    add("--rag-warn-undecided", action="store_true", help="Warn about undecided rules in place of failing.")
    add("--rag-allow-code", action="store_true", help="Import and run the functions that the experiment names.")


def pytest_configure(config: pytest.Config) -> None:
    """Register the fixtures and the marker, and collect the experiment besides the files that were named."""
    config.pluginmanager.register(fixtures, "workbench-fixtures")
    config.addinivalue_line("markers", "rag: tests of the rules of an experiment (Workbench)")
    if not config.getoption("rag_experiment"):
        return
    from workbench.testing.suite.rag_suite import SUITE, RagSuite, SuiteOptions

    options = SuiteOptions.of(config)
    config.stash[SUITE] = RagSuite(options)
    named = {(config.invocation_params.dir / arg.partition("::")[0]).resolve() for arg in config.args}
    if (config.invocation_params.dir / options.experiment).resolve() not in named:
        config.args.append(str(options.experiment))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the experiment of `--rag-experiment`."""
    experiment = parent.config.getoption("rag_experiment")
    if not experiment or file_path.resolve() != (parent.config.invocation_params.dir / experiment).resolve():
        return None
    from workbench.testing.suite.collection import ExperimentFile

    return ExperimentFile.from_parent(parent, path=file_path)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table of the suite."""
    if not terminalreporter.config.getoption("rag_experiment"):
        return
    from workbench.core.text.printable import printable_line
    from workbench.testing.suite.collection import suite_table

    reports = [each for reports in terminalreporter.stats.values() for each in reports if isinstance(each, pytest.TestReport)]
    terminalreporter.section("RAG test suite")
    for line in suite_table(reports):
        terminalreporter.write_line(printable_line(line))
