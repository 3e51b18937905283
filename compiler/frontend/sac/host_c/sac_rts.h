/* The run-time system between a program on the host and its loops on hardware (Hammes 2000, section 6.2). */

#include <stdint.h>

/* Both ends of the line to the hardware, as file descriptors. */
void rts_initialize(int down, int up);

/* Loads a configuration, unless it is the one that is loaded. */
void rts_download_configurations(int configuration);

/* Inputs of the loaded configuration, by number: a scalar, or the elements of an array. */
void rts_write_arg(int input, int64_t value);
void rts_mem_write_input(int input, const int64_t *elements, int64_t count);

/* Returns when the loops have ended; the program ends with status 4 if they fail. */
void rts_execute_dfg(void);

/* Elements of a result, by number. */
void rts_mem_read_results(int output, int64_t *elements, int64_t count);

void rts_end_dfg_process(void);
