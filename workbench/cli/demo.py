"""The command `demo`: a recorded run of the quickstart, which comes with the package."""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

import click

from workbench.cli.lab import QUICKSTART, open_lab, require_lab, start_files, work_notebook
from workbench.cli.options import outputs_option
from workbench.cli.sweep import sweep
from workbench.core.environment import advice, require_installed
from workbench.core.errors import InputError
from workbench.core.files import store_errors
from workbench.core.text.terminal import say, say_prose

RECORDING = Path(__file__).parents[1] / "recording"
_NAME = "demo"


@click.command()
@outputs_option("The recording is copied to OUTPUTS/demo.")
@click.option("--lab", is_flag=True, help="Open the recording in JupyterLab, question by question.")
@click.option("--repeat", is_flag=True, help="Sweep the recorded experiment here instead. It is copied to experiments/quickstart.yaml.")
@click.pass_context
def demo(context: click.Context, outputs: Path, lab: bool, repeat: bool) -> None:
    """Show a recorded run of the quickstart: its verdict, its report and its tables. Nothing is computed or fetched."""
    from workbench.report.results.run_tables import RunTables
    from workbench.report.topics.registry import summary_lines

    if lab:
        require_lab()
    if repeat:
        require_installed("workbench demo --repeat", "torch", "chromadb", extra="sweep")
        start_files()
        context.invoke(sweep, experiment=QUICKSTART, outputs=outputs, overrides=(), allow_code=False)
        return
    folder = _copied(outputs / _NAME)
    run = RunTables.read(folder)
    say(f"A recording of the experiment {run.name} at commit {run.manifest['commit']:.12}. Nothing was computed here.")
    for line in summary_lines(run):
        say_prose(line)
    say()
    say(f"report: {folder / 'report.html'}")
    if lab:
        open_lab(work_notebook(folder))
    say(f'In Python: wb.load("{folder.as_posix()}"). In a notebook: {advice("lab")}, then workbench demo --lab.')
    say(
        f"To repeat it in minutes, which the next step needs: make quickstart in a checkout; elsewhere {advice('sweep')}, then workbench demo --repeat."
    )


def _copied(folder: Path) -> Path:
    """Copy the recording to a folder, unless it is there. Raises InputError if something else is there, or a part of it is missing."""
    from workbench.report.results.run_tables import MANIFEST

    if not (RECORDING / MANIFEST).is_file():
        raise InputError(f"the recording is missing from {RECORDING}", "install workbench again")
    with store_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(folder):
            # Calls at the same time copy to folders of their own, and the first that is finished stays.
            with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as own:
                copy = shutil.copytree(RECORDING, Path(own) / folder.name)
                with contextlib.suppress(OSError):
                    copy.rename(folder)
    absent = [path.name for path in RECORDING.iterdir() if not (folder / path.name).is_file()]
    if absent or (folder / MANIFEST).read_bytes() != (RECORDING / MANIFEST).read_bytes():
        raise InputError(f"{folder} is not the recording", "move it away, or give another --outputs")
    return folder
