// Edges by Prewitt's two masks: the length of the gradient, scaled to 8 bits (Hammes 2000, section 7.3.2).
uint8[:,:] prewitt (uint8 Image[:,:]) {
    int2 H[3,3] = {{-1,-1,-1}, {0,0,0}, {1,1,1}};
    int2 V[3,3] = {{-1,0,1}, {-1,0,1}, {-1,0,1}};
    uint8 edges[:,:] =
        for window W[3,3] in Image {
            int11 across, int11 along =
                for h in H dot w in W dot v in V
                return (sum ((int11)w * h), sum ((int11)w * v));
            uint10 a, uint10 b = size (across), size (along);
        } return (array ((uint8)((bits11)magnitude (a, b) >> 3)));
} return (edges);

uint10 size (int11 v) return (v < 0 ? -v : v);

uint11 magnitude (uint10 a, uint10 b) return ((uint11)sqrt ((uint22)a * a + (uint22)b * b));
