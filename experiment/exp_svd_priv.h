/* SPDX-License-Identifier: MIT */
#ifndef EXP_SVD_PRIV_H
#define EXP_SVD_PRIV_H

/*
 * The singular values of a matrix, and its right singular vectors.
 *
 * @a has @columns columns of @rows values, one column after the other, and is
 * overwritten. Sets ret_s to the @columns singular values, the largest first,
 * and ret_v to a vector of @columns values for each, one after the other. A
 * matrix with fewer rows than columns has singular values of about 0.
 */
void exp_svd(double *a, unsigned rows, unsigned columns, double *ret_s,
             double *ret_v);

#endif
