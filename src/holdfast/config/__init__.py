"""What an operator configured, from flags, environment, file and defaults. An invalid value is refused at the
start, with one sentence that names the key and the place."""
