"""Readers that wait until the writers of their buffers have ended."""

from __future__ import annotations

import pytest
from network_programs import program

from compiler.ir.program import Program
from compiler.sched.static.fill_then_drain import PORT_ROOM, writers_first
from compiler.sched.static.schedule import Schedule
from compiler.sched.static.static_schedule import schedule_program
from compiler.sched.streams.streams import stage_streams

TRANSPOSED = """
void transposed(const int16_t a[5][12][8], int16_t b[5][8][12]) {
  int16_t t[5][12][8];
#pragma scop
  for (int k = 0; k < 5; k++) {
    for (int i = 0; i < 12; i++)
      for (int j = 0; j < 8; j++) t[k][i][j] = a[k][i][j] + 1;
    for (int i = 0; i < 8; i++)
      for (int j = 0; j < 12; j++) b[k][i][j] = t[k][j][i] * 3;
  }
#pragma endscop
}"""

CHAIN = """
void chain(const int16_t a[20], int16_t b[18]) {
  int16_t t[20];
#pragma scop
  for (int i = 0; i < 20; i++) t[i] = a[i] + 1;
  for (int i = 0; i < 18; i++) b[i] = t[i] + t[i + 2];
#pragma endscop
}"""

BACK = """
void back(const int16_t a[6][6], int16_t b[6][6]) {
  int16_t t[7][6], u[7][6];
#pragma scop
  for (int j = 0; j < 6; j++) u[0][j] = 0;
  for (int i = 1; i < 7; i++) {
    for (int j = 0; j < 6; j++) t[i][j] = a[i - 1][j] + u[i - 1][j];
    for (int j = 0; j < 6; j++) u[i][j] = t[i][5 - j];
  }
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) b[i][j] = u[i + 1][j];
#pragma endscop
}"""


def scheduled(tested: Program, tiles: int = 0) -> Schedule:
    return schedule_program(stage_streams(tested, tiles))


@pytest.mark.parametrize("tiles", [0, 1])
def test_a_transposed_image_is_written_before_it_is_read(tiles: int) -> None:
    before = scheduled(program("transposed", TRANSPOSED), tiles)
    after = writers_first(before)
    assert after is not None
    late = next(d for d in after.dependences if len(set(after.distance(d))) > 1)
    writer, reader = after.statements[late.source], after.statements[late.sink]
    assert reader.offset == writer.last + PORT_ROOM
    assert after.period >= reader.last - writer.offset + PORT_ROOM
    assert {n: e.strides for n, e in after.statements.items()} == {n: e.strides for n, e in before.statements.items()}
    assert before.end < after.end <= 2 * (before.end + before.staged.tiles * PORT_ROOM)


def test_delay_lines_wait_for_nothing() -> None:
    assert writers_first(scheduled(program("chain", CHAIN))) is None


def test_a_row_that_comes_back_in_another_order_cannot_wait_for_all_rows() -> None:
    schedule = scheduled(program("back", BACK))
    assert any(len(set(schedule.distance(d))) > 1 for d in schedule.dependences)
    assert writers_first(schedule) is None
