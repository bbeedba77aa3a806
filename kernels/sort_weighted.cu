// Sorts the edges of bins into rows without repeats, with the smallest weight of each edge.
#define WEIGHTED
#include "sort.cu"
