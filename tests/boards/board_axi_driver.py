"""Drives an AXI4 subordinate from an Amaranth test bench, one transaction at a time."""

from hw.dma.axi import INCR


async def _send(ctx, channel, **fields):
    for name, value in fields.items():
        ctx.set(getattr(channel.p, name), value)
    ctx.set(channel.valid, 1)
    while not ctx.get(channel.ready):
        await ctx.tick()
    await ctx.tick()
    ctx.set(channel.valid, 0)


async def read(ctx, bus, address, beats, *, size=3, burst=INCR, ident=0, pauses=()):
    """Returns [(data, response, last, id)]; does not take beat k in the first `pauses[k]` cycles."""
    await _send(ctx, bus.ar, addr=address, len=beats - 1, size=size, burst=burst, id=ident)
    result = []
    pauses = list(pauses)
    while len(result) < beats:
        for _ in range(pauses.pop(0) if pauses else 0):
            await ctx.tick()
        ctx.set(bus.r.ready, 1)
        while not ctx.get(bus.r.valid):
            await ctx.tick()
        result.append(tuple(ctx.get(getattr(bus.r.p, name)) for name in ("data", "resp", "last", "id")))
        await ctx.tick()
        ctx.set(bus.r.ready, 0)
    return result


async def write(ctx, bus, address, beats, *, size=3, burst=INCR, ident=0):
    """Writes [(data, strobe)]; returns (response, id)."""
    await _send(ctx, bus.aw, addr=address, len=len(beats) - 1, size=size, burst=burst, id=ident)
    for index, (data, strobe) in enumerate(beats):
        await _send(ctx, bus.w, data=data, strb=strobe, last=index == len(beats) - 1)
    ctx.set(bus.b.ready, 1)
    while not ctx.get(bus.b.valid):
        await ctx.tick()
    answer = ctx.get(bus.b.p.resp), ctx.get(bus.b.p.id)
    await ctx.tick()
    ctx.set(bus.b.ready, 0)
    return answer
