/* SPDX-License-Identifier: MIT */
/*
 * Invariant: a drawing has every element and every link once, with the values
 * of enumeration or of the description. The text of the tree has every
 * function.
 */
#include "exp_build.h"
#include "exp_dot.h"
#include "fab_enumerate.h"
#include "topo_test.h"
#include "../suite.h"

#define LENT TWO_HOSTS "lend: [{device: a.gpu0, to: b}]\n"

static void check_pieces(const char *drawing, const char *const *pieces,
                         unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const char *found = strstr(drawing, pieces[i]);

        ck_assert_msg(found, "%s not in %s", pieces[i], drawing);
        ck_assert_msg(!strstr(found + 1, pieces[i]), "%s twice in %s",
                      pieces[i], drawing);
    }
}

START_TEST(a_description_shows_parts_and_ports)
{
    static const char *const pieces[] = {
        "graph \"two\" {\n",
        "subgraph \"cluster_a\"",
        "subgraph \"cluster_b\"",
        "\"a\" [fillcolor=\"#fde9c9\", label=<<b>a</b><br/>cpu>];\n",
        "\"a.sw0\" [fillcolor=\"#dce9f7\", label=<<b>sw0</b><br/>sw>];\n",
        "\"a.cpu.rp0\" -- \"a.sw0\" [label=\" 8.0GT/s x16\"];\n",
        "\"a.sw0\" -- \"a.gpu0\" [label=\" 5.0GT/s x8\"];\n",
        "\"a.ntb0\" -- \"b.ntb0\" [label=\" 8.0GT/s x8\", style=dashed];\n",
        "\"a.gpu0\" -- \"b\" [label=\" lent\", style=dotted",
    };
    g_autoptr(TopoDescription) d = load_good(LENT, NULL);
    g_autoptr(GString) out = g_string_new(NULL);

    exp_dot(d, NULL, out);
    check_pieces(out->str, pieces, G_N_ELEMENTS(pieces));
    ck_assert_ptr_null(strstr(out->str, "BAR"));
}
END_TEST

START_TEST(a_fabric_shows_addresses)
{
    static const char *const pieces[] = {
        "\"a\" [fillcolor=\"#fde9c9\", label=<<b>a</b><br/>root 00:00.0>];\n",
        "gpu 03:00.0<br/><font point-size=\"9\">BAR0 0x",
        "\"a\" -- \"a.sw0\" [label=\" 8.0GT/s x16\"];\n",
        "\"a.sw0\" -- \"a.gpu0\" [label=\" 5.0GT/s x8\"];\n",
        "\"a.ntb0\" -- \"b.ntb0\" [label=\" 8.0GT/s x8\", style=dashed];\n",
    };
    g_autoptr(TopoDescription) d = load_good(TWO_HOSTS, NULL);
    g_autoptr(GString) out = g_string_new(NULL);
    g_autoptr(ExpFabric) fabric = exp_build(d, NULL);

    ck_assert_ptr_nonnull(fabric);
    exp_dot(d, fabric, out);
    check_pieces(out->str, pieces, G_N_ELEMENTS(pieces));
}
END_TEST

/* Two hosts, whose NICs are in a network each and both. */
START_TEST(networks_are_drawn)
{
    static const char text[] =
        "name: nets\n"
        "networks:\n"
        "  - {name: net, latency: 1us}\n"
        "  - {name: other, latency: 20ns, switch: off}\n"
        "hosts:\n"
        "  - name: a\n"
        "    cpu: cpu\n"
        "    devices:\n"
        "      - {name: n0, part: nic, at: rp0, fabrics: [net]}\n"
        "      - {name: n1, part: nic, at: rp1, fabrics: [other]}\n"
        "  - name: b\n"
        "    cpu: cpu\n"
        "    devices:\n"
        "      - {name: n0, part: nic, at: rp0, fabrics: [net]}\n"
        "      - {name: n1, part: nic, at: rp1}\n";
    static const char *const pieces[] = {
        "\"network net\" [shape=ellipse, fillcolor=\"#eee3f3\", "
        "label=<<b>net</b><br/>switch, 1us>];\n",
        "\"network other\" [shape=ellipse, fillcolor=\"#eee3f3\", "
        "label=<<b>other</b><br/>cable, 20ns>];\n",
        "\"a.n0\" -- \"network net\"",
        "\"b.n0\" -- \"network net\"",
        "\"a.n1\" -- \"network other\"",
    };
    g_autoptr(TopoDescription) d = load_good(text, NULL);
    g_autoptr(GString) out = g_string_new(NULL);
    g_autoptr(ExpFabric) fabric = exp_build(d, NULL);

    ck_assert_ptr_nonnull(fabric);
    exp_dot(d, NULL, out);
    check_pieces(out->str, pieces, G_N_ELEMENTS(pieces));
    ck_assert_ptr_null(strstr(out->str, "\"b.n1\" -- \"network"));
    g_string_truncate(out, 0);
    exp_dot(d, fabric, out);
    check_pieces(out->str, pieces, G_N_ELEMENTS(pieces));
}
END_TEST

#define RING_HOST(NAME)                                                        \
    "  - {name: " NAME                                                         \
    ", cpu: cpu, devices: [{name: n0, part: ntb, at: rp0}, "                   \
    "{name: n1, part: ntb, at: rp1}]}\n"

/* Three hosts in a ring, and then in a line. */
START_TEST(a_ring_is_drawn_round)
{
    static const char ring[] = "name: ring\nhosts:\n" RING_HOST("a")
        RING_HOST("b") RING_HOST("c") "links:\n"
                                      "  - {name: l0, ends: [a.n0, b.n0]}\n"
                                      "  - {name: l1, ends: [b.n1, c.n0]}\n";
    g_autofree char *closed =
        g_strconcat(ring, "  - {name: l2, ends: [c.n1, a.n1]}\n", NULL);
    g_autoptr(TopoDescription) round = load_good(closed, NULL);
    g_autoptr(TopoDescription) line = load_good(ring, NULL);
    g_autoptr(GString) out = g_string_new(NULL);

    exp_dot(round, NULL, out);
    ck_assert_ptr_nonnull(strstr(out->str, "layout=fdp"));
    g_string_truncate(out, 0);
    exp_dot(line, NULL, out);
    ck_assert_ptr_null(strstr(out->str, "layout="));
}
END_TEST

/* A device in a slot of its own with a BAR, and two of its virtual functions,
 * which are lent. The Routing ID of the first one is that of the device plus 1,
 * and so on (PCIe 5.0 s9.2.1.2). */
#define FUNCTIONS                                                              \
    "name: t\n"                                                                \
    "hosts:\n"                                                                 \
    "  - {name: a, cpu: cpu, iommu: on, devices: [{name: n, part: ntb, "       \
    "at: rp0}, {name: d, part: gpu, at: rp1, set: {card.vfs: 4}}]}\n"          \
    "  - {name: b, cpu: cpu, iommu: on, devices: [{name: n, part: ntb, "       \
    "at: rp0}]}\n"                                                             \
    "links: [{name: c, ends: [a.n, b.n]}]\n"                                   \
    "lend: [{device: a.d.vf2, to: b}, {device: a.d.vf0, to: b}]\n"

START_TEST(virtual_functions_are_in_the_tree)
{
    static const char tree[] =
        "-[a:00]--+-00.0  a, root complex\n"
        "         +-01.0 rp0-[01]----00.0  a.n, NTB, cable0 to b.n cable0\n"
        "         \\-02.0 rp1-[02]--+-00.0  a.d, endpoint\n"
        "                          +-00.1  a.d.vf0, virtual function\n"
        "                          \\-00.3  a.d.vf2, virtual function\n";
    static const char *const pieces[] = {
        "\n02:00.1 a.d.vf0: virtual function\n\tBAR 0: ",
        "\n02:00.3 a.d.vf2: virtual function\n\tBAR 0: ",
    };
    static const char *const lent[] = {
        "\"a.d\" -- \"b\" [label=\" lent vf0\", style=dotted",
        "\"a.d\" -- \"b\" [label=\" lent vf2\", style=dotted",
    };
    g_autoptr(TopoDescription) d = load_good(FUNCTIONS, NULL);
    g_autoptr(GString) out = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(ExpFabric) fabric = exp_build(d, &error);
    FabComponent *root;

    ck_assert_msg(fabric, "%s", error ? error->message : "");
    root = exp_host(fabric, d->hosts->pdata[0]);
    fab_write_tree(root, FAB_TREE_SHORT, out);
    ck_assert_str_eq(out->str, tree);
    g_string_truncate(out, 0);
    fab_write_tree(root, FAB_TREE_LONG, out);
    check_pieces(out->str, pieces, G_N_ELEMENTS(pieces));
    g_string_truncate(out, 0);
    exp_dot(d, NULL, out);
    check_pieces(out->str, lent, G_N_ELEMENTS(lent));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exp_dot");
    TCase *tcase = tcase_create("dot");

    tcase_add_test(tcase, a_description_shows_parts_and_ports);
    tcase_add_test(tcase, networks_are_drawn);
    tcase_add_test(tcase, a_ring_is_drawn_round);
    tcase_add_test(tcase, a_fabric_shows_addresses);
    tcase_add_test(tcase, virtual_functions_are_in_the_tree);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
