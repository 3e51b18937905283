"""Polyhedral process networks (Bok 2018, chapter 2): a program as nodes that fire and channels of known kind and size.

    from compiler.sched.process_network import derive, print_network

    network = derive(program)          # nodes, value-based edges, reuse split off, channels sized, schedule computed
    print(network)                     # readable; print_network gives JSON, draw_network a picture
"""

from compiler.sched.process_network.channels import ChannelKind
from compiler.sched.process_network.drawing import draw_network
from compiler.sched.process_network.errors import NetworkError
from compiler.sched.process_network.loops import print_loops
from compiler.sched.process_network.network import Edge, Node, NodeKind, ProcessNetwork, derive, networks
from compiler.sched.process_network.parametric import Polynomial, size_polynomials
from compiler.sched.process_network.simulate import NetworkRun, run_freely, run_scheduled
from compiler.sched.process_network.text import parse_network, print_network

__all__ = ["ChannelKind", "Edge", "NetworkError", "NetworkRun", "Node", "NodeKind", "Polynomial", "ProcessNetwork",
           "derive", "draw_network", "networks", "parse_network", "print_loops", "print_network", "run_freely",
           "run_scheduled", "size_polynomials"]
