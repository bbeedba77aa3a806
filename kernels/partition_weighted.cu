// Distributes edges with weights to bins (ranges of rows).
#define WEIGHTED
#include "partition.cu"
