/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FARSIDE_GPU_H
#define FARSIDE_GPU_H

void farside_gpu_register_types(void);

#endif /* FARSIDE_GPU_H */
