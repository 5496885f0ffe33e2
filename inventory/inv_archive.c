/* SPDX-License-Identifier: MIT */
/* Archives that hosts send: their part of /sys, as busybox's tar writes it. */
#include <string.h>

#include <glib/gstdio.h>

#include "inv_inventory.h"

/* A header, POSIX.1-1988 (ustar): a block with the name at 0, the size in octal
 * digits at 124, the type at 156, and the first part of a long name at 345. The
 * content follows in whole blocks. */
#define BLOCK_BYTES 512
#define NAME_AT     0
#define NAME_BYTES  100
#define SIZE_AT     124
#define SIZE_BYTES  12
#define TYPE_AT     156

/* No file of /sys that an inventory reads is longer: a configuration space. */
#define FILE_MAX_BYTES 4096

const char inv_archive_script[] =
    "to=$(mktemp -d) && cd /sys/bus/pci/devices || exit 1\n"
    "trap 'rm -rf \"$to\"' EXIT\n"
    "exec </dev/null\n"
    "for at in *; do\n"
    "    copy=$to/bus/pci/devices/$at\n"
    "    mkdir -p \"$copy\"\n"
    "    for file in class vendor device numa_node config sriov_totalvfs \\\n"
    "        sriov_offset sriov_stride; do\n"
    "        [ ! -e \"$at/$file\" ] || cat \"$at/$file\" >\"$copy/$file\"\n"
    "    done\n"
    "    for file in \"$at\"/infiniband/*/node_guid \"$at\"/vpd; do\n"
    "        [ ! -e \"$file\" ] || { mkdir -p \"$to/bus/pci/devices/${file%/*}\" &&\n"
    "            head -c 4096 \"$file\" >\"$to/bus/pci/devices/$file\"; }\n"
    "    done\n"
    "    [ ! -e \"$at/physfn\" ] || mkdir \"$copy/physfn\"\n"
    "    for port in \"$at\"/net/*; do\n"
    "        [ ! -e \"$port\" ] || mkdir -p \"$copy/net/${port##*/}\"\n"
    "    done\n"
    "    for port in \"$at\"/infiniband/*/ports/1/gids; do\n"
    "        [ ! -e \"$port\" ] || { mkdir -p \"$copy/${port#*/}\" &&\n"
    "            cat \"$port/0\" >\"$copy/${port#*/}/0\"; }\n"
    "    done\n"
    "done\n"
    "tar -C \"$to\" -cf - .\n";

static bool refuse(GError **error, const char *reason)
{
    g_set_error(error, INV_ERROR, INV_ERROR_SYSFS,
                "what the host sends is no copy of its /sys: %s", reason);
    return false;
}

/* True if each component of @name is one that a folder of a device in /sys may
 * have, so that the file cannot be elsewhere. */
static bool is_good_name(const char *name)
{
    g_auto(GStrv) parts = g_strsplit(name, "/", -1);

    for (char **part = parts; *part; part++) {
        if (**part == '\0' || strcmp(*part, ".") == 0 ||
            strcmp(*part, "..") == 0 ||
            (*part)[strspn(*part, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS
                           "_.:@+-")] != '\0') {
            return false;
        }
    }
    return true;
}

/* Makes the file or folder of the header @block in @dir. */
static bool make(const char *dir, const uint8_t *block, size_t size,
                 GError **error)
{
    g_autofree char *text =
        g_strndup((const char *)block + NAME_AT, NAME_BYTES);
    char *name = g_str_has_prefix(text, "./") ? text + 2 : text;
    g_autofree char *path = NULL;
    uint8_t type = block[TYPE_AT];

    if (g_str_has_suffix(name, "/")) {
        name[strlen(name) - 1] = '\0';
    }
    if (*name == '\0' || strcmp(name, ".") == 0) {
        return true; /* the folder itself */
    }
    if (!is_good_name(name)) {
        return refuse(error, "a name does not stand in /sys/bus/pci/devices");
    }
    path = g_build_filename(dir, name, NULL);
    if (type == '5') {
        if (g_mkdir_with_parents(path, 0700) == 0) {
            return true;
        }
    } else if (type != '0' && type != '\0') {
        return refuse(error, "it has more than files and folders");
    } else if (size > FILE_MAX_BYTES) {
        return refuse(error, "a file is too long");
    } else if (g_file_set_contents(path, (const char *)block + BLOCK_BYTES,
                                   (gssize)size, NULL)) {
        return true;
    }
    return refuse(error, "a name cannot be that of a file here");
}

bool inv_archive_unpack(const void *bytes, size_t length, const char *dir,
                        GError **error)
{
    const uint8_t *at = bytes;

    while (length >= BLOCK_BYTES && at[NAME_AT] != '\0') {
        g_autofree char *digits =
            g_strndup((const char *)at + SIZE_AT, SIZE_BYTES);
        guint64 size = g_ascii_strtoull(digits, NULL, 8);
        guint64 blocks = 1 + (size + BLOCK_BYTES - 1) / BLOCK_BYTES;

        if (blocks > length / BLOCK_BYTES) {
            return refuse(error, "it ends too early");
        }
        if (!make(dir, at, size, error)) {
            return false;
        }
        at += blocks * BLOCK_BYTES;
        length -= blocks * BLOCK_BYTES;
    }
    /* A block of zeros ends the archive. */
    return length >= BLOCK_BYTES || refuse(error, "it ends too early");
}
