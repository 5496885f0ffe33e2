/* SPDX-License-Identifier: MIT */
/* In place of the kernel's: what is needed of it is in pci.h. */
