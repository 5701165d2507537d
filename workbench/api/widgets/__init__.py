"""Widgets of notebooks, which need the extra `lab`."""

from workbench.core.environment import require_installed

require_installed("a widget", "ipywidgets", "anywidget")
