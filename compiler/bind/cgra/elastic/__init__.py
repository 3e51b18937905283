"""The array with ready-valid tracks and buffets, configured by way of a static mapping of the same program.

A stream of tokens on the elastic array is what an output of the static array shows, cycle by cycle, from some cycle
on: token k is the word of cycle ``start + k``. Which words meet in a unit is then decided by how many tokens its inputs
hold at the beginning, and when they meet is left to ready and valid. Liu 2023, section 6.2.
"""
