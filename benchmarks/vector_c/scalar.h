/* The plain C versions: the element type and main(). */
#ifndef SCALAR_H
#define SCALAR_H

#include "soc.h"

#if ELEMENT == 4
typedef int32_t element;
typedef uint32_t natural;
#elif ELEMENT == 2
typedef int16_t element;
typedef uint16_t natural;
#else
typedef int8_t element;
typedef uint8_t natural;
#endif

static void kernel(void);

int main(void)
{
    kernel_begin();
    kernel();
    kernel_end();
    return 0;
}

#endif
