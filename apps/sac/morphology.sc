// Dilation, erosion and opening of a black and white picture by a cross of 3x3 pixels.
bool[:,:], bool[:,:], bool[:,:] main (uint8 Image[:,:]) {
    bool White[:,:] = for p in Image return (array (p >= 128));
    bool dilated[:,:] = dilate (White);
    bool eroded[:,:] = erode (White);
    bool opened[:,:] = dilate (eroded);
} return (dilated, eroded, opened);

bool[:,:] dilate (bool A[:,:]) {
    bool R[:,:] =
        for window W[3,3] in A return (array (W[0,1] | W[1,0] | W[1,1] | W[1,2] | W[2,1]));
} return (R);

bool[:,:] erode (bool A[:,:]) {
    bool R[:,:] =
        for window W[3,3] in A return (array (W[0,1] & W[1,0] & W[1,1] & W[1,2] & W[2,1]));
} return (R);
