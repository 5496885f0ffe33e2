/* SPDX-License-Identifier: MIT */
/*
 * Invariants: a sysfs tree gives the devices that Linux shows in it, with names
 * from pci.ids, and the interface of the driver or, without one, that of the
 * naming rule. Virtual functions, bridges and borrowed functions are left out.
 * A file of requests selects on it, with errors at the place in the file. A
 * tree that a host has sent is unpacked, and nothing else that it may send. A
 * pipe or a device in the place of a file is not read.
 */
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program.h"
#include "inv_inventory.h"
#include "../suite.h"

#define PCI "sys/bus/pci/devices/"

/* Writes the file @name of function @address. */
static void put(const char *address, const char *name, const char *text)
{
    g_autofree char *path = g_strconcat(PCI, address, "/", name, NULL);

    program_put(path, text);
}

/* Writes 16 bytes of configuration space with this Header Type. */
static void put_config(const char *address, char header_type)
{
    g_autofree char *name = g_strconcat(PCI, address, "/config", NULL);
    g_autofree char *path = program_place(name);
    char config[16] = {0};

    config[0x0e] = header_type;
    ck_assert(g_file_set_contents(path, config, sizeof config, NULL));
}

static void put_function(const char *address, const char *class_code,
                         const char *device, char header_type)
{
    put(address, "class", class_code);
    put(address, "vendor", "0x15b3\n");
    put(address, "device", device);
    put(address, "numa_node", "1\n");
    put_config(address, header_type);
}

/* A host like one with a ConnectX-6 of two ports, as Linux 6.1 shows it: port 1
 * has no driver. Its first port has a virtual function. */
static void put_tree(void)
{
    g_autofree char *link = program_place(PCI "0000:ca:00.2/physfn");

    put_function("0000:c9:02.0", "0x060400\n", "0x347a\n", 0x01);
    put_function("0000:ca:00.0", "0x020700\n", "0x101b\n", (char)0x80);
    put("0000:ca:00.0", "net/ibp202s0f0/mtu", "4092\n");
    put("0000:ca:00.0", "infiniband/ibp202s0f0/ports/1/gids/0",
        "fe80:0000:0000:0001:0002:c903:0012:3456\n");
    put("0000:ca:00.0", "sriov_totalvfs", "8\n");
    put("0000:ca:00.0", "sriov_offset", "2\n");
    put("0000:ca:00.0", "sriov_stride", "1\n");
    put_function("0000:ca:00.1", "0x020700\n", "0x101b\n", (char)0x80);
    put_function("0000:ca:00.2", "0x020700\n", "0x101c\n", 0);
    ck_assert_int_eq(symlink("../0000:ca:00.0", link), 0);
    put_function("0000:17:00.0", "0x030200\n", "0x9999\n", 0);
    put_function("0000:65:00.0", "0x010802\n", "0x0b60\n", 0);
    put_function("0001:01:00.0", "0x020000\n", "0x1017\n", 0);
    put_function("0001:02:00.0", "0x120000\n", "0x1017\n", 0);
    program_put("ids", "# names\n"
                       "15b3  Mellanox Technologies\n"
                       "\t101b  MT28908 Family [ConnectX-6]\n"
                       "\t\t15b3 0007  a subsystem\n"
                       "\t1017  MT27800 Family [ConnectX-5]\n"
                       "8086  Intel Corporation\n"
                       "\t0b60  NVMe DC SSD\n"
                       "C 02  Network controller\n"
                       "\t00  Ethernet controller\n");
}

static void assert_out(const char *words, const char *expected)
{
    int status = program_run(words);

    ck_assert_msg(status == 0, "%d: %s", status, program_err);
    ck_assert_str_eq(program_out, expected);
}

START_TEST(tree_gives_devices)
{
    put_tree();
    assert_out(
        "inventory --sysfs @/sys --ids @/ids --host h --devices",
        "host  path          slot          interface                device     "
        "                  fabric               vfs\n"
        "----  ------------  ------------  -----------------------  -----------"
        "----------------  -------------------  ---\n"
        "h     0000:17:00.0  0000:17:00.0  pci-0000:17:00.0         0x9999     "
        "                  -                      0\n"
        "h     0000:65:00.0  0000:65:00.0  pci-0000:65:00.0-nvme-1  0x0b60     "
        "                  -                      0\n"
        "h     0000:ca:00.0  0000:ca:00.0  ibp202s0f0               MT28908 Fam"
        "ily [ConnectX-6]  fe80:0000:0000:0001    8\n"
        "h     0000:ca:00.1  0000:ca:00.1  ibp202s0f1               MT28908 Fam"
        "ily [ConnectX-6]  -                      0\n"
        "h     0001:01:00.0  0001:01:00.0  enP1p1s0                 MT27800 Fam"
        "ily [ConnectX-5]  -                      0\n"
        "h     0001:02:00.0  0001:02:00.0  pci-0001:02:00.0         MT27800 Fam"
        "ily [ConnectX-5]  -                      0\n");
}
END_TEST

START_TEST(tree_gives_json_with_numa_node)
{
    g_autoptr(JsonNode) node = NULL;
    JsonObject *port, *pci;

    put_tree();
    ck_assert_int_eq(
        program_run("inventory --sysfs @/sys --ids @/ids --devices --json"), 0);
    node = json_from_string(program_out, NULL);
    ck_assert_ptr_nonnull(node);
    port = json_array_get_object_element(json_node_get_array(node), 2);
    ck_assert_str_eq(json_object_get_string_member(port, "interface"),
                     "ibp202s0f0");
    pci = json_object_get_object_member(port, "pci_properties");
    ck_assert_str_eq(json_object_get_string_member(pci, "slot"),
                     "0000:ca:00.0");
    ck_assert_str_eq(json_object_get_string_member(pci, "vendor"),
                     "Mellanox Technologies");
    ck_assert_int_eq(json_object_get_int_member(pci, "numa_node"), 1);
}
END_TEST

/* A replaced card has another serial number and GUID, and another subnet
 * manager may have numbered its port: what a request selects stays. */
START_TEST(requests_of_a_file_select)
{
    g_autofree char *before = NULL;

    put_tree();
    program_put("r.json",
                "{\"ib_interfaces\": [{\n"
                "  // the physical device\n"
                "  \"device\": \"MT28908 Family [ConnectX-6]\",\n"
                "  \"fabric\": \"fe80:0000:0000:0001\",\n"
                "  \"device_instance\": 0,\n"
                "  \"function_type\": \"VirtualFunction\",\n"
                "  \"virtual_function_id\": 7,\n"
                "  \"ib_partition_id\": \"some_partition_identifier\",\n"
                "}, {\n"
                "  \"device\": \"MT27800 Family [ConnectX-5]\"\n"
                "}]}\n");
    assert_out(
        "select --sysfs @/sys --ids @/ids --host h --request @/r.json -v",
        "host  device                       fabric               instance"
        "  function  slot          interface\n"
        "----  ---------------------------  -------------------  --------"
        "  --------  ------------  ------------\n"
        "h     MT28908 Family [ConnectX-6]  fe80:0000:0000:0001         0"
        "  VF 7      0000:ca:01.1  ibp202s0f0v7\n"
        "h     MT27800 Family [ConnectX-5]  -                           0"
        "  PF        0001:01:00.0  enP1p1s0\n"
        "h: ibp202s0f0, ibp202s0f1 are ports of one card: they have one "
        "serial number, and a setting of the card's firmware changes all "
        "of them\n");
    before = g_strdup(program_out);
    put("0000:ca:00.0", "vpd", "another serial number");
    put("0000:ca:00.0", "infiniband/ibp202s0f0/ports/1/gids/0",
        "fe80:0000:0000:0001:0002:c903:9999:9999\n");
    assert_out(
        "select --sysfs @/sys --ids @/ids --host h --request @/r.json -v",
        before);
}
END_TEST

static const struct {
    const char *request;
    const char *expected; /* behind the path of the file */
    int status;
} bad[] = {
    {"{\"ib_interfaces\": [\n {\"guid\": \"1234\"}]}",
     ":2:3: 'guid' differs from host to host and changes when a card is "
     "replaced; select by device, device_vendor, fabric and device_instance, "
     "or by device_slot\n",
     2},
    {"{\"ib_interfaces\": [\n {\"device\": \"x\", // here\n"
     "  \"device_slot\": \"0000:ca:00.0\"}]}",
     ":2:13: 'device' and device_slot both select a device; leave one of them "
     "out\n",
     2},
    {"{\"ib_interfaces\": [\n {\"device_slot\": \"ca\"}]}",
     ":2:18: 'ca' is no PCI address; write one such as 0000:ca:00.0\n", 2},
    {"{\"ib_interfaces\": [\n {\"device_slot\": \"0000:ca:00.2\"}]}",
     ":2:18: h has no device in slot '0000:ca:00.2'; there are 0000:17:00.0, "
     "0000:65:00.0, 0000:ca:00.0, 0000:ca:00.1, 0001:01:00.0, "
     "0001:02:00.0\n",
     1},
    {"{\"ib_interfaces\": [\n {\"fabric\": \"x\"}]}",
     ":2:2: the request has no `device`; add its name, or device_slot\n", 2},
    {"{\"ib_interfaces\": [\n {\"device\": \"x\", \"device_vendor\": \"a\",\n"
     "  \"vendor\": \"a\"}]}",
     ":3:13: 'vendor' and 'device_vendor' are the same key; leave one of them "
     "out\n",
     2},
    {"{\"ib_interfaces\": [\n {\"device\": \"x\",\n"
     "  \"function_type\": \"VirtualFunction\"}]}",
     ":3:20: a VirtualFunction needs its number; add virtual_function_id: 0\n",
     2},
    {"{\"ib_interfaces\": [\n {\"device\": \"x\", \"virtual_function_id\": 1}]}",
     ":2:41: a PhysicalFunction has no number; add function_type: "
     "VirtualFunction, or leave virtual_function_id out\n",
     2},
    {"{\"ib_interfaces\": [\n {\"device\": \"x\"}]}",
     ":2:13: h has no device 'x'; there are 0x0b60, 0x9999, MT27800 Family "
     "[ConnectX-5], MT28908 Family [ConnectX-6]\n",
     1},
    {"ib_interfaces:\n - device: MT27800 Family [ConnectX-5]\n"
     "   device_instance: 2\n",
     ":3:21: h has 2 devices 'MT27800 Family [ConnectX-5]'; write a "
     "device_instance from 0 to 1\n",
     1},
};

START_TEST(bad_requests_are_refused_at_their_place)
{
    g_autofree char *path = program_place("r.json");
    g_autofree char *expected =
        g_strconcat(path, bad[_i].expected, "farside select: 1 error\n", NULL);

    put_tree();
    program_put("r.json", bad[_i].request);
    ck_assert_int_eq(program_run("select --sysfs @/sys --ids @/ids --host h "
                                 "--request @/r.json"),
                     bad[_i].status);
    ck_assert_str_eq(program_err, expected);
}
END_TEST

/* A port without a network interface is called as its InfiniBand device, and
 * functions that dl_borrower shows (domain 1f000 and above) are another host's;
 * a domain before them is that of a VMD controller. */
START_TEST(ports_have_their_names_and_loans_are_left_out)
{
    put_function("0000:41:00.0", "0x020700\n", "0x101b\n", 0);
    put("0000:41:00.0", "infiniband/mlx5_3/ports/1/gids/0",
        "fe80:0000:0000:0000:0002:c903:0012:3456\n");
    put_function("10000:01:00.0", "0x010802\n", "0x0b60\n", 0);
    put_function("1f000:00:04.0", "0x010802\n", "0x0b60\n", 0);
    put_function("1f001:00:05.0", "0x020700\n", "0x101c\n", 0);
    program_put("ids", "");
    assert_out("inventory --sysfs @/sys --ids @/ids --host h --devices",
               "host  path           slot           interface                 "
               "device  fabric  vfs\n"
               "----  -------------  -------------  ------------------------  "
               "------  ------  ---\n"
               "h     0000:41:00.0   0000:41:00.0   mlx5_3                    "
               "0x101b  -         0\n"
               "h     10000:01:00.0  10000:01:00.0  pci-10000:01:00.0-nvme-1  "
               "0x0b60  -         0\n");
}
END_TEST

/* The display of a management controller, known by its vendor (ASPEED) or by
 * its name (HPE's iLO), is no GPU. A graphics card is one although it is a VGA
 * controller as well. */
START_TEST(displays_of_controllers_are_no_gpus)
{
    put_function("0000:01:00.0", "0x030000\n", "0x2000\n", 0);
    put("0000:01:00.0", "vendor", "0x1a03\n");
    put_function("0000:02:00.0", "0x030000\n", "0x0533\n", 0);
    put("0000:02:00.0", "vendor", "0x103c\n");
    put_function("0000:03:00.0", "0x030000\n", "0x2204\n", 0);
    put("0000:03:00.0", "vendor", "0x10de\n");
    program_put("ids", "103c  HP\n\t0533  Integrated Lights-Out VGA\n");
    ck_assert_int_eq(program_run("inventory --sysfs @/sys --ids @/ids --host h "
                                 "--devices"),
                     0);
    ck_assert_ptr_null(strstr(program_out, "0000:01:00.0"));
    ck_assert_ptr_null(strstr(program_out, "0000:02:00.0"));
    ck_assert_ptr_nonnull(strstr(program_out, "0000:03:00.0"));
}
END_TEST

START_TEST(scrawls_become_text)
{
    g_autoptr(JsonNode) node = NULL;

    put_function("0000:41:00.0", "0x020000\n", "0x101b\n", 0);
    put("0000:41:00.0", "net/\033[31m\377x/mtu", "1\n");
    program_put("ids", "15b3  Mella\033[1mnox\376\n\t101b  Connect\302\233X\n");
    ck_assert_int_eq(
        program_run("inventory --sysfs @/sys --ids @/ids --devices --json"), 0);
    node = json_from_string(program_out, NULL);
    ck_assert_ptr_nonnull(node);
    ck_assert_ptr_nonnull(strstr(program_out, "\"\357\277\275[31m"
                                              "\357\277\275x\""));
    ck_assert_ptr_nonnull(strstr(program_out, "Mella\357\277\275[1mnox"
                                              "\357\277\275"));
    ck_assert_ptr_nonnull(strstr(program_out, "Connect\357\277\275X"));
}
END_TEST

/* Returns the archive that `tar` makes of the folder sys of the place, with the
 * commands @more run there before. */
static GByteArray *archive_of(const char *more)
{
    g_autofree char *place = program_place("");
    g_autofree char *command = g_strdup_printf(
        "cd '%s' && { %s; } && tar --format=ustar -C sys -cf a.tar .", place,
        more);
    g_autofree char *path = program_place("a.tar");
    char *bytes;
    size_t length;

    ck_assert_int_eq(system(command), 0);
    ck_assert(g_file_get_contents(path, &bytes, &length, NULL));
    return g_byte_array_new_take((uint8_t *)bytes, length);
}

START_TEST(what_a_host_sends_is_unpacked)
{
    g_autofree char *to = program_place("to");
    g_autoptr(GByteArray) archive = NULL;
    g_autoptr(GError) error = NULL;
    g_autofree char *shown = NULL;
    unsigned length;

    put_tree();
    archive = archive_of("rm sys/bus/pci/devices/0000:ca:00.2/physfn && "
                         "mkdir sys/bus/pci/devices/0000:ca:00.2/physfn to");
    ck_assert_msg(inv_archive_unpack(archive->data, archive->len, to, &error),
                  "%s", error ? error->message : "");
    ck_assert_int_eq(
        program_run("inventory --sysfs @/sys --ids @/ids --host h -d"), 0);
    shown = g_strdup(program_out);
    ck_assert_ptr_nonnull(strstr(shown, "enP1p1s0"));
    assert_out("inventory --sysfs @/to --ids @/ids --host h -d", shown);
    /* Each shorter one is refused, or lacks only blocks of zeros at its end. */
    for (length = 0; length < 512; length += 7) {
        ck_assert(!inv_archive_unpack(archive->data, length, to, NULL));
    }
}
END_TEST

static const char *const strange[] = {
    "mkdir to; ln -s /etc/passwd sys/class", /* a link */
    "mkdir to; mkfifo sys/class",            /* a read would wait for ever */
    "mkdir to; ln sys/x sys/y",              /* a hard link */
    "mkdir to; truncate -s 4097 sys/config", /* too long */
    "mkdir to; mkdir \"sys/$(printf '\\033')\"", /* a name as none in /sys */
};

START_TEST(nothing_else_is_unpacked)
{
    g_autofree char *to = program_place("to");
    g_autoptr(GByteArray) archive = NULL;
    g_autoptr(GError) error = NULL;

    program_put("sys/x", "1\n");
    archive = archive_of(strange[_i]);
    ck_assert(!inv_archive_unpack(archive->data, archive->len, to, &error));
    ck_assert_ptr_nonnull(
        strstr(error->message, "what the host sends is no copy of its /sys"));
}
END_TEST

/* Names that tar would not write: one block each, with the name at 0, the type
 * "0" at 156, no bytes. */
START_TEST(nothing_is_written_elsewhere)
{
    static const char *const names[] = {"../x",   "/tmp/farside-x", "a/../../x",
                                        "./../x", "a//x",           ".."};
    g_autofree char *to = program_place("to");

    program_put("to/keep", "");
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        uint8_t blocks[1024] = {0};

        memcpy(blocks, names[i], strlen(names[i]));
        blocks[156] = '0';
        ck_assert_msg(!inv_archive_unpack(blocks, sizeof(blocks), to, NULL),
                      "%s", names[i]);
    }
    for (unsigned seed = 1; seed < 2000; seed++) {
        g_autoptr(GRand) random = g_rand_new_with_seed(seed);
        uint8_t blocks[2048];

        for (unsigned i = 0; i < sizeof(blocks); i++) {
            blocks[i] = (uint8_t)g_rand_int(random);
        }
        memcpy(blocks, "a/b", 4);
        blocks[156] = "05"[seed % 2];
        inv_archive_unpack(blocks, seed % sizeof(blocks), to, NULL);
    }
}
END_TEST

START_TEST(no_tree_is_refused)
{
    ck_assert_int_eq(program_run("inventory --sysfs @"), 2);
    ck_assert_ptr_nonnull(strstr(program_err,
                                 "has no bus/pci/devices; give a tree as Linux "
                                 "mounts it at /sys"));
    put_tree();
    put("0000:17:00.0", "class", "display\n");
    ck_assert_int_eq(program_run("inventory --sysfs @/sys"), 2);
    ck_assert_ptr_nonnull(strstr(program_err, "0000:17:00.0/class is no "
                                              "number"));
}
END_TEST

/* Things in the place of a file that would never end. */
START_TEST(what_is_no_file_is_not_read)
{
    static const char *const names[] = {"device", "config", "vpd", "numa_node"};

    for (unsigned i = 0; i < G_N_ELEMENTS(names) * 2; i++) {
        const char *name = names[i / 2];
        g_autofree char *path = g_strconcat(PCI "0000:ca:00.0/", name, NULL);
        g_autofree char *place = program_place(path);
        bool is_needed = strcmp(name, "device") == 0;

        if (i == 0) {
            put_tree();
        }
        g_unlink(place);
        ck_assert_int_eq(
            i % 2 ? symlink("/dev/zero", place) : mkfifo(place, 0600), 0);
        ck_assert_int_eq(program_run("inventory --sysfs @/sys --ids @/ids"),
                         is_needed ? 2 : 0);
        ck_assert(!is_needed || strstr(program_err, "0000:ca:00.0/device is no "
                                                    "number"));
        g_unlink(place);
        put("0000:ca:00.0", name, is_needed ? "0x101b\n" : "1\n");
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sysfs");
    TCase *tcase = tcase_create("sysfs");

    tcase_add_checked_fixture(tcase, program_setup, program_teardown);
    tcase_add_test(tcase, tree_gives_devices);
    tcase_add_test(tcase, tree_gives_json_with_numa_node);
    tcase_add_test(tcase, requests_of_a_file_select);
    tcase_add_loop_test(tcase, bad_requests_are_refused_at_their_place, 0,
                        G_N_ELEMENTS(bad));
    tcase_add_test(tcase, ports_have_their_names_and_loans_are_left_out);
    tcase_add_test(tcase, displays_of_controllers_are_no_gpus);
    tcase_add_test(tcase, scrawls_become_text);
    tcase_add_test(tcase, what_a_host_sends_is_unpacked);
    tcase_add_loop_test(tcase, nothing_else_is_unpacked, 0,
                        G_N_ELEMENTS(strange));
    tcase_add_test(tcase, nothing_is_written_elsewhere);
    tcase_add_test(tcase, no_tree_is_refused);
    tcase_add_test(tcase, what_is_no_file_is_not_read);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
