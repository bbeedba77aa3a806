// Distributes edges with weights to bins of rows.
#define WEIGHTED
#include "partition.cu"
