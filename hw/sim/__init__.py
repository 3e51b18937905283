"""Co-simulation: build Verilog for Verilator or Icarus, run it under cocotb, check what comes out.

A complete design (AXI4 manager ``m_axi_*``, AXI4-Lite registers ``s_axil_*``, ``irq``, ``clk``, ``rst``)::

    from hw.sim.simulate import Job, StallProfile, run_job

    result = run_job(Job(
        sources={"cgra_system.v": text}, top="cgra_system", memory_bytes=1 << 20,
        loads=[(0x1000, image.tobytes())],
        writes=[(0x08, 0x1000), (0x00, 1)],            # the last write starts it; then the interrupt ends it
        reads=[0x04], dumps=[(0x8000, 4096)],
        seed=1, stall=StallProfile.uniform(0.2), latency=20, cycle_limit=100_000,
        status={"status": 0x04}, simulator="verilator",
    ))
    result.registers[0x04], result.dumps[0], result.cycles

Main memory is as wide as the design's bus, and ``bandwidth="shared"`` makes reads and writes share its bandwidth.

A module, with cocotb tests in any file (the calling test file itself will do)::

    from hw.sim.bench import bench_data, run_bench

    def test_adder(simulator):                          # fixture of tb/conftest.py: runs on both simulators
        run_bench({"adder.v": text}, "adder", __file__, simulator=simulator, data={"pairs": [[1, 2]]})

    @cocotb.test()
    async def adds(dut):                                # not named test_*: pytest must not collect it
        Clock(dut.clk, 10, "ns", impl="gpi").start()
        for a, b in bench_data()["pairs"]: ...

Under Verilator only the ports of the top are visible, plus what ``public=("module.signal", ...)`` names. Builds are
cached by content (`hw.sim.build`), so the second run of anything starts in a fraction of a second.
"""
