"""What Holdfast costs, compared with the same work elsewhere: `python -m bench`."""
