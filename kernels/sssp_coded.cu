// Finds shortest paths whose edges have codes of 64-bit weights.
#define CODED
#include "sssp.cu"
