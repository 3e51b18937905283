// One step of Haar's wavelet: averages, and differences between columns, between rows and along the diagonal.
uint8[:,:], int10[:,:], int10[:,:], int10[:,:] main (uint8 Image[:,:]) {
    uint8 average[:,:], int10 across[:,:], int10 down[:,:], int10 diagonal[:,:] =
        for window W[2,2] in Image step (2,2) {
            int11 a, int11 b, int11 c, int11 d = W[0,0], W[0,1], W[1,0], W[1,1];
            int11 left, int11 right = a + c, b + d;
            int11 above, int11 below = a + b, c + d;
        } return (array ((above + below) >> 2), array ((left - right) >> 1), array ((above - below) >> 1),
                  array ((a + d - b - c) >> 1));
} return (average, across, down, diagonal);
