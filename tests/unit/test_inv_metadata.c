/* SPDX-License-Identifier: MIT */
/*
 * Invariants: hosts of one type get the same devices for one file of requests,
 * whatever their GUIDs; no two functions have one GUID; a LID is given once in
 * a fabric; what was asked for is repeated. A live host shows the GUID, serial
 * number and path of its ports.
 */
#include <json-glib/json-glib.h>
#include <string.h>

#include "program.h"
#include "../suite.h"

#define PCI "sys/bus/pci/devices/"
#define CX6 "MT28908 Family [ConnectX-6]"

static void put(const char *address, const char *name, const char *text)
{
    g_autofree char *path = g_strconcat(PCI, address, "/", name, NULL);

    program_put(path, text);
}

/* A port of a ConnectX-6 with 4 virtual functions; @digits are the last ones of
 * its GUID, @fabric those of its subnet. */
static void put_port(const char *address, const char *fabric,
                     const char *digits)
{
    g_autofree char *gid = g_strdup_printf("fe80:0000:0000:%s:506b:4b03:00aa:"
                                           "%s\n",
                                           fabric, digits);

    put(address, "class", "0x020700\n");
    put(address, "vendor", "0x15b3\n");
    put(address, "device", "0x101b\n");
    put(address, "numa_node", "1\n");
    put(address, "infiniband/mlx5_0/ports/1/gids/0", gid);
    put(address, "sriov_totalvfs", "4\n");
    /* Those of function 1 follow those of function 0. */
    put(address, "sriov_offset", g_str_has_suffix(address, "1") ? "11" : "8");
    put(address, "sriov_stride", "1\n");
}

static void put_names(void)
{
    program_put("ids", "15b3  Mellanox Technologies\n"
                       "\t101b  " CX6 "\n");
}

/* Runs `farside WORDS` on the tree. */
static JsonNode *ask(const char *words)
{
    g_autofree char *all =
        g_strconcat(words, " --sysfs @/sys --ids @/ids --host h", NULL);
    JsonNode *node;

    ck_assert_msg(program_run(all) == 0, "%s", program_err);
    node = json_from_string(program_out, NULL);
    ck_assert_ptr_nonnull(node);
    return node;
}

static JsonArray *part_of(JsonNode *node, const char *name)
{
    JsonObject *part =
        json_object_get_object_member(json_node_get_object(node), name);

    return json_object_get_array_member(
        json_object_get_object_member(part, "infiniband"), "ib_interfaces");
}

/* The example of four ports in two fabrics. */
START_TEST(instances_map_to_guids)
{
    static const struct {
        const char *fabric, *guid;
        unsigned instance, lid;
    } wanted[] = {
        {"fe80:0000:0000:0001", "506b4b0300aa1234", 0, 1},
        {"fe80:0000:0000:0001", "506b4b0300aa3456", 1, 2},
        {"fe80:0000:0000:0002", "506b4b0300aa2345", 0, 1},
        {"fe80:0000:0000:0002", "506b4b0300aa4567", 1, 2},
    };
    g_autoptr(GString) requests = g_string_new("{\"ib_interfaces\": [");
    g_autoptr(JsonNode) answer = NULL;
    JsonArray *config, *status;

    put_names();
    put_port("0000:cb:00.0", "0001", "1234");
    put_port("0000:cd:00.0", "0002", "2345");
    put_port("0000:ea:00.0", "0001", "3456");
    put_port("0000:eb:00.0", "0002", "4567");
    for (unsigned i = 0; i < G_N_ELEMENTS(wanted); i++) {
        g_string_append_printf(requests,
                               "%s{\"device\": \"" CX6 "\", \"fabric\": \"%s\""
                               ", \"device_instance\": %u}",
                               i > 0 ? ", " : "", wanted[i].fabric,
                               wanted[i].instance);
    }
    g_string_append(requests, "]}");
    program_put("r.json", requests->str);
    answer = ask("metadata --request @/r.json");
    config = part_of(answer, "config");
    status = part_of(answer, "status");
    ck_assert_uint_eq(json_array_get_length(config), 4);
    ck_assert_uint_eq(json_array_get_length(status), 4);
    for (unsigned i = 0; i < G_N_ELEMENTS(wanted); i++) {
        JsonObject *asked = json_array_get_object_element(config, i);
        JsonObject *given = json_array_get_object_element(status, i);

        ck_assert_str_eq(json_object_get_string_member(asked, "device"), CX6);
        ck_assert_str_eq(json_object_get_string_member(asked, "fabric"),
                         wanted[i].fabric);
        ck_assert_str_eq(json_object_get_string_member(given, "guid"),
                         wanted[i].guid);
        ck_assert_str_eq(json_object_get_string_member(given, "pf_guid"),
                         wanted[i].guid);
        ck_assert_int_eq(json_object_get_int_member(given, "lid"),
                         wanted[i].lid);
    }
}
END_TEST

/* All virtual functions of two ports that differ in one bit: as many GUIDs. */
START_TEST(guids_are_different)
{
    g_autoptr(GHashTable) guids =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GString) requests = g_string_new("ib_interfaces:\n");
    g_autoptr(JsonNode) answer = NULL;
    JsonArray *status;

    put_names();
    put_port("0000:cb:00.0", "0001", "0000");
    put_port("0000:cb:00.1", "0001", "0001");
    for (unsigned i = 0; i < 8; i++) {
        g_string_append_printf(requests,
                               " - {device_slot: \"0000:cb:00.%u\", "
                               "function_type: VirtualFunction, "
                               "virtual_function_id: %u, "
                               "ib_partition_id: \"p%u\"}\n",
                               i / 4, i % 4, i);
    }
    program_put("r.yaml", requests->str);
    answer = ask("metadata --request @/r.yaml");
    status = part_of(answer, "status");
    for (unsigned i = 0; i < 8; i++) {
        const char *guid = json_object_get_string_member(
            json_array_get_object_element(status, i), "guid");

        ck_assert_uint_eq(strlen(guid), 16);
        /* Locally administered (EUI-64: bit 1 of the first byte). */
        ck_assert(g_ascii_xdigit_value(guid[1]) & 2);
        ck_assert(g_hash_table_add(guids, g_strdup(guid)));
    }
}
END_TEST

static const struct {
    const char *request, *expected;
} bad[] = {
    {"{ib_interfaces: [{device_slot: \"0000:cb:00.0\"},\n"
     " {device: \"" CX6 "\", fabric: \"fe80:0000:0000:0001\"}]}",
     ":2:2: mlx5_0 of h is requested twice; leave one of the requests out\n"},
    {"{ib_interfaces: [{device_slot: \"0000:17:00.0\"}]}",
     ":1:32: '0x101b' of h is of type GPU; metadata are about InfiniBand "
     "devices\n"},
    {"{ib_interfaces: [{device_slot: \"0000:cc:00.0\"}]}",
     ":1:32: the GUID of ibp204s0 of h is not known; load its driver\n"},
};

START_TEST(bad_requests_are_refused)
{
    g_autofree char *path = program_place("r.json");
    g_autofree char *expected = g_strconcat(
        path, bad[_i].expected, "farside metadata: 1 error\n", NULL);

    program_put("ids", "15b3  Mellanox Technologies\n\t101c  other\n");
    if (strstr(bad[_i].request, CX6)) {
        put_names();
    }
    put_port("0000:cb:00.0", "0001", "1234");
    put("0000:17:00.0", "class", "0x030200\n");
    put("0000:17:00.0", "vendor", "0x15b3\n");
    put("0000:17:00.0", "device", "0x101b\n");
    put("0000:cc:00.0", "class", "0x020700\n");
    put("0000:cc:00.0", "vendor", "0x15b3\n");
    put("0000:cc:00.0", "device", "0x101c\n");
    program_put("r.json", bad[_i].request);
    ck_assert_int_eq(program_run("metadata --sysfs @/sys --ids @/ids --host h "
                                 "--request @/r.json"),
                     1);
    ck_assert_str_eq(program_err, expected);
}
END_TEST

/* Vital Product Data: identifier, then fields PN and SN (PCIe 5.0 s6.28). */
START_TEST(live_host_tells_guid_serial_number_and_path)
{
    static const char vpd[] = "\x82\x04\0CX-6\x90\x10\0PN\x05MCX65SN\x05S1234x";
    g_autofree char *path = program_place(PCI "0000:ca:00.0/vpd");
    g_autoptr(JsonNode) devices = NULL;
    g_autoptr(JsonNode) raw = NULL;
    JsonObject *port, *pci;

    put_names();
    put_port("0000:ca:00.0", "0001", "1234");
    ck_assert(g_file_set_contents(path, vpd, sizeof vpd - 1, NULL));
    devices = ask("inventory --devices --json");
    port = json_array_get_object_element(json_node_get_array(devices), 0);
    ck_assert_str_eq(json_object_get_string_member(port, "guid"),
                     "506b4b0300aa1234");
    ck_assert_str_eq(json_object_get_string_member(port, "card"), "0000:ca:00");
    ck_assert_str_eq(json_object_get_string_member(port, "serial_number"),
                     "S1234");
    raw = ask("inventory --devices --json --raw");
    port = json_array_get_object_element(json_node_get_array(raw), 0);
    ck_assert_str_eq(json_object_get_string_member(port, "guid"),
                     "506b4b0300aa1234");
    pci = json_object_get_object_member(port, "pci_properties");
    ck_assert_str_eq(json_object_get_string_member(pci, "vendor"), "0x15b3");
    ck_assert_str_eq(json_object_get_string_member(pci, "device"), "0x101b");
    ck_assert_str_eq(json_object_get_string_member(pci, "path"),
                     "/bus/pci/devices/0000:ca:00.0/net/mlx5_0");
    ck_assert_str_eq(json_object_get_string_member(pci, "description"), CX6);
    ck_assert_int_eq(json_object_get_int_member(pci, "numa_node"), 1);
}
END_TEST

/* Each way to cut or break the data: no serial number, and nothing worse. */
START_TEST(broken_vpd_has_no_serial_number)
{
    static const char vpd[] = "\x90\x08\0SN\x05S1234";
    g_autofree char *path = program_place(PCI "0000:ca:00.0/vpd");

    put_names();
    put_port("0000:ca:00.0", "0001", "1234");
    for (unsigned cut = 0; cut < sizeof vpd - 1; cut++) {
        g_autoptr(JsonNode) devices = NULL;

        ck_assert(g_file_set_contents(path, vpd, cut, NULL));
        devices = ask("inventory --devices --json");
        ck_assert(!json_object_has_member(
            json_array_get_object_element(json_node_get_array(devices), 0),
            "serial_number"));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("metadata");
    TCase *tcase = tcase_create("answers");

    tcase_add_checked_fixture(tcase, program_setup, program_teardown);
    tcase_add_test(tcase, instances_map_to_guids);
    tcase_add_test(tcase, guids_are_different);
    tcase_add_loop_test(tcase, bad_requests_are_refused, 0, G_N_ELEMENTS(bad));
    tcase_add_test(tcase, live_host_tells_guid_serial_number_and_path);
    tcase_add_test(tcase, broken_vpd_has_no_serial_number);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
