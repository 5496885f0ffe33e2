/* SPDX-License-Identifier: MIT */
/*
 * Invariants: a card with two ports is reported in the JSON that the tools for
 * such hosts agree on, with one fabric and with two. Identical hosts report
 * identically, and a request selects the same interface on them, whatever the
 * order of the description. Devices count in the order of their slots.
 */
#include <json-glib/json-glib.h>

#include "inv_report.h"
#include "inv_select.h"
#include "topo_test.h"
#include "../suite.h"

#define PARTS_DIR TEST_FILE("scenarios/parts")
#define CX6       "MT28908 Family [ConnectX-6]"

#define HEAD                                                                   \
    "name: t\n"                                                                \
    "parts:\n"                                                                 \
    "  nic: {base: generic-device, card: {type: infiniband, vendor: Mellanox " \
    "Technologies, name: \"" CX6 "\", ports: 2, vfs: 8}}\n"                    \
    "  one: {base: generic-device, card: {type: infiniband, vendor: Mellanox " \
    "Technologies, name: \"" CX6 "\", vfs: 4}}\n"                              \
    "  a: {base: generic-device, card: {type: infiniband, vendor: VendorA, "   \
    "name: Ambiguous Device}}\n"                                               \
    "  b: {base: generic-device, card: {type: infiniband, vendor: VendorB, "   \
    "name: Ambiguous Device}}\n"                                               \
    "  gpu: {base: generic-device, card: {type: gpu, name: G}}\n"              \
    "hosts:\n"

/* All devices of these tests have an address. */
static TopoPciAddress no_address(const TopoDevice *device, void *user)
{
    ck_abort_msg("%s has an address", device->path);
}

static TopoDescription *description_new(const char *hosts)
{
    g_autofree char *text = g_strconcat(HEAD, hosts, NULL);
    g_autoptr(TopoErrors) errors = topo_errors_new();
    TopoDescription *description = topo_load_buffer(
        "test.yaml", text, strlen(text), PARTS_DIR, NULL, errors);
    g_autofree char *messages = topo_errors_to_string(errors);

    ck_assert_str_eq(messages, "");
    return description;
}

static Inventory *inventory_new(const char *hosts)
{
    g_autoptr(TopoDescription) description = description_new(hosts);
    g_autoptr(TopoErrors) errors = topo_errors_new();
    Inventory *inventory =
        inv_from_description(description, no_address, NULL, errors);
    g_autofree char *messages = topo_errors_to_string(errors);

    ck_assert_str_eq(messages, "");
    return inventory;
}

static void assert_json(const char *text, const char *expected)
{
    g_autoptr(JsonNode) got = json_from_string(text, NULL);
    g_autoptr(JsonNode) wanted = json_from_string(expected, NULL);

    ck_assert_ptr_nonnull(wanted);
    if (!got || !json_node_equal(got, wanted)) {
        ck_abort_msg("%s\nis not\n%s", text, expected);
    }
}

#define NIC_AT(FABRICS)                                                        \
    "  - {name: h, cpu: generic-host, devices: [{name: nic0, part: nic, "      \
    "at: rp0, address: \"0000:ca:00.0\", fabrics: " FABRICS "}]}\n"

START_TEST(two_fabrics_are_two_capabilities)
{
    g_autoptr(Inventory) inventory =
        inventory_new(NIC_AT("[IbFabric1, IbFabric2]"));
    g_autofree char *json =
        inv_capabilities_to_json(inventory->hosts->pdata[0], false);

    assert_json(json, "[{\"type\": \"Infiniband\", \"name\": \"" CX6 "\","
                      "  \"vendor\": \"Mellanox Technologies\","
                      "  \"count\": 1, \"fabric\": \"IbFabric1\"},"
                      " {\"type\": \"Infiniband\", \"name\": \"" CX6 "\","
                      "  \"vendor\": \"Mellanox Technologies\","
                      "  \"count\": 1, \"fabric\": \"IbFabric2\"}]");
}
END_TEST

START_TEST(one_fabric_is_one_capability_of_two)
{
    g_autoptr(Inventory) inventory = inventory_new(NIC_AT("[IbFabric1]"));
    g_autofree char *json =
        inv_capabilities_to_json(inventory->hosts->pdata[0], false);

    assert_json(json, "[{\"type\": \"Infiniband\", \"name\": \"" CX6 "\","
                      "  \"vendor\": \"Mellanox Technologies\","
                      "  \"count\": 2, \"fabric\": \"IbFabric1\"}]");
}
END_TEST

START_TEST(devices_are_ports_with_slot_and_interface)
{
    g_autoptr(Inventory) inventory =
        inventory_new(NIC_AT("[IbFabric1, IbFabric2]"));
    g_autofree char *json = inv_devices_to_json(inventory->hosts->pdata[0]);

    assert_json(json,
                "[{\"guid\": \"020000000000ca00\", \"card\": \"0000:ca:00\","
                "  \"fabric\": \"IbFabric1\", \"interface\": \"ibp202s0f0\","
                "  \"pci_properties\": {\"slot\": \"0000:ca:00.0\","
                "   \"vendor\": \"Mellanox Technologies\","
                "   \"device\": \"" CX6 "\"}},"
                " {\"guid\": \"020000000000ca01\", \"card\": \"0000:ca:00\","
                "  \"fabric\": \"IbFabric2\", \"interface\": \"ibp202s0f1\","
                "  \"pci_properties\": {\"slot\": \"0000:ca:00.1\","
                "   \"vendor\": \"Mellanox Technologies\","
                "   \"device\": \"" CX6 "\"}}]");
}
END_TEST

/* Two ports of one card, and one of another: by slot they are three
 * capabilities, and the choices count in the order of the slots. */
START_TEST(slots_and_choices)
{
    g_autoptr(Inventory) inventory = inventory_new(
        "  - {name: h, cpu: generic-host, devices: [{name: nic0, part: nic, "
        "at: rp0, address: \"0000:ca:00.0\", fabrics: [IbFabric1]}, "
        "{name: a0, part: a, at: rp1, address: \"0000:17:00.0\"}]}\n");
    const InvHost *host = inventory->hosts->pdata[0];
    g_autofree char *json = inv_capabilities_to_json(host, true);
    g_autofree char *choices = inv_choices_to_json(host);
    g_autoptr(GString) text = g_string_new(NULL);

    assert_json(json,
                "[{\"type\": \"Infiniband\", \"name\": \"Ambiguous Device\","
                "  \"vendor\": \"VendorA\", \"count\": 1,"
                "  \"slot\": \"0000:17:00.0\"},"
                " {\"type\": \"Infiniband\", \"name\": \"" CX6 "\","
                "  \"vendor\": \"Mellanox Technologies\", \"count\": 1,"
                "  \"fabric\": \"IbFabric1\", \"slot\": \"0000:ca:00.0\"},"
                " {\"type\": \"Infiniband\", \"name\": \"" CX6 "\","
                "  \"vendor\": \"Mellanox Technologies\", \"count\": 1,"
                "  \"fabric\": \"IbFabric1\", \"slot\": \"0000:ca:00.1\"}]");
    inv_view_append(text, inventory, INV_VIEW_CHOICES);
    ck_assert_str_eq(text->str,
                     "host h\n"
                     "VendorA Ambiguous Device - Nr 0\n"
                     "[IbFabric1]: Mellanox Technologies " CX6 " - Nr 0\n"
                     "[IbFabric1]: Mellanox Technologies " CX6 " - Nr 1\n");
    assert_json(choices,
                "[{\"label\": \"VendorA Ambiguous Device - Nr 0\","
                "  \"device\": \"Ambiguous Device\","
                "  \"device_vendor\": \"VendorA\", \"device_instance\": 0},"
                " {\"label\": \"[IbFabric1]: Mellanox Technologies " CX6
                " - Nr 0\", \"device\": \"" CX6 "\","
                "  \"device_vendor\": \"Mellanox Technologies\","
                "  \"fabric\": \"IbFabric1\", \"device_instance\": 0},"
                " {\"label\": \"[IbFabric1]: Mellanox Technologies " CX6
                " - Nr 1\", \"device\": \"" CX6 "\","
                "  \"device_vendor\": \"Mellanox Technologies\","
                "  \"fabric\": \"IbFabric1\", \"device_instance\": 1}]");
}
END_TEST

/* ---- Requests ---------------------------------------------------------- */

/* Selects on @host; returns "SLOT INTERFACE", or the error. */
static char *select_text(const InvHost *host, TopoRequest request)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(InvSelection) selection = NULL;
    g_autofree char *slot = NULL;

    request.device_place.file = "device";
    request.vendor_place.file = "vendor";
    request.fabric_place.file = "fabric";
    request.instance_place.file = "instance";
    request.virtual_place.file = "vf";
    selection = inv_select(host, &request, errors);
    if (!selection) {
        ck_assert_uint_eq(topo_errors_count(errors), 1);
        return topo_errors_to_string(errors);
    }
    slot = topo_address_to_string(selection->slot);
    return g_strconcat(slot, " ", selection->interface, NULL);
}

#define FOUR                                                                   \
    "  - {name: h, cpu: generic-host, devices: ["                              \
    "{name: n3, part: one, at: rp3, address: \"eb:00.0\", fabrics: [F2]},"     \
    "{name: n1, part: one, at: rp1, address: \"cd:00.0\", fabrics: [F2]},"     \
    "{name: n2, part: one, at: rp2, address: \"ea:00.0\", fabrics: [F1]},"     \
    "{name: n0, part: one, at: rp0, address: \"cb:00.0\", fabrics: [F1]},"     \
    "{name: x, part: a, at: rp4, address: \"20:00.0\", fabrics: [F1]},"        \
    "{name: y, part: b, at: rp5, address: \"21:00.0\", fabrics: [F1]},"        \
    "{name: d, part: a, at: rp6, address: \"10001:22:00.0\"},"                 \
    "{name: g, part: gpu, at: rp7, address: \"30:00.0\"}]}\n"

/* The first four are the example of the rule "the N-th slot that satisfies the
 * criteria". Interface names are those of systemd.net-naming-scheme(7). */
static const struct {
    TopoRequest request;
    const char *expected;
} cases[] = {
    {{.device = CX6, .fabric = "F1"}, "0000:cb:00.0 ibp203s0"},
    {{.device = CX6, .fabric = "F1", .instance = 1}, "0000:ea:00.0 ibp234s0"},
    {{.device = CX6, .fabric = "F2"}, "0000:cd:00.0 ibp205s0"},
    {{.device = CX6, .fabric = "F2", .instance = 1}, "0000:eb:00.0 ibp235s0"},
    {{.device = CX6, .fabric = "F1", .is_virtual = true},
     "0000:cb:00.1 ibp203s0v0"},
    {{.device = CX6, .fabric = "F1", .is_virtual = true, .virtual_function = 3},
     "0000:cb:00.4 ibp203s0v3"},
    {{.device = "G"}, "0000:30:00.0 pci-0000:30:00.0"},
    {{.device = "Ambiguous Device", .vendor = "VendorB"},
     "0000:21:00.0 ibp33s0"},
    {{.device = "Ambiguous Device", .vendor = "VendorA", .fabric = "F1"},
     "0000:20:00.0 ibp32s0"},
    /* Without a fabric: the devices of the default one. */
    {{.device = "Ambiguous Device", .vendor = "VendorA"},
     "10001:22:00.0 ibP65537p34s0"},
    {{.device = CX6},
     "device: h has devices '" CX6 "' of more than one fabric; add `fabric`; "
     "there are F1, F2\n"},
    {{.device = CX6, .fabric = "F3"},
     "fabric: h has no device '" CX6 "' of fabric 'F3'; there are F1, F2\n"},
    {{.device = CX6, .fabric = "F1", .instance = 2},
     "instance: h has 2 devices '" CX6 "' in fabric F1; write a "
     "device_instance from 0 to 1\n"},
    {{.device = CX6, .fabric = "F1", .is_virtual = true, .virtual_function = 4},
     "vf: device '" CX6 "' of h has no virtual function 4; write a number from "
     "0 to 3\n"},
    {{.device = "G", .is_virtual = true},
     "vf: device 'G' of h has no virtual functions; select the "
     "PhysicalFunction\n"},
    {{.device = "G", .fabric = "F1"},
     "fabric: no device 'G' of h has a fabric; leave `fabric` out\n"},
    {{.device = "Ambiguous Device"},
     "device: h has devices 'Ambiguous Device' of more than one vendor; add "
     "`vendor`; there are VendorA, VendorB\n"},
    {{.device = "Ambiguous Device", .vendor = "VendorC"},
     "vendor: h has no device 'Ambiguous Device' of vendor 'VendorC'; there "
     "are VendorA, VendorB\n"},
    {{.device = "ConnectX"},
     "device: h has no device 'ConnectX'; there are Ambiguous Device, G, " CX6
     "\n"},
};

START_TEST(request_gives_slot_and_interface_or_says_what_there_is)
{
    g_autoptr(Inventory) inventory = inventory_new(FOUR);
    g_autofree char *got =
        select_text(inventory->hosts->pdata[0], cases[_i].request);

    ck_assert_str_eq(got, cases[_i].expected);
}
END_TEST

/* Virtual functions of port 1 follow those of port 0: Routing IDs 2 to 9 and 10
 * to 17 behind function 0. */
START_TEST(virtual_functions_of_two_ports)
{
    g_autoptr(Inventory) inventory =
        inventory_new(NIC_AT("[IbFabric1, IbFabric2]"));
    const InvHost *host = inventory->hosts->pdata[0];
    g_autofree char *first =
        select_text(host, (TopoRequest){.device = CX6,
                                        .fabric = "IbFabric1",
                                        .is_virtual = true,
                                        .virtual_function = 7});
    g_autofree char *second = select_text(
        host, (TopoRequest){
                  .device = CX6, .fabric = "IbFabric2", .is_virtual = true});

    ck_assert_str_eq(first, "0000:ca:01.1 ibp202s0f0v7");
    ck_assert_str_eq(second, "0000:ca:01.2 ibp202s0f1v0");
}
END_TEST

/* ---- Random hosts ------------------------------------------------------ */

#define CARDS_MAX 7

typedef struct Card {
    const char *part;
    const char *fabric[2]; /* by port */
    unsigned ports;
} Card;

static Card random_card(GRand *random)
{
    static const char *const fabrics[] = {"F1", "F2", "F3"};
    static const Card kinds[] = {{"nic", {NULL, NULL}, 2},
                                 {"one", {NULL, NULL}, 1},
                                 {"gpu", {NULL, NULL}, 1},
                                 {"b", {NULL, NULL}, 1}};
    Card card = kinds[g_rand_int_range(random, 0, G_N_ELEMENTS(kinds))];

    for (unsigned i = 0; i < card.ports && strcmp(card.part, "gpu") != 0; i++) {
        card.fabric[i] =
            fabrics[g_rand_int_range(random, 0, G_N_ELEMENTS(fabrics))];
    }
    return card;
}

static void shuffle(GRand *random, unsigned *values, unsigned n)
{
    for (unsigned i = n; i > 1; i--) {
        unsigned j = (unsigned)g_rand_int_range(random, 0, (int)i);
        unsigned value = values[i - 1];

        values[i - 1] = values[j];
        values[j] = value;
    }
}

/* Appends a host with @cards listed in @order; card i is in slot @slots[i]. */
static void write_host(GString *text, const char *name, const Card *cards,
                       const unsigned *order, const unsigned *slots, unsigned n)
{
    g_string_append_printf(text, "  - {name: %s, cpu: generic-host, devices: [",
                           name);
    for (unsigned i = 0; i < n; i++) {
        const Card *card = &cards[order[i]];

        g_string_append_printf(text,
                               "%s{name: d%u, part: %s, at: rp%u, address: "
                               "\"0000:%02x:00.0\"",
                               i > 0 ? ", " : "", order[i], card->part, i,
                               slots[order[i]]);
        if (card->fabric[0]) {
            g_string_append_printf(text, ", fabrics: [%s%s%s]", card->fabric[0],
                                   card->ports > 1 ? ", " : "",
                                   card->ports > 1 ? card->fabric[1] : "");
        }
        g_string_append(text, "}");
    }
    g_string_append(text, "]}\n");
}

static const char *name_of_part(const char *part)
{
    return strcmp(part, "gpu") == 0 ? "G"
           : strcmp(part, "b") == 0 ? "Ambiguous Device"
                                    : CX6;
}

/* Returns the slot of the N-th device with this name and fabric, found by a
 * walk through all bus numbers, as "0000:BB:00.F"; NULL if there is none. */
static char *find_slot(const Card *cards, const unsigned *slots, unsigned n,
                       const char *name, const char *fabric, unsigned instance)
{
    for (unsigned bus = 0; bus < 256; bus++) {
        for (unsigned i = 0; i < n; i++) {
            for (unsigned port = 0; slots[i] == bus && port < cards[i].ports;
                 port++) {
                if (strcmp(name, name_of_part(cards[i].part)) == 0 &&
                    g_strcmp0(fabric, cards[i].fabric[port]) == 0 &&
                    instance-- == 0) {
                    return g_strdup_printf("0000:%02x:00.%u", bus, port);
                }
            }
        }
    }
    return NULL;
}

/* Selects the N-th device on @host and compares it with the naive search. */
static char *check_selection(const InvHost *host, const Card *cards,
                             const unsigned *slots, unsigned n,
                             TopoRequest request)
{
    g_autofree char *wanted = find_slot(cards, slots, n, request.device,
                                        request.fabric, request.instance);
    char *got = select_text(host, request);

    if (wanted) {
        if (!g_str_has_prefix(got, wanted)) {
            ck_abort_msg("%s: %s, not %s", host->name, got, wanted);
        }
    } else {
        ck_assert_msg(g_str_has_prefix(got, "instance: "), "%s", got);
    }
    return got;
}

static void check_random(GRand *random)
{
    unsigned n = (unsigned)g_rand_int_range(random, 1, CARDS_MAX + 1);
    unsigned order[CARDS_MAX], slots[CARDS_MAX], moved[CARDS_MAX];
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(Inventory) inventory = NULL;
    g_autoptr(GPtrArray) types = NULL;
    Card cards[CARDS_MAX];

    for (unsigned i = 0; i < n; i++) {
        cards[i] = random_card(random);
        order[i] = i;
        slots[i] = (i > 0 ? slots[i - 1] : 0) +
                   (unsigned)g_rand_int_range(random, 1, 36);
    }
    shuffle(random, slots, n);
    memcpy(moved, slots, sizeof moved);
    shuffle(random, moved, n);
    write_host(text, "a", cards, order, slots, n);
    shuffle(random, order, n);
    write_host(text, "b", cards, order, slots, n);
    write_host(text, "c", cards, order, moved, n);
    inventory = inventory_new(text->str);
    types = inv_host_types(inventory, false);
    ck_assert_uint_eq(types->len, 1);

    for (unsigned i = 0; i < n; i++) {
        TopoRequest request = {.device = (char *)name_of_part(cards[i].part),
                               .fabric = (char *)cards[i].fabric[0]};

        for (request.instance = 0; request.instance <= 2 * n;
             request.instance++) {
            g_autofree char *a = check_selection(inventory->hosts->pdata[0],
                                                 cards, slots, n, request);
            g_autofree char *b = check_selection(inventory->hosts->pdata[1],
                                                 cards, slots, n, request);
            g_autofree char *c = check_selection(inventory->hosts->pdata[2],
                                                 cards, moved, n, request);

            if (g_str_has_prefix(a, "instance: ")) {
                /* All three have as many of them. */
                ck_assert_str_eq(a + 12, b + 12);
                ck_assert_str_eq(a + 12, c + 12);
                break;
            }
            ck_assert_str_eq(a, b);
        }
    }
}

START_TEST(a_thousand_random_hosts)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(11);

    for (unsigned i = 0; i < 1000; i++) {
        check_random(random);
    }
}
END_TEST

/* ---- Errors of descriptions -------------------------------------------- */

static const struct {
    const char *devices;
    const char *expected;
} bad[] = {
    {"{name: x, part: one, at: rp0, address: \"10:00.0\"}, "
     "{name: y, part: one, at: rp1, address: \"10:00.0\"}",
     "h.x and h.y are both at 0000:10:00.0; write another address for one of "
     "them"},
    {"{name: x, part: nic, at: rp0, address: \"10:00.7\"}",
     "h.x has 2 ports, each a function of one PCI device; write an address "
     "that ends in .6 or less"},
    {"{name: x, part: nic, at: rp0, address: \"ff:1f.0\"}",
     "h.x needs bus numbers up to 256 for its 16 virtual functions; write a "
     "lower address or fewer card.vfs"},
};

START_TEST(slots_that_cannot_be_are_refused)
{
    g_autofree char *hosts = g_strdup_printf(
        "  - {name: h, cpu: generic-host, devices: [%s]}\n", bad[_i].devices);
    g_autoptr(TopoDescription) description = description_new(hosts);
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autofree char *text = NULL;

    ck_assert_ptr_null(
        inv_from_description(description, no_address, NULL, errors));
    ck_assert_uint_eq(topo_errors_count(errors), 1);
    text = topo_errors_to_string(errors);
    ck_assert_msg(g_str_has_prefix(text, "test.yaml:9:"), "%s", text);
    ck_assert_msg(strstr(text, bad[_i].expected), "%s", text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("inventory");
    TCase *tcase = tcase_create("json");

    tcase_add_test(tcase, two_fabrics_are_two_capabilities);
    tcase_add_test(tcase, one_fabric_is_one_capability_of_two);
    tcase_add_test(tcase, devices_are_ports_with_slot_and_interface);
    tcase_add_test(tcase, slots_and_choices);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("select");
    tcase_add_loop_test(tcase,
                        request_gives_slot_and_interface_or_says_what_there_is,
                        0, G_N_ELEMENTS(cases));
    tcase_add_test(tcase, virtual_functions_of_two_ports);
    tcase_add_loop_test(tcase, slots_that_cannot_be_are_refused, 0,
                        G_N_ELEMENTS(bad));
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("random");
    tcase_add_test(tcase, a_thousand_random_hosts);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
