"""What every contender's long histories are made of. Standard library only."""

WORDS = "The quick brown fox jumps over the lazy dog and then has a rest in the shade. "
MESSAGE = (WORDS * 13)[:1000]
