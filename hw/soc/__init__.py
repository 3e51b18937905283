"""The processor system around the vector lanes: scalar core, buses, peripherals, firmware.

A C program, compiled and run in RTL simulation::

    from hw.soc.run import run_program
    from hw.vector_lanes.spec import VectorSpec

    result = run_program(
        {"main.c": text}, VectorSpec(lanes=4),
        loads={"a": numpy_array},       # global arrays of the program, by name
        dumps=["c"],
    )
    result.array("c", "int32"), result.cycles, result.kernel_cycles, result.text

`hw.soc.system.emit_vector_system` gives the Verilog, `hw.soc.dispatcher` the system in which a list of instructions
takes the core's place.
"""
