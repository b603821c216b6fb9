"""The command line: one module per group of commands. It talks to people; everything else is done by the
packages below."""
