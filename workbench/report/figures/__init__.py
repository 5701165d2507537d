"""The canvas of all figures, those of intervals, and that of a history. Other figures are in the module of their topic."""
