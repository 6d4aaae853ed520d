/* The cases as JSON, for bench_peers.py. */
#ifndef BENCH_LISTING_H
#define BENCH_LISTING_H

/* Those of workload_chosen. */
void list_cases(const char *sizes, const char *filter);

#endif /* BENCH_LISTING_H */
