"""Pictures of graphs: nodes in boxes, compound nodes around the graphs inside them."""

from compiler.frontend.sac.picture.diagrams import picture_dfgs, picture_module
from compiler.frontend.sac.picture.draw import FORMATS

__all__ = ["FORMATS", "picture_dfgs", "picture_module"]
