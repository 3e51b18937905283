"""An AXI4 memory in Python for Amaranth's simulator: random gaps and latencies, error regions, protocol checks."""

import random
from collections import deque

from hw.dma.axi import INCR, Response


class AxiMemory:
    """`stall`: probability that a channel pauses in a cycle; `latency`: longest wait before an answer, in cycles;
    `faults`: {address range: Response}; `slow`: {address of a beat: cycle before which it is not read}. Bytes
    outside what was loaded read as a pattern of their address.
    """

    def __init__(self, *, seed=0, stall=0.0, latency=0, faults=(), slow=()):
        self.bytes = {}
        self.random = random.Random(seed)
        self.stall = stall
        self.latency = latency
        self.faults = dict(faults)
        self.slow = dict(slow)
        self.bursts = []
        self.most_outstanding = 0
        self._reads = deque()
        self._writes = deque()
        self._answers = deque()
        self._worst = Response.OKAY
        self._clocks = {"read": 0, "write": 0}

    def load(self, address, data):
        for offset, value in enumerate(data):
            self.bytes[(address + offset) % (1 << 32)] = value

    def read(self, address, count):
        return bytes(self.byte((address + offset) % (1 << 32)) for offset in range(count))

    def byte(self, address):
        return self.bytes.get(address, (address * 37 ^ address >> 8) & 0xFF)

    def pauses(self):
        return self.random.random() < self.stall

    @property
    def cycles(self):
        """Clock cycles that were simulated."""
        return max(self._clocks.values())

    def due(self, side):
        """When an answer is ready; `side` is read or write."""
        return self._clocks[side] + self.random.randint(0, self.latency)

    def _readable(self, beat):
        return max(beat[0], self.slow.get(beat[1], 0)) <= self._clocks["read"]

    def response(self, address, size):
        """What a beat of `size` bytes at `address` gets."""
        for region, response in self.faults.items():
            if address < region.stop and address + size > region.start:
                return response
        return Response.OKAY

    def _burst(self, payload):
        beats, size = payload.len + 1, 1 << payload.size
        assert payload.burst == INCR
        assert payload.addr % size == 0
        assert payload.addr // 4096 == (payload.addr + beats * size - 1) // 4096, "burst crosses 4 KiB"
        self.bursts.append((payload.addr, beats))
        return [payload.addr + beat * size for beat in range(beats)], size

    async def serve_reads(self, ctx, port):
        """Channels `ar` and `r` of `port`; a background test bench."""
        held = None
        while True:
            ready = not self.pauses()
            first = self._reads[0] if self._reads else None
            valid = first is not None and self._readable(first) and (held is first or not self.pauses())
            held = first if valid else None
            ctx.set(port.ar.ready, ready)
            ctx.set(port.r.valid, valid)
            if valid:
                _, address, size, last = first
                data = int.from_bytes(self.read(address, size), "little")
                ctx.set(port.r.payload, {"id": 0, "data": data, "resp": self.response(address, size), "last": last})
            sampled = await ctx.tick().sample(port.ar.valid, port.ar.payload, port.r.ready)
            _, _, requested, payload, taken = sampled
            self._clocks["read"] += 1
            if valid and taken:
                self._reads.popleft()
            if requested and ready:
                addresses, size = self._burst(payload)
                due = self.due("read")
                for address in addresses:
                    self._reads.append((due, address, size, address == addresses[-1]))
            self.most_outstanding = max(self.most_outstanding, sum(entry[3] for entry in self._reads))

    async def serve_writes(self, ctx, port):
        """Channels `aw`, `w` and `b` of `port`; a background test bench."""
        early = deque()
        while True:
            address_ready, data_ready = not self.pauses(), not self.pauses()
            valid = bool(self._answers) and self._answers[0][0] <= self._clocks["write"]
            ctx.set(port.aw.ready, address_ready)
            ctx.set(port.w.ready, data_ready)
            ctx.set(port.b.valid, valid)
            if valid:
                ctx.set(port.b.payload, {"id": 0, "resp": self._answers[0][1]})
            sampled = await ctx.tick().sample(port.aw.valid, port.aw.payload, port.w.valid, port.w.payload,
                                              port.b.ready)
            _, _, requested, request, offered, data, taken = sampled
            self._clocks["write"] += 1
            if valid and taken:
                self._answers.popleft()
            if requested and address_ready:
                addresses, size = self._burst(request)
                self._writes.extend((address, size, address == addresses[-1]) for address in addresses)
            if offered and data_ready:
                early.append(data)
            while early and self._writes:
                self._write_beat(early.popleft())

    def _write_beat(self, beat):
        address, size, last = self._writes.popleft()
        assert beat.last == last, "WLAST in the wrong beat"
        response = self.response(address, size)
        for lane in range(size):
            if beat.strb >> lane & 1 and response == Response.OKAY:
                self.bytes[address + lane] = beat.data >> 8 * lane & 0xFF
        self._worst = max(self._worst, response)
        if last:
            self._answers.append((self.due("write"), self._worst))
            self._worst = Response.OKAY
