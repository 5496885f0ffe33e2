/* SPDX-License-Identifier: MIT */
/* The keys of the description's sections. */
#include "topo_schema_keys_priv.h"

static const TopoKey scenario_keys[] = {
    NEEDS("name", NAME, "name of the scenario, and of its results"),
    MAY("description", TEXT, NULL, "a sentence for readers"),
    MAY("cluster", TEXT, NULL,
        "path, from the file's directory, of a file with the sections chips, "
        "hosts, lend, links, networks and parts, for several experiments on "
        "one cluster"),
    MAY("parts", PARTS, NULL, "profiles of this file: see Parts"),
    LIST("hosts", host, REQUIRED, "the hosts"),
    LIST("links", link, 0, "the cables between NTB adapters"),
    LIST("chips", chip, 0, "the switches with an NTB for each of their hosts"),
    LIST("networks", network, 0, "the networks between ports of NICs"),
    LIST("lend", lend, 0, "the loans: a device and the host that borrows it"),
    LIST("faults", fault, 0, "what goes wrong, and when"),
    MAP("workload", workload, "the flows of data"),
    LIST("variants", variant, 0,
         "named sets of changes, each simulated; the outermost axis"),
    LIST("sweep", axis, 0, "axes of the experiment; they multiply"),
    MAP("measure", measure, "the columns of the result"),
    MAP("compare", compare, "the comparison of results with a baseline"),
    MAP("plot", plot, "the plot of the results"),
};
SECTION(scenario, "description", "The whole file.");

static const TopoKey host_keys[] = {
    NEEDS("name", NAME, "its name"),
    NEEDS("cpu", REF, "a part of kind cpu"),
    MAY("iommu", BOOL, "off",
        "on: DMA of this host's devices is translated, and its switches "
        "redirect peer-to-peer requests to the root"),
    MAY("set", SET, NULL, "keys of the CPU part that differ in this host"),
    RANGE("preallocated", BYTES, NULL, "0B", "1024TiB", 0,
          "memory that it has set apart for segments. If its IOMMU is off, the "
          "adapters of other hosts reserve no more entries for it than this "
          "takes (`window.reserved`); without this key they reserve all"),
    LIST("switches", switch, 0, "its switches"),
    LIST("devices", device, 0, "its devices, NTB adapters included"),
    LIST("functions", function, 0,
         "the PCI functions of the real host, for `farside topo`; an import "
         "writes them"),
    MAP("vm", vm, "the virtual machine that emulates it"),
    LIST(
        "vms", inner, 0,
        "virtual machines inside that one; an empty list if it runs those of other hosts only"),
};
SECTION(host, "host", "A member of `hosts`.");

#define ATTACH                                                                 \
    NEEDS("at", REF,                                                           \
          "a root port of the CPU, or a switch; `sw0:3` names downstream "     \
          "port 3, `sw0` takes the first free one"),                           \
        MAY("speed", SPEED, NULL,                                              \
            "speed of the link to it; without it the best that both support"), \
        MAY("width", WIDTH, NULL, "the same for the width"),                   \
        RANGE("share", INT, "1", "1", "256", 0,                                \
              "share of what it sends, at the egress ports of a switch with "  \
              "`arbitration: port-table`"),                                    \
        MAY("set", SET, NULL, "keys of the part that differ in this one")

static const TopoKey switch_keys[] = {
    NEEDS("name", NAME, "its name, unique in the host"),
    NEEDS("part", REF, "a part of kind switch"),
    ATTACH,
    WORD(
        "acs", "auto", "auto|on|off", 0,
        "on: its ports redirect peer-to-peer requests to the root; auto: on if "
        "the part can and the host's IOMMU is on"),
    WORD("acs_direct", "off", "off|requests|on", 0,
         "requests with a translated address that it does not redirect: "
         "requests: those alone (ACS Direct Translated P2P); on: their "
         "completions, too (and no P2P Completion Redirect)"),
    RANGE("uplink_share", INT, "1", "1", "256", 0,
          "the same for what comes from its upstream port"),
    MAY("chip", NAME, NULL,
        "switches of a host with the same `chip` are partitions of one chip: "
        "what goes from one to another stays inside the chip"),
};
SECTION(switch, "switch", "A member of a host's `switches`.");

static const TopoKey device_keys[] = {
    NEEDS("name", NAME, "its name, unique in the host; not ram or cpu"),
    NEEDS("part", REF, "a part of kind gpu, endpoint or ntb"),
    ATTACH,
    MAY("chip", NAME, NULL,
        "of an NTB adapter: adapters of several hosts with the same `chip` are "
        "partitions of one switch chip, which joins their hosts without "
        "cables; a simulation only"),
    WORD(
        "attached", "host", "host|fabric", 0,
        "fabric: a Fabric Attached Device of SmartIO, whose host stands for the "
        "box that it is in; when it is lent, it takes no part in peer-to-peer"),
    MAY("fabrics", REFS, NULL,
        "names of the networks that its ports are connected to: one for each "
        "port, or one for all; inventories show them, and those in `networks` "
        "carry packets"),
    MAY("address", TEXT, NULL,
        "its PCI address in the real host, such as `0000:ca:00.0`, for "
        "inventories; without it the address that enumeration gives"),
    MAP("vm", vm_device, "the QEMU device that emulates it"),
};
SECTION(device, "device", "A member of a host's `devices`.");

static const TopoKey vm_keys[] = {
    RANGE("memory", BYTES, "256MiB", "64MiB", "1TiB", 0, "its memory"),
    RANGE("cpus", INT, "1", "1", "255", 0, "its CPUs"),
    WORD("accel", "auto", "auto|tcg|kvm", 0, "the accelerator"),
    RANGE("instruction", TIME, "1ns", "10ps", "1ns", 0,
          "the time that an instruction takes in a timed cluster, the same for "
          "all; otherwise it is ignored"),
    RANGE("pause", TIME, "40ns", "1ns", "10us", 0,
          "the time that a PAUSE takes in a timed cluster: the instruction of "
          "loops that wait"),
    MAY("kernel", TEXT, NULL,
        "a series of kernels of which one is installed, such as `6.12`; "
        "`debug`: one that looks for faults; or the path of a kernel, from the "
        "file's directory"),
    MAY("modules", TEXT, NULL,
        "path of its modules, from the file's directory"),
    MAY("source", TEXT, NULL,
        "path of its source, of which the NTB modules are built"),
    MAY("module-dirs", REFS, NULL,
        "folders of modules to build and to add, from the file's directory"),
    MAY("files", REFS, NULL,
        "files to add: FILE, or FILE:PATH with the path in the guest"),
    MAY("image", TEXT, NULL,
        "folder of an image that `host/guest/build` made, in place of "
        "the keys above"),
    MAY("share", TEXT, NULL,
        "a folder of this machine that the guest has at `/mnt/share`"),
    MAY("append", TEXT, NULL, "more words for the kernel's command line"),
    MAY("client", NAME, "ntb_tool",
        "kernel module that uses its NTBs and enables the link; or none"),
    {.key = "gdb",
     .type = TOPO_TYPE_BOOL,
     .fallback = "off",
     .help = "on: QEMU gets a socket for gdb to debug the kernel",
     .hint = "gdb connects to a UNIX socket, whose path `farside cluster "
             "status` shows; a TCP port would serve every user of this "
             "computer"},
    MAY("qmp", BOOL, "off", "on: QEMU gets a monitor socket"),
    WORD("iommu", "intel", "intel|amd", 0,
         "the kind of IOMMU, if the host's `iommu` is on"),
    MAY("remapping", BOOL, "on",
        "on: that IOMMU remaps interrupts; off: any device can raise any "
        "interrupt"),
};
SECTION(vm, "vm", "`vm:` of a host; a simulation ignores it.");

static const TopoKey inner_keys[] = {
    NEEDS("name", NAME, "its name, unique in the host"),
    RANGE("memory", BYTES, "192MiB", "128MiB", "1TiB", 0, "its memory"),
    RANGE("cpus", INT, "1", "1", "255", 0, "its CPUs"),
    MAY("borrow", REFS, NULL,
        "IDs of devices that it gets; its host borrows them when it starts"),
    MAY("append", TEXT, NULL, "more words for its kernel's command line"),
};
SECTION(inner, "member of vms",
        "A member of a host's `vms`: a virtual machine inside the "
        "host's; a simulation ignores it.");

static const TopoKey vm_device_keys[] = {
    MAY("device", TEXT, NULL, "name of the QEMU device"),
    MAY("image", TEXT, NULL,
        "the disk: the size of an empty one (`1GiB`), of one that stores "
        "nothing (`null-co:1GiB`), or the path of a file"),
    MAY("network", NAME, NULL,
        "the Ethernet of a network adapter; it joins all adapters that name "
        "it"),
    MAY("region", NAME, NULL,
        "memory of an ivshmem device; all devices that name it share it"),
    RANGE(
        "size", BYTES, NULL, "4KiB", "64GiB", TOPO_KEY_POWER_OF_TWO,
        "size of that memory; without it 4MiB, or the size that another device "
        "gives"),
    RANGE("virtual_functions", INT, "0", "0", "7", 0,
          "an nvme with an image gets a subsystem, and this many virtual "
          "functions (SR-IOV) that the guest can make"),
    MAY("hotplug", BOOL, "off",
        "on: the device is behind a root port of its own, or in a slot of its "
        "switch, from which it can be unplugged"),
    MAY("options", TREE, NULL, "a map of properties of the device to values"),
};
SECTION(vm_device, "device's vm",
        "`vm:` of a device; a simulation ignores it, but for "
        "`virtual_functions`.");

static const TopoKey link_keys[] = {
    NEEDS("name", NAME, "its name"),
    NEEDS("ends", REFS,
          "two NTB adapters, `[host.ntb, host.ntb]`; `host.ntb:1` names "
          "cable port 1, otherwise the first free one is taken"),
    MAY("speed", SPEED, NULL,
        "speed of the link; without it the best that both ends support"),
    MAY("width", WIDTH, NULL, "the same for the width"),
    RANGE("length", DISTANCE, NULL, "1mm", "10000m", 0,
          "length of the cable, at 5 ns a metre; without it and "
          "`propagation` 1m"),
    RANGE("propagation", TIME, NULL, "0ps", "1ms", 0,
          "time through the cable, one way; instead of a length"),
    WORD("chip", NULL, TOPO_LINK_CHIPS, 0,
         "the chip that the NTB of an emulated machine is, at both ends; "
         "without it the `chip` of the adapters' parts, else switchtec. A "
         "simulation takes all numbers from the parts"),
};
SECTION(link, "link", "A member of `links`.");

static const TopoKey chip_keys[] = {
    NEEDS("name", NAME, "its name"),
    WORD("chip", NULL,
         "idt-89hpes12nt12g2|idt-89hpes16nt16g2|idt-89hpes24nt24g2|"
         "idt-89hpes24nt6ag2|idt-89hpes32nt24ag2|idt-89hpes32nt24bg2|"
         "idt-89hpes32nt8ag2|idt-89hpes32nt8bg2",
         REQUIRED,
         "what it is; emulated machines have its NTBs, and a simulation takes "
         "all numbers from the adapters' part"),
    NEEDS("ends", REFS,
          "the NTB adapter of each host, `[host.ntb, host.ntb]`; the first is "
          "that of partition 0. They are partitions of one chip, so they have "
          "no cables"),
    MAY("ports", REFS, NULL,
        "the port of each end, in rising order; without it the first ports of "
        "the chip that can be NTBs"),
    WORD("lut", "12", "12|24|off", 0,
         "entries of the look-up table of BAR 2, each with a 16th of the BAR, "
         "or of 24 a 32nd; off: one window. BAR 4 is one window"),
};
SECTION(chip, "chip", "A member of `chips`.");

static const TopoKey network_keys[] = {
    NEEDS("name", NAME, "its name, which `fabrics:` of a NIC may name"),
    RANGE("latency", TIME, NULL, "0ps", "1s", REQUIRED,
          "time of an idle packet from the end of its sending to its arrival, "
          "beside the time in which the switch sends it on"),
    MAY("switch", BOOL, "on",
        "on: a switch that stores and forwards; off: a cable between two "
        "ports"),
    RANGE("buffer", BYTES, "0B", "0B", "1TiB", 0,
          "space of the switch for the packets to one port; 0B: no limit"),
    MAY("loss", PERCENT, "0%", "share of packets that are lost"),
    RANGE("overhead", BYTES, "0B", "0B", "1024B", 0,
          "bytes of an encapsulation that each packet carries on the wire"),
};
SECTION(network, "network",
        "A member of `networks`. A network is not PCIe; it joins the ports of "
        "NICs that name it in `fabrics:`. Clusters ignore it.");

static const TopoKey lend_keys[] = {
    NEEDS("device", REF,
          "`host.device`, or its virtual function `host.device.vf0`"),
    NEEDS("to", REF, "the host that borrows it"),
    RANGE("window", AUTO, "auto", "4KiB", "1TiB", 0,
          "size of the DMA window, or auto; of a VM, the guest's memory"),
    MAY("vm", BOOL, "off",
        "on: a VM on that host borrows it; both hosts' IOMMUs must be on"),
    WORD("interrupts", "forwarded", "forwarded|mapped", 0,
         "of a VM. forwarded: the lender's CPU takes them and passes them on "
         "(section 5 of the paper); mapped: the device writes them to the "
         "borrower (section 8.4), as without a VM"),
    MAY("guest", NAME, NULL,
        "name of that VM, if the host has several; loans to one VM have one "
        "name"),
    MAY("p2p", REFS, NULL,
        "the devices that it may reach, as `lendctl enable-p2p` orders it: "
        "`host.device`, of the borrower or lent to it. If a loan has this key, "
        "nothing else is reached; without it a flow orders what it needs"),
};
SECTION(lend, "lend",
        "A member of `lend`. It has no name: paths of changes number it, and "
        "`lend: []` takes all back.");

static const TopoKey fault_keys[] = {
    NEEDS("name", NAME, "its name"),
    NEEDS("target", REF,
          "a link: the name of a cable, or `host.name` of a switch or device "
          "for its link to the port above it; a host; of remove, "
          "`host.device`"),
    WORD("action", NULL,
         "bit-errors|link-down|degrade|poison|overflow|kill|freeze|restart|"
         "start-late|remove",
         REQUIRED,
         "bit-errors: packets are destroyed, and sent again; link-down: the "
         "link is down, and TLPs are lost; degrade: the link trains to another "
         "speed or width; poison: TLPs with data are poisoned; overflow: a "
         "receiver advertises more credits than its buffer has; of machines, "
         "which a simulation ignores: kill: it is switched off; freeze: its "
         "CPU executes nothing; restart: it is switched off, and on again "
         "after `for`; start-late: it is switched on at `at`; remove: a device "
         "is pulled out, and put in again after `for`"),
    MAY("rate", DECIMAL, NULL,
        "bit-errors: probability of an error for each bit on the wire; "
        "poison: for each TLP with data"),
    RANGE("count", INT, NULL, "1", "1000000000", 0,
          "bit-errors, poison: instead of `rate`: so many packets in a row, "
          "from the begin on"),
    WORD("end", NULL, "lower|upper", 0,
         "the end of the link whose packets are meant, or with overflow the "
         "receiver: lower is the element that `target` names, or the first of "
         "`ends` of a cable; without it both, with overflow lower"),
    MAY("speed", SPEED, NULL, "degrade: speed afterwards"),
    MAY("width", WIDTH, NULL, "degrade: width afterwards"),
    RANGE("surplus", INT, NULL, "1", "1000", 0,
          "overflow: header credits of each class, each with data credits for "
          "a largest payload, for which the buffer has no place"),
    RANGE("at", TIME, "0ps", NULL, "1000s", 0, "when it begins"),
    MAY("when", TEXT, NULL,
        "instead of `at`: it begins with this event, such as `tlp 100`; "
        "without a number with the first one. Of links the word is tlp, write, "
        "read, completion, doorbell (a write of at most 8 B to the device) or, "
        "with bit-errors, dllp: packets on the link. Of machines it is write, "
        "read, doorbell or message (a message register), which come from "
        "another host and arrive at the host of the target; link-down in a "
        "timed cluster has the same, at the host of the cable's first end"),
    RANGE("for", TIME, NULL, "1ps", "1000s", 0,
          "how long it lasts; without it until the end; a link that is down "
          "for ever is a device that was removed; of restart without it no "
          "time"),
    RANGE("training", TIME, NULL, "1ps", "10s", 0,
          "link-down: from the end of `for` until the link carries TLPs again; "
          "without it 10 ms; degrade: time in Recovery, at the begin and at "
          "the end; without it 10 us"),
};
SECTION(fault, "fault",
        "A member of `faults`. Clusters ignore it, unless they are timed.");

static const TopoKey workload_keys[] = {
    RANGE("seed", INT, "1", "0", NULL, 0, "seed of all random numbers"),
    RANGE("seeds", INT, "1", "1", "1000", 0,
          "number of seeds, from `seed` on: each point is simulated with each "
          "of them, and its results are means"),
    RANGE("warmup", TIME, "0ps", NULL, "1000s", 0,
          "statistics begin after this time"),
    RANGE("stop", TIME, NULL, "1ps", "1000s", 0,
          "end of the run; without it when all flows are done"),
    MAY("accuracy", PERCENT, NULL,
        "flows that are steady leave work out once its time is known within "
        "this share, at 95 %; without it all is simulated"),
    RANGE(
        "completion_timeout", TIME, NULL, "50us", "64s", 0,
        "time after which a requester gives up a request without a "
        "completion; without it 10 ms if `faults` or `dpc` can lose TLPs, and "
        "never otherwise"),
    MAY("flows", LIST, NULL, "the flows; keys depend on `kind`"),
};
SECTION(workload, "workload", "`workload:`.");

static const TopoKey variant_keys[] = {
    NEEDS("name", NAME, "its name"),
    MAY("set", CHANGES, NULL, "paths and the values they get"),
};
SECTION(variant, "variant", "A member of `variants`.");

static const TopoKey axis_keys[] = {
    NEEDS("name", NAME, "its name"),
    MAY("set", TREE, NULL,
        "a path, or a list of paths, that gets each value; not needed if all "
        "values are maps"),
    MAY("values", TREE, NULL,
        "a list of values, or of maps {label: text, set: {path: value}}"),
    MAY("from", REF, NULL, "first value; instead of `values`"),
    MAY("to", REF, NULL, "upper limit of the values; may be one of them"),
    RANGE("times", INT, NULL, "2", "1000000", 0,
          "factor from one value to the next"),
    MAY("step", REF, NULL, "difference from one value to the next"),
};
SECTION(axis, "axis", "A member of `sweep`.");

static const TopoKey axis_value_keys[] = {
    NEEDS("label", TEXT, "its name in results"),
    NEEDS("set", CHANGES, "paths and the values they get"),
};
SECTION(axis_value, "axis value", "A value of an axis that is a map.");

static const TopoKey measure_keys[] = {
    LIST("columns", column, REQUIRED, "the columns of the CSV, in order"),
};
SECTION(measure, "measure", "`measure:`.");

static const TopoKey column_keys[] = {
    NEEDS("name", NAME, "its name"),
    NEEDS("from", REF,
          "`variant`, `axis.NAME`, `flow.NAME.METRIC`, `fabric.METRIC`, "
          "`element.HOST.METRIC` or `element.HOST.NAME.METRIC`; a metric may "
          "end in .mean .p50 .p99 .min .max"),
    MAY("scale", DECIMAL, "1", "the value is divided by this"),
    RANGE("digits", INT, NULL, "0", "9", 0, "decimals; without it none"),
    MAY("unit", TEXT, NULL, "unit of its numbers, for exports and histories"),
    WORD("better", "none", "none|higher|lower|same", 0,
         "the direction in which a change is good; same: every change is bad"),
};
SECTION(column, "column", "A member of `columns`.");

static const TopoKey compare_keys[] = {
    MAY("keys", REFS, NULL,
        "columns that identify a point; without it those from variant and "
        "axes"),
    MAY("tolerance", TREE, NULL,
        "largest relative difference: `1%` for all columns, or a map of "
        "columns to differences; without it 0%"),
};
SECTION(compare, "compare", "`compare:`.");

static const TopoKey plot_keys[] = {
    MAY("title", TEXT, NULL, "without it the scenario's name"),
    NEEDS("x", REF, "a column"),
    NEEDS("y", REF, "a column"),
    MAY("curves", REF, NULL, "a column: a curve for each of its values"),
    MAY("panels", REF, NULL, "a column: a panel for each of its values"),
    WORD("x_scale", "linear", "linear|log2|log10", 0, "of the x axis"),
    WORD("y_scale", "linear", "linear|log2|log10", 0, "of the y axis"),
    MAY("x_range", TEXT, NULL,
        "ends of the x axis, such as 0:64, in units of the column; without it "
        "all points are shown"),
    MAY("y_range", TEXT, NULL, "the same for the y axis"),
    MAY("x_label", TEXT, NULL, "without it the column's name"),
    MAY("y_label", TEXT, NULL, "without it the column's name"),
    MAY("published", TEXT, NULL,
        "path of a CSV with published values, from the file's directory"),
    MAY("calibrated", TREE, NULL,
        "published values that parts were calibrated on, and that are no "
        "predictions: `all`, or a list of maps of key columns to values, as "
        "in [{scenario: Loc, transfer_bytes: 4KiB}]"),
    MAY("measured", TREE, NULL,
        "path, or list of paths, of CSVs with values of your own: they join "
        "the plot and the tables"),
};
SECTION(plot, "plot", "`plot:`.");

static const TopoKey profile_keys[] = {
    WORD("kind", NULL, "cpu|switch|ntb|gpu|endpoint", 0,
         "its kind; not needed with a `base`, or if it overrides a profile"),
    MAY("base", REF, NULL, "a part whose numbers it takes over"),
    MAY("description", TEXT, NULL, "a sentence for readers"),
    MAY("sources", TREE, NULL,
        "a map of keys to where their numbers come from; a profile in a "
        "directory of parts must have one for each key (or group) it gives"),
    MAY("calibrated", TREE, NULL,
        "published values that its numbers were fitted on, as in [{file: "
        "../paper/fig10/published.csv, rows: all}], or with rows: [{scenario: "
        "Loc, transfer_bytes: 4096}]; no scenario may call them predicted"),
};
SECTION(profile, "part", "Keys of a part of any kind.");

static const TopoKey request_file_keys[] = {
    LIST("ib_interfaces", request, REQUIRED, "the requests"),
};
SECTION(request_file, "request file",
        "A file of requests for devices, in YAML or JSON.");

static const TopoKey request_keys[] = {
    MAY("device", TEXT, NULL,
        "name of the device, as the inventory has it; needed without "
        "`device_slot`"),
    MAY("device_slot", TEXT, NULL,
        "its PCI address, such as `0000:ca:00.0`, in place of device, vendor, "
        "fabric and device_instance"),
    MAY("device_vendor", TEXT, NULL,
        "its vendor; needed if two vendors have devices of that name"),
    MAY("vendor", TEXT, NULL, "the same as device_vendor"),
    MAY("fabric", TEXT, NULL,
        "the network; without it the only one that such devices have"),
    RANGE("device_instance", INT, "0", "0", "65535", 0,
          "number among the devices of that name in that fabric, in the order "
          "of their slots"),
    WORD("function_type", "PhysicalFunction",
         "PhysicalFunction|VirtualFunction", 0, "the function to use"),
    RANGE("virtual_function_id", INT, NULL, "0", "65535", 0,
          "number of the virtual function; only for a VirtualFunction"),
    MAY("ib_partition_id", TEXT, NULL,
        "the partition to attach it to; a selection keeps it"),
};
SECTION(request, "request",
        "A member of `ib_interfaces`. Serial numbers, GUIDs and network "
        "addresses select nothing.");

static const TopoKey function_keys[] = {
    NEEDS("address", TEXT, "its PCI address, such as `0000:ca:00.0`"),
    RANGE("class", ADDRESS, NULL, NULL, "0xffffff", 0,
          "base class, subclass and interface; without it not known"),
    MAY("buses", TEXT, NULL,
        "a bridge: its secondary and subordinate bus, such as `02-05`"),
    MAY("below", TEXT, NULL,
        "address of the bridge above it, if bus numbers do not tell which one "
        "that is"),
    MAY("upstream", BOOL, "off",
        "on: a bridge that is the Upstream Port of a switch"),
    RANGE("vendor", ADDRESS, NULL, NULL, "0xffff", 0, "Vendor ID"),
    RANGE("device", ADDRESS, NULL, NULL, "0xffff", 0, "Device ID"),
    MAY("name", TEXT, NULL, "its name"),
    MAY("speed", SPEED, NULL, "speed of the link above it"),
    MAY("width", WIDTH, NULL, "width of the link above it"),
    RANGE("numa_node", INT, NULL, "0", "65535", 0, "the nearest memory"),
};
SECTION(function, "function",
        "A member of a host's `functions`; a simulation ignores it.");
