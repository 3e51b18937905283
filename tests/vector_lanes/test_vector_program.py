"""The instruction simulator of the scalar core with the vector machine: compiled C, custom instructions, errors."""

import numpy as np
import pytest

from hw.soc.errors import ProgramError
from hw.soc.model import model_program
from hw.vector_lanes.isa import Control, Op, Status, control_function
from hw.vector_lanes.machine import VectorMachine
from hw.vector_lanes.program import ProgramModel, ProgramModelError
from hw.vector_lanes.spec import VectorSpec

ARITHMETIC = """
#include "soc.h"
int32_t a[N], b[N], results[10][N];
int main(void)
{
    for (int i = 0; i < N; i++) {
        int32_t x = a[i], y = b[i];
        uint32_t u = x, v = y;
        results[0][i] = (uint32_t)x * v;
        results[1][i] = (int64_t)x * y >> 32;
        results[2][i] = (uint64_t)u * v >> 32;
        results[3][i] = y == 0 || (x == INT32_MIN && y == -1) ? 0 : x / y;
        results[4][i] = y == 0 || (x == INT32_MIN && y == -1) ? 0 : x % y;
        results[5][i] = v == 0 ? 0 : u / v;
        results[6][i] = v == 0 ? 0 : u % v;
        results[7][i] = (x >> (v & 31)) ^ (u << (v & 31)) ^ (u >> (v & 31));
        results[8][i] = (x < y) + 2 * (u < v) + 4 * (x == y) + 8 * (x >= -7) + 16 * (u < 9);
        results[9][i] = ((int8_t *)a)[i] + ((uint8_t *)a)[i] + ((int16_t *)b)[i] + ((uint16_t *)b)[i];
    }
    return 0;
}
"""


def test_arithmetic_of_the_core():
    """Every operation that gcc has for RV32IM, on random and extreme numbers."""
    rng, count = np.random.default_rng(1), 64
    special = np.array([0, 1, -1, 7, -8, 2**31 - 1, -(2**31)])
    a, b = (np.where(rng.random(count) < 0.5, rng.choice(special, count), rng.integers(-2**31, 2**31, count))
            for _ in range(2))
    result = model_program({"main.c": ARITHMETIC}, VectorSpec(1), defines={"N": count},
                           loads={"a": a.astype(np.int32), "b": b.astype(np.int32)})
    u, v, shift = a & 0xFFFFFFFF, b & 0xFFFFFFFF, b & 31
    safe = (b == 0) | ((a == -(2**31)) & (b == -1))
    quotient = [0 if s else int(abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1))
                for s, x, y in zip(safe, a.tolist(), b.tolist(), strict=True)]
    unsigned = [(0, 0) if y == 0 else divmod(x, y) for x, y in zip(u.tolist(), v.tolist(), strict=True)]
    bytes_a, halves_b = a.astype(np.int32).view(np.uint8)[:count], b.astype(np.int32).view(np.uint16)[:count]
    expected = [
        a * b, [x * y >> 32 for x, y in zip(a.tolist(), b.tolist(), strict=True)],
        [x * y >> 32 for x, y in zip(u.tolist(), v.tolist(), strict=True)],
        quotient, [0 if s else x - q * y for s, x, y, q in zip(safe, a.tolist(), b.tolist(), quotient, strict=True)],
        [q for q, _ in unsigned], [r for _, r in unsigned], (a >> shift) ^ (u << shift) ^ (u >> shift),
        (a < b) + 2 * (u < v) + 4 * (a == b) + 8 * (a >= -7) + 16 * (u < 9),
        bytes_a.view(np.int8).astype(int) + bytes_a + halves_b.view(np.int16) + halves_b,
    ]
    table = np.array([[int(x) & 0xFFFFFFFF for x in row] for row in expected], np.uint32)
    np.testing.assert_array_equal(result.array("results", np.uint32, (10, count)), table)


def test_vector_program_with_console_and_counts():
    source = """
    #include "soc.h"
    #include "vector.h"
    #include <stdio.h>
    int32_t in[16] ALIGNED, out[16] ALIGNED;
    int main(void)
    {
        kernel_begin();
        void *a = vector_malloc(64), *b = vector_malloc(64), *none = vector_malloc(1 << 20);
        vector_dma_to_vector(a, in, 64);
        vector_set_vl(16);
        vector(SVW, VMUL, b, -3, a);
        vector_dma_to_host(out, b, 64);
        vector_sync();
        kernel_end();
        flush_cache_all();
        vector_setup_mask(VVW, VCMV_NZ, a);
        printf("%d %d %d\\n", (int)vector_get(0), (int)out[2], (int)vector_get_mask_status());
        return none != VECTOR_NO_SPACE;
    }
    """
    result = model_program({"main.c": source}, VectorSpec(4), loads={"in": np.arange(16, dtype=np.int32)})
    assert result.text.split() == ["4", "-6", "4"]
    assert result.array("out", np.int32).tolist() == [-3 * i for i in range(16)]
    assert (result.kernel["vector_instructions"], result.kernel["ideal_cycles"]) == (1, 4)
    assert (result.kernel["operations"], result.kernel["dma_bytes"]) == (16, 128)
    assert [entry.mode.op for entry in result.entries if not entry.control] == [Op.VMUL, Op.VCMV_NZ]


def test_status_and_exit_codes_are_errors():
    illegal = '#include "vector.h"\nint main(void) { vector(VVW, VMAC, 0, 0, 0); return 0; }'
    with pytest.raises(ProgramError, match=r"^the vector unit reported ILLEGAL$"):
        model_program({"main.c": illegal}, VectorSpec(1))
    with pytest.raises(ProgramError, match=r"^the program ended with exit code 3$"):
        model_program({"main.c": "int main(void) { return 3; }"}, VectorSpec(1))


def model(words, load=lambda address: 0, store=lambda address, value: None):
    memory = np.zeros(64, np.uint8)
    memory.view(np.uint32)[: len(words)] = words
    return ProgramModel(VectorMachine(VectorSpec(1), memory), load, store)


@pytest.mark.parametrize("words, message", [
    ([0xFFFFFFFF], r"^instruction 0xffffffff at 0x0 is not known$"),
    ([0x0400006F], r"^the program jumped to 0x40$"),
    ([0x0000006F], r"^the program has not ended after 100 instructions$"),
])
def test_errors_of_the_core(words, message):
    with pytest.raises(ProgramModelError, match=message):
        model(words).run(100)


def test_reserved_functions_are_illegal():
    for function in (7, 7 << 3 | 7, control_function(Control.GET) + 8):
        core = model([])
        assert core.custom(function, 0, 0) == 0
        assert core.machine.status == Status.ILLEGAL


def test_memory_is_needed():
    message = r"^the model of the core needs a machine with main memory from address 0$"
    with pytest.raises(ProgramModelError, match=message):
        ProgramModel(VectorMachine(VectorSpec(1)), lambda address: 0, lambda address, value: None)
