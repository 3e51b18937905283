// Red, green and blue to grey by fixed-point weights, then black and white.
uint8[:,:], bool[:,:] main (uint8 Image[:,:,:], uint8 level) {
    uint8 grey[:,:] =
        for P (~,~,:) in Image
        return (array ((uint8)((ufix24.16)P[0] * (ufix16.16)0.299 + (ufix24.16)P[1] * (ufix16.16)0.587
                               + (ufix24.16)P[2] * (ufix16.16)0.114)));
    bool white[:,:] = for g in grey return (array (g >= level));
} return (grey, white);
