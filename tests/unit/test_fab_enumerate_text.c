/* SPDX-License-Identifier: MIT */
/*
 * Invariant: the tree and the listing show each result of enumeration once. The
 * text does not depend on the order in which the components were created. The
 * expected texts are written by hand for the tree in the comment below.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "fab_enumerate.h"
#include "fab_fake.h"
#include "fab_lab.h"
#include "../suite.h"

#define KIB    (UINT64_C(1) << 10)
#define MIB    (UINT64_C(1) << 20)
#define GIB    (UINT64_C(1) << 30)
#define PREF64 (FAKE_64BIT | FAKE_PREF)

/*
 * Host h: rp0 has a switch with four Downstream Ports. Below these are an
 * endpoint, nothing, a switch with one empty Downstream Port, and the NTB h.n0.
 * rp1 is empty, and rp2 has a second NTB. A cable leads from h.n0 to g.n<0>,
 * the only component below host g.
 */
enum {
    H,
    G,
    SW0,
    SW1,
    E,
    N0,
    N1,
    FAR,
    COUNT
};

typedef struct Fixture {
    FabFabric *fabric;
    FabComponent *c[COUNT];
} Fixture;

static const struct {
    FabKind kind;
    const char *name;
    unsigned ports;
} specs[COUNT] = {
    [H] = {FAB_KIND_ROOT, "h", 3},
    [G] = {FAB_KIND_ROOT, "g", 1},
    [SW0] = {FAB_KIND_SWITCH, "h.sw0", 5},
    [SW1] = {FAB_KIND_SWITCH, "h.sw1", 2},
    [E] = {FAB_KIND_ENDPOINT, "h.e", 1},
    [N0] = {FAB_KIND_NTB, "h.n0", 3},
    [N1] = {FAB_KIND_NTB, "h.n1", 2},
    [FAR] = {FAB_KIND_NTB, "g.n<0>", 2},
};

static const struct {
    unsigned a, port_a, b, port_b;
} links[] = {
    {H, 0, SW0, 0}, {SW0, 1, E, 0}, {SW0, 3, SW1, 0}, {SW0, 4, N0, 0},
    {H, 2, N1, 0},  {G, 0, FAR, 0}, {N0, 2, FAR, 1},
};

static Fixture fixture;

static void set_mmio(FabComponent *root)
{
    *fake_mmio(root) = (FabMmioParams){
        .low_base = 2 * GIB,
        .low_size = GIB,
        .high_base = 256 * GIB,
        .high_size = 64 * GIB,
        .above_4g_bytes = 256 * MIB,
    };
}

/* Creates the components in the order of specs[], beginning with @first and
 * wrapping around at the end. */
static Fixture make_fixture(unsigned first)
{
    Fixture f = {.fabric = lab_fabric_new(1)};
    unsigned i;

    for (i = 0; i < COUNT; i++) {
        unsigned n = (first + i) % COUNT;

        f.c[n] = fake_component(f.fabric, specs[n].kind, specs[n].name,
                                specs[n].ports);
    }
    for (i = 0; i < G_N_ELEMENTS(links); i++) {
        fake_connect(f.c[links[i].a], links[i].port_a, f.c[links[i].b],
                     links[i].port_b);
    }
    fake_bar(f.c[SW0], 0, 256 * KIB, 0);
    fake_bar(f.c[E], 0, 4 * KIB, 0);
    fake_bar(f.c[E], 2, GIB, PREF64);
    fake_bar(f.c[N0], 2, 2 * MIB, FAKE_64BIT);
    set_mmio(f.c[H]);
    set_mmio(f.c[G]);
    lab_realize(f.fabric);
    return f;
}

static void setup(void)
{
    fixture = make_fixture(0);
}

static void teardown(void)
{
    lab_fabric_free(fixture.fabric);
}

START_TEST(sizes_are_exact)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 B"},
        {1023, "1023 B"},
        {1024, "1 KiB"},
        {1025, "1025 B"},
        {1536 * KIB, "1536 KiB"},
        {UINT64_C(1) << 63, "8 EiB"},
        {UINT64_MAX, "18446744073709551615 B"},
    };
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GString) out = g_string_new(NULL);

        fab_append_size(out, cases[i].bytes);
        ck_assert_str_eq(out->str, cases[i].text);
    }
}
END_TEST

START_TEST(tree_looks_like_lspci)
{
    g_autoptr(GString) out = g_string_new("before\n");

    fab_write_tree(fixture.c[H], FAB_TREE_SHORT, out);
    ck_assert_str_eq(
        out->str,
        "before\n"
        "-[h:00]--+-00.0  h, root complex\n"
        "         +-01.0 rp0-[01-08]----00.0 h.sw0-[02-08]"
        "--+-00.0 dsp0-[03]----00.0  h.e, endpoint\n"
        "         |                                       "
        "  +-01.0 dsp1-[04]--\n"
        "         |                                       "
        "  +-02.0 dsp2-[05-07]----00.0 h.sw1-[06-07]----00.0 dsp0-[07]--\n"
        "         |                                       "
        "  \\-03.0 dsp3-[08]----00.0  h.n0, NTB, cable1 to g.n<0> cable0\n"
        "         \\-03.0 rp2-[09]----00.0  h.n1, NTB\n");
}
END_TEST

START_TEST(host_with_one_port_is_drawn)
{
    g_autoptr(GString) out = g_string_new(NULL);

    fab_write_tree(fixture.c[G], FAB_TREE_SHORT, out);
    ck_assert_str_eq(out->str,
                     "-[g:00]--+-00.0  g, root complex\n"
                     "         \\-01.0 rp0-[01]----00.0  g.n<0>, NTB, "
                     "cable0 to h.n0 cable1\n");
}
END_TEST

/*
 * Memory, in MiB: dsp3 2/2, dsp0 1/1; sw0 2 + 1 = 3/2; rp0 3 + 0.25, so 4/2.
 * High: 1 GiB through dsp0, sw0, rp0.
 */
START_TEST(listing_has_a_paragraph_a_function)
{
    static const char *const paragraphs[] = {
        "\n00:00.0 h: root complex\n\n",
        "\n00:01.0 h rp0: Root Port\n"
        "\tLink: 8.0GT/s x8 to h.sw0 usp, Max_Payload_Size 256 bytes\n"
        "\tBus: primary=00, secondary=01, subordinate=08\n"
        "\tMemory range: 0x80000000-0x803fffff [4 MiB]\n"
        "\tPrefetchable range: 0x4000000000-0x403fffffff [1 GiB]\n\n",
        "\n01:00.0 h.sw0 usp: Upstream Port\n"
        "\tLink: 8.0GT/s x8 to h rp0, Max_Payload_Size 256 bytes\n"
        "\tBus: primary=01, secondary=02, subordinate=08\n"
        "\tMemory range: 0x80000000-0x802fffff [3 MiB]\n"
        "\tPrefetchable range: 0x4000000000-0x403fffffff [1 GiB]\n"
        "\tBAR 0: 0x80300000 (32-bit, non-prefetchable) [256 KiB]\n\n",
        "\n02:01.0 h.sw0 dsp1: Downstream Port\n"
        "\tLink: not connected\n"
        "\tBus: primary=02, secondary=04, subordinate=04\n"
        "\tMemory range: closed\n"
        "\tPrefetchable range: closed\n\n",
        "\n03:00.0 h.e: endpoint\n"
        "\tLink: 8.0GT/s x8 to h.sw0 dsp0, Max_Payload_Size 256 bytes\n"
        "\tBAR 0: 0x80200000 (32-bit, non-prefetchable) [4 KiB]\n"
        "\tBAR 2: 0x4000000000 (64-bit, prefetchable) [1 GiB]\n\n",
        "\n08:00.0 h.n0: NTB\n"
        "\tLink: 8.0GT/s x8 to h.sw0 dsp3, Max_Payload_Size 256 bytes\n"
        "\tCable cable0: not connected\n"
        "\tCable cable1: 8.0GT/s x8 to g.n<0> cable0, "
        "Max_Payload_Size 256 bytes\n"
        "\tBAR 2: 0x80000000 (64-bit, non-prefetchable) [2 MiB]\n\n",
    };
    g_autoptr(GString) out = g_string_new(NULL);
    const char *end;
    unsigned functions = 0;
    unsigned i;

    fab_write_tree(fixture.c[H], FAB_TREE_LONG, out);
    for (i = 0; i < G_N_ELEMENTS(paragraphs); i++) {
        ck_assert_msg(strstr(out->str, paragraphs[i]), "%s\nnot in\n%s",
                      paragraphs[i], out->str);
    }
    for (end = out->str; (end = strstr(end, "\n\n")); end += 2) {
        functions++;
    }
    /* The tree itself; the root, 2 root ports, 5 + 2 switch ports, e, n0, n1.
     */
    ck_assert_uint_eq(functions, 1 + 1 + 2 + 7 + 3);
}
END_TEST

START_TEST(order_of_creation_does_not_show)
{
    Fixture other = make_fixture(_i);
    g_autoptr(GString) a = g_string_new(NULL);
    g_autoptr(GString) b = g_string_new(NULL);

    fab_write_tree(fixture.c[H], FAB_TREE_LONG, a);
    fab_write_tree(other.c[H], FAB_TREE_LONG, b);
    ck_assert_str_eq(a->str, b->str);
    lab_fabric_free(other.fabric);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("fab_enumerate_text");
    TCase *tcase = tcase_create("text");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, sizes_are_exact);
    tcase_add_test(tcase, tree_looks_like_lspci);
    tcase_add_test(tcase, host_with_one_port_is_drawn);
    tcase_add_test(tcase, listing_has_a_paragraph_a_function);
    tcase_add_loop_test(tcase, order_of_creation_does_not_show, 1, COUNT);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
