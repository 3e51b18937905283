# Start-up code of the scalar core. Ends with the exit code of main in the peripheral FINISH; a trap ends the run too.
#include "peripherals.h"

        .option arch, +zicsr
        .section .start, "ax"
        .global _start
_start:
        la      t0, trap
        csrw    mtvec, t0
        # Custom instructions are off after reset.
        li      t0, 0x80000000
        csrw    0xbc0, t0
        .option push
        .option norelax
        la      gp, __global_pointer$
        .option pop
        la      sp, __stack_top
        la      tp, __tls_base
        # No register is undefined when it is saved.
        .irp    register, ra, t1, t2, s0, s1, a2, a3, a4, a5, a6, a7, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, t3, t4, t5, t6
        li      \register, 0
        .endr
        li      a0, 0
        li      a1, 0
        call    main

        .global finish
finish:
        li      t0, PERIPHERAL_BASE
        sw      a0, PERIPHERAL_FINISH(t0)
        j       .

        .balign 4
trap:
        li      t0, PERIPHERAL_BASE
        csrr    t1, mepc
        sw      t1, PERIPHERAL_TRAP_PC(t0)
        csrr    t1, mtval
        sw      t1, PERIPHERAL_TRAP_VALUE(t0)
        csrr    t1, mcause
        sw      t1, PERIPHERAL_TRAP_CAUSE(t0)
        addi    t1, t1, TRAP_EXIT_CODE
        sw      t1, PERIPHERAL_TRAP(t0)
        j       .
