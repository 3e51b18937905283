/* What a C program finds around the scalar core. */
#ifndef SLUICE_SOC_H
#define SLUICE_SOC_H

#include <stdint.h>
#include "peripherals.h"

#define PERIPHERAL(offset) (*(volatile uint32_t *)(PERIPHERAL_BASE + (offset)))

/* An array on a boundary of cache lines and beats of main memory. */
#define ALIGNED __attribute__((aligned(64)))

/* Ends the run; main's return value does the same. */
void finish(int code) __attribute__((noreturn));

/* Waits until all stores are in main memory. Transfers do that by themselves. */
static inline void drain_stores(void)
{
    __asm__ volatile("" : : : "memory");
    (void)PERIPHERAL(PERIPHERAL_DRAIN);
}

/* Clock cycles between the two are summed up for the host. Wait for the vector unit before the end. What was stored
   before is finished first, and nothing of what follows moves in between. */
static inline void kernel_begin(void)
{
    drain_stores();
    PERIPHERAL(PERIPHERAL_MARK) = 1;
    __asm__ volatile("" : : : "memory");
}

static inline void kernel_end(void)
{
    __asm__ volatile("" : : : "memory");
    PERIPHERAL(PERIPHERAL_MARK) = 0;
    __asm__ volatile("" : : : "memory");
}

/* Clock cycles since the start: the low word in one instruction, or all of it. */
static inline uint32_t cycle_count(void)
{
    uint32_t value;
    __asm__ volatile(".option push\n.option arch, +zicsr\nrdcycle %0\n.option pop" : "=r"(value));
    return value;
}

static inline uint64_t cycle_count_64(void)
{
    uint32_t low = PERIPHERAL(PERIPHERAL_CYCLE);
    return (uint64_t)PERIPHERAL(PERIPHERAL_CYCLE_HIGH) << 32 | low;
}

/* A byte that has come over the serial line, or -1. */
static inline int uart_receive(void)
{
    uint32_t received = PERIPHERAL(PERIPHERAL_RECEIVED);
    return received & PERIPHERAL_RECEIVED_VALID_MASK ? (int)(received & PERIPHERAL_RECEIVED_BYTE_MASK) : -1;
}

/* Forgets what is in the data cache; all stores are in main memory already or on the way. Needed before loads of what
   the DMA engine has written. */
static inline void flush_cache_all(void)
{
    __asm__ volatile(".word 0x500f" : : : "memory");
}

/* The same memory without the data cache. */
#define uncached(pointer) ((__typeof__(pointer))((uintptr_t)(pointer) | 0x80000000u))

#endif
