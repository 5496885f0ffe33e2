/* SPDX-License-Identifier: MIT */
#ifndef TOPO_TEST_H
#define TOPO_TEST_H

#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <glib.h>

#include "topo_description.h"
#include "topo_flow.h"

/* The build defines TOPO_SOURCE_ROOT, the root of the source tree. */
#define TEST_FILE(path) TOPO_SOURCE_ROOT "/" path
#define TEST_PARTS      TEST_FILE("tests/unit/bad/parts")

/* Two hosts joined by a cable, made of the small parts of the tests. */
#define TWO_HOSTS                                                              \
    "name: two\n"                                                              \
    "hosts:\n"                                                                 \
    "  - name: a\n"                                                            \
    "    cpu: cpu\n"                                                           \
    "    switches: [{name: sw0, part: sw, at: rp0}]\n"                         \
    "    devices:\n"                                                           \
    "      - {name: gpu0, part: gpu, at: sw0}\n"                               \
    "      - {name: ntb0, part: ntb, at: rp1}\n"                               \
    "  - {name: b, cpu: cpu, devices: [{name: ntb0, part: ntb, at: rp0}]}\n"   \
    "links: [{name: c0, ends: [a.ntb0, b.ntb0]}]\n"                            \
    "workload:\n"                                                              \
    "  flows:\n"                                                               \
    "    - {name: f, kind: copy, device: a.gpu0, direction: read,\n"           \
    "       buffer: b.ram, size: 4KiB}\n"

/* Loads @text with @changes (nullable). Fails the test on an error. */
static inline TopoDescription *load_good(const char *text,
                                         const GPtrArray *changes)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    TopoDescription *description = topo_load_buffer(
        "test.yaml", text, strlen(text), TEST_PARTS, changes, errors);
    g_autofree char *messages = topo_errors_to_string(errors);

    ck_assert_str_eq(messages, "");
    ck_assert_ptr_nonnull(description);
    return description;
}

/* Loads @text with @changes (nullable), which must fail. Returns the messages.
 */
static inline char *load_bad(const char *text, const GPtrArray *changes)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    TopoDescription *description = topo_load_buffer(
        "test.yaml", text, strlen(text), TEST_PARTS, changes, errors);

    ck_assert_ptr_null(description);
    ck_assert_uint_gt(topo_errors_count(errors), 0);
    return topo_errors_to_string(errors);
}

/* Parses changes in the syntax of the command line. NULL ends the list. */
static inline GPtrArray *make_changes(const char *first, ...)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    GPtrArray *changes = topo_changes_new();
    const char *text;
    va_list args;

    va_start(args, first);
    for (text = first; text; text = va_arg(args, const char *)) {
        TopoChange *change = topo_change_parse(text, topo_place_set(), errors);

        ck_assert_ptr_nonnull(change);
        g_ptr_array_add(changes, change);
    }
    va_end(args);
    return changes;
}

#endif
