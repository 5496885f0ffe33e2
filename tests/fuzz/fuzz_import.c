/* SPDX-License-Identifier: MIT */
/*
 * Invariant: for any text, an import returns either a description that loads,
 * or an error that names the file and is about that file, never both. The tree
 * of what it returns can be printed and exported.
 *
 * As a test, this program imports the dumps in tests/import and a fixed number
 * of mutations of them, from a fixed random seed. With FARSIDE_LIBFUZZER
 * defined it is a libFuzzer target.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inv_export.h"
#include "inv_import.h"
#include "inv_tree.h"

#define PARTS TOPO_SOURCE_ROOT "/scenarios/parts"
#define NAME  "fuzz.dump"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool is_true, const char *what)
{
    if (!is_true) {
        fprintf(stderr, "fuzz_import: %s\n", what);
        abort();
    }
}

static void use(const char *yaml)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(TopoDescription) description =
        topo_load_buffer("fuzz.yaml", yaml, strlen(yaml), PARTS, NULL, errors);
    g_autofree char *messages = topo_errors_to_string(errors);
    g_autoptr(GString) out = g_string_new(NULL);
    const TopoHost *host;

    must(description, messages);
    host = description->hosts->pdata[0];
    inv_write_tree(host->functions, out);
    must(out->len > 0, "no tree");
    inv_export_hwloc(host->functions, 1, out);
    inv_export_nccl(host, host->functions, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GError) error = NULL;
    g_autofree char *report = NULL;
    g_autofree char *yaml =
        inv_import(NAME, text, strlen(text), "host", PARTS, &report, &error);

    must(!yaml == !!error && !yaml == !report,
         "an error and a description, or neither");
    if (yaml) {
        use(yaml);
    } else {
        must(strstr(error->message, NAME) &&
                 !strstr(error->message, "cannot describe"),
             error->message);
    }
    return 0;
}

#ifndef FARSIDE_LIBFUZZER

#define ROUNDS     1500
#define LENGTH_MAX 6000

/* Words that have a meaning, for mutations that reach more code. */
static const char *const words[] = {
    "00:01.0 PCI bridge: x\n",
    "\tBus: primary=00, secondary=01, subordinate=ff, sec-latency=0\n",
    "\tLnkCap: Port #0, Speed 8GT/s, Width x16\n",
    "\tRegion 0: Memory at f8000000 (64-bit, prefetchable) [size=64M]\n",
    "Upstream Port",
    "00: 86 80 00 2a 06 01 90 20 03 00 04 06 00 00 01 00\n",
    "+-",
    "\\-",
    "-[01-02]-",
    "[0000:00]-",
    "--",
    "<pci busid=\"0000:01:00.0\" class=\"0x030200\">",
    "</pci>",
    "<object type=\"Bridge\" pci_busid=\"0000:00:02.0\">",
    " bridge_pci=\"0000:[01-02]\"",
    "</object>",
    "0000:ff:1f.7",
    "\t!!! Unknown header type 7f\n",
    "\tDevCtl:\tRlxdOrd+ ExtTag- MaxPayload 4096 bytes, MaxReadReq 128 bytes\n",
    "\tACSCtl:\tReqRedir+ CmpltRedir- DirectTrans+\n",
    "\tACSCap:\tReqRedir+\n",
    "Number of VFs: 300, VF offset: 1, stride: 0\n",
    "\tLnkSta:\tSpeed 64GT/s, Width x12\n",
    "\tNUMA node: 31\n",
    "Downstream Port",
    ") Endpoint",
    "> ",
    "```\n",
    "user@host:~$ lspci\n",
    "\033[4m",
    "    ",
    "|",
    "-[0001:00]-",
    "\tGPU0\tNIC0\tCPU Affinity\tNUMA Affinity\n",
    "GPU0\t X \tPIX\t0-3\t0\n",
    "PIX",
    "PXB",
    "SYS",
    "NV4",
    "<pci busid=\"ffff:ff:01.0\" class=\"0x060400\">",
    "<cpu numaid=\"1\">",
    " nodeset=\"0x00000002\"",
    " link_speed=\"64.0 GT/s PCIe\" link_width=\"12\"",
    "\"",
    "\n",
    "\xff",
};

static void read_seeds(GPtrArray *seeds)
{
    static const char *const names[] = {
        "pciutils-asus-p6t6-vvv.txt",
        "pciutils-fujitsu-p8010.lspci",
        "hwloc-vector-engine.lspci",
        "pciutils-pci-x-domains-tree.txt",
        "pciutils-asus-p6t6-tree.txt",
        "hwloc-power8-gpus.xml",
        "hwloc-irregular-groups.xml",
        "nccl-two-switches.xml",
        "hwloc-domain-32bit-tree.txt",
        "made/sleeping-bridges.txt",
        "made/tree-three-domains.txt",
        "made/tree-moved.txt",
        "made/nccl-domains.xml",
        "made/nccl-without-classes.xml",
        "made/switch-faster-below.txt",
        "made/virtual-functions.txt",
        "made/machine-without-root-ports.txt",
        "made/links-of-no-model.txt",
        "made/configuration-space.txt",
        "made/pciutils-2.txt",
        "made/matrix-nvlink.txt",
        "made/bridge-without-buses.txt",
        "made/hwloc-gen6.xml",
        "made/not-root.txt",
        "made/switch-without-acs.txt",
        "made/matrix-old-driver.txt",
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path =
            g_build_filename(TOPO_SOURCE_ROOT, "tests/import", names[i], NULL);
        char *text = NULL;

        must(g_file_get_contents(path, &text, NULL, NULL), path);
        g_ptr_array_add(seeds, text);
    }
}

static void mutate(GRand *random, GString *text)
{
    const char *word = words[g_rand_int(random) % G_N_ELEMENTS(words)];
    gssize at = (gssize)(g_rand_int(random) % (text->len + 1));
    gssize length = (gssize)(1 + g_rand_int(random) % 20);

    length = MIN(length, (gssize)text->len - at);
    switch (g_rand_int(random) % 4) {
    case 0:
        g_string_insert(text, at, word);
        break;
    case 1:
        g_string_erase(text, at, length);
        break;
    case 2:
        if (at < (gssize)text->len) {
            text->str[at] = (char)(1 + g_rand_int(random) % 255);
        }
        break;
    default:
        /* Another digit: addresses and bus numbers that do not fit. */
        while (at < (gssize)text->len && !g_ascii_isxdigit(text->str[at])) {
            at++;
        }
        if (at < (gssize)text->len) {
            text->str[at] = "0123456789abcdef"[g_rand_int(random) % 16];
        }
        break;
    }
}

int main(void)
{
    g_autoptr(GPtrArray) seeds = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GRand) random = g_rand_new_with_seed(7);

    read_seeds(seeds);
    for (unsigned i = 0; i < seeds->len; i++) {
        const char *seed = seeds->pdata[i];

        LLVMFuzzerTestOneInput((const uint8_t *)seed, strlen(seed));
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        const char *seed = seeds->pdata[g_rand_int(random) % seeds->len];
        g_autoptr(GString) text = g_string_new(seed);
        unsigned changes = 1 + g_rand_int(random) % 4;

        if (text->len > LENGTH_MAX) {
            g_string_truncate(text, LENGTH_MAX);
        }
        for (unsigned j = 0; j < changes; j++) {
            mutate(random, text);
        }
        LLVMFuzzerTestOneInput((const uint8_t *)text->str, text->len);
    }
    printf("1..1\nok 1 - %u dumps and %u mutants\n", seeds->len, ROUNDS);
    return 0;
}

#endif
