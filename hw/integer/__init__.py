"""Operations on integers that take many steps, with registers in between: quotients, remainders and square roots."""

from hw.integer.operator import INTEGER_OPERATIONS, IntegerOperator, build_integer, integer_delays, integer_latency

__all__ = ["INTEGER_OPERATIONS", "IntegerOperator", "build_integer", "integer_delays", "integer_latency"]
