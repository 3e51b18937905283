/* What a board with the vector processor runs: vectors in several sizes and shapes, checked by the scalar core. It
   depends on nothing that a run before it has left in memory. The exit code is the number of wrong elements. */
#include "soc.h"
#include "vector.h"

#define COUNT 48
#define ROWS 4

int32_t result[3 * COUNT + ROWS] ALIGNED;
static int32_t left[COUNT] ALIGNED, right[COUNT] ALIGNED;

static void print(const char *text)
{
    while (*text)
        PERIPHERAL(PERIPHERAL_UART) = (uint8_t)*text++;
}

static uint32_t next(uint32_t state) { return state * 1103515245u + 12345u; }

static int32_t magnitude(int32_t value) { return value < 0 ? -value : value; }

static void compute(void)
{
    int32_t *a, *b, *sum, *product, *difference, *rows;
    vector_free();
    a = vector_malloc(sizeof left);
    b = vector_malloc(sizeof right);
    sum = vector_malloc(sizeof left);
    product = vector_malloc(sizeof left);
    difference = vector_malloc(sizeof left);
    rows = vector_malloc(4 * ROWS);
    vector_dma_to_vector(a, left, sizeof left);
    vector_dma_to_vector(b, right, sizeof right);
    vector_set_vl(COUNT);
    vector(VVW, VADD, sum, a, b);
    vector(VVW, VMUL, product, a, b);
    vector_abs(VVW, VSUB, difference, a, b);
    vector_set_vl(COUNT / ROWS);
    vector_setup_2D(ROWS, sizeof(int32_t), 4 * COUNT / ROWS, 4 * COUNT / ROWS);
    vector_acc_2D(VVW, VMUL, rows, a, b);
    vector_dma_to_host(&result[0], sum, sizeof left);
    vector_dma_to_host(&result[COUNT], product, sizeof left);
    vector_dma_to_host(&result[2 * COUNT], difference, sizeof left);
    vector_dma_to_host(&result[3 * COUNT], rows, 4 * ROWS);
    vector_wait_for_dma();
    flush_cache_all();
}

static int check(void)
{
    int wrong = 0;
    for (int row = 0; row < ROWS; row++) {
        int32_t total = 0;
        for (int i = row * (COUNT / ROWS); i < (row + 1) * (COUNT / ROWS); i++) {
            wrong += result[i] != left[i] + right[i];
            wrong += result[COUNT + i] != left[i] * right[i];
            wrong += result[2 * COUNT + i] != magnitude(left[i] - right[i]);
            total += left[i] * right[i];
        }
        wrong += result[3 * COUNT + row] != total;
    }
    return wrong;
}

int main(void)
{
    uint32_t state = 1;
    for (int i = 0; i < COUNT; i++) {
        left[i] = (int32_t)(state = next(state)) >> 18;
        right[i] = (int32_t)(state = next(state)) >> 18;
    }
    compute();
    int wrong = check();
    print(wrong ? "vectors: wrong\r\n" : "vectors: right\r\n"); /* no longer than the queue of the serial line */
    return wrong;
}
