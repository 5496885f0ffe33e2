/* SPDX-License-Identifier: MIT */
/*
 * Invariant: singular values and vectors are those of the matrix: A V = U S
 * with orthogonal columns. They are known for a rotated diagonal, and for
 * columns that depend on each other.
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include <glib.h>

#include "exp_svd_priv.h"
#include "../suite.h"

#define COLUMNS_MAX 8
#define ROWS_MAX    40

static double dot(const double *x, const double *y, unsigned n)
{
    double sum = 0;

    for (unsigned i = 0; i < n; i++) {
        sum += x[i] * y[i];
    }
    return sum;
}

/* Two unit columns with the angle 2a between them: sqrt(2) cos a, sqrt(2) sin
 * a, in the directions of their sum and difference. */
START_TEST(two_columns)
{
    const double angle = 0.01;
    double a[] = {cos(angle), sin(angle), cos(angle), -sin(angle)};
    double s[2], v[4];

    exp_svd(a, 2, 2, s, v);
    ck_assert_double_eq_tol(s[0], sqrt(2) * cos(angle), 1e-14);
    ck_assert_double_eq_tol(s[1], sqrt(2) * sin(angle), 1e-14);
    ck_assert_double_eq_tol(fabs(v[0] + v[1]), sqrt(2), 1e-14);
    ck_assert_double_eq_tol(fabs(v[2] - v[3]), sqrt(2), 1e-14);
}
END_TEST

/* The third column is the sum of the others. */
START_TEST(dependent_columns)
{
    double a[] = {1, 0, 0, 2, 0, 1, 5, 0, 1, 1, 5, 2};
    double s[3], v[9];

    exp_svd(a, 4, 3, s, v);
    ck_assert_double_eq_tol(s[2], 0, 1e-14);
    ck_assert_double_eq_tol(fabs(v[6]), 1 / sqrt(3), 1e-14);
    ck_assert_double_eq_tol(v[6], v[7], 1e-14);
    ck_assert_double_eq_tol(v[6], -v[8], 1e-14);
}
END_TEST

START_TEST(random_matrices)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);

    for (unsigned n = 0; n < 300; n++) {
        unsigned columns = g_rand_int_range(rand, 1, COLUMNS_MAX + 1);
        unsigned rows = g_rand_int_range(rand, columns, ROWS_MAX + 1);
        double a[COLUMNS_MAX * ROWS_MAX], before[COLUMNS_MAX * ROWS_MAX];
        double s[COLUMNS_MAX], v[COLUMNS_MAX * COLUMNS_MAX];

        for (unsigned i = 0; i < rows * columns; i++) {
            before[i] = a[i] = g_rand_double_range(rand, -1, 1);
        }
        exp_svd(a, rows, columns, s, v);
        for (unsigned k = 0; k < columns; k++) {
            double image[ROWS_MAX] = {0};

            ck_assert(k == 0 || s[k] <= s[k - 1]);
            for (unsigned l = 0; l < columns; l++) {
                ck_assert_double_eq_tol(
                    dot(&v[k * columns], &v[l * columns], columns), k == l,
                    1e-12);
            }
            /* A times the vector has the length of the singular value. */
            for (unsigned j = 0; j < columns; j++) {
                for (unsigned i = 0; i < rows; i++) {
                    image[i] += before[j * rows + i] * v[k * columns + j];
                }
            }
            ck_assert_double_eq_tol(sqrt(dot(image, image, rows)), s[k], 1e-12);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exp_svd");
    TCase *tc = tcase_create("svd");

    tcase_add_test(tc, two_columns);
    tcase_add_test(tc, dependent_columns);
    tcase_add_test(tc, random_matrices);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
