/* SPDX-License-Identifier: MIT */
#include "clu_error.h"

G_DEFINE_QUARK(clu - error, clu_error)
