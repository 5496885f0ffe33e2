/* SPDX-License-Identifier: MIT */
/*
 * One-sided Jacobi rotations (Hestenes, J. SIAM 6, 1958): pairs of columns are
 * rotated until all are orthogonal. Their lengths are then the singular values.
 * It is slow for large matrices, and the most exact method for small ones.
 */
#include "exp_svd_priv.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include <glib.h>

#define SWEEPS_MAX 60 /* about 10 are enough for any matrix */

static double product(const double *x, const double *y, unsigned n)
{
    double sum = 0;

    for (unsigned i = 0; i < n; i++) {
        sum += x[i] * y[i];
    }
    return sum;
}

static void rotate(double *x, double *y, unsigned n, double c, double s)
{
    for (unsigned i = 0; i < n; i++) {
        double old = x[i];

        x[i] = c * old - s * y[i];
        y[i] = s * old + c * y[i];
    }
}

/* Makes columns @p and @q orthogonal. Returns false if they were already. */
static bool rotate_pair(double *a, double *v, unsigned rows, unsigned columns,
                        unsigned p, unsigned q)
{
    double *x = &a[p * rows], *y = &a[q * rows];
    double xx = product(x, x, rows), yy = product(y, y, rows);
    double xy = product(x, y, rows), zeta, t, c;

    if (fabs(xy) <= DBL_EPSILON * sqrt(xx * yy)) {
        return false;
    }
    zeta = (yy - xx) / (2 * xy);
    t = copysign(1, zeta) / (fabs(zeta) + hypot(1, zeta));
    c = 1 / hypot(1, t);
    rotate(x, y, rows, c, c * t);
    rotate(&v[p * columns], &v[q * columns], columns, c, c * t);
    return true;
}

static void swap(double *x, double *y, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        double old = x[i];

        x[i] = y[i];
        y[i] = old;
    }
}

/* Puts the largest singular value first. */
static void sort(double *s, double *v, unsigned columns)
{
    for (unsigned i = 0; i < columns; i++) {
        unsigned most = i;

        for (unsigned j = i + 1; j < columns; j++) {
            most = s[j] > s[most] ? j : most;
        }
        swap(&s[i], &s[most], 1);
        swap(&v[i * columns], &v[most * columns], columns);
    }
}

void exp_svd(double *a, unsigned rows, unsigned columns, double *ret_s,
             double *ret_v)
{
    bool moved = true;

    for (unsigned i = 0; i < columns * columns; i++) {
        ret_v[i] = i % (columns + 1) == 0;
    }
    for (unsigned sweep = 0; moved && sweep < SWEEPS_MAX; sweep++) {
        moved = false;
        for (unsigned p = 0; p < columns; p++) {
            for (unsigned q = p + 1; q < columns; q++) {
                moved |= rotate_pair(a, ret_v, rows, columns, p, q);
            }
        }
    }
    for (unsigned i = 0; i < columns; i++) {
        ret_s[i] = sqrt(product(&a[i * rows], &a[i * rows], rows));
    }
    sort(ret_s, ret_v, columns);
}
