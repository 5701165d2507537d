"""The judges of a run: items drawn for labelling, labels, calibration by labels, and the trust in each judge."""
