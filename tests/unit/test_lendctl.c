/* SPDX-License-Identifier: MIT */
/*
 * Invariants: lendctl accepts exactly the numbers that its manual allows. It
 * finds the users of a device in the files of sysfs and procfs, which the test
 * makes in the layout of Linux. Names of devices look as in the manual of the
 * real system. JSON output is valid for any name. The exit status is 2 for
 * wrong usage, and 1 for a refusal. The environment variable FARSIDE is the
 * path of the program.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>

#include "lend.h"
#include "program.h"
#include "../suite.h"

START_TEST(numbers_are_parsed_exactly)
{
    static const char *const no_ids[] = {
        "", "0x", "g", " 1", "-1", "1 ", "123456789", "+1", "1.0", "0x0x1"};
    static const char *const no_windows[] = {
        "", "0", "-1", "1.5", "1MiB", "0x1", " 16", "1e3", "99999999999999"};
    static const char *const no_nodes[] = {"", "0", "-1", "4294967296", "a"};
    static const char *const no_seconds[] = {"",   "-1",    "inf", "nan",
                                             "1s", "86401", "0x1"};
    struct dl_ctl_function function;
    __u32 number = 77;
    __u64 window = 77;
    int ms = 77;

    for (size_t i = 0; i < G_N_ELEMENTS(no_ids); i++) {
        ck_assert_msg(!lend_parse_id(no_ids[i], &number), "%s", no_ids[i]);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(no_nodes); i++) {
        ck_assert_msg(!lend_parse_node(no_nodes[i], &number), "%s",
                      no_nodes[i]);
    }
    ck_assert_uint_eq(number, 77);
    ck_assert(lend_parse_id("80000", &number));
    ck_assert_uint_eq(number, 0x80000);
    ck_assert(lend_parse_id("0xFFFFffff", &number));
    ck_assert_uint_eq(number, 0xffffffff);
    ck_assert(lend_parse_node("4294967295", &number));
    ck_assert_uint_eq(number, 4294967295u);

    for (size_t i = 0; i < G_N_ELEMENTS(no_windows); i++) {
        ck_assert_msg(!lend_parse_window(no_windows[i], &window), "%s",
                      no_windows[i]);
    }
    ck_assert(window == 77);
    ck_assert(lend_parse_window("512", &window));
    ck_assert(window == 536870912);
    ck_assert(lend_parse_window("8796093022208", &window)); /* all of 2^63 */
    ck_assert(window == 9223372036854775808ull);

    for (size_t i = 0; i < G_N_ELEMENTS(no_seconds); i++) {
        ck_assert_msg(!lend_parse_seconds(no_seconds[i], &ms), "%s",
                      no_seconds[i]);
    }
    ck_assert_int_eq(ms, 77);
    ck_assert(lend_parse_seconds("0.25", &ms));
    ck_assert_int_eq(ms, 250);

    memset(&function, 0xff, sizeof(function));
    ck_assert(lend_parse_function("21:1f.7", &function));
    ck_assert_uint_eq(function.segment, 0);
    ck_assert_uint_eq(function.reserved, 0);
    ck_assert_uint_eq(function.bus, 0x21);
    ck_assert_uint_eq(function.devfn, 0xff);
    ck_assert(lend_parse_function("10000:00:05.0", &function));
    ck_assert_uint_eq(function.segment, 0x10000);
    ck_assert_uint_eq(function.devfn, 0x28);
}
END_TEST

static const char *const no_functions[] = {
    "",           "00",       "00:05",    "00:05.",
    "00:05.8",    "00:20.0",  "100:05.0", ":00:05.0",
    "0:0:0:05.0", "00:05.0x", "00:05.00", " 00:05.0",
    "0000:00:05", "zz:05.0",  "00.05:0",  "123456789:00:05.0",
    "00:05.0.0",  "00:05.0:", "..:",      "::.",
};

START_TEST(text_that_is_no_function_is_refused)
{
    struct dl_ctl_function function = {.bus = 77};

    ck_assert_msg(!lend_parse_function(no_functions[_i], &function), "%s",
                  no_functions[_i]);
    ck_assert_uint_eq(function.bus, 77);
}
END_TEST

START_TEST(a_function_survives_the_way_to_text_and_back)
{
    struct dl_ctl_function function, again;
    char text[LEND_TEXT];

    for (unsigned i = 0; i < 0x30000; i += 7) {
        function = (struct dl_ctl_function){
            .segment = i / 3, .bus = i & 0xff, .devfn = i * 5 & 0xff};
        ck_assert(
            lend_parse_function(lend_function_text(&function, text), &again));
        ck_assert_mem_eq(&function, &again, sizeof(function));
    }
    function = (struct dl_ctl_function){.bus = 0xfe, .devfn = 0xfe};
    ck_assert_str_eq(lend_function_text(&function, text), "0000:fe:1f.6");
}
END_TEST

START_TEST(sizes_are_whole_numbers)
{
    char text[LEND_TEXT];

    ck_assert_str_eq(lend_size_text(0, text), "0 B");
    ck_assert_str_eq(lend_size_text(1023, text), "1023 B");
    ck_assert_str_eq(lend_size_text(65536, text), "64 KiB");
    ck_assert_str_eq(lend_size_text(512ull << 20, text), "512 MiB");
    ck_assert_str_eq(lend_size_text(1536ull << 20, text), "1536 MiB");
    ck_assert_str_eq(lend_size_text(1ull << 53, text), "8192 TiB");
}
END_TEST

/* The device of the manual's example. The list of PCI IDs has its vendor, but
 * not its device ID. */
static const struct dl_ctl_device optane = {
    .id = 0x80000,
    .state = DL_CTL_BORROWED,
    .flags = DL_CTL_HERE,
    .node = 8,
    .borrower = 4,
    .class = 0x010802,
    .vendor = 0x8086,
    .device = 0xf1a5,
    .function = {.bus = 3},
    .local = {.segment = 0x10000, .bus = 4, .devfn = 0x28},
    .window = 512 << 20,
    .window_free = 511 << 20,
    .driver = "nvme",
};

static char *write_ids(void)
{
    char *path = program_place("pci.ids");

    ck_assert(g_file_set_contents(path,
                                  "# a comment\n\n"
                                  "1b36  Red Hat, Inc.\n"
                                  "\t0010  QEMU NVM Express Controller\n"
                                  "\t\t1af4 1100  QEMU Virtual Machine\n"
                                  "\tf1a5  not of this vendor\n"
                                  "8086  Intel Corporation\n"
                                  "\t10d3  82574L Gigabit Network Connection\n"
                                  "\t\t103c f1a5  a subsystem, no device\n"
                                  "C 01  Mass storage controller\n"
                                  "\t08  Non-Volatile memory controller\n"
                                  "\t\t02  NVM Express\n"
                                  "C 02  Network controller\n"
                                  "\t00  Ethernet controller\n",
                                  -1, NULL));
    return path;
}

START_TEST(a_device_is_named_as_in_the_manual)
{
    g_autofree char *ids = write_ids();
    struct dl_ctl_device device = optane;
    char text[LEND_TEXT];

    /* smartio_tool borrow 80000: "Name: Non-Volatile memory controller ..." */
    ck_assert_str_eq(
        lend_name(&device, ids, text),
        "Non-Volatile memory controller Intel Corporation Device f1a5");
    device.device = 0x10d3;
    device.class = 0x020000;
    ck_assert_str_eq(lend_name(&device, ids, text),
                     "Ethernet controller Intel Corporation "
                     "82574L Gigabit Network Connection");
    /* A class whose subclass is not in the list is named by its base. */
    device.class = 0x028000;
    device.vendor = 0x1234;
    ck_assert_str_eq(lend_name(&device, ids, text),
                     "Network controller Vendor 1234 Device 10d3");
    ck_assert_str_eq(lend_name(&device, "/nowhere", text),
                     "Class 0280 Vendor 1234 Device 10d3");
}
END_TEST

/* Names of any length stay within their buffers. */
START_TEST(any_file_of_names_is_survived)
{
    g_autofree char *ids = program_place("pci.ids");
    g_autoptr(GRand) random = g_rand_new_with_seed(_i);
    g_autoptr(GString) bytes = g_string_new("8086  ");
    struct dl_ctl_device device = optane;
    char text[LEND_TEXT];

    for (unsigned i = 0; i < 5000; i++) {
        static const char alphabet[] = "C 018f5\t\n\taz\xff#";

        g_string_append_c(
            bytes, alphabet[g_rand_int_range(random, 0, sizeof(alphabet) - 1)]);
    }
    ck_assert(g_file_set_contents(ids, bytes->str, bytes->len, NULL));
    lend_name(&device, ids, text);
    ck_assert_uint_lt(strlen(text), LEND_TEXT);
}
END_TEST

static void put_link(const char *name, const char *target)
{
    g_autofree char *path = program_place(name);
    g_autofree char *dir = g_path_get_dirname(path);

    ck_assert_int_eq(g_mkdir_with_parents(dir, 0700), 0);
    ck_assert_int_eq(symlink(target, path), 0);
}

#define NVME      "sys/devices/pci0000:00/0000:00:06.0"
#define NVME_DISK NVME "/nvme/nvme0/nvme0n1"
#define NIC       "sys/devices/pci0000:00/0000:00:07.0"

static const struct dl_ctl_function nvme = {.devfn = 0x30};
static const struct dl_ctl_function nic = {.devfn = 0x38};

/* Makes the files that Linux has for a drive with one partition and for a NIC.
 */
static void put_system(void)
{
    put_link("sys/bus/pci/devices/0000:00:06.0",
             "../../../devices/pci0000:00/0000:00:06.0");
    put_link("sys/bus/pci/devices/0000:00:07.0",
             "../../../devices/pci0000:00/0000:00:07.0");
    put_link(NVME "/driver", "../../../bus/pci/drivers/nvme");
    program_put(NVME "/uevent", "DRIVER=nvme\nPCI_CLASS=10802\n");
    program_put(NVME "/reset_method", "flr bus\n");
    program_put(NVME "/nvme/nvme0/dev", "241:0\n");
    program_put(NVME "/nvme/nvme0/uevent",
                "MAJOR=241\nMINOR=0\nDEVNAME=nvme0\n");
    put_link(NVME "/nvme/nvme0/subsystem", "../../../../../class/nvme");
    program_put(NVME_DISK "/dev", "259:0\n");
    program_put(NVME_DISK "/uevent",
                "MAJOR=259\nDEVNAME=nvme0n1\nDEVTYPE=disk\n");
    put_link(NVME_DISK "/subsystem", "../../../../../../class/block");
    program_put(NVME_DISK "/nvme0n1p1/dev", "259:1\n");
    program_put(NVME_DISK "/nvme0n1p1/partition", "1\n");
    program_put(NVME_DISK "/nvme0n1p1/uevent", "DEVNAME=nvme0n1p1\n");
    put_link(NVME_DISK "/nvme0n1p1/subsystem",
             "../../../../../../../class/block");
    program_put(NIC "/net/eth0/flags", "0x1002\n");
    put_link(NIC "/net/eth0/subsystem", "../../../../../class/net");
    program_put("proc/self/mountinfo",
                "21 1 0:20 / / rw - tmpfs none rw\n"
                "22 1 8:1 / /boot rw - ext4 /dev/sda1 rw\n");
    program_put("proc/swaps", "Filename Type Size Used Priority\n"
                              "/dev/sda2 partition 1 0 -2\n");
}

static void check_users(const struct dl_ctl_function *function,
                        const char *first)
{
    struct lend_users users;

    lend_users_find(&users, program_folder, function);
    if (!first) {
        ck_assert_msg(users.n == 0, "%s", users.text[0]);
        return;
    }
    ck_assert_uint_eq(users.n, 1);
    ck_assert_str_eq(users.text[0], first);
}

START_TEST(a_device_that_nobody_uses_is_free)
{
    static const struct dl_ctl_function gone = {.segment = 0x1f000};
    char text[LEND_TEXT];

    put_system();
    check_users(&nvme, NULL);
    check_users(&nic, NULL);
    ck_assert(lend_driver(program_folder, &nvme, text));
    ck_assert_str_eq(text, "nvme");
    ck_assert(!lend_driver(program_folder, &nic, text));
    ck_assert(lend_exists(program_folder, &nic));
    ck_assert(lend_has_reset(program_folder, &nvme));
    ck_assert(!lend_has_reset(program_folder, &nic));
    program_put(NIC "/reset_method", "\n");
    ck_assert(!lend_has_reset(program_folder, &nic));
    ck_assert(!lend_exists(program_folder, &gone));
    ck_assert_uint_eq(lend_subdevices(program_folder, &nvme, "block", text), 1);
    ck_assert_str_eq(text, "nvme0n1");
    ck_assert_uint_eq(lend_subdevices(program_folder, &nvme, "net", text), 0);
    ck_assert_str_eq(text, "");
    ck_assert_uint_eq(lend_subdevices(program_folder, &nic, "net", text), 1);
    ck_assert_str_eq(text, "eth0");
}
END_TEST

/* Files of a drive with two virtual functions, 06.1 and 06.2, as Linux has
 * them. */
static void put_virtual(void)
{
    put_system();
    put_link("sys/bus/pci/devices/0000:00:06.1",
             "../../../devices/pci0000:00/0000:00:06.1");
    put_link("sys/bus/pci/devices/0000:00:06.2",
             "../../../devices/pci0000:00/0000:00:06.2");
    put_link("sys/devices/pci0000:00/0000:00:06.1/physfn", "../0000:00:06.0");
    put_link("sys/devices/pci0000:00/0000:00:06.2/physfn", "../0000:00:06.0");
    put_link(NVME "/virtfn0", "../0000:00:06.1");
    put_link(NVME "/virtfn1", "../0000:00:06.2");
}

START_TEST(a_virtual_function_is_found)
{
    static const struct dl_ctl_function second = {.devfn = 0x32};
    static const struct dl_ctl_function none = {.devfn = 0x33};
    struct lend_virtual found;
    char why[LEND_TEXT] = "";
    unsigned number = 77;

    put_virtual();
    ck_assert_msg(lend_virtual_find(program_folder, &second, &found, why), "%s",
                  why);
    ck_assert_str_eq(found.physical, "0000:00:06.0");
    ck_assert_str_eq(found.controller, "nvme0");
    ck_assert_uint_eq(found.number, 2);
    ck_assert_uint_eq(found.queues, 0);

    ck_assert(!lend_virtual_find(program_folder, &none, &found, why));
    ck_assert_str_eq(why, "there is no such function");
    ck_assert(!lend_virtual_find(program_folder, &nvme, &found, why));
    ck_assert_ptr_nonnull(strstr(why, "no virtual function"));
    put_link("sys/devices/pci0000:00/0000:00:06.2/driver",
             "../../../bus/pci/drivers/dl_lender");
    ck_assert(!lend_virtual_find(program_folder, &second, &found, why));
    ck_assert_ptr_nonnull(strstr(why, "its driver dl_lender uses it"));

    ck_assert(!lend_parse_share("0", &number));
    ck_assert(!lend_parse_share("65536", &number));
    ck_assert_uint_eq(number, 77);
    ck_assert(lend_parse_share("65535", &number));
    ck_assert_uint_eq(number, 65535);
}
END_TEST

/* The functions of a node like that of test_inv_sysfs.c, and another card. */
static const struct {
    const char *address, *class_code, *vendor, *device, *gid, *physical;
} functions[] = {
    {"0000:c9:02.0", "0x060400", "0x8086", "0x347a", NULL, NULL},
    {"0000:ca:00.0", "0x020700", "0x15b3", "0x101b",
     "fe80:0000:0000:0001:0002:c903:0012:3456", NULL},
    {"0000:ca:00.1", "0x020700", "0x15b3", "0x101b",
     "fe80:0000:0000:0002:0002:c903:0012:3457", NULL},
    {"0000:ca:00.2", "0x020700", "0x15b3", "0x101c", NULL, "0000:ca:00.0"},
    {"0000:ca:00.3", "0x020700", "0x15b3", "0x101c", NULL, "0000:ca:00.0"},
    {"0000:65:00.0", "0x010802", "0x1b36", "0x0010", NULL, NULL},
    {"0000:17:00.0", "0x010802", "0x1b36", "0x0010", NULL, NULL},
    {"0001:01:00.0", "0x020000", "0x8086", "0x10d3",
     "fe80:0000:0000:0000:0002:c903:0012:3456", NULL},
    {"0001:02:00.0", "0x120000", "0x9999", "0x10d3", NULL, NULL},
    {"1f000:00:06.0", "0x010802", "0x1b36", "0x0010", NULL, NULL},
};

static void put_file(const char *address, const char *name, const char *text)
{
    g_autofree char *path =
        g_strdup_printf("sys/bus/pci/devices/%s/%s", address, name);

    program_put(path, text);
}

/* Makes sysfs with these functions, the last one first. */
static void put_functions(void)
{
    unsigned virtuals = 0;

    for (size_t i = G_N_ELEMENTS(functions); i-- > 0;) {
        const char *address = functions[i].address;

        put_file(address, "class", functions[i].class_code);
        put_file(address, "vendor", functions[i].vendor);
        put_file(address, "device", functions[i].device);
        if (functions[i].gid) {
            put_file(address, "infiniband/mlx5_0/ports/1/gids/0",
                     functions[i].gid);
        }
    }
    for (size_t i = 0; i < G_N_ELEMENTS(functions); i++) {
        g_autofree char *link = NULL, *back = NULL, *there = NULL, *name = NULL;

        if (functions[i].physical) {
            link = g_strdup_printf("sys/bus/pci/devices/%s/physfn",
                                   functions[i].address);
            there = g_strdup_printf("../%s", functions[i].physical);
            put_link(link, there);
            back = g_strdup_printf("../%s", functions[i].address);
            name = g_strdup_printf("sys/bus/pci/devices/%s/virtfn%u",
                                   functions[i].physical, virtuals++);
            put_link(name, back);
        }
    }
}

static const struct {
    const char *words; /* device|vendor|fabric|instance|virtual function */
    const char *slot;  /* NULL: refused */
    const char *why;   /* part of the reason */
} chosen[] = {
    {"QEMU NVM Express Controller||||", "0000:17:00.0", NULL},
    {"QEMU NVM Express Controller|||1|", "0000:65:00.0", NULL},
    {"QEMU NVM Express Controller|||2|", NULL,
     "there are 2 devices \"QEMU NVM Express Controller\"; write --instance "
     "with a number from 0 to 1"},
    {"0x101b||fe80:0000:0000:0002||", "0000:ca:00.1", NULL},
    {"0x101b||||", NULL,
     "of more than one fabric; add --fabric; there are fe80:0000:0000:0001, "
     "fe80:0000:0000:0002"},
    {"0x101b||fe80:0000:0000:0003||", NULL,
     "there is no device \"0x101b\" of fabric \"fe80:0000:0000:0003\"; there "
     "are fe80:0000:0000:0001, fe80:0000:0000:0002"},
    {"0x101b||fe80:0000:0000:0001||1", "0000:ca:00.3", NULL},
    {"0x101b||fe80:0000:0000:0001||2", NULL,
     "has no virtual function 2; there are 2, counted from 0"},
    {"0x101b||fe80:0000:0000:0002||0", NULL, "has no virtual functions"},
    {"82574L Gigabit Network Connection||||", "0001:01:00.0", NULL},
    {"82574L Gigabit Network Connection||here||", NULL, "leave --fabric out"},
    {"0x10d3|0x9999|||", "0001:02:00.0", NULL},
    {"0x10d3|Intel Corporation|||", NULL, "there is only 0x9999"},
    {"0x101c||||", NULL,
     "there is no device \"0x101c\"; there are QEMU NVM Express Controller, "
     "0x101b, 82574L Gigabit Network Connection, 0x10d3"},
    /* A serial number, a GUID and an address are no words. */
    {"0000:ca:00.0||||", NULL, "there is no device \"0000:ca:00.0\""},
    {"0002:c903:0012:3456||||", NULL, "there is no device"},
};

/* Returns the request that the @words of a row of chosen[] stand for. */
static struct lend_request request_of(char **words)
{
    return (struct lend_request){
        .device = words[0],
        .vendor = *words[1] ? words[1] : NULL,
        .fabric = *words[2] ? words[2] : NULL,
        .instance = (unsigned)atoi(words[3]),
        .is_virtual = *words[4] != '\0',
        .virtual_number = (unsigned)atoi(words[4]),
    };
}

static void check_choice(struct lend_choices *choices, int row)
{
    g_auto(GStrv) words = g_strsplit(chosen[row].words, "|", -1);
    struct lend_request request = request_of(words);
    char why[LEND_WHY] = "", text[LEND_TEXT];
    const struct lend_choice *choice = lend_choose(choices, &request, why);

    if (!chosen[row].slot) {
        ck_assert_ptr_null(choice);
        ck_assert_msg(strstr(why, chosen[row].why), "%s", why);
        return;
    }
    ck_assert_msg(choice, "%s", why);
    ck_assert_str_eq(lend_function_text(&choice->function, text),
                     chosen[row].slot);
}

START_TEST(words_choose_a_device_of_this_node)
{
    g_autofree char *ids = write_ids();
    struct lend_choices choices = {0};

    put_functions();
    ck_assert(lend_choices_read(&choices, program_folder, ids));
    check_choice(&choices, _i);
    lend_choices_free(&choices);
}
END_TEST

static unsigned number_of(const char *text)
{
    return (unsigned)g_ascii_strtoull(text, NULL, 16);
}

/* Returns row @i of functions[] as the kernel lists a device of node 3. The
 * kernel knows the fabric because the owner said it, and the physical
 * function's ID and address. */
static struct dl_ctl_device listed(unsigned i, unsigned *virtuals)
{
    const char *physical = functions[i].physical;
    struct dl_ctl_function owner;
    struct dl_ctl_device device = {
        .id = 0x30000 + i,
        .node = 3,
        .class = number_of(functions[i].class_code),
        .vendor = (__u16)number_of(functions[i].vendor),
        .device = (__u16)number_of(functions[i].device),
    };

    ck_assert(lend_parse_function(functions[i].address, &device.function));
    ck_assert(lend_parse_function(physical ? physical : functions[i].address,
                                  &owner));
    device.physical = (__u16)(owner.bus << 8 | owner.devfn);
    device.physical_device = physical ? 0x101b : device.device;
    if (physical) {
        device.flags = DL_CTL_VIRTUAL;
        device.virtual_number = (__u16)(*virtuals)++;
    }
    if (physical || functions[i].gid) {
        device.fabric =
            lend_fabric(program_folder, physical ? &owner : &device.function);
    }
    return device;
}

/* The same words mean the same device on the node that borrows it. */
START_TEST(words_choose_a_device_of_another_node)
{
    g_autofree char *ids = write_ids();
    struct dl_ctl_device devices[G_N_ELEMENTS(functions)];
    struct lend_choices choices = {0};
    struct lend_request request = {.device = "0x101b", .node = 4};
    char why[LEND_WHY];
    unsigned n = 0, virtuals = 0;

    put_functions();
    /* No bridge has an ID, nor has a borrowed device another one. */
    for (unsigned i = 1; i + 1 < G_N_ELEMENTS(functions); i++) {
        devices[n++] = listed(i, &virtuals);
    }
    ck_assert(lend_choices_take(&choices, devices, n, ids));
    check_choice(&choices, _i);
    ck_assert_ptr_null(lend_choose(&choices, &request, why));
    ck_assert_str_eq(why,
                     "node 4 has no device with an ID; nodes that have: 3");
    lend_choices_free(&choices);
    /* The same drive in two nodes: the node must be said. */
    devices[0] = listed(5, &virtuals);
    devices[1] = listed(6, &virtuals);
    devices[1].node = 4;
    ck_assert(lend_choices_take(&choices, devices, 2, ids));
    request.device = "QEMU NVM Express Controller";
    ck_assert(lend_choose(&choices, &request, why));
    request.node = 0;
    ck_assert_ptr_null(lend_choose(&choices, &request, why));
    ck_assert(strstr(why, "of more than one node; add --node; there are 3, 4"));
    lend_choices_free(&choices);
}
END_TEST

/* As `farside inventory` shows the tree. */
START_TEST(the_inventory_counts_equal_devices)
{
    g_autofree char *ids = write_ids();
    g_autoptr(JsonParser) parser = json_parser_new();
    struct lend_choices choices = {0};
    JsonArray *rows;
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    put_functions();
    /* The display of a management controller is no GPU. */
    put_file("0000:03:00.0", "class", "0x030000");
    put_file("0000:03:00.0", "vendor", "0x1a03");
    put_file("0000:03:00.0", "device", "0x2000");
    ck_assert(lend_choices_read(&choices, program_folder, ids));
    lend_print_inventory(out, &choices, true);
    fclose(out);
    ck_assert(json_parser_load_from_data(parser, text, -1, NULL));
    free(text);
    rows = json_node_get_array(json_parser_get_root(parser));
    ck_assert_uint_eq(json_array_get_length(rows), 5);
    for (unsigned i = 0; i < 5; i++) {
        static const char *const types[] = {
            "Storage", "Infiniband", "Infiniband", "Network", "Accelerator"};
        JsonObject *row = json_array_get_object_element(rows, i);

        ck_assert_str_eq(json_object_get_string_member(row, "type"), types[i]);
        ck_assert_int_eq(json_object_get_int_member(row, "count"),
                         i == 0 ? 2 : 1);
        ck_assert(json_object_has_member(row, "fabric") == (i == 1 || i == 2));
    }
    lend_choices_free(&choices);
}
END_TEST

START_TEST(a_mount_is_found)
{
    put_system();
    program_put("proc/self/mountinfo",
                "30 1 259:1 / /mnt/my\\040disk rw,relatime shared:1 - ext4 "
                "/dev/root rw\n");
    check_users(&nvme, "nvme0n1p1 is mounted on /mnt/my disk");
    check_users(&nic, NULL);
}
END_TEST

/* btrfs shows a device number of its own. Only the source names the device. */
START_TEST(a_mount_is_found_by_its_source)
{
    put_system();
    program_put("proc/self/mountinfo",
                "30 1 0:44 /sub /srv rw - btrfs /dev/nvme0n1 rw,subvol=/sub\n"
                "31 1 0:45 / /other rw - btrfs /dev/xnvme0n1 rw\n");
    check_users(&nvme, "nvme0n1 is mounted on /srv");
}
END_TEST

START_TEST(swap_is_found)
{
    put_system();
    program_put("proc/swaps", "Filename Type Size Used Priority\n"
                              "/dev/nvme0n1p1 partition 1048572 0 -2\n");
    check_users(&nvme, "nvme0n1p1 is swap space");
}
END_TEST

START_TEST(a_volume_on_it_is_found)
{
    put_system();
    program_put(NVME_DISK "/holders/dm-0/dm/name", "vg-root\n");
    check_users(&nvme, "nvme0n1 is part of dm-0 (vg-root)");
}
END_TEST

START_TEST(an_interface_that_is_up_is_found)
{
    put_system();
    program_put(NIC "/net/eth0/flags", "0x1003\n");
    check_users(&nic, "network interface eth0 is up");
    check_users(&nvme, NULL);
}
END_TEST

/* An NVMe namespace with several controllers: its disk is not below one of them
 * in sysfs. */
START_TEST(a_shared_namespace_is_found)
{
    char text[LEND_TEXT];

    put_system();
    program_put(NVME_DISK "/dev", "");
    put_link("sys/class/nvme-subsystem/nvme-subsys0",
             "../../devices/virtual/nvme-subsystem/nvme-subsys0");
    put_link("sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0",
             "../../../../pci0000:00/0000:00:06.0/nvme/nvme0");
    program_put("sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n9/dev",
                "259:9\n");
    program_put(
        "sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n9/uevent",
        "DEVNAME=nvme0n9\n");
    put_link(
        "sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n9/subsystem",
        "../../../../../class/block");
    program_put("proc/self/mountinfo",
                "30 1 259:9 / /data rw - xfs /dev/nvme0n9 rw\n");
    check_users(&nvme, "nvme0n9 is mounted on /data");
    ck_assert_uint_eq(lend_subdevices(program_folder, &nvme, "block", text), 1);
    ck_assert_str_eq(text, "nvme0n9");
}
END_TEST

/* /dev/null (1:3) takes the place of a device file that a process has open. */
START_TEST(a_process_is_found)
{
    struct lend_users users;

    put_system();
    program_put(NVME "/nvme/nvme0/dev", "1:3\n");
    program_put("proc/4711/comm", "fio\n");
    put_link("proc/4711/fd/3", "/dev/null");
    lend_users_find(&users, program_folder, &nvme);
    ck_assert_uint_eq(users.n, 1);
    ck_assert_str_eq(users.text[0], "nvme0 is open in fio (process 4711)");
}
END_TEST

/* docs/reference/gpu.md: names of functions with blanks between them. */
START_TEST(a_function_that_has_bound_its_memory_is_found)
{
    put_system();
    program_put(NVME "/importers", "\n");
    check_users(&nvme, NULL);
    program_put(NVME "/importers", "0000:00:06.0 1f000:00:05.0\n");
    check_users(&nvme, "its memory is bound to 0000:00:06.0 1f000:00:05.0");
}
END_TEST

START_TEST(a_device_that_is_not_there_is_not_used)
{
    struct dl_ctl_function none = {.bus = 99};
    char text[LEND_TEXT] = "x";

    put_system();
    check_users(&none, NULL);
    ck_assert_uint_eq(lend_subdevices(program_folder, &none, "net", text), 0);
    ck_assert_str_eq(text, "");
}
END_TEST

static const struct dl_ctl_node node8 = {
    .node = 8,
    .self = 4,
    .state = DL_CTL_NODE_UP,
    .direct_count = 1,
    .direct_max = 512ull << 20,
    .lut_count = 62,
    .lut_size = 65536,
    .adapter = "0000:00:05.0",
};

/* Returns the text that a printing function writes. */
static char *printed(void (*print)(FILE *, const struct dl_ctl_device *,
                                   unsigned int, const struct dl_ctl_node *,
                                   unsigned int, const char *),
                     const struct dl_ctl_device *device,
                     const struct dl_ctl_node *node, const char *ids)
{
    size_t size;
    char *text;
    FILE *out = open_memstream(&text, &size);

    print(out, device, device ? 1 : 0, node, node ? 1 : 0, ids);
    fclose(out);
    return text;
}

START_TEST(the_list_has_a_line_for_each)
{
    g_autofree char *ids = write_ids(), *text = NULL;
    g_auto(GStrv) lines = NULL;

    text = printed(lend_print_list, &optane, &node8, ids);
    lines = g_strsplit(text, "\n", -1);
    ck_assert_uint_eq(g_strv_length(lines), 6);
    ck_assert_str_eq(
        lines[1],
        "80000    8      0000:03:00.0  borrowed by node 4  512 MiB   "
        "Non-Volatile memory controller Intel Corporation Device f1a5 "
        "(here 10000:04:05.0)");
    ck_assert_str_eq(lines[4],
                     "8      0000:00:05.0 up             1 direct window (up "
                     "to 512 MiB), 62 entries of 64 KiB");
    /* Columns are aligned with their heads. */
    ck_assert_ptr_eq(strstr(lines[0], "Node") - lines[0] + lines[1],
                     strstr(lines[1], "8      0000"));
    ck_assert_ptr_eq(strstr(lines[0], "State") - lines[0] + lines[1],
                     strstr(lines[1], "borrowed"));
    ck_assert_ptr_eq(strstr(lines[0], "Name") - lines[0] + lines[1],
                     strstr(lines[1], "Non-"));
}
END_TEST

START_TEST(json_says_the_same)
{
    g_autofree char *ids = write_ids(), *text = NULL;
    g_autoptr(JsonParser) parser = json_parser_new();
    JsonObject *root, *device, *node;

    text = printed(lend_json_list, &optane, &node8, ids);
    ck_assert(json_parser_load_from_data(parser, text, -1, NULL));
    root = json_node_get_object(json_parser_get_root(parser));
    device = json_array_get_object_element(
        json_object_get_array_member(root, "devices"), 0);
    node = json_array_get_object_element(
        json_object_get_array_member(root, "nodes"), 0);
    ck_assert_str_eq(json_object_get_string_member(device, "id"), "80000");
    ck_assert_str_eq(json_object_get_string_member(device, "state"),
                     "borrowed");
    ck_assert_int_eq(json_object_get_int_member(device, "node"), 8);
    ck_assert_int_eq(json_object_get_int_member(device, "borrower"), 4);
    ck_assert_int_eq(json_object_get_int_member(device, "window"), 536870912);
    ck_assert_str_eq(json_object_get_string_member(device, "here"),
                     "10000:04:05.0");
    ck_assert(!json_object_get_boolean_member(device, "own"));
    ck_assert_str_eq(
        json_object_get_string_member(device, "name"),
        "Non-Volatile memory controller Intel Corporation Device f1a5");
    ck_assert_str_eq(json_object_get_string_member(node, "state"), "up");
    ck_assert_int_eq(
        json_object_get_int_member(json_object_get_object_member(node, "free"),
                                   "direct_max"),
        536870912);
}
END_TEST

START_TEST(empty_lists_are_lists)
{
    g_autofree char *json = printed(lend_json_list, NULL, NULL, NULL);
    g_autoptr(JsonParser) parser = json_parser_new();

    ck_assert(json_parser_load_from_data(parser, json, -1, NULL));
}
END_TEST

/* Random bytes as names: the output parses as JSON, and valid UTF-8 comes back
 * unchanged. */
START_TEST(any_string_is_json)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(_i);

    for (unsigned round = 0; round < 200; round++) {
        g_autoptr(JsonParser) parser = json_parser_new();
        g_autofree char *array = NULL, *text = NULL;
        char name[40] = "";
        size_t size;
        FILE *out = open_memstream(&text, &size);

        for (unsigned i = 0; i < sizeof(name) - 1; i++) {
            name[i] = (char)(round % 2 ? g_rand_int_range(random, 1, 256)
                                       : g_rand_int_range(random, 1, 128));
        }
        lend_json_string(out, name);
        fclose(out);
        ck_assert(g_utf8_validate(text, -1, NULL));
        array = g_strdup_printf("[%s]", text);
        ck_assert_msg(json_parser_load_from_data(parser, array, -1, NULL), "%s",
                      text);
        if (g_utf8_validate(name, -1, NULL)) {
            ck_assert_str_eq(
                json_array_get_string_element(
                    json_node_get_array(json_parser_get_root(parser)), 0),
                name);
        }
    }
}
END_TEST

static const struct {
    const char *words;
    const char *says;
} wrong[] = {
    {"", "a verb is missing"},
    {"lend", "no verb \"lend\""},
    {"list 1", "too many arguments; usage: lendctl list"},
    {"add", "too few arguments; usage: lendctl add DEVICE"},
    {"add 00:05", "write it as lspci does"},
    {"borrow", "usage: lendctl borrow ID [WINDOW-SIZE]"},
    {"borrow 1 2 3", "too many arguments"},
    {"borrow xyz", "\"xyz\" is no ID"},
    {"borrow 10000 0", "whole number of MiB"},
    {"borrow 10000 1GiB", "whole number of MiB"},
    {"return 10000 --force=1", "force"},
    {"borrow 10000 --force", "does not take this option"},
    {"list --wait 5", "does not take this option"},
    {"borrow 10000 --wait soon", "number of seconds"},
    {"connect 0", "number from 1 on"},
    {"connect me", "\"me\" is no node"},
    {"list --nonsense", "nonsense"},
    {"add --vendor Intel", "lendctl add --device NAME"},
    {"borrow --node 1 10000", "lendctl borrow --device NAME"},
    {"add --device x 0000:03:00.0", "too many arguments"},
    {"borrow --device x 1 2", "too many arguments"},
    {"borrow --device x 0", "whole number of MiB"},
    {"return --device x", "too few arguments"},
    {"add --device x --instance -1", "number from 0 to 65535"},
    {"add --device x --node 2", "does not take this option"},
};

START_TEST(wrong_usage_is_told)
{
    /* An empty word is no word. */
    if (*wrong[_i].words) {
        ck_assert_int_eq(program_run(wrong[_i].words), 2);
    } else {
        ck_assert_int_eq(program_run("--"), 2);
    }
    ck_assert_msg(strstr(program_err, wrong[_i].says), "%s", program_err);
    ck_assert_str_eq(program_out, "");
}
END_TEST

START_TEST(pairs_are_listed)
{
    static const struct dl_ctl_p2p pairs[] = {
        {0x10000, 0x20001, DL_CTL_P2P_TWO_LENDERS, 3, {0}},
        {0x20001, 0x30000, DL_CTL_P2P_BORROWER, 0, {0}},
        {1, 2, 77, 0, {0}},
    };
    g_autoptr(JsonParser) parser = json_parser_new();
    JsonArray *list;
    JsonObject *pair;
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    lend_print_p2p(out, pairs, G_N_ELEMENTS(pairs));
    fclose(out);
    ck_assert_str_eq(text, "From     To       Way                   Mappings\n"
                           "10000    20001    lender to lender      3\n"
                           "20001    30000    lender and this node  0\n"
                           "1        2        unknown               0\n");
    free(text);
    out = open_memstream(&text, &size);
    lend_json_p2p(out, pairs, G_N_ELEMENTS(pairs));
    fclose(out);
    ck_assert(json_parser_load_from_data(parser, text, -1, NULL));
    free(text);
    list = json_object_get_array_member(
        json_node_get_object(json_parser_get_root(parser)), "p2p");
    ck_assert_uint_eq(json_array_get_length(list), 3);
    pair = json_array_get_object_element(list, 0);
    ck_assert_str_eq(json_object_get_string_member(pair, "source"), "10000");
    ck_assert_str_eq(json_object_get_string_member(pair, "target"), "20001");
    ck_assert_str_eq(json_object_get_string_member(pair, "path"),
                     "two-lenders");
    ck_assert_int_eq(json_object_get_int_member(pair, "mappings"), 3);
}
END_TEST

START_TEST(help_names_every_verb)
{
    static const char *const verbs[] = {
        "list",      "inventory",   "add",        "remove",
        "available", "unavailable", "borrow",     "return",
        "connect",   "disconnect",  "enable-p2p", "disable-p2p",
        "list-p2p",  "allow",       "disallow",   "list-allowed"};

    ck_assert_int_eq(program_run("--help"), 0);
    for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++) {
        ck_assert(strstr(program_out, verbs[i]));
    }
    for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++) {
        g_autofree char *words = g_strdup_printf("%s --help", verbs[i]);
        g_autofree char *usage = g_strdup_printf("lendctl %s", verbs[i]);

        ck_assert_int_eq(program_run(words), 0);
        ck_assert(strstr(program_out, usage));
        ck_assert_str_eq(program_err, "");
    }
}
END_TEST

START_TEST(without_the_module_it_says_so)
{
    g_autoptr(JsonParser) parser = json_parser_new();
    JsonObject *error;

    if (g_file_test("/dev/dl_ctl", G_FILE_TEST_EXISTS)) {
        return;
    }
    ck_assert_int_eq(program_run("list"), 1);
    ck_assert(strstr(program_err, "modprobe dl_ctl"));
    ck_assert_int_eq(program_run("--json borrow 10000"), 1);
    ck_assert(json_parser_load_from_data(parser, program_out, -1, NULL));
    error = json_node_get_object(json_parser_get_root(parser));
    ck_assert_str_eq(json_object_get_string_member(error, "errno"), "ENOENT");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lendctl");
    TCase *text = tcase_create("text");
    TCase *use = tcase_create("use");
    TCase *program = tcase_create("program");

    tcase_add_checked_fixture(text, program_setup, program_teardown);
    tcase_add_test(text, numbers_are_parsed_exactly);
    tcase_add_loop_test(text, text_that_is_no_function_is_refused, 0,
                        G_N_ELEMENTS(no_functions));
    tcase_add_test(text, a_function_survives_the_way_to_text_and_back);
    tcase_add_test(text, sizes_are_whole_numbers);
    tcase_add_test(text, a_device_is_named_as_in_the_manual);
    tcase_add_loop_test(text, any_file_of_names_is_survived, 0, 20);
    tcase_add_test(text, the_list_has_a_line_for_each);
    tcase_add_test(text, json_says_the_same);
    tcase_add_test(text, empty_lists_are_lists);
    tcase_add_loop_test(text, any_string_is_json, 0, 10);
    suite_add_tcase(suite, text);

    tcase_add_checked_fixture(use, program_setup, program_teardown);
    tcase_add_test(use, a_device_that_nobody_uses_is_free);
    tcase_add_test(use, a_virtual_function_is_found);
    tcase_add_loop_test(use, words_choose_a_device_of_this_node, 0,
                        G_N_ELEMENTS(chosen));
    tcase_add_loop_test(use, words_choose_a_device_of_another_node, 0,
                        G_N_ELEMENTS(chosen));
    tcase_add_test(use, the_inventory_counts_equal_devices);
    tcase_add_test(use, a_mount_is_found);
    tcase_add_test(use, a_mount_is_found_by_its_source);
    tcase_add_test(use, swap_is_found);
    tcase_add_test(use, a_volume_on_it_is_found);
    tcase_add_test(use, an_interface_that_is_up_is_found);
    tcase_add_test(use, a_shared_namespace_is_found);
    tcase_add_test(use, a_process_is_found);
    tcase_add_test(use, a_function_that_has_bound_its_memory_is_found);
    tcase_add_test(use, a_device_that_is_not_there_is_not_used);
    suite_add_tcase(suite, use);

    tcase_add_checked_fixture(program, program_setup, program_teardown);
    tcase_add_loop_test(program, wrong_usage_is_told, 0, G_N_ELEMENTS(wrong));
    tcase_add_test(program, help_names_every_verb);
    tcase_add_test(program, pairs_are_listed);
    tcase_add_test(program, without_the_module_it_says_so);
    suite_add_tcase(suite, program);

    return run_suite(suite);
}
