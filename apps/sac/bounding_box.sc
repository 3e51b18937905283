// Where an image is at least as bright as `least`: the box around these pixels, how many there are, and the sums of
// their places, whose quotients are the centre.
typedef struct { uint16 row, column; } place;
struct region { place first, last; uint32 pixels; uint32 sums[2]; };

region grown (region r, place p)
    return (region ({p.row < r.first.row ? p.row : r.first.row, p.column < r.first.column ? p.column : r.first.column},
                    {p.row > r.last.row ? p.row : r.last.row, p.column > r.last.column ? p.column : r.last.column},
                    r.pixels + 1, {r.sums[0] + p.row, r.sums[1] + p.column}));

region, place main (uint8 Image[:,:], uint8 least) {
    region none = {{65535, 65535}, {0, 0}, 0, {0, 0}};
    region bright = none;
    region found = for pixel in Image at (uint16 i, uint16 j) {
        next bright = pixel >= least ? grown (bright, place (i, j)) : bright;
    } return (final (bright));
    uint32 pixels = found.pixels == 0 ? 1 : found.pixels;
    place centre = {found.sums[0] / pixels, found.sums[1] / pixels};
} return (found, centre);
