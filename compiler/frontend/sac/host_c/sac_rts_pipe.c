/* The run-time system over two pipes: what serves them has a simulator, or a board. Messages begin with a letter and two
 * numbers of 64 bits. */

#include "sac_rts.h"

#include <stdio.h>
#include <stdlib.h>

static FILE *to_hardware, *from_hardware;
static int loaded = -1;

static void send(char letter, int64_t number, int64_t more) {
    int64_t numbers[2] = {number, more};
    fputc(letter, to_hardware);
    fwrite(numbers, 8, 2, to_hardware);
}

static void receive(int64_t *numbers, int64_t count) {
    fflush(to_hardware);
    if (fread(numbers, 8, count, from_hardware) != (size_t)count) {
        fprintf(stderr, "the hardware does not answer\n");
        exit(4);
    }
}

void rts_initialize(int down, int up) {
    to_hardware = fdopen(down, "wb");
    from_hardware = fdopen(up, "rb");
    if (!to_hardware || !from_hardware) {
        fprintf(stderr, "there is no line to the hardware\n");
        exit(4);
    }
}

void rts_download_configurations(int configuration) {
    if (configuration == loaded) return;
    send('C', configuration, 0);
    loaded = configuration;
}

void rts_write_arg(int input, int64_t value) { send('A', input, value); }

void rts_mem_write_input(int input, const int64_t *elements, int64_t count) {
    send('M', input, count);
    fwrite(elements, 8, count, to_hardware);
}

void rts_execute_dfg(void) {
    int64_t failed;
    send('X', 0, 0);
    receive(&failed, 1);
    if (failed) exit(4);
}

void rts_mem_read_results(int output, int64_t *elements, int64_t count) {
    send('R', output, count);
    receive(elements, count);
}

void rts_end_dfg_process(void) {
    send('E', 0, 0);
    fflush(to_hardware);
}
