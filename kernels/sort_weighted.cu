// Sorts the edges of bins into rows, and removes repeated edges. Keeps the smallest weight of each edge.
#define WEIGHTED
#include "sort.cu"
