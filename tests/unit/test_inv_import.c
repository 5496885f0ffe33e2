/* SPDX-License-Identifier: MIT */
/*
 * Invariants: a dump is read rightly, or refused with what to do. What the
 * model has otherwise than the dump is named in the report. Terminals, mail and
 * Markdown around a dump change nothing. The dumps are in tests/import/made;
 * the expected values were read in them.
 */
#include "inv_export.h"
#include "inv_import.h"
#include "topo_test.h"
#include "../suite.h"

#define PARTS_DIR TEST_FILE("scenarios/parts")
#define MADE      TEST_FILE("tests/import/made/")

static char *file_text(const char *path)
{
    char *text = NULL;
    g_autoptr(GError) error = NULL;

    if (!g_file_get_contents(path, &text, NULL, &error)) {
        ck_abort_msg("%s", error->message);
    }
    return text;
}

/* Imports @text, which must succeed. */
static char *import_text(const char *text, size_t length, char **ret_report)
{
    g_autoptr(GError) error = NULL;
    char *yaml = inv_import("dump.txt", text, length, "host", PARTS_DIR,
                            ret_report, &error);

    if (!yaml) {
        ck_abort_msg("%s", error->message);
    }
    return yaml;
}

/* Returns a description without its comment, or all of another text;
 * borrowed. */
static const char *body_of(const char *yaml)
{
    const char *body = strstr(yaml, "\nname: ");

    return body ? body : yaml;
}

static TopoDescription *load(const char *yaml)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    TopoDescription *description = topo_load_buffer(
        "host.yaml", yaml, strlen(yaml), PARTS_DIR, NULL, errors);
    g_autofree char *messages = topo_errors_to_string(errors);

    ck_assert_str_eq(messages, "");
    return description;
}

static void assert_has(const char *text, const char *const *words)
{
    for (unsigned i = 0; words[i]; i++) {
        if (!strstr(text, words[i])) {
            ck_abort_msg("'%s' is not in:\n%.2000s", words[i], body_of(text));
        }
    }
}

static void assert_lacks(const char *text, const char *const *words)
{
    for (unsigned i = 0; words[i]; i++) {
        if (strstr(text, words[i])) {
            ck_abort_msg("'%s' is in:\n%.2000s", words[i], body_of(text));
        }
    }
}

/* ---- Dumps ------------------------------------------------------------- */

/* Words that the description and the report of a dump have, and words that the
 * description has not. */
static const struct {
    const char *file;
    const char *has[16];
    const char *lacks[8];
    const char *report[8];
} dumps[] = {
    {"sleeping-bridges.txt",
     {"{name: disk_6d_00_0, part: disk_6d_00_0, at: rp_00_1d_0, ",
      "0000:02:00.0  asleep", "0000:03:00.0  asleep", "0000:03:02.0  asleep",
      "0000:04:00.0  asleep", "0000:06:00.0  asleep"},
     {"sw_", "dev_", "at: rp_00_1b_0"},
     {"took 1 device, 0 switches and 2 root ports from 8 functions; left out "
      "5: asleep"}},
    {"bridge-without-buses.txt",
     {"0000:04:00.0  below a bridge", "0000:05:00.0  not below",
      "0000:06:00.0  not below", "0000:07:00.0  asleep", "0000:07:00.1  asleep",
      "{name: rp_00_02_0,"},
     {"devices:", "switches:", "rp_04_00_0"},
     {"no device was imported; took 0 devices, 0 switches and 2 root ports"}},
    {"hwloc-gen6.xml",
     {"{name: rp_00_01_0, speed: 64.0GT/s, width: x16}",
      "{name: rp_80_02_0, speed: 32.0GT/s, width: x16, node: 1}",
      "part: gpu_80_02_0, at: rp_80_02_0", "part: nic_01_00_0, at: rp_00_01_0",
      "0000:80:04.0  part of the root complex"},
     {NULL},
     {"those of the moment at which the file was written",
      "the wider one is assumed: 0000:00:01.0, 0000:01:00.0, 0000:80:02.0\n"}},
    {"tree-three-domains.txt",
     {"at: rp_00_01_0,", "at: rp_1_00_00_0,", "at: rp_10000_e0_06_0,",
      "address: \"10000:e1:00.0\""},
     {NULL},
     {"took 3 devices, 0 switches and 3 root ports from 9 functions"}},
    {"tree-moved.txt",
     {"at: \"sw_01_00_0:0\", address: \"0000:03:00.0\"",
      "at: \"sw_01_00_0:3\", address: \"0000:06:00.0\"", "ports: 4"},
     {NULL},
     {"were moved back", "took 4 devices, 1 switch and 1 root port"}},
    {"nccl-domains.xml",
     {"part: gpu_1_00_00_0, at: \"sw_ffff_ff_01_0:0\"",
      "part: nic_101_00_00_0, at: \"sw_ffff_ff_01_0:1\"",
      "part: gpu_2_00_00_0, at: \"sw_ffff_ff_02_0:0\"",
      "part: nic_102_00_00_0, at: \"sw_ffff_ff_02_0:1\"",
      "{address: \"0102:00:00.0\", below: \"ffff:ff:02.0\""},
     {"rp_1_00", "rp_2_00", "rp_101", "rp_102"},
     {"took 4 devices, 2 switches and 2 root ports"}},
    {"nccl-without-classes.xml",
     {"part: nic_54_00_0, at: \"sw_44_00_0:1\"",
      "part: gpu_53_00_0, at: \"sw_44_00_0:0\"",
      "part: nic_46_00_0, at: \"sw_45_00_0:0\"",
      "part: sw_60_00_0, at: \"sw_45_00_0:1\"",
      "part: gpu_50_00_0, at: rp_50_00_0",
      "rp_50_00_0, speed: 16.0GT/s, width: x16, node: 1",
      "{name: rp_44_00_0, speed: 32.0GT/s, width: x16}"},
     {NULL},
     {"took 4 devices, 3 switches and 3 root ports"}},
    {"gen6-adapter.txt",
     {"{name: rp_00_01_0, speed: 64.0GT/s, width: x16}",
      "    speed: 64.0GT/s\n    width: x16\n", "mps: 512B", "mrrs: 4KiB",
      "tags: 256"},
     {"16.0GT/s", "32.0GT/s"},
     {"took 1 device"}},
    /* The second port has Flit Mode Disable, so its link and the device below
     * it cannot do 64.0GT/s, and have no tags of 14 bits. */
    {"gen6-settings.txt",
     {"{name: rp_00_01_0, speed: 64.0GT/s, width: x16}",
      "{name: rp_00_02_0, speed: 32.0GT/s, width: x16}",
      "    speed: 64.0GT/s\n    width: x16\n    mps: 512B\n    mrrs: 4KiB\n"
      "    tags: 15360\n    relaxed_ordering: on\n    id_ordering: on\n",
      "    speed: 32.0GT/s\n    width: x16\n    mps: 512B\n    mrrs: 4KiB\n"
      "    tags: 768\n    relaxed_ordering: on\n    dma: {"},
     {"id_ordering: off"},
     {"taken as ones of 32.0GT/s: 0000:00:02.0, 0000:02:00.0\n",
      "took 2 devices"}},
    {"links-of-no-model.txt",
     {"rp_00_01_0, speed: 64.0GT/s, width: x16",
      "rp_00_02_0, speed: 64.0GT/s, width: x8",
      "rp_00_03_0, speed: 32.0GT/s, width: x16",
      "rp_00_04_0, speed: 16.0GT/s, width: x8",
      "rp_00_05_0, speed: 16.0GT/s, width: x16"},
     {NULL},
     {"taken as 64.0GT/s: 0000:00:01.0 (128GT/s), 0000:01:00.0 (128GT/s)\n",
      "taken as x16: 0000:00:03.0 (x32), 0000:03:00.0 (x32)\n",
      "taken as x8: 0000:00:04.0 (x12), 0000:04:00.0 (x12)\n",
      "taken as 16.0GT/s: 0000:00:05.0 (25GT/s), 0000:05:00.0 (25GT/s)\n",
      "did not know the speed of these links", "0000:00:06.0, 0000:06:00.0\n"}},
    {"blanks-for-tabs.txt",
     {"- {size: 8GiB, prefetchable: on}", "- {size: 8MiB, prefetchable: on}",
      "- {size: 256KiB, width: 32}", "at: rp_00_03_1"},
     {NULL},
     {"took 1 device"}},
    {"memory-expander-alone.txt",
     {"0000:70:00.0  part of the root complex"},
     {"devices:"},
     {"no device was imported", "left out 1: part of the root complex (1)"}},
    {"slow-link.txt",
     {"rp_00_01_0, speed: 16.0GT/s, width: x16, node: 1", "    mps: 128B\n",
      "    completion_size: 128B\n    rcb: 128B\n",
      "    mrrs: 4KiB\n    tags: 32\n    relaxed_ordering: on\n",
      "dma: {write_size: 128B, read_size: 4KiB}",
      "address: \"0000:01:00.0\", speed: 8.0GT/s}", "numa_node: 1"},
     {" mps,", " mrrs,", " tags,", " rcb,", "relaxed_ordering,"},
     {"0000:01:00.0 (8GT/s x16 of 16GT/s x16)\n"}},
    /* The part has the speed of its ports, the uplink its own one. */
    {"switch-faster-below.txt",
     {"  sw_01_00_0:\n    base: generic-switch\n"
      "    description: \"Vendor Port\"\n    speed: 32.0GT/s\n"
      "    width: x16\n    downstream_width: x16\n    ports: 4\n"
      "    mps: 256B\n    acs: on\n",
      "at: rp_00_01_0, acs: on, acs_direct: requests}",
      "at: \"sw_01_00_0:0\", address: \"0000:03:00.0\"}",
      "address: \"0000:04:00.0\", speed: 2.5GT/s, width: x8}",
      "address: \"0000:05:00.0\"}", "address: \"0000:06:00.0\", width: x4}",
      "- {size: 16MiB, width: 32}\n      - {size: 64GiB, prefetchable: on}\n"
      "    mps: 512B\n    mrrs: 4KiB\n    tags: 768\n",
      "    tags: 256\n    relaxed_ordering: off\n",
      "    mps: 256B\n    mrrs: 256B\n    tags: 32\n",
      "    mps: 256B\n    mrrs: 128B\n    tags: 32\n",
      "dma: {write_size: 256B, read_size: 128B}"},
     {NULL},
     {"some ports of these switches redirect (ACS)",
      "0000:04:00.0 (2.5GT/s x8 of 32GT/s x16)\n",
      "one Max_Payload_Size for all", "256B, of 0000:01:00.0"}},
    {"switch-slower-below.txt",
     {"    speed: 32.0GT/s\n    width: x16\n    downstream_width: x16\n",
      "at: rp_00_01_0, acs: on}",
      "address: \"0000:03:00.0\", speed: 16.0GT/s}"},
     {NULL},
     {"took 1 device, 1 switch and 1 root port from 4 functions; left out 0"}},
    {"not-root.txt",
     {"at: \"sw_01_00_0:0\", address: \"0000:03:00.0\"", " acs,", " mps,",
      "rp_00_01_0, speed: 16.0GT/s, width: x16"},
     {"acs: o"},
     {"lspci was not run as root", "sudo lspci -vvv\n"}},
    /* Extended capabilities are there, and ACS is none of them. */
    {"switch-without-acs.txt",
     {"    mps: 256B\n    acs: off\n", "at: rp_00_01_0}"},
     {" acs,", "acs: on"},
     {"took 1 device, 1 switch and 1 root port"}},
    {"virtual-functions.txt",
     {"0000:01:1f.6  a virtual function", "0000:01:1f.7  a virtual function",
      "0000:02:00.0  a virtual function", "0000:05:00.1  a virtual function",
      "0000:05:00.4  a virtual function", "card: {type: storage, ports: 1,",
      "card: {type: network, ports: 1,"},
     {"disk_05_00_1", "nic_02_00_0"},
     {"took 2 devices, 0 switches and 2 root ports from 11 functions; left out "
      "7: a virtual function (7)"}},
    {"machine-without-root-ports.txt",
     {"{name: rp_00_1e_0, speed: 8.0GT/s, width: x8}",
      "part: gpu_00_1e_0, at: rp_00_1e_0", "part: disk_00_04_0, at: rp_00_04_0",
      "part: sw_00_06_0, at: rp_00_06_0",
      "part: gpu_11_00_0, at: \"sw_00_06_0:0\"",
      "part: nic_12_00_0, at: \"sw_00_06_0:1\"",
      "part: gpu_10_1f_0, at: \"sw_00_06_0:2\"", "ports: 3",
      "0000:00:03.0  part of the root complex"},
     {NULL},
     {"took 5 devices, 1 switch and 3 root ports from 10 functions"}},
    {"two-sockets-bmc.txt",
     {"rp_80_02_0, speed: 8.0GT/s, width: x16, node: 1"},
     {"gpu_08"},
     {"took 2 devices"}},
    {"client-root.txt",
     {"part: gpu_01_00_0, at: rp_00_01_0", "part: nic_02_00_0, at: rp_00_01_1"},
     {NULL},
     {"Linux trusts this host bridge with no requests",
      "took 2 devices, 0 switches and 2 root ports"}},
    {"pciutils-2.txt",
     {"{name: rp_00_02_0, speed: 2.5GT/s, width: x8}", "rcb: 64B",
      "mps: 128B\n    mrrs: 512B\n    tags: 256\n    relaxed_ordering: on",
      "width: x4}", "- {size: 1MiB}", "- {size: 8MiB, prefetchable: on}"},
     {NULL},
     {"0000:0c:00.0 (2.5GT/s x4 of 2.5GT/s x8)\n"}},
    /* Device Control 5040h: MPS 512 B, MRRS 4 KiB; 5150h: the same with
     * relaxed ordering and extended tags. */
    {"configuration-space.txt",
     {"{name: rp_00_01_0, speed: 64.0GT/s, width: x16}",
      "    mps: 512B\n    rcb: 128B\n", "acs: on, acs_direct: requests}",
      "part: nic_03_00_0, at: \"sw_01_00_0:0\"", "width: x8}",
      "    mps: 512B\n    mrrs: 4KiB\n    tags: 15360\n"
      "    relaxed_ordering: on\n    id_ordering: on\n",
      "0000:04:00.0  asleep"},
     {"gpu_", "nic_05"},
     {"0000:03:00.0 (32GT/s x8 of 64GT/s x16)",
      "took 1 device, 1 switch and 1 root port from 7 functions"}},
    /* sw0 is above sw1 and sw2, which have a GPU and a NIC each. */
    {"matrix-nvlink.txt",
     {"{name: rp_sw0, speed: 16.0GT/s, width: x16}",
      "{name: rp_sw3, speed: 16.0GT/s, width: x16, node: 1}",
      "part: sw1, at: \"sw0:0\"", "part: sw2, at: \"sw0:1\"",
      "part: gpu0, at: \"sw1:0\"}", "part: nic0, at: \"sw1:1\"}",
      "part: gpu1, at: \"sw2:0\"}", "part: nic1, at: \"sw2:1\"}",
      "part: gpu2, at: rp_gpu2}", "part: gpu3, at: \"sw3:0\"}",
      "part: nic2, at: \"sw3:1\"}", "name: \"mlx5_bond_0\"", "name: \"GPU3\""},
     {"address:", "functions:"},
     {"NVLink (NV#) is not in the model", "GPU0-GPU1", "PXB does not tell",
      "tells neither addresses, nor speeds",
      "took 7 devices, 4 switches and 3 root ports"}},
    {"matrix-workstation.txt",
     {"part: gpu0, at: rp_gpu0}", "part: gpu1, at: rp_gpu1}"},
     {"sw0", "node: 1"},
     {"took 2 devices, 0 switches and 2 root ports"}},
    /* The nodes are those of the sets that only SYS joins. */
    {"matrix-old-driver.txt",
     {"{name: rp_gpu0, speed: 16.0GT/s, width: x16}",
      "{name: rp_gpu1, speed: 16.0GT/s, width: x16, node: 1}",
      "{name: rp_sw0, speed: 16.0GT/s, width: x16, node: 1}",
      "part: nic0, at: \"sw0:0\"}", "part: nic1, at: \"sw0:1\"}",
      "name: \"mlx5_1\""},
     {NULL},
     {"may be ports of one card", "mlx5_0-mlx5_1"}},
};

START_TEST(dump_is_read_rightly)
{
    g_autofree char *path = g_strconcat(MADE, dumps[_i].file, NULL);
    g_autofree char *text = file_text(path);
    g_autofree char *report = NULL;
    g_autofree char *yaml = import_text(text, strlen(text), &report);
    g_autoptr(TopoDescription) description = load(yaml);

    assert_has(yaml, dumps[_i].has);
    assert_lacks(yaml, dumps[_i].lacks);
    assert_has(report, dumps[_i].report);
    ck_assert_uint_eq(description->hosts->len, 1);
}
END_TEST

/* ---- What terminals, mail and Markdown do ------------------------------ */

/* Returns @text with @begin before each line that is not empty. */
static char *each_line(const char *text, const char *begin)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    GString *out = g_string_new(NULL);

    for (unsigned i = 0; lines[i]; i++) {
        g_string_append_printf(out, "%s%s%s", i > 0 ? "\n" : "",
                               *lines[i] ? begin : "", lines[i]);
    }
    return g_string_free(out, FALSE);
}

/* Returns @text with the part behind the last blank before column 60 of each
 * line in a line of its own, as mail programs break lines. */
static char *broken(const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    GString *out = g_string_new(NULL);

    for (unsigned i = 0; lines[i]; i++) {
        char *blank =
            strlen(lines[i]) > 60 ? g_strrstr_len(lines[i], 60, " ") : NULL;

        if (blank && blank > lines[i] + 20) {
            *blank = '\n';
        }
        g_string_append_printf(out, "%s\n", lines[i]);
    }
    return g_string_free(out, FALSE);
}

static char *replaced(const char *text, const char *from, const char *to)
{
    g_autoptr(GString) out = g_string_new(text);

    g_string_replace(out, from, to, 0);
    return g_strdup(out->str);
}

/* Each of these returns what became of @text, to be freed. */
static char *with_cr(const char *text)
{
    return replaced(text, "\n", "\r\n");
}

static char *with_mark(const char *text)
{
    return g_strconcat("\xef\xbb\xbf", text, NULL);
}

static char *quoted(const char *text)
{
    return each_line(text, "> ");
}

static char *quoted_twice(const char *text)
{
    return each_line(text, ">> ");
}

static char *fenced(const char *text)
{
    return g_strconcat("Here it is:\n\n```text\n", text, "\n```\nThank you.\n",
                       NULL);
}

static char *indented(const char *text)
{
    return each_line(text, "    ");
}

static char *with_prompts(const char *text)
{
    return g_strconcat("user@host:~$ sudo lspci -vvv\n", text,
                       "user@host:~$ \n", NULL);
}

static char *with_root_prompts(const char *text)
{
    return g_strconcat("[root@host ~]# lspci -vvv\n", text, "[root@host ~]# ",
                       NULL);
}

static char *with_short_prompt(const char *text)
{
    return g_strconcat("$ lspci -vvv\n", text, "$\n", NULL);
}

static char *with_escapes(const char *text)
{
    g_autofree char *coloured =
        replaced(text, "\n0", "\033[0m\n\033[01;31m\033[K0");

    return replaced(coloured, "[0m", "[0m\033(B");
}

static char *with_no_break_spaces(const char *text)
{
    return replaced(text, " ", "\xc2\xa0");
}

static char *with_blanks(const char *text)
{
    return replaced(text, "\t", "        ");
}

static char *without_tabs(const char *text)
{
    return replaced(text, "\t", "");
}

static char *(*const programs[])(const char *text) = {
    with_cr,
    with_mark,
    quoted,
    quoted_twice,
    fenced,
    indented,
    with_prompts,
    with_root_prompts,
    with_short_prompt,
    with_escapes,
    with_no_break_spaces,
};

static void assert_same(const char *text, const char *other)
{
    g_autofree char *report = NULL, *other_report = NULL;
    g_autofree char *yaml = import_text(text, strlen(text), &report);
    g_autofree char *other_yaml =
        import_text(other, strlen(other), &other_report);

    ck_assert_str_eq(body_of(yaml), body_of(other_yaml));
    ck_assert_str_eq(report, other_report);
}

START_TEST(programs_around_a_dump_change_nothing)
{
    static const char *const files[] = {
        "switch-faster-below.txt", "tree-three-domains.txt",
        "matrix-nvlink.txt", "configuration-space.txt", "nccl-domains.xml"};

    for (unsigned i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *path = g_strconcat(MADE, files[i], NULL);
        g_autofree char *text = file_text(path);
        g_autofree char *other = programs[_i](text);

        assert_same(text, other);
    }
}
END_TEST

static char *(*const text_programs[])(const char *text) = {
    with_blanks,
    without_tabs,
    broken,
};

/* The same for what only the text of `lspci -vvv` survives. */
START_TEST(blanks_and_lines_of_lspci_may_change)
{
    static const char *const files[] = {
        "switch-faster-below.txt", "switch-slower-below.txt",
        "virtual-functions.txt",   "machine-without-root-ports.txt",
        "two-sockets-bmc.txt",     "pciutils-2.txt",
        "sleeping-bridges.txt"};

    for (unsigned i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *path = g_strconcat(MADE, files[i], NULL);
        g_autofree char *text = file_text(path);
        g_autofree char *other = text_programs[_i](text);

        assert_same(text, other);
    }
}
END_TEST

START_TEST(utf_16_is_text)
{
    g_autofree char *text = file_text(MADE "tree-three-domains.txt");
    g_autofree char *report = NULL, *other_report = NULL;
    g_autofree char *yaml = import_text(text, strlen(text), &report);
    g_autofree char *wide = NULL;
    g_autofree char *marked = NULL;
    g_autofree char *other_yaml = NULL;
    size_t length;

    wide = g_convert(text, -1, "UTF-16LE", "UTF-8", NULL, &length, NULL);
    marked = g_malloc(length + 3);
    memcpy(marked, "\xff\xfe", 2);
    memcpy(marked + 2, wide, length);
    marked[length + 2] = '\0';
    other_yaml = import_text(marked, length + 2, &other_report);
    ck_assert_str_eq(body_of(yaml), body_of(other_yaml));
}
END_TEST

/* Any move by which a tree still begins in a column of the line is undone. */
START_TEST(moved_tree_is_moved_back)
{
    g_autofree char *text =
        file_text(TEST_FILE("tests/import/pciutils-asus-p6t6-tree.txt"));
    g_autofree char *blanks = g_strnfill((gsize)_i, ' ');
    g_autofree char *between = g_strconcat("\n", blanks, NULL);
    g_autofree char *moved = replaced(text, "\n", between);
    g_autofree char *report = NULL, *other_report = NULL;
    g_autofree char *yaml = import_text(text, strlen(text), &report);
    g_autofree char *other = import_text(moved, strlen(moved), &other_report);

    ck_assert_str_eq(body_of(yaml), body_of(other));
    ck_assert(strstr(other_report, "moved back"));
}
END_TEST

START_TEST(second_command_is_named)
{
    g_autofree char *text = file_text(MADE "slow-link.txt");
    g_autofree char *both = g_strconcat("$ lspci -vvv\n", text,
                                        "$ uname -a\nLinux host 6.1.0\n", NULL);
    g_autofree char *report = NULL;
    g_autofree char *yaml = import_text(both, strlen(both), &report);

    ck_assert_ptr_nonnull(
        strstr(report, "its output was not read: dump.txt:22\n"));
    ck_assert_ptr_nonnull(strstr(yaml, "nic_01_00_0"));
}
END_TEST

/* Appends @n root ports of which each @step-th has a device below it. */
static char *many_ports(unsigned n, unsigned step)
{
    GString *out = g_string_new(NULL);

    for (unsigned i = 0; i < n; i++) {
        unsigned bus = 1 + i % 30;

        g_string_append_printf(out,
                               "%04x:00:%02x.0 PCI bridge: x\n"
                               "\tBus: primary=00, secondary=%02x, "
                               "subordinate=%02x, sec-latency=0\n"
                               "\tCapabilities: [58] Express (v2) Root Port "
                               "(Slot+), MSI 00\n",
                               i / 30, bus, bus, bus);
        if (i % step == 0) {
            g_string_append_printf(out,
                                   "%04x:%02x:00.0 Ethernet controller: y\n"
                                   "%04x:%02x:00.1 Ethernet controller: y\n",
                                   i / 30, bus, i / 30, bus);
        }
    }
    return g_string_free(out, FALSE);
}

/* A description has 63 root ports. Those that are used come first. */
START_TEST(root_ports_beyond_the_limit_are_left_out)
{
    static const struct {
        unsigned ports, step;
        const char *expected;
    } cases[] = {
        {63, 3, "took 21 devices, 0 switches and 63 root ports from 105"},
        {64, 3, "took 22 devices, 0 switches and 63 root ports from 108"},
        {126, 2, "took 63 devices, 0 switches and 63 root ports from 252"},
        {70, 1,
         "took 63 devices, 0 switches and 63 root ports from 210 "
         "functions; left out 21: more than the 63 root ports"},
    };
    g_autofree char *text = many_ports(cases[_i].ports, cases[_i].step);
    g_autofree char *report = NULL;
    g_autofree char *yaml = import_text(text, strlen(text), &report);
    g_autoptr(TopoDescription) description = load(yaml);

    assert_has(report, (const char *const[]){cases[_i].expected, NULL});
    ck_assert_uint_eq(description->hosts->len, 1);
}
END_TEST

/* A chip has more downstream ports than a bus has devices, so some of them are
 * functions. The import has the ports, and each bus at its own. */
START_TEST(chip_of_51_ports_is_read)
{
    g_autoptr(GString) out = g_string_new(
        "00:01.0 PCI bridge: x\n"
        "\tBus: primary=00, secondary=01, subordinate=34, sec-latency=0\n"
        "\tCapabilities: [40] Express (v2) Root Port (Slot+), IntMsgNum 0\n"
        "01:00.0 PCI bridge: x\n"
        "\tBus: primary=01, secondary=02, subordinate=34, sec-latency=0\n"
        "\tCapabilities: [40] Express (v2) Upstream Port, IntMsgNum 0\n");
    g_autofree char *report = NULL;
    g_autofree char *yaml = NULL;
    g_autoptr(TopoDescription) description = NULL;
    const TopoHost *host;

    for (unsigned i = 0; i < 50; i++) {
        g_string_append_printf(
            out,
            "02:%02x.%u PCI bridge: x\n"
            "\tBus: primary=02, secondary=%02x, subordinate=%02x, "
            "sec-latency=0\n"
            "\tCapabilities: [40] Express (v2) Downstream Port (Slot+), "
            "IntMsgNum 0\n"
            "%02x:00.0 Non-Volatile memory controller: y\n",
            i % 32, i / 32, 3 + i, 3 + i, 3 + i);
    }
    yaml = import_text(out->str, out->len, &report);
    description = load(yaml);
    host = description->hosts->pdata[0];
    assert_has(report,
               (const char *const[]){
                   "took 50 devices, 1 switch and 1 root port from 102", NULL});
    /* In the order of ports: 02:00.0, 02:00.1, 02:01.0 ... */
    assert_has(yaml,
               (const char *const[]){
                   "    ports: 50\n",
                   "at: \"sw_01_00_0:0\", address: \"0000:03:00.0\"",
                   "at: \"sw_01_00_0:1\", address: \"0000:23:00.0\"",
                   "at: \"sw_01_00_0:2\", address: \"0000:04:00.0\"",
                   "at: \"sw_01_00_0:35\", address: \"0000:34:00.0\"",
                   "at: \"sw_01_00_0:49\", address: \"0000:22:00.0\"", NULL});
    ck_assert_uint_eq(host->devices->len, 50);
}
END_TEST

/* ---- Refusals ---------------------------------------------------------- */

#define BRIDGE                                                                 \
    "00:01.0 PCI bridge: x\n"                                                  \
    "\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0\n"
#define HEAD "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n"

static const struct {
    const char *text;
    const char *expected;
} bad[] = {
    {"On Monday I wrote:\n" BRIDGE,
     "dump.txt:1: this is no output of lspci; a function begins with its "
     "address"},
    {BRIDGE "\n-[0000:00]---01.0-[01]--\n",
     "dump.txt:4: another dump begins here; give each one in a file of its "
     "own"},
    {"-[0000:00]---00.0\n     +-01.0\n",
     "dump.txt:2: this line does not continue the tree of `lspci -t`"},
    /* A '|' is missing, so the line may belong to either branch. */
    {"-+-[0000:80]-+-00.0\n             \\-01.0\n \\-[0000:00]---00.0\n",
     "dump.txt:2: this line does not continue the tree"},
    {"-[0000:00]-+-00.0\n           +-01.0-[01-06]----00.0-[02-\n06]--+-02.0\n",
     "dump.txt:2: this line does not continue the tree"},
    {HEAD "GPU0\t X \tPIX\t0-3\t0\n", "the row of GPU1 is missing"},
    {HEAD "GPU0\t X \tPIX\t0-3\t0\nGPU1\tPIX\n",
     "dump.txt:3: the row of GPU1 has fewer entries than there are columns"},
    {HEAD "GPU0\t X \tFAR\t0-3\t0\nGPU1\tFAR\t X \t0-3\t0\n",
     "dump.txt:2: 'FAR' is no way from GPU0 to GPU1"},
    {HEAD "GPU0\t X \tPIX\t0-3\t0\nGPU1\tSYS\t X \t0-3\t0\n",
     "contradicts itself about GPU0 and GPU1"},
    {HEAD "GPU0\t X \tPIX\t0-3\t0\nGPU0\t X \tPIX\t0-3\t0\n",
     "dump.txt:3: the row of GPU0 is there twice"},
    {HEAD "GPU0\t X \tPIX\t0-3\t0\nGPU7\tPIX\t X \t0-3\t0\n",
     "dump.txt:3: 'GPU7' is no column of the matrix"},
    {"\tGPU0\tGPU1\tGPU2\tCPU Affinity\nGPU0\t X \tPIX\tPHB\t0-3\n"
     "GPU1\tPIX\t X \tPIX\t0-3\nGPU2\tPHB\tPIX\t X \t0-3\n",
     "contradicts itself about GPU0 and GPU2"},
    {"<system version=\"1\"><pci busid=\"x\"/></system>",
     "busid is missing or no PCI address"},
    {"", "dump.txt has no PCI function; give the output of lspci -vvv"},
};

START_TEST(other_text_is_refused_with_what_to_do)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *report = NULL;
    g_autofree char *yaml =
        inv_import("dump.txt", bad[_i].text, strlen(bad[_i].text), "host",
                   PARTS_DIR, &report, &error);

    ck_assert_ptr_null(yaml);
    ck_assert_ptr_null(report);
    ck_assert_msg(strstr(error->message, bad[_i].expected), "%s",
                  error->message);
}
END_TEST

START_TEST(nul_is_no_text)
{
    g_autoptr(GError) error = NULL;
    char *report = NULL;

    ck_assert_ptr_null(inv_import("dump.txt", "00:01.0 PCI\0bridge", 18, "host",
                                  PARTS_DIR, &report, &error));
    ck_assert_ptr_nonnull(strstr(error->message, "dump.txt is no text"));
}
END_TEST

/* ---- Export ------------------------------------------------------------ */

static unsigned occurrences(const char *text, const char *word)
{
    unsigned n = 0;

    while ((text = strstr(text, word))) {
        text++;
        n++;
    }
    return n;
}

static const struct {
    const char *file;
    unsigned cpus, gpus, nets;
    const char *has[4];
} exports[] = {
    {"two-sockets-bmc.txt",
     2,
     2,
     0,
     {"<cpu numaid=\"0\"", "<cpu numaid=\"1\""}},
    {"machine-without-root-ports.txt",
     1,
     3,
     1,
     {"\n    <pci busid=\"0000:00:1e.0\"",
      "\n      <pci busid=\"0000:11:00.0\"",
      "\n    <pci busid=\"0000:00:06.0\""}},
    {"nccl-domains.xml",
     1,
     2,
     2,
     {"\n      <pci busid=\"0101:00:00.0\"",
      "\n    <pci busid=\"ffff:ff:01.0\""}},
    {"nccl-without-classes.xml", 2, 2, 2, {"<cpu numaid=\"1\""}},
    {"virtual-functions.txt", 1, 0, 1, {"busid=\"0000:01:00.0\""}},
};

START_TEST(nccl_has_a_cpu_for_each_node_and_what_the_model_has)
{
    g_autofree char *path = g_strconcat(MADE, exports[_i].file, NULL);
    g_autofree char *text = file_text(path);
    g_autofree char *report = NULL;
    g_autofree char *yaml = import_text(text, strlen(text), &report);
    g_autoptr(TopoDescription) description = load(yaml);
    const TopoHost *host = description->hosts->pdata[0];
    g_autoptr(GString) xml = g_string_new(NULL);

    inv_export_nccl(host, host->functions, xml);
    ck_assert_uint_eq(occurrences(xml->str, "<cpu "), exports[_i].cpus);
    ck_assert_uint_eq(occurrences(xml->str, "<gpu "), exports[_i].gpus);
    ck_assert_uint_eq(occurrences(xml->str, "<net "), exports[_i].nets);
    assert_has(xml->str, exports[_i].has);
}
END_TEST

/* A display of a management controller is no GPU, by its vendor or its name. */
START_TEST(console_display_is_no_gpu)
{
    static const struct {
        const char *title;
        bool is_gpu;
    } displays[] = {
        {"VGA compatible controller [0300]: Device [1a03:2000]", false},
        {"VGA compatible controller [0300]: Matrox Electronics Systems Ltd. "
         "Integrated Matrox G200eW3 [102b:0536]",
         false},
        {"VGA compatible controller: Huawei Technologies Co., Ltd. Hi171x "
         "Series [iBMC Intelligent Management system chip w/VGA support]",
         false},
        {"VGA compatible controller: NVIDIA Corporation AD102 [GeForce RTX "
         "4090]",
         true},
        {"VGA compatible controller [0300]: Advanced Micro Devices, Inc. "
         "[AMD/ATI] Navi 31 [1002:744c]",
         true},
    };
    g_autofree char *text = g_strdup_printf(
        BRIDGE "01:00.0 %s (rev 01)\n\tRegion 0: Memory at e0000000 (32-bit, "
               "prefetchable) [size=16M]\n",
        displays[_i].title);
    g_autofree char *report = NULL;
    g_autofree char *yaml = import_text(text, strlen(text), &report);

    ck_assert_int_eq(!!strstr(yaml, "type: gpu"), displays[_i].is_gpu);
    ck_assert_int_eq(!!strstr(yaml, "type: other"), !displays[_i].is_gpu);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("import");
    TCase *tcase = tcase_create("dumps");

    tcase_add_loop_test(tcase, dump_is_read_rightly, 0, G_N_ELEMENTS(dumps));
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("programs");
    tcase_add_loop_test(tcase, programs_around_a_dump_change_nothing, 0,
                        G_N_ELEMENTS(programs));
    tcase_add_loop_test(tcase, blanks_and_lines_of_lspci_may_change, 0,
                        G_N_ELEMENTS(text_programs));
    tcase_add_loop_test(tcase, root_ports_beyond_the_limit_are_left_out, 0, 4);
    tcase_add_test(tcase, chip_of_51_ports_is_read);
    tcase_add_test(tcase, utf_16_is_text);
    tcase_add_loop_test(tcase, moved_tree_is_moved_back, 1, 9);
    tcase_add_test(tcase, second_command_is_named);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("refusals");
    tcase_add_loop_test(tcase, other_text_is_refused_with_what_to_do, 0,
                        G_N_ELEMENTS(bad));
    tcase_add_test(tcase, nul_is_no_text);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("export");
    tcase_add_loop_test(tcase,
                        nccl_has_a_cpu_for_each_node_and_what_the_model_has, 0,
                        G_N_ELEMENTS(exports));
    tcase_add_loop_test(tcase, console_display_is_no_gpu, 0, 5);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
