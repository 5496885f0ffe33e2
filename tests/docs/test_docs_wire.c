/* SPDX-License-Identifier: MIT */
/*
 * Invariant: the tables of docs/reference/wire.md have every message and every
 * field of farside_wire.h with its number, offset and size, and no others.
 */
#include <stddef.h>
#include <string.h>

#include <check.h>
#include <glib.h>

#include "farside_wire.h"
#include "../suite.h"

/* Fields at fixed offsets: FIELD(struct, member, offset, size). */
#define FIELDS                                                                 \
    FIELD(head, magic, 0, 4)                                                   \
    FIELD(head, version, 4, 2)                                                 \
    FIELD(head, type, 6, 2)                                                    \
    FIELD(head, length, 8, 4)                                                  \
    FIELD(head, reserved, 12, 4)                                               \
    FIELD(hello, partition, 0, 1)                                              \
    FIELD(hello, generation, 1, 1)                                             \
    FIELD(hello, link_up, 2, 1)                                                \
    FIELD(hello, chip, 3, 1)                                                   \
    FIELD(hello, requester_id, 4, 2)                                           \
    FIELD(hello, lut_entries, 6, 2)                                            \
    FIELD(hello, req_ids, 8, 2)                                                \
    FIELD(hello, hosts, 10, 1)                                                 \
    FIELD(hello, ports, 11, 1)                                                 \
    FIELD(hello, reserved, 12, 4)                                              \
    FIELD(hello, bar_size[0], 16, 8)                                           \
    FIELD(hello, bar_size[1], 24, 8)                                           \
    FIELD(ram, count, 0, 4)                                                    \
    FIELD(ram, translated, 4, 4)                                               \
    FIELD(link, up, 0, 4)                                                      \
    FIELD(link, reserved, 4, 4)                                                \
    FIELD(doorbell, bits, 0, 8)                                                \
    FIELD(message, index, 0, 4)                                                \
    FIELD(message, value, 4, 4)                                                \
    FIELD(lock, id, 0, 4)                                                      \
    FIELD(lock, reserved, 4, 4)                                                \
    FIELD(ctrl, lock_id, 0, 4)                                                 \
    FIELD(ctrl, reserved, 4, 4)                                                \
    FIELD(configured, lock_id, 0, 4)                                           \
    FIELD(configured, bar_error, 4, 4)                                         \
    FIELD(configured, lut_error, 8, 4)                                         \
    FIELD(configured, req_id_error, 12, 4)                                     \
    FIELD(read, address, 0, 8)                                                 \
    FIELD(read, length, 8, 2)                                                  \
    FIELD(read, hops, 10, 1)                                                   \
    FIELD(read, space, 11, 1)                                                  \
    FIELD(read, tag, 12, 2)                                                    \
    FIELD(read, requester_id, 14, 2)                                           \
    FIELD(write, address, 0, 8)                                                \
    FIELD(write, length, 8, 2)                                                 \
    FIELD(write, hops, 10, 1)                                                  \
    FIELD(write, space, 11, 1)                                                 \
    FIELD(write, tag, 12, 2)                                                   \
    FIELD(write, requester_id, 14, 2)                                          \
    FIELD(notices, number, 0, 4)                                               \
    FIELD(notices, count, 4, 4)                                                \
    FIELD(windows, count, 0, 2)                                                \
    FIELD(windows, more, 2, 2)                                                 \
    FIELD(windows, reserved, 4, 4)                                             \
    FIELD(noted, number, 0, 4)                                                 \
    FIELD(noted, reserved, 4, 4)                                               \
    FIELD(completion, length, 0, 4)                                            \
    FIELD(completion, tag, 4, 2)                                               \
    FIELD(completion, status, 6, 2)

/* Fields of arrays: REPEATED(struct, array, member, offset, step, size). */
#define REPEATED_FIELDS                                                        \
    REPEATED(ram, region, address, 8, 24, 8)                                   \
    REPEATED(ram, region, size, 16, 24, 8)                                     \
    REPEATED(ram, region, offset, 24, 24, 8)                                   \
    REPEATED(notices, notice, address, 8, 32, 8)                               \
    REPEATED(notices, notice, target, 16, 32, 8)                               \
    REPEATED(notices, notice, size, 24, 32, 8)                                 \
    REPEATED(notices, notice, perm, 32, 32, 4)                                 \
    REPEATED(notices, notice, reserved, 36, 32, 4)                             \
    REPEATED(windows, window, address, 8, 16, 8)                               \
    REPEATED(windows, window, size, 16, 16, 8)                                 \
    REPEATED(ctrl, bar, ctl, 8, 24, 4)                                         \
    REPEATED(ctrl, bar, win_size, 12, 24, 4)                                   \
    REPEATED(ctrl, bar, xlate, 16, 24, 8)                                      \
    REPEATED(ctrl, bar, ext_win_size, 24, 24, 4)                               \
    REPEATED(ctrl, bar, reserved, 28, 24, 4)

/* The header agrees with the lists above. */
#define FIELD(STRUCT, MEMBER, OFFSET, SIZE)                                    \
    _Static_assert(                                                            \
        offsetof(struct farside_wire_##STRUCT, MEMBER) == (OFFSET) &&          \
            sizeof(((struct farside_wire_##STRUCT *)0)->MEMBER) == (SIZE),     \
        #STRUCT "." #MEMBER);
#define REPEATED(STRUCT, ARRAY, MEMBER, OFFSET, STEP, SIZE)                    \
    FIELD(STRUCT, ARRAY[0].MEMBER, OFFSET, SIZE)                               \
    FIELD(STRUCT, ARRAY[1].MEMBER, (OFFSET) + (STEP), SIZE)
FIELDS
REPEATED_FIELDS
FIELD(ctrl, req_id, 152, 4 * 512)
FIELD(ctrl, lut, 2200, 8 * 512)
#undef FIELD
#undef REPEATED

/* The lists above, as table cells of the page. */
#define FIELD(STRUCT, MEMBER, OFFSET, SIZE)                                    \
    "| " #OFFSET " | " #SIZE " | `" #MEMBER "` |",
#define REPEATED(STRUCT, ARRAY, MEMBER, OFFSET, STEP, SIZE)                    \
    "| " #OFFSET " + " #STEP " i | " #SIZE " | `" #ARRAY "[i]." #MEMBER "` |",
static const char *const cells[] = {
    FIELDS REPEATED_FIELDS "| 152 | 4 x 512 | `req_id` |",
    "| 2200 | 8 x 512 | `lut` |",
};

#define BODY(STRUCT) sizeof(struct farside_wire_##STRUCT)

static const struct {
    unsigned type;
    const char *name;
    size_t body_size;
} messages[] = {
    {FARSIDE_WIRE_HELLO, "HELLO", BODY(hello)},
    {FARSIDE_WIRE_RAM, "RAM", BODY(ram)},
    {FARSIDE_WIRE_LINK, "LINK", BODY(link)},
    {FARSIDE_WIRE_RESET, "RESET", 0},
    {FARSIDE_WIRE_DOORBELL, "DOORBELL", BODY(doorbell)},
    {FARSIDE_WIRE_MESSAGE, "MESSAGE", BODY(message)},
    {FARSIDE_WIRE_LOCK, "LOCK", BODY(lock)},
    {FARSIDE_WIRE_LOCKED, "LOCKED", BODY(ctrl)},
    {FARSIDE_WIRE_CONFIG, "CONFIG", BODY(ctrl)},
    {FARSIDE_WIRE_CONFIGURED, "CONFIGURED", BODY(configured)},
    {FARSIDE_WIRE_RELEASE, "RELEASE", BODY(lock)},
    {FARSIDE_WIRE_READ, "READ", BODY(read)},
    {FARSIDE_WIRE_WRITE, "WRITE", BODY(write)},
    {FARSIDE_WIRE_COMPLETION, "COMPLETION", BODY(completion)},
    {FARSIDE_WIRE_PEER, "PEER", 0},
    {FARSIDE_WIRE_WINDOWS, "WINDOWS", BODY(windows)},
};

static char *page;

static void setup(void)
{
    ck_assert(g_file_get_contents(WIRE_PAGE, &page, NULL, NULL));
}

static void teardown(void)
{
    g_clear_pointer(&page, g_free);
}

static unsigned count(const char *text)
{
    unsigned n = 0;

    for (const char *at = page; (at = strstr(at, text)); at++) {
        n++;
    }
    return n;
}

START_TEST(every_message_is_in_the_table)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(messages); i++) {
        g_autofree char *row =
            g_strdup_printf("\n| %u | %s | %zu ", messages[i].type,
                            messages[i].name, messages[i].body_size);

        ck_assert_msg(count(row) == 1, "no row: %s", row + 1);
    }
}
END_TEST

START_TEST(every_field_is_in_a_table)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(cells); i++) {
        unsigned expected = 0;

        for (unsigned j = 0; j < G_N_ELEMENTS(cells); j++) {
            expected += strcmp(cells[i], cells[j]) == 0;
        }
        ck_assert_msg(count(cells[i]) == expected, "%u rows, not %u, have %s",
                      count(cells[i]), expected, cells[i]);
    }
}
END_TEST

/* Only cells that name a field consist of one code span. */
START_TEST(no_table_has_another_field)
{
    ck_assert_uint_eq(count(" | `"), G_N_ELEMENTS(cells));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("wire.md");
    TCase *tcase = tcase_create("wire.md");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, every_message_is_in_the_table);
    tcase_add_test(tcase, every_field_is_in_a_table);
    tcase_add_test(tcase, no_table_has_another_field);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
