/* SPDX-License-Identifier: MIT */
#ifndef CLU_SHARE_H
#define CLU_SHARE_H

#include <stdbool.h>

/*
 * QEMU's way to keep the owners, modes and types that a guest gives to the
 * files of a shared folder. It never gives them to the files themselves: a
 * guest would leave programs with the rights of the user who runs QEMU
 * (setuid), and symbolic links to the user's other files. The guest's files are
 * plain files of mode 0600 here.
 */

/* True if files in @folder can have extended attributes (user.*), in which QEMU
 * keeps them. tmpfs has none before Linux 6.6. Also true if no file can be made
 * there, because the guest cannot make one either. */
bool clu_share_has_attributes(const char *folder);

/* QEMU's security_model for @folder: "mapped-xattr", or "mapped-file", with
 * which QEMU keeps them in a folder .virtfs_metadata in each folder. */
const char *clu_share_model(const char *folder);

#endif
