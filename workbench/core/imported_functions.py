"""Functions that an experiment names as `package.module:function`. They are imported only with permission, since an import runs code."""

import builtins
import functools
import importlib
import importlib.metadata
import inspect
import os
import platform
import re
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from workbench.core.errors import InputError, error_line
from workbench.core.fingerprint import file_digest
from workbench.core.text.formatting import meant

# The form of a function's name, which is all that reading an experiment checks.
_FUNCTION = r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$"


def _function_name(name: str) -> str:
    if not re.fullmatch(_FUNCTION, name):
        raise ValueError("not the name of a function; write package.module:function")
    return name


FunctionName = Annotated[str, AfterValidator(_function_name), Field(json_schema_extra={"pattern": _FUNCTION})]

# Reading the metadata of all packages takes a third of a second.
_packages = functools.cache(importlib.metadata.packages_distributions)

# The specification of each module, and the digest of its source when it was first seen.
_sources: dict[str, tuple[ModuleSpec | None, str]] = {}

# Never a key of an experiment file: a file must not permit itself to run code.
PERMISSION = "add --allow-code (in Python allow_code=True) if you trust it as you would a program"


def require_permission(functions: Sequence[str], allow_code: bool) -> None:
    """Raise InputError if an experiment names functions and nobody allowed it to run code."""
    if functions and not allow_code:
        raise InputError(f"the experiment runs code: {', '.join(functions)}", PERMISSION)


def imported(name: str) -> Callable[..., Any]:
    """Import the function `package.module:function`, also from the working directory. Raises InputError if it does not exist."""
    function = imported_object(name)
    if not builtins.callable(function):
        raise InputError(f"{name} is a {type(function).__name__}, not a function")
    return function


def require_current(name: str) -> None:
    """Raise InputError if the source of a function's module was changed after Workbench imported it: the old code would run."""
    module_name = name.partition(":")[0]
    file = getattr(sys.modules.get(module_name), "__file__", None)
    if (digest := _source_digest(module_name)) and digest != file_digest(Path(file or "")):
        raise InputError(
            f"{file} was changed after it was imported", f"restart the kernel, or reload it with importlib.reload({module_name})"
        )


def _source_digest(module_name: str) -> str:
    """Return the digest of the source as it was when Workbench first saw this import of the module, or an empty text without a source."""
    module = sys.modules.get(module_name)
    file = getattr(module, "__file__", None)
    if not (file and Path(file).suffix == ".py" and Path(file).is_file()):
        return ""
    # Importing or reloading a module makes a new specification.
    spec, known = getattr(module, "__spec__", None), _sources.get(module_name)
    if known is None or known[0] is not spec:
        known = _sources[module_name] = (spec, file_digest(Path(file)))
    return known[1]


def imported_object(name: str) -> object:
    """Import the object `package.module:name` of any type, also from the working directory. Raises InputError if it does not exist."""
    module_name, _, attributes = name.partition(":")
    folder = os.getcwd()
    # Append it, so that a file there hides no package. The command's own path lacks the working directory.
    if added := folder not in sys.path:
        sys.path.append(folder)
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # importing a stranger's module may raise anything
        reason = error_line(error)[:200]
        raise InputError(f"the module {module_name!r} cannot be imported ({reason})", f"it is looked for in {folder} too") from error
    finally:
        if added:
            sys.path.remove(folder)
    _source_digest(module_name)
    try:
        return functools.reduce(getattr, attributes.split("."), module)
    except AttributeError:
        known = [known for known, value in vars(module).items() if inspect.isroutine(value)]
        raise InputError(f"the module {module_name!r} has no {attributes!r}{meant(attributes, known)}") from None


def source_identity(name: str) -> list[str]:
    """Return the digest of the module that defines the function `package.module:function`, or its version if it has no source file."""
    function = inspect.unwrap(imported(name))
    return module_identity(getattr(function, "__module__", None) or name.partition(":")[0])


def module_identity(module_name: str) -> list[str]:
    """Return the digest of an imported module's source, or the versions of Python and its package if it has no source file.

    A source that is changed later is not what runs, so the digest stays the same until the module is imported anew or reloaded.
    """
    if digest := _source_digest(module_name):
        return [digest]
    packages = _packages().get(module_name.partition(".")[0], [])
    return [f"Python {platform.python_version()}", *(f"{package} {importlib.metadata.version(package)}" for package in packages)]
