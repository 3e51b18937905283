"""The vector instruction set once more, byte by byte in plain Python: written from its description, not from the code.

Shares nothing with the simulator but the `Entry` it is given and the specification's parameters.
"""

from __future__ import annotations

OPS = [
    "MOV", "AND", "OR", "XOR", "ADD", "SUB", "ADDC", "SUBB", "MUL", "MULHI", "MULFXP", "MAC", "SHL", "SHR",
    "ROTL", "ROTR", "LEZ", "GTZ", "LTZ", "GEZ", "Z", "NZ", "MIN", "MAX", "GATHER", "SCATTER",
    "SEQ", "SNE", "SLT", "SLE", "SGT", "SGE",
]
CONDITIONS = ("LEZ", "GTZ", "LTZ", "GEZ", "Z", "NZ")
ILLEGAL, ADDRESS = 1, 2


def number(bits, width, signed):
    bits &= (1 << width) - 1
    return bits - (1 << width) if signed and bits >> (width - 1) else bits


def fits(value, width, signed):
    return number(value, width, signed) == value


class BruteForce:
    """State of the machine; `run` takes one entry."""

    def __init__(self, spec, memory):
        self.spec, self.memory = spec, memory
        self.data = [0] * spec.capacity
        self.flag = [0] * spec.capacity
        self.status, self.mask, self.vl = 0, None, 0
        self.rows = self.mats = 0
        self.inc = {"D": 0, "A": 0, "B": 0}
        self.inc3 = {"D": 0, "A": 0, "B": 0}
        self.dma_inc = (0, 0)

    def run(self, entry):
        if entry.control:
            self.control(entry)
        else:
            self.decode(entry)

    # control

    def control(self, e):
        a, b = number(e.a, 32, True), number(e.b, 32, True)
        if e.code == 0:
            self.vl = e.a
        elif e.code == 1:
            self.rows, self.inc["D"] = e.a, b
        elif e.code == 2:
            self.inc["A"], self.inc["B"] = a, b
        elif e.code == 3:
            self.mats, self.inc3["D"] = e.a, b
        elif e.code == 4:
            self.inc3["A"], self.inc3["B"] = a, b
        elif e.code == 5:
            self.dma_inc = (a, b)
        elif e.code in (6, 7):
            self.transfer(e)
        else:
            self.status |= ILLEGAL

    def transfer(self, e):
        rows = e.c or 1
        if e.d == 0:
            return
        local = [e.a + r * self.dma_inc[0] for r in range(rows)] if rows > 1 else [e.a]
        host = [e.b + r * self.dma_inc[1] for r in range(rows)] if rows > 1 else [e.b]
        if min(local) < 0 or max(local) + e.d > self.spec.capacity:
            self.status |= ADDRESS
            return
        for sp, mem in zip(local, host, strict=True):
            for i in range(e.d):
                if e.code == 7:
                    self.memory[mem + i] = self.data[sp + i]
                else:
                    self.data[sp + i], self.flag[sp + i] = int(self.memory[mem + i]), 0

    # elements

    def load(self, address, size):
        return sum(self.data[address + i] << 8 * i for i in range(1 << size)), self.flag[address]

    def store(self, address, size, value, flag):
        for i in range(1 << size):
            self.data[address + i] = value >> 8 * i & 255
            self.flag[address + i] = int(flag)

    # instructions

    def decode(self, e):
        word = e.code
        self.op = OPS[word & 31]
        self.signed, self.insize, self.outsize = word >> 5 & 1, word >> 6 & 3, word >> 8 & 3
        self.enum, self.scalar, self.masked, self.acc = (word >> i & 1 for i in (10, 11, 12, 13))
        self.dims, self.abs = word >> 14 & 3, word >> 16 & 1
        self.setmask = self.abs and self.op in CONDITIONS
        self.size = self.insize if self.acc else max(self.insize, self.outsize)
        self.n = 8 << self.size
        if not self.legal():
            self.status |= ILLEGAL
            return
        if self.masked and (self.mask is None or self.mask[0] != self.size):
            self.status |= ILLEGAL
            return
        if self.setmask and self.masked and len(self.mask[1]) != self.vl:
            self.status |= ILLEGAL
            return
        limit = self.spec.mask_waves * self.spec.row_bytes >> min(self.insize, 2)
        if self.setmask and not self.masked and self.vl > limit:
            self.status |= ILLEGAL
            self.mask = None
            return
        self.issue(e)

    def legal(self):
        indexed = self.op in ("GATHER", "SCATTER")
        bad = 3 in (self.insize, self.outsize, self.dims)
        bad |= bool(self.abs) and not (OPS.index(self.op) < 8 or self.op in CONDITIONS)
        bad |= self.op == "MAC" and (bool(self.acc) or not (self.scalar or self.enum))
        bad |= indexed and bool(self.masked or self.enum)
        bad |= self.op == "GATHER" and bool(self.acc)
        bad |= self.op == "GATHER" and not self.scalar
        bad |= bool(self.masked and self.dims)
        bad |= bool(self.setmask) and (self.insize != self.outsize or bool(self.dims or self.acc or self.enum))
        return not bad

    def issue(self, e):
        vl = len(self.mask[1]) if self.masked else self.vl
        rows = self.rows if self.dims > 0 else 1
        mats = self.mats if self.dims > 1 else 1
        if self.setmask and vl == 0:
            self.mask = (self.insize, [])
        if vl == 0 or rows == 0 or mats == 0:
            return
        origins = {x: [[base + (r * self.inc[x] if self.dims else 0) + (m * self.inc3[x] if self.dims > 1 else 0)
                        for r in range(rows)] for m in range(mats)]
                   for x, base in (("D", e.d), ("A", e.a), ("B", e.b))}
        if not self.ranges_inside(origins, vl):
            self.status |= ADDRESS
            return
        new_mask = []
        for m in range(mats):
            for r in range(rows):
                where = {x: origins[x][m][r] for x in "DAB"}
                if self.op in ("GATHER", "SCATTER"):
                    self.indexed_row(e, where, vl)
                else:
                    new_mask += self.row(e, where, vl)
        if self.setmask:
            self.mask = (self.insize, new_mask)

    def ranges_inside(self, origins, vl):
        lengths = {}
        if not self.setmask and self.op != "SCATTER":
            lengths["D"] = (1 if self.acc else vl) << self.outsize
        if not self.scalar and not self.setmask:
            lengths["A"] = vl << (self.outsize if self.op == "SCATTER" else self.insize)
        if self.op != "MOV" and not self.enum:
            lengths["B"] = vl << self.insize
        for x, length in lengths.items():
            flat = [o for line in origins[x] for o in line]
            # The bounding range takes the extremes of both directions, whatever their combination is.
            starts = [[o - flat[0] for o in line] for line in ([m[0] for m in origins[x]], origins[x][0])]
            low = flat[0] + sum(min(0, *line) for line in starts)
            high = flat[0] + sum(max(0, *line) for line in starts)
            if low < 0 or high + length > self.spec.capacity:
                return False
        return True

    def indexed_row(self, e, where, vl):
        for i in range(vl):
            index, _ = self.load(where["B"] + (i << self.insize), self.insize)
            index = number(index, 8 << self.insize, self.signed)
            base = e.a if self.op == "GATHER" else where["D"]
            address = (base + index * (1 << self.outsize)) % (1 << 32)
            if address + (1 << self.outsize) > self.spec.capacity:
                self.status |= ADDRESS
            elif self.op == "GATHER":
                value, flag = self.load(address, self.outsize)
                self.store(where["D"] + (i << self.outsize), self.outsize, value, flag)
            else:
                source = (e.a, 0) if self.scalar else self.load(where["A"] + (i << self.outsize), self.outsize)
                if self.acc:
                    bits = 8 << self.outsize
                    total = source[0] % (1 << bits) + self.load(address, self.outsize)[0]
                    source = (total % (1 << bits), total >> bits)
                self.store(address, self.outsize, *source)

    def row(self, e, where, vl):
        per_wave = self.spec.row_bytes * 8 // self.n
        total, new_mask = 0, []
        for first in range(0, vl, per_wave):
            writes = []
            for i in range(first, min(vl, first + per_wave)):
                active = not self.masked or self.mask[1][i]
                a, fa = self.source_a(e, where["A"], i)
                b, fb = self.source_b(where["B"], i)
                if self.setmask:
                    new_mask.append(bool(active and self.condition(b, fb)))
                    continue
                if not active or (self.op in CONDITIONS and not self.condition(b, fb)):
                    continue
                target = where["D"] + (0 if self.acc else i << self.outsize)
                result, flag, exact = self.alu(a, fa, b, fb, target)
                if self.acc:
                    total += exact
                else:
                    writes.append((target, self.outsize, result, flag))
            for write in writes:
                self.store(*write)
        if self.acc:
            total = number(total, 40, self.signed)
            self.store(where["D"], self.outsize, total, not fits(total, 8 << self.outsize, self.signed))
        return new_mask

    def source_a(self, e, base, i):
        if self.scalar or self.setmask:
            return number(e.a, self.n, self.signed), 0
        value, flag = self.load(base + (i << self.insize), self.insize)
        return number(value, 8 << self.insize, self.signed), flag

    def source_b(self, base, i):
        if self.op == "MOV":
            return 0, 0
        if self.enum:
            return number(i, self.n, self.signed), 0
        value, flag = self.load(base + (i << self.insize), self.insize)
        return number(value, 8 << self.insize, self.signed), flag

    def condition(self, b, fb):
        less = bool(fb) != (b < 0) if self.signed else bool(fb)
        return {"LTZ": less, "GEZ": not less, "LEZ": less or b == 0, "GTZ": not (less or b == 0),
                "Z": b == 0, "NZ": b != 0}[self.op]

    def alu(self, a, fa, b, fb, target):
        """Result, flag, and what an accumulator adds."""
        n, s = self.n, self.signed
        full = (1 << n) - 1
        ua, ub = a & full, b & full
        op = self.op
        if op in ("MOV", *CONDITIONS):
            t, f = a, fa
        elif op in ("AND", "OR", "XOR"):
            def logic(x, y):
                return {"AND": x & y, "OR": x | y, "XOR": x ^ y}[op]
            t, f = number(logic(ua, ub), n, s), logic(fa, fb)
        elif op in ("ADD", "ADDC", "SUB", "SUBB"):
            carry = fb if op in ("ADDC", "SUBB") else 0
            t = a + b + carry if op.startswith("ADD") else a - b - carry
            f = not fits(t, n, s)
        elif op == "MUL":
            t, f = a * b, not fits(a * b, n, s)
        elif op == "MULHI":
            t, f = a * b >> n, a * b >> (n - 1) & 1
        elif op == "MULFXP":
            t = a * b >> self.spec.fraction_bits[self.size]
            f = not fits(t, n, s)
        elif op == "MAC":
            old, _ = self.load(target, self.outsize)
            t, f = number(old, 8 << self.outsize, s) + a * b, 0
        elif op == "SHL":
            t = b * 2 ** ua if ua < n else 0
            f = not fits(t, n, s)
        elif op == "SHR":
            k = min(ua, n)
            t, f = b >> k, (b << (n - k)) >> (n - 1) & 1
        elif op == "ROTL":
            k = ua % n
            t, f = (ub << k | ub >> (n - k)) & full, fb
        elif op == "ROTR":
            k = ua % n
            t, f = (ub >> k | ub << (n - k)) & full, fb
        elif op in ("MIN", "MAX"):
            t, f = (min if op == "MIN" else max)(a, b), 0
        else:
            t, f = int({"SEQ": a == b, "SNE": a != b, "SLT": a < b, "SLE": a <= b, "SGT": a > b, "SGE": a >= b}[op]), 0
        if self.abs:
            t, f = abs(t) & full, 0
            return t, f, t
        return t & full, f, t if op == "MUL" else number(t, n, s)
