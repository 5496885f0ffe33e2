/* SPDX-License-Identifier: MIT */
#include "bench_case.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#define WARM_UP_MOST   4 /* most runs that do not count */
#define STABLE_PERCENT 10

double bench_thread_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int compare_figures(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

double bench_median(double *figures, unsigned count)
{
    qsort(figures, count, sizeof(*figures), compare_figures);
    return (figures[(count - 1) / 2] + figures[count / 2]) / 2;
}

/* Returns true if all figures of two runs are within STABLE_PERCENT of each
 * other. */
static bool is_stable(const BenchCase *bench, const double *a, const double *b)
{
    for (unsigned i = 0; bench->metrics[i].name; i++) {
        if (fabs(a[i] - b[i]) * 100 > STABLE_PERCENT * fabs(a[i])) {
            return false;
        }
    }
    return true;
}

/* Runs @bench until a run is like the one before: caches of the emulator and of
 * the guest are full then. */
static bool warm_up(const BenchCase *bench, const BenchSetup *setup,
                    GError **error)
{
    double figures[2][BENCH_METRICS_MAX];

    for (unsigned i = 0; i < WARM_UP_MOST; i++) {
        if (!bench->run(bench, setup, figures[i % 2], error)) {
            return false;
        }
        if (i > 0 && is_stable(bench, figures[0], figures[1])) {
            break;
        }
    }
    return true;
}

bool bench_measure(const BenchCase *bench, const BenchSetup *setup,
                   unsigned runs, BenchResult *ret_result, GError **error)
{
    g_autofree double *figures = g_new(double, BENCH_METRICS_MAX *runs);
    gint64 seconds =
        bench_is_on_cluster(bench) ? BENCH_CLUSTER_SECONDS : BENCH_SECONDS;
    gint64 end;
    unsigned done = 0;

    if (bench_is_warmed_up(bench) && !warm_up(bench, setup, error)) {
        return false;
    }
    end = g_get_monotonic_time() + seconds * G_USEC_PER_SEC;
    while (done < runs && (done == 0 || g_get_monotonic_time() < end)) {
        double once[BENCH_METRICS_MAX];

        if (!bench->run(bench, setup, once, error)) {
            return false;
        }
        for (unsigned i = 0; bench->metrics[i].name; i++) {
            figures[i * runs + done] = once[i];
        }
        done++;
    }
    *ret_result = (BenchResult){.runs = done};
    for (unsigned i = 0; bench->metrics[i].name; i++) {
        double *of_metric = &figures[i * runs];

        ret_result->median[i] = bench_median(of_metric, done);
        ret_result->least[i] = of_metric[0];
        ret_result->most[i] = of_metric[done - 1];
    }
    return true;
}
