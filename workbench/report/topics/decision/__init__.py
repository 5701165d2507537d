"""The decision that a run leads to, in words: its sentence, its four answers, the next step, and the first rows of the ranking."""
