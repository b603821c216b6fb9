"""What Holdfast costs, beside what the same work costs elsewhere: `python -m bench`."""
