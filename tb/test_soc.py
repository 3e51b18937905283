"""Scalar programs on the whole processor system, on both simulators: caches, buses, traps, bus errors, the host."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from hw.sim.simulate import Job, SimulationTimeout, StallProfile, run_job
from hw.soc.errors import ProgramError
from hw.soc.registers import IDENTITY, host_registers
from hw.soc.run import run_program, system_sources
from hw.soc.status import RunError
from hw.soc.system import SYSTEM_MODULE
from hw.vector_lanes.spec import VectorSpec

SPEC = VectorSpec(lanes=1)
REGISTERS = host_registers(SPEC)
SLOW = {"seed": 5, "stall": StallProfile.uniform(0.3), "latency": 17}
OUTSIDE = 0x4000_0000
"""No main memory there."""

CHECKSUM = r"""
#include <stdio.h>
#include <string.h>
#include "soc.h"

uint8_t data[COUNT], reversed[COUNT];
uint32_t table[256], words[8];
int16_t halves[8];

static uint32_t checksum(const uint8_t *from, int count)
{
    uint32_t crc = ~0u;
    for (int i = 0; i < count; i++)
        crc = crc >> 8 ^ table[(crc ^ from[i]) & 255];
    return ~crc;
}

__attribute__((noinline)) static int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

int main(void)
{
    words[0] = checksum(data, sizeof data);
    for (unsigned i = 0; i < sizeof data; i++)
        reversed[sizeof data - 1 - i] = data[i];
    words[1] = checksum(reversed, sizeof data);
    words[2] = checksum(uncached(&reversed[0]), 40);
    words[3] = (uint32_t)((int64_t)(int32_t)words[0] * (int32_t)words[1] >> 32);
    words[4] = words[0] / (words[1] >> 20) % 1000;
    words[5] = fibonacci(7);
    halves[1] = -2;
    ((volatile int8_t *)halves)[5] = 7;
    uint64_t later = cycle_count_64();
    words[6] = later > 1000 && cycle_count() - (uint32_t)later < 200;
    printf("%s %d\n", "sum", (int)words[5]);
    return 0;
}
"""


def crc(data: np.ndarray) -> int:
    return zlib.crc32(data.tobytes())


# The checksum of one byte b is ~(table[b ^ 0xFF] ^ 0xFFFFFF).
TABLE = np.array([~zlib.crc32(bytes([b ^ 0xFF])) & 0xFFFFFFFF ^ 0xFFFFFF for b in range(256)], dtype=np.uint32)


@pytest.mark.parametrize("memory", [pytest.param({}, id="fast memory"), pytest.param(SLOW, id="slow memory")])
def test_computes(simulator, memory):
    count = {"verilator": 6000, "icarus": 44}[simulator]
    data = np.random.default_rng(3).integers(0, 256, count, dtype=np.uint8)
    result = run_program({"main.c": CHECKSUM}, SPEC, simulator=simulator, loads={"data": data, "table": TABLE},
                         defines={"COUNT": count}, dumps=["words", "halves", "reversed"], **memory)
    words = result.array("words", np.uint32)
    first, second = crc(data), crc(data[::-1])
    product = first - ((first >> 31) << 32), second - ((second >> 31) << 32)
    assert list(words[:6]) == [first, second, crc(data[::-1][:40]), (product[0] * product[1] >> 32) & 0xFFFFFFFF,
                               first // (second >> 20) % 1000, 13]
    assert words[6] == 1
    np.testing.assert_array_equal(result.array("reversed", np.uint8), data[::-1])
    assert list(result.array("halves", np.int16)) == [0, -2, 7 << 8, 0, 0, 0, 0, 0]
    assert (result.text, result.exit_code, result.error, result.vector_status) == ("sum 13\n", 0, RunError.NONE, ())


# Straight code much larger than the instruction cache, run twice: every line is fetched from memory again.
BIG_CODE = """
#include "soc.h"
volatile uint32_t sum;
uint32_t kernel;
#define ONE sum = sum * 3 + 1;
#define TEN ONE ONE ONE ONE ONE ONE ONE ONE ONE ONE
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
int main(void)
{
    for (int i = 0; i < 2; i++) {
        kernel_begin();
        HUNDRED HUNDRED HUNDRED
        kernel_end();
    }
    kernel = sum;
    return 0;
}
"""


def test_code_larger_than_the_cache(simulator):
    result = run_program({"main.c": BIG_CODE}, SPEC, simulator=simulator, dumps=["kernel"], **SLOW)
    expected = 0
    for _ in range(600):
        expected = (3 * expected + 1) & 0xFFFFFFFF
    assert result.array("kernel", np.uint32)[0] == expected
    assert result.firmware.symbol("main").size > 6000
    assert 0 < result.kernel_cycles < result.cycles


def run_body(simulator: str, body: str, **settings):
    text = '#include "soc.h"\nvolatile uint32_t v[4];\nint main(void)\n{\n' + body + "\nreturn 0;\n}\n"
    return run_program({"main.c": text}, SPEC, simulator=simulator, check=False, **settings)


HIDDEN = 'uintptr_t at = (uintptr_t)v; __asm__ volatile("" : "+r"(at));'
"""An address of which the compiler does not know how it is aligned."""

TRAPS = {
    "illegal instruction": ('__asm__ volatile(".word 0");', 2, 0),
    "misaligned load": (f"{HIDDEN} (void)*(volatile uint32_t *)(at + 2);", 4, None),
    "misaligned store": (f"{HIDDEN} *(volatile uint16_t *)(at + 1) = 1;", 6, None),
    "environment call": ('__asm__ volatile("ecall");', 11, None),
}


@pytest.mark.parametrize("name", TRAPS)
def test_traps_end_in_an_exit_code(simulator, name):
    body, cause, value = TRAPS[name]
    result = run_body(simulator, body)
    assert (result.error, result.exit_code) == (RunError.TRAP, 0x100 + cause)
    trap, main = result.trap, result.firmware.symbol("main")
    assert trap is not None and trap.cause == cause
    assert main.address <= trap.pc < main.address + main.size
    assert value is None or trap.value == value
    with pytest.raises(ProgramError, match=f"^the program took a trap: {name} at {trap.pc:#x} "):
        result.check()


ERRORS = {
    "LOAD": f"v[0] = *(volatile uint32_t *){OUTSIDE:#x};",
    "STORE": f"*(volatile uint32_t *){OUTSIDE:#x} = 1; while (1) continue;",
    "FETCH": f"((void (*)(void)){OUTSIDE:#x})();",
    "PERIPHERAL": "v[0] = PERIPHERAL(0x80);",
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_on_the_buses_end_the_run(simulator, name):
    result = run_body(simulator, ERRORS[name], **SLOW)
    assert result.error is RunError[name]
    with pytest.raises(ProgramError, match=f"^the run ended with error {name}$"):
        result.check()


@pytest.mark.parametrize("body", ["*(volatile uint8_t *)PERIPHERAL_BASE = 65;", "PERIPHERAL(PERIPHERAL_DRAIN) = 0;",
                                  "v[0] = *(volatile uint32_t *)(PERIPHERAL_BASE + 0x1000000);"])
def test_peripherals_take_words_at_their_addresses(body):
    assert run_body("verilator", body).error is RunError.PERIPHERAL


def test_last_store_that_memory_refuses_counts(simulator):
    result = run_body(simulator, "v[0] = 1; v[2] = 3; finish(0);", errors=(0x0, 0xF), latency=40)
    assert result.error is RunError.FETCH  # the program itself lies there
    program = '#include "soc.h"\nuint32_t v[64] ALIGNED;\nint main(void) { v[5] = 1; return 0; }\n'
    place = run_program({"main.c": program}, SPEC, simulator=simulator).firmware.symbol("v").address
    result = run_program({"main.c": program}, SPEC, simulator=simulator, check=False, errors=(place, place + 255))
    assert result.error is RunError.STORE


HANGS = {"stuck ar": "", "stuck r 4": "", "stuck aw": "v[1] = 1;", "stuck w": "v[1] = 1;", "stuck b": "v[1] = 1;",
         "": "while (1) continue;"}


@pytest.mark.parametrize("fault", HANGS)
def test_the_watchdog_ends_a_run_that_hangs(simulator, fault):
    """Whatever channel of memory comes to rest, and where the core alone goes round for ever."""
    result = run_body(simulator, HANGS[fault], inject=fault or None, watchdog=1000)
    assert result.error is RunError.WATCHDOG
    with pytest.raises(ProgramError, match=r"^the run ended with error WATCHDOG$"):
        result.check()


def test_exit_code_is_an_error_to_the_caller(simulator):
    result = run_body(simulator, "return 7;")
    assert (result.exit_code, result.error) == (7, RunError.EXIT_CODE)
    with pytest.raises(ProgramError, match=r"^the program ended with exit code 7$"):
        result.check()


def test_endless_loop_is_a_timeout_that_says_where(simulator):
    with pytest.raises(SimulationTimeout, match="phase RUN, the core runs, last cache line fetched 0x"):
        run_body(simulator, "while (1) continue;", cycle_limit=5000)


def test_serial_line_slows_the_program_down(simulator):
    """With a slow line the queue fills up, and the program waits for each byte."""
    body = "for (int i = 0; i < 40; i++) PERIPHERAL(PERIPHERAL_UART) = 65 + i;"
    fast, slow = (run_body(simulator, body, uart_divisor=divisor) for divisor in (0, 9))
    assert slow.cycles - fast.cycles > (40 - 20) * 90 - 500
    assert fast.error is slow.error is RunError.NONE


def test_serial_line_hears_itself(simulator):
    body = """
    for (int i = 0; i < 5; i++) PERIPHERAL(PERIPHERAL_UART) = 0xA5 + 13 * i;
    for (int i = 0, sum = 0; i < 5; ) {
        int byte = uart_receive();
        if (byte >= 0) { i++; sum = sum * 7 + byte; v[1] = sum; }
    }
    return uart_receive() == -1 ? 77 : 78;"""
    result = run_body(simulator, body, uart_divisor=6, cycle_limit=20_000, dumps=["v"])
    expected = 0
    for index in range(5):
        expected = expected * 7 + (0xA5 + 13 * index) % 256
    assert result.exit_code == 77
    assert result.array("v", np.uint32)[1] == expected


def test_host_registers(simulator):
    """Identification; a second start is flagged; clear aborts a run."""
    address = REGISTERS.address
    start, clear = REGISTERS.encode("CONTROL", start=1), REGISTERS.encode("CONTROL", clear=1)
    result = run_job(Job(
        system_sources(SPEC), SYSTEM_MODULE, 1 << 21, loads=[(0, b"\x6f\x00\x00\x00")],
        writes=[(address("PROGRAM"), 0), (address("CONTROL"), start), (address("CONTROL"), start),
                (address("CONTROL"), clear)],
        reads=[address(name) for name in ("ID", "GEOMETRY", "STATUS", "PROGRAM")], seed=1, simulator=simulator,
        cycle_limit=1000,
    ))  # fmt: skip
    assert result.registers[address("ID")] == IDENTITY
    assert REGISTERS.decode("GEOMETRY", result.registers[address("GEOMETRY")]) == {
        "lanes": SPEC.lanes, "beat_bytes": SPEC.memory_bytes,
    }
    status = REGISTERS.decode("STATUS", result.registers[address("STATUS")])
    assert status == {"busy": 0, "done": 1, "start_ignored": 0, "error": RunError.ABORTED}
