/* Standard output: to the serial line, and into memory, where the host of a simulation finds it. */
#include <stdio.h>
#include "soc.h"

#define CONSOLE_BYTES 4096

char console_text[CONSOLE_BYTES];
uint32_t console_length;

static int put(char character, FILE *file)
{
    (void)file;
    if (console_length < CONSOLE_BYTES)
        console_text[console_length++] = character;
    PERIPHERAL(PERIPHERAL_UART) = (uint8_t)character;
    return (uint8_t)character;
}

static FILE console = FDEV_SETUP_STREAM(put, 0, 0, _FDEV_SETUP_WRITE);
FILE *const stdout = &console;
FILE *const stderr = &console;
