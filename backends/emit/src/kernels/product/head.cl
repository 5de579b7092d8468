#define GROUP (BM / TM * (BN / TN))
#define TX (BN / TN)
// From one element that a work-item brings to its next: along the side of the matrix, and along what is summed.
#define DI(j, along, side) ((along) ? (j) * (GROUP / BK) : (j) * GROUP % (side))
#define DK(j, along, side) ((along) ? 0 : (j) * GROUP / (side))
