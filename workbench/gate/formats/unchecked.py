"""A gate that could not be checked, in the places of its outcome."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from workbench.core.files import write_text
from workbench.errors import RunError, WorkbenchError, error_line
from workbench.gate.formats.files import GATE_FILE
from workbench.printable import printable
from workbench.report.render.html import write_report
from workbench.report.render.plain import escaped
from workbench.results.run_tables import MANIFEST, RunTables
from workbench.schemas import SCHEMAS

_TABLES = ("gate", "lost")


def write_unchecked(error: Exception, folder: Path, summary: Path | None, junit: Path | None) -> None:
    """Write an error to the summary and as JUnit XML, and in place of the last outcome into the folder of the run."""
    reason, exit_code = error_line(error), error.exit_code if isinstance(error, WorkbenchError) else RunError.exit_code
    if summary is not None:
        summary.parent.mkdir(parents=True, exist_ok=True)
        with summary.open("a", encoding="utf-8") as file:
            file.write(f"### ❌ The gate could not be checked\n\n{escaped(printable(reason))}\n")
    if junit is not None:
        junit.parent.mkdir(parents=True, exist_ok=True)
        write_text(junit, _junit(reason, folder.name))
    if (folder / MANIFEST).is_file():
        _replace_outcome(reason, exit_code, folder)


def _replace_outcome(reason: str, exit_code: int, folder: Path) -> None:
    content = {"run": folder.name, "outcome": "error", "exit_code": exit_code, "reason": reason, "rules": [], "lost": []}
    earlier = [folder / f"{SCHEMAS[name].name}.parquet" for name in _TABLES]
    shown = any(path.is_file() for path in earlier)
    for path in earlier:
        path.unlink(missing_ok=True)
    write_text(folder / GATE_FILE, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    if shown and (folder / "report.html").is_file():
        write_report(RunTables.read(folder), folder / "report.html")


def _junit(reason: str, name: str) -> str:
    counts = {"tests": "1", "failures": "0", "skipped": "0", "errors": "1"}
    suites = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": f"workbench gate {printable(name)}"} | counts)
    case = ElementTree.SubElement(suite, "testcase", {"classname": printable(name), "name": "the gate can be checked"})
    ElementTree.SubElement(case, "error", {"message": printable(reason)})
    ElementTree.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suites, encoding="unicode")}\n'
