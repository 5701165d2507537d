"""Laws of the package as a whole: import order, names, sizes, weight of imports, packaging."""

import ast
import functools
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import workbench
from workbench import testing
from workbench.components.registry import CHUNKERS, RERANKERS, RETRIEVERS
from workbench.measures.metrics.registry import METRICS

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "workbench"
# A module imports only from rooms before its own.
ROOMS = """core llm data components measures systems report gate runner people api monitor agents cli testing""".split()
MODULES = sorted(PACKAGE.rglob("*.py"))


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


KNOWN = {dotted(path) for path in MODULES}


def room(module: str) -> str:
    """The room of a module; none for `workbench` itself and `pytest_plugin`, a file at the top."""
    return module.split(".")[1] if "." in module else ""


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def imports(path: Path) -> Iterator[str]:
    """The modules of the package that a file imports, also inside functions."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "workbench")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            if node.module and node.module.split(".")[0] == "workbench":
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                yield from (name if name in KNOWN else node.module for name in names)


def imported(folder: Path) -> dict[str, set[str]]:
    """The modules that a folder's modules import, by the module that imports them."""
    return {dotted(path): set(imports(path)) for path in sorted(folder.rglob("*.py"))}


def test_what_reads_a_run_imports_nothing_that_makes_one() -> None:
    computing = "workbench.components.embedding", "workbench.components.retrieval", "workbench.core.storage", "workbench.runner"
    for own, modules in (imported(PACKAGE / "report") | imported(PACKAGE / "gate")).items():
        assert [module for module in modules if module.startswith(computing)] == [], own


def test_the_values_and_tables_of_a_run_know_nothing_of_its_report() -> None:
    for own, modules in (imported(PACKAGE / "report" / "results") | imported(PACKAGE / "report" / "analysis")).items():
        within = "workbench.report.results", "workbench.report.analysis"
        assert [module for module in modules if room(module) == "report" and not module.startswith(within)] == [], own


def test_the_package_has_these_rooms() -> None:
    assert sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py")) == sorted(ROOMS)
    assert sorted(path.name for path in PACKAGE.glob("*.py")) == ["__init__.py", "pytest_plugin.py"]
    # An imported room becomes an attribute of the package, and would hide a public name.
    assert set(ROOMS) & set(workbench.__all__) == {"testing"}
    for name in ROOMS:
        assert len(ast.get_docstring(tree(PACKAGE / name / "__init__.py"))) > 50, f"workbench/{name}/__init__.py says nothing of its room"


def test_a_module_imports_only_from_rooms_before_it() -> None:
    found = [(own, module) for own, modules in imported(PACKAGE).items() for module in modules if room(own) in ROOMS and room(module)]
    # An import within a room is tested for circles below.
    backwards = [
        f"{own} imports {module}"
        for own, module in found
        if room(own) != room(module) and ROOMS.index(room(module)) >= ROOMS.index(room(own))
    ]
    assert backwards == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {dotted(path): set(imports(path)) for path in MODULES}
    while free := {module for module, wanted in graph.items() if not wanted & graph.keys()}:
        graph = {module: wanted for module, wanted in graph.items() if module not in free}
    assert graph == {}


def test_a_name_is_imported_from_the_module_that_defines_it() -> None:
    packages = {dotted(folder) for module in MODULES for folder in module.parents if folder.is_relative_to(PACKAGE)}
    for path in MODULES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ImportFrom) and node.module in packages:
                wanted = {f"{node.module}.{alias.name}" for alias in node.names}
                assert wanted <= KNOWN | {"workbench.__version__"}, f"{path}:{node.lineno}"


# Packages that connect to something, and the modules that may import them.
ONE_WAY_OUT = "llm.models.http"
CLIENTS = """httpx2 httpx httpcore httpcore2 requests aiohttp urllib3 urllib.request urllib.error http.client ftplib smtplib imaplib poplib
nntplib telnetlib xmlrpc websockets websocket grpc pycurl paramiko boto3 botocore s3fs gcsfs ssl asyncssh webbrowser"""
CONNECTING = {
    **{client: {ONE_WAY_OUT} for client in CLIENTS.split()},
    # A pair of sockets, the name of this machine, and a server.
    "socket": {
        "runner.notebook_runner.kernels",
        "runner.notebook_runner.kernel_server",
        "runner.execution.dask_workers",
        "monitor.trace_receiver",
    },
    "http.server": {"monitor.trace_receiver"},
    # They take no client of ours: SECURITY.md says what they reach.
    "huggingface_hub": {"llm.models.files"},
    "fsspec": {"core.storage.remote_store"},
    "distributed": {"runner.execution.dask_sweep"},
}
# What makes a client of another package, which must send through ours.
GIVEN_A_CLIENT = ("OpenAI", "AsyncOpenAI", "Anthropic", "AsyncAnthropic", "streamable_http_client")


def test_one_module_imports_a_client_of_http_and_others_send_through_it() -> None:
    for path in MODULES:
        own = dotted(path).removeprefix("workbench.")
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                module = [node.module] if isinstance(node, ast.ImportFrom) else []
                for words in (".".join([*module, alias.name]).split(".") for alias in node.names):
                    for package in (words[0], ".".join(words[:2])):
                        assert own in CONNECTING.get(package, {own}), f"{own}:{node.lineno} imports {package}"
            elif isinstance(node, ast.Call):
                made = node.func.id if isinstance(node.func, ast.Name) else node.func.attr if isinstance(node.func, ast.Attribute) else ""
                given = {keyword.arg for keyword in node.keywords}
                assert made not in GIVEN_A_CLIENT or "http_client" in given, f"{own}:{node.lineno} makes a client of its own"


def test_class_names_are_unique_in_the_package() -> None:
    found: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(dotted(path))
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def test_folders_files_and_functions_keep_to_the_guide() -> None:
    assert len(MODULES) <= 450
    for folder in {path.parent for path in MODULES}:
        assert len(list(folder.glob("*.py"))) <= 15, (
            f"{folder} has more than 15 modules: join two that are one idea, or move one to the room that uses it"
        )
    for path in MODULES:
        assert path.read_text("utf-8").count("\n") <= 600, path
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno - node.lineno < 60, f"{path}:{node.lineno} {node.name}"


# What one of Linux, macOS and Windows lacks, or does otherwise.
OF_A_SYSTEM = {"fcntl", "msvcrt", "resource", "signal", "pwd", "grp", "termios", "pty", "posix", "nt", "winreg", "syslog"}
OF_OS = set(
    """fork forkpty register_at_fork kill killpg setsid setpgid getpgid getuid geteuid getgid getgroups posix_spawn posix_spawnp wait waitpid WNOHANG
    pread pwrite preadv pwritev readv writev sendfile posix_fadvise posix_fallocate lockf fchmod fchown chown lchown mkfifo mknod O_BINARY
    O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_SYNC O_TMPFILE sched_getaffinity sched_setaffinity nice getloadavg statvfs uname sysconf sync
    link symlink readlink execv execvp spawnv startfile set_blocking rename renames replace open"""
    "".split()
)
THE_SYSTEM = "core.operating_system"


def test_one_module_makes_the_calls_that_differ_between_systems() -> None:
    found = []
    for path in MODULES:
        for node in ast.walk(tree(path)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [getattr(node, "module", None)]
            attribute = (getattr(getattr(node, "value", None), "id", ""), getattr(node, "attr", ""))
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            if (
                not OF_A_SYSTEM.isdisjoint(str(name).split(".")[0] for name in names)
                or (attribute[0] == "os" and attribute[1] in OF_OS)
                or attribute in {("sys", "platform"), ("os", "name")}
                or attribute[1] in {"symlink_to", "hardlink_to", "preexec_fn"}
                or re.match(r"/proc\b|/sys\b|/dev/(?!null)", text)
            ):
                found.append(f"{dotted(path)}:{node.lineno}")
    others = [place for place in found if not place.startswith(f"workbench.{THE_SYSTEM}:")]
    assert others == [], "these differ between Linux, macOS and Windows; call them in workbench/core/operating_system.py"
    assert len(found) > 20


def test_a_path_below_a_folder_is_written_with_slashes_on_every_system() -> None:
    for path in MODULES:
        for node in ast.walk(tree(path)):
            shown = node.value if isinstance(node, ast.FormattedValue) else None
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "str" and node.args:
                shown = node.args[0]
            called = getattr(getattr(shown, "func", None), "attr", "")
            assert called not in ("relative_to", "relpath", "with_suffix"), (
                f"{path}:{node.lineno} has backslashes on Windows: use as_posix()"
            )


def test_text_is_read_as_utf_8_and_written_with_the_line_ends_that_it_has() -> None:
    for path in MODULES:
        for node in ast.walk(tree(path)):
            if not isinstance(node, ast.Call):
                continue
            place = f"{path}:{node.lineno}"
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            given = {keyword.arg for keyword in node.keywords}
            texts = [argument.value for argument in node.args if isinstance(argument, ast.Constant) and isinstance(argument.value, str)]
            if isinstance(node.func, ast.Attribute) and called == "write_text":
                raise AssertionError(
                    f"{place} translates line ends on Windows: use write_text of core/files.py, or write_bytes(text.encode())"
                )
            if called == "read_text":
                assert node.args or "encoding" in given, f"{place} reads with the encoding of the machine"
            if called in ("open", "NamedTemporaryFile", "TemporaryFile", "fdopen") and any(
                re.fullmatch("[wax]\\+?", text) for text in texts
            ):
                assert {"encoding", "newline"} <= given, f"{place} writes with the encoding or the line ends of the machine"
            assert ("text" not in given and "universal_newlines" not in given) or called not in ("run", "Popen", "check_output"), (
                f"{place} decodes by the encoding of the machine: give encoding"
            )


# Beginnings and phrases of docstrings that hide the subject of a sentence.
NOUN_CLAUSE = re.compile(r"(What|Whether|Return what|Return whether)\b")
VAGUE = re.compile(r"\b(is none|of its own|that there is|there is none)\b")


def test_a_docstring_begins_with_an_imperative_or_a_noun_phrase() -> None:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = {
        f"{dotted(path)}.{getattr(node, 'name', '')}": " ".join((ast.get_docstring(node) or "").split())
        for path in MODULES
        for node in ast.walk(tree(path))
        if isinstance(node, documented)
    }
    assert {name: text for name, text in texts.items() if NOUN_CLAUSE.match(text) or VAGUE.search(text)} == {}


def test_the_laws_of_every_registry_see_components_of_another_package() -> None:
    assert "halves" in CHUNKERS
    assert {"plain_vectors", "mixed"} <= set(RETRIEVERS)
    assert "shared_words" in RERANKERS
    assert METRICS["first_hit"].version == 7


def test_the_checks_of_components_are_these() -> None:
    kinds = ("chunker", "embedder", "generator", "judge", "metric", "reranker", "retriever", "rewriter", "splitter", "target")
    assertions = [f"assert_{name}" for name in ("absent", "end_to_end", "faithful", "fresh", "recall", "refuses")]
    assert testing.__all__ == [*(f"{kind.upper()}_LAWS" for kind in kinds), *assertions, *(f"check_{kind}" for kind in kinds)]


def test_commands_that_need_no_heavy_packages_start_without_them(run_python: Callable[..., str]) -> None:
    # `plan`, `gate` and `wb.evaluate` of a function: pandas is most of their time.
    modules = ("cli.main", "runner.execution.plan", "gate.check", "gate.render", "api.systems")
    heavy = "torch chromadb sentence_transformers transformers statsmodels scipy.stats matplotlib nbformat jupyter_client bs4 httpx2"
    script = (
        "import importlib, sys\nfor name in sys.argv[2:]: importlib.import_module(name)\nprint(*set(sys.argv[1].split()) & {*sys.modules})"
    )
    assert run_python(script, heavy, *(f"workbench.{name}" for name in modules)) == ""


@pytest.mark.slow
def test_importing_it_leaves_the_hosts_modules_as_they_were(run_python: Callable[..., str]) -> None:
    names = sorted(dotted(path) for path in MODULES if path.stem not in ("retrieve", "reorder", "searchers"))
    script = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)\nprint([n for n, m in sys.modules.items() if m is None])"
    assert run_python(script, *names) == "[]"


def test_the_command_builds_no_grammar_for_jupyters_schemas(run_python: Callable[..., str]) -> None:
    script = (
        "import sys; sys.argv = ['workbench', '--version']\n"
        "from workbench.cli.main import run\n"
        "try: run()\nexcept SystemExit: import chromadb, papermill; print('lark' in sys.modules)"
    )
    assert run_python(script).splitlines()[-1] == "False"


def test_nothing_is_left_to_do() -> None:
    for path in MODULES:
        found = re.search(r"raise NotImplementedError|TODO|FIXME|XXX", path.read_text("utf-8"))
        assert found is None, f"{path}: {found.group()}"


def test_the_package_says_that_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()


def test_versions_of_sentence_transformers_that_import_code_of_a_local_folder_are_excluded() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (bound,) = [
        Requirement(line).specifier
        for line in project["optional-dependencies"]["sweep"]
        if Requirement(line).name == "sentence-transformers"
    ]
    assert not any(bound.contains(version) for version in ("2.7.0", "3.0.0", "5.7.0"))
    assert bound.contains("6.0.0")


def test_the_conda_environment_and_the_package_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    environment = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))
    assert environment["name"] == project["name"]
    conda = [line for line in environment["dependencies"] if isinstance(line, str)]
    (pip,) = [line["pip"] for line in environment["dependencies"] if isinstance(line, dict)]
    (python,) = [line.removeprefix("python=") for line in conda if line.startswith("python=")]
    assert SpecifierSet(project["requires-python"]).contains(f"{python}.0")
    (editable,) = [line for line in pip if line.startswith("-e ")]
    place, extras = re.fullmatch(r"-e (\S+?)\[([\w,]+)\]", editable).groups()
    assert place == "."
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    pinned = {Requirement(line).name: Requirement(line) for line in pip if not line.startswith("-")}
    bounds = {Requirement(line).name: Requirement(line).specifier for line in project["optional-dependencies"]["sweep"]}
    assert "torch" in pinned
    for name, requirement in pinned.items():
        (pin,) = requirement.specifier
        assert pin.operator == "=="
        assert bounds[name].contains(pin.version)
    assert project["version"] == workbench.__version__
