"""The outcome of a gate as JUnit XML, which CI servers show as tests."""

import xml.etree.ElementTree as ElementTree

from workbench.gate.formats.terminal import remarks
from workbench.gate.report import GateReport
from workbench.printable import printable
from workbench.statistics.gates.paired import Decision


def gate_junit(report: GateReport, warn_undecided: bool = False) -> str:
    """Render each rule as a test, and each remark, such as one on drafts, as a property.

    An undecided rule is a failure of the type `undecided`, or skipped if it is only a warning.
    """
    failed = [rule for rule in report.rules if rule.outcome is Decision.FAIL or (rule.outcome is Decision.UNDECIDED and not warn_undecided)]
    skipped = sum(rule.outcome is Decision.UNDECIDED for rule in report.rules) if warn_undecided else 0
    counts = {"tests": len(report.rules), "failures": len(failed), "skipped": skipped, "errors": 0}
    numbers = {name: str(count) for name, count in counts.items()}
    suites = ElementTree.Element("testsuites", numbers)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": f"workbench gate {printable(report.name)}"} | numbers)
    if notes := remarks(report):
        properties = ElementTree.SubElement(suite, "properties")
        for note in notes:
            ElementTree.SubElement(properties, "property", {"name": "note", "value": printable(note)})
    for rule in report.rules:
        names = {"classname": printable(f"{report.name}.{report.configuration}"), "name": printable(rule.rule)}
        case = ElementTree.SubElement(suite, "testcase", names)
        if rule.outcome is not Decision.PASS:
            tag = "skipped" if warn_undecided and rule.outcome is Decision.UNDECIDED else "failure"
            details = {"message": printable(rule.reason)} | ({"type": str(rule.outcome)} if tag == "failure" else {})
            ElementTree.SubElement(case, tag, details)
    ElementTree.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suites, encoding="unicode")}\n'
