"""Passes that shorten or lengthen loop-carried dependences."""
