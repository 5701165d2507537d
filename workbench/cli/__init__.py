"""The command `workbench`, one file for each of its commands: parse, call, print."""
