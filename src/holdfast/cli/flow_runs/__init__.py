"""Flows on the command line: checked, listed, run, watched and answered."""
