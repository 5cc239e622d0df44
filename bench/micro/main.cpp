// The protocol's and the dataplane's mechanisms by themselves, without a device. Compare runs on one machine,
// alternating; the absolute figures are not worth much.
#include <benchmark/benchmark.h>

BENCHMARK_MAIN();
