// The kernels of sssp_moore.cuh for edges that have codes of 64-bit weights.
#define CODED
#include "sssp_moore.cu"
