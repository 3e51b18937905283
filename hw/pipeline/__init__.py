"""Specialised pipelines on a static schedule: counters, delay lines, buffers and operators, all of them cells of a net.

The fifth memory implementation of seed 001, chapter 6, for those who have an FPGA and no array on it.
"""
