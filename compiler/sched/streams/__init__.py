"""The streams between statements and memories, and the loop nests of loads."""
