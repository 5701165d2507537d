"""The command `judge fetch`."""

from pathlib import Path

import click

from workbench.core.terminal import say

# Copied from the downloads, which take longer to import than the help takes to print.
MODELS = ("qwen2.5-1.5b", "qwen2.5-0.5b", "smollm2-135m")


@click.command()
@click.argument("model", type=click.Choice(MODELS))
@click.option("--from", "source", help="A file, or the address of a mirror, instead of the official address.")
@click.option("--to", "folder", type=click.Path(path_type=Path), help="The folder to write; by default `models` in the cache.")
def fetch(model: str, source: str | None, folder: Path | None) -> None:
    """Download the file of a local model, resume a download that was interrupted, and verify its checksum.

    qwen2.5-1.5b (1.1 GB) is the smallest model that was found usable as a judge. qwen2.5-0.5b (0.5 GB) and smollm2-135m (0.1 GB) are to try
    the command out.
    """
    from workbench.core.environment import cache_folder
    from workbench.core.progress import ProgressBar
    from workbench.models.downloads import PUBLISHED, download

    file = PUBLISHED[model]
    with ProgressBar(total=file.size, desc=file.name, unit="B", unit_scale=True) as bar:
        place = download(file, source or file.address, folder or cache_folder() / "models", bar.update)
    say(f"{place}: {file.size:,} bytes, sha256 {file.sha256[:12]}…, {file.licence}")
    say(f"judge with it: judging: {{support: {{kind: local, path: {place}}}}}")
