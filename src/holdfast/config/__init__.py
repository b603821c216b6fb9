"""What an operator chose, from flags, environment, file and defaults. What cannot be is refused at the start,
with one sentence that says which key it is and where."""
