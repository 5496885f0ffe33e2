/* SPDX-License-Identifier: MIT */
/*
 * The keys of parts. A number that a simulation cannot do without has no
 * default. If no source gives the number for a chip, its profile must say
 * that it is an assumption.
 */
#include "topo_schema_priv.h"

#define REQUIRED TOPO_KEY_REQUIRED
#define POWER    TOPO_KEY_POWER_OF_TWO

#define NEEDS(KEY, TYPE, MIN, MAX, FLAGS, HELP)                                \
    {                                                                          \
        .key = KEY, .type = TOPO_TYPE_##TYPE, .min = MIN, .max = MAX,          \
        .flags = REQUIRED | (FLAGS), .help = HELP                              \
    }
#define MAY(KEY, TYPE, FALLBACK, MIN, MAX, FLAGS, HELP)                        \
    {                                                                          \
        .key = KEY, .type = TOPO_TYPE_##TYPE, .fallback = FALLBACK,            \
        .min = MIN, .max = MAX, .flags = FLAGS, .help = HELP                   \
    }
#define WORD(KEY, FALLBACK, CHOICES, HELP)                                     \
    {                                                                          \
        .key = KEY, .type = TOPO_TYPE_WORD, .fallback = FALLBACK,              \
        .choices = CHOICES, .help = HELP                                       \
    }
#define SWITCH(KEY, HELP)                                                      \
    {                                                                          \
        .key = KEY, .type = TOPO_TYPE_BOOL, .fallback = "off", .help = HELP    \
    }

#define CREDITS(KEY, HELP)                                                     \
    NEEDS("buffers." KEY, CREDITS, "1", "1000000", 0, HELP)

#define BUFFERS                                                                \
    CREDITS("ph", "credits for headers of posted requests, or `infinite`"),    \
        CREDITS("pd", "credits of 16 B for data of posted requests"),          \
        CREDITS("nph", "credits for headers of non-posted requests"),          \
        CREDITS("npd", "credits of 16 B for data of non-posted requests"),     \
        CREDITS("cplh", "credits for headers of completions"),                 \
        CREDITS("cpld", "credits of 16 B for data of completions"),            \
        MAY("buffers.latency", TIME, "0ps", "0ps", "1ms", 0,                   \
            "from space in a buffer to the UpdateFC that reports it"),         \
        MAY("buffers.collect", BYTES, "0B", "0B", "1MiB", 0,                   \
            "a chip that returns credits more rarely than `dllp: spec` "       \
            "demands: one UpdateFC for so many bytes of TLPs of a class; 0B: " \
            "as the specification demands"),                                   \
        MAY("buffers.replay", BYTES, "0B", "0B", "1MiB", 0,                    \
            "size of its replay buffer: bytes of TLPs that it sends before "   \
            "they are acknowledged; 0B: it never limits"),                     \
        WORD("dllp", "spec", "spec|each|free",                                 \
             "when it sends Ack and UpdateFC: as late as the specification "   \
             "allows, after each TLP, or without taking any bandwidth; in "    \
             "FLIT mode every flit has room for them"),                        \
        MAY("fec", TIME, "2ns", "0ps", "100ns", 0,                             \
            "in FLIT mode (both ends of the link can do 64.0GT/s): from the "  \
            "end of a flit until it is decoded and checked")

#define MPS                                                                    \
    NEEDS("mps", BYTES, "128B", "4096B", POWER,                                \
          "largest payload of a TLP it supports (Max_Payload_Size)")

#define LINK                                                                   \
    NEEDS("speed", SPEED, NULL, NULL, 0, "fastest link speed it supports"),    \
        NEEDS("width", WIDTH, NULL, NULL, 0, "widest link it supports")

#define SERVICE                                                                \
    MAY("service.beat", BYTES, NULL, "1B", "4096B", POWER,                     \
        "a port moves a TLP in beats of this size; with `service.clock` and "  \
        "`service.gap` the least time a TLP takes, or no `service:` at all"),  \
        MAY("service.clock", TIME, NULL, "1ps", "1us", 0, "time of a beat"),   \
        MAY("service.gap", INT, NULL, "0", "64", 0,                            \
            "beats added to those of header and payload"),                     \
        MAY("service.width", WIDTH, NULL, NULL, NULL, 0,                       \
            "width of a link with this beat; on others it is in proportion; "  \
            "without it the same on all")

#define DPC                                                                    \
    WORD("dpc.trigger", "off", "off|fatal|nonfatal",                           \
         "Downstream Port Containment: errors below a downstream port that "   \
         "take its link down, besides errors that the port finds itself"),     \
        WORD("dpc.completion", "ur", "ur|ca",                                  \
             "status with which it then completes requests to the link"),      \
        MAY("dpc.release", TIME, NULL, "1ps", "1000s", 0,                      \
            "time until software releases the link; without it never"),        \
        MAY("dpc.training", TIME, "10ms", "1ps", "10s", 0,                     \
            "from then until the link carries TLPs")

static const TopoKey cpu_keys[] = {
    {.key = "root_ports",
     .type = TOPO_TYPE_LIST,
     .section = &topo_section_root_port,
     .flags = REQUIRED,
     .help = "the root ports; `repeat:` makes many of one"},
    NEEDS("transit", TIME, "0ps", "1ms", 0,
          "latency from one root port to another, one way"),
    WORD("p2p", "all", "all|writes|none",
         "requests that it forwards from root port to root port: all, posted "
         "writes alone, or none"),
    WORD("p2p_refused", "ur", "ur|ca",
         "what the others meet: Unsupported Request, or Completer Abort"),
    SWITCH("id_ordering",
           "on: its completions have IDO, and posted writes from root port to "
           "root port keep their Requester ID"),
    MAY("read_split", BYTES, "0B", "0B", "4096B", POWER,
        "reads forwarded from root port to root port are split into "
        "requests of this size; 0B: not split"),
    MAY("write_split", BYTES, "0B", "0B", "4096B", POWER,
        "posted writes forwarded from root port to root port are split into "
        "writes of this size; 0B: not split"),
    MAY("write_piece", TIME, "0ps", "0ps", "1us", 0,
        "time that it takes for each posted write between root ports, after "
        "splitting; one after the other for the ports of a node"),
    NEEDS("forwarded_reads", INT, "1", "65536", 0,
          "outstanding reads that it forwards through one root port to "
          "another, counted after splitting, by the port they leave through"),
    {.key = "rcb",
     .type = TOPO_TYPE_BYTES,
     .fallback = "64B",
     .choices = "64B|128B",
     .help = "read completion boundary"},
    NEEDS("completion_size", BYTES, "64B", "4096B", POWER,
          "payload of a completion it sends; at most `mps`"),
    MPS,
    WORD("mps_policy", "joined", "joined|safe|peer2peer|perf",
         "the payload that software sets: joined: the smallest `mps` of all "
         "hosts that cables join; safe: that of the tree below a root port, "
         "and of what NTBs and chips join to it; peer2peer: 128B; perf: what "
         "each port and those above it can do, and no longer reads; for hosts "
         "without NTBs"),
    MAY("nodes.latency", TIME, "0ps", "0ps", "1ms", 0,
        "latency between two nodes, added to `transit`"),
    MAY("nodes.bandwidth", RATE, NULL, "1MB/s", NULL, 0,
        "bandwidth of the way of a node to memory and to the other nodes, and "
        "of the way back, each counted in payload; without it no limit"),
    MAY("nodes.writes", BYTES, "0B", "0B", "16MiB", 0,
        "bytes of posted writes of one root port on their way to another node; "
        "0B: no limit; one write always may"),
    MAY("nodes.acknowledge", TIME, "0ps", "0ps", "1ms", 0,
        "time for which such a write stays on its way; meanwhile its root port "
        "sends no write to RAM or to a third node"),
    MAY("nodes.passes", INT, "0", "0", "65536", 0,
        "posted requests that may pass one that waits for this, if relaxed or "
        "ID-based ordering allows it"),
    WORD("nodes.shares", "ports", "ports|nodes",
         "shares of what waits for a root port: ports: all ports are alike; "
         "nodes: its own node has as much as the others together, these are "
         "alike, and so are the ports of a node"),
    {.key = "ways",
     .type = TOPO_TYPE_LIST,
     .section = &topo_section_way,
     .help = "ways from node to node that are not as `nodes` has it"},
    NEEDS("memory.size", BYTES, "1MiB", "1TiB", 0, "RAM of the host"),
    NEEDS("memory.latency", TIME, "0ps", "1ms", 0,
          "time from a read at the root port to its data there"),
    NEEDS("memory.bandwidth", RATE, "1MB/s", NULL, 0,
          "bandwidth of all memory accesses together"),
    MAY("memory.cache.size", BYTES, NULL, "4KiB", "64GiB", 0,
        "last-level cache in front of the RAM, a multiple of 64 B times its "
        "ways; with `latency`, `ways` and `io_ways`, or none of them"),
    MAY("memory.cache.latency", TIME, NULL, "0ps", "1ms", 0,
        "time from a read at the root port to data that are in the cache; at "
        "most `memory.latency`"),
    MAY("memory.cache.ways", INT, NULL, "1", "64", 0, "ways of a set"),
    MAY("memory.cache.io_ways", INT, NULL, "0", "64", 0,
        "ways of a set into which devices write what is not in the cache "
        "(DDIO); at most `memory.cache.ways`"),
    MAY("memory.ordered_writes", BYTES, "0B", "0B", "16MiB", 0,
        "bytes of writes of one root port on their way to memory, but for those "
        "with relaxed ordering; 0B: no limit; one write always may"),
    MAY("memory.ordered_time", TIME, "0ps", "0ps", "1ms", 0,
        "time for which such a write is on its way"),
    NEEDS("memory.reads", INT, "1", "65536", 0, "reads served at a time"),
    NEEDS("iommu.iotlb_entries", INT, "1", "1048576", 0,
          "translations the IOTLB holds"),
    MAY("iommu.iotlb_ways", INT, "0", "0", "1048576", 0,
        "associativity of the IOTLB; 0: fully associative"),
    NEEDS("iommu.hit", TIME, "0ps", "1ms", 0,
          "time of a translation that hits"),
    WORD("iommu.iotlb_of", "host", "host|port",
         "port: each root port has an IOTLB of this size"),
    MAY("iommu.l2_entries", INT, "0", "0", "1048576", 0,
        "entries of a second level of the IOTLB, for all root ports; 0: there "
        "is none"),
    MAY("iommu.l2_ways", INT, "0", "0", "1048576", 0,
        "its associativity; 0: fully associative"),
    MAY("iommu.l2_hit", TIME, "0ps", "0ps", "1ms", 0,
        "time of a look-up there, before a walk, too; at least `iommu.hit`"),
    NEEDS("iommu.walk", TIME, "0ps", "1ms", 0,
          "time of a page walk, without `iommu.walk_read`"),
    MAY("iommu.walk_read", TIME, "0ps", "0ps", "1ms", 0,
        "time of the read of a table; a walk reads up to four"),
    MAY("iommu.cache_4k", INT, "0", "0", "4096", 0,
        "entries of the paging-structure cache of tables of 4 KiB pages, each "
        "for 2 MiB"),
    MAY("iommu.cache_2m", INT, "0", "0", "4096", 0,
        "the same for tables of 2 MiB pages, each for 1 GiB"),
    MAY("iommu.cache_1g", INT, "0", "0", "4096", 0,
        "the same for tables of 1 GiB pages, each for 512 GiB"),
    NEEDS("iommu.walks", INT, "1", "65536", 0, "page walks at a time"),
    SWITCH("iommu.in_order",
           "on: no request overtakes another one, and one that misses and "
           "finds no walker stops all behind it"),
    MAY("iommu.replay", TIME, "0ps", "0ps", "1ms", 0,
        "time for which a walker stays busy after its walk, for each 64 B of "
        "the read that it walked for"),
    {.key = "iommu.page",
     .type = TOPO_TYPE_BYTES,
     .fallback = "4KiB",
     .choices = "4KiB|2MiB|1GiB",
     .help = "page size of the mappings; mappings that it does not divide "
             "have the largest smaller size that does"},
    SWITCH("iommu.loan_domains",
           "on: each loan has a domain of its own; off: all loans that are not "
           "to a guest are in the domain of the host's other devices"),
    SWITCH("iommu.mixed",
           "on: a mapping has pages of several sizes, up to `iommu.page`, each "
           "as large as its place allows"),
    SWITCH("iommu.ats",
           "on: it answers translation requests of devices with `ats` (ATS)"),
    MAY("iommu.map", TIME, "0ps", "0ps", "1ms", 0,
        "time of a core to map a buffer, for flows with `mapping: each`"),
    MAY("iommu.unmap", TIME, "0ps", "0ps", "1ms", 0,
        "time of a core to unmap a buffer, without the invalidation"),
    MAY("iommu.invalidate", TIME, "0ps", "0ps", "1ms", 0,
        "time of the IOMMU for an invalidation and its wait descriptor, "
        "without the answers of devices"),
    SWITCH("iommu.lazy",
           "on: one invalidation of everything for many unmappings; off "
           "(strict): one for each, for which the core waits"),
    MAY("iommu.flush_queue", INT, "256", "1", "65536", 0,
        "unmappings for one invalidation if `iommu.lazy`"),
    MAY("iommu.flush_time", TIME, "10ms", "1ps", "10s", 0,
        "longest wait for it"),
    MAY("mmio.low_base", ADDRESS, "0x80000000", NULL, "0xffffffff", 0,
        "first address for BARs below 4 GiB"),
    MAY("mmio.low_size", BYTES, "1GiB", "1MiB", "4GiB", 0, "their size"),
    MAY("mmio.high_base", ADDRESS, "0x10000000000", "0x100000000", NULL, POWER,
        "first address for 64-bit BARs"),
    MAY("mmio.high_size", BYTES, "8TiB", "1MiB", "1024TiB", 0, "their size"),
    MAY("mmio.above_4g", BYTES, "512MiB", "4KiB", "1024TiB", 0,
        "64-bit prefetchable BARs of this size and more get addresses above "
        "4 GiB, all others below"),
    NEEDS("core.mmio_write", TIME, "0ps", "1ms", 0,
          "time between two MMIO writes of a CPU"),
    MAY("core.combine", TIME, NULL, "1ps", "1ms", 0,
        "time between two lines of 64 B of a longer write, which go through "
        "write-combining buffers; without it a write has at most 64 B"),
    NEEDS("core.mmio_reads", INT, "1", "65536", 0,
          "outstanding MMIO reads of a CPU"),
    NEEDS("core.interrupt", TIME, "0ps", "1s", 0,
          "time from an interrupt at the root to the driver's reaction"),
    NEEDS("core.poll", TIME, "1ps", "1s", 0,
          "mean time until a CPU that polls sees a change in its memory"),
    MAY("tcp.packet", TIME, NULL, "0ps", "1ms", 0,
        "time of a core for a packet with data that comes in, without copying "
        "them; with it all keys of `tcp:`, or none"),
    MAY("tcp.ack", TIME, NULL, "0ps", "1ms", 0,
        "time of a core for an acknowledgement, sent or received"),
    MAY("tcp.send", TIME, NULL, "0ps", "1ms", 0,
        "time of a core to send, for each transmit descriptor"),
    MAY("tcp.call", TIME, NULL, "0ps", "1ms", 0,
        "time of a core for a system call"),
    MAY("tcp.copy", RATE, NULL, "1MB/s", NULL, 0,
        "rate at which a core copies from the kernel to the user"),
    DPC,
    BUFFERS,
};

static const TopoKey switch_keys[] = {
    LINK,
    MAY("downstream_width", WIDTH, NULL, NULL, NULL, 0,
        "widest link of a downstream port; without it `width`"),
    NEEDS("ports", INT, "1", "63", 0,
          "downstream ports. Each takes a bus number, also with nothing below "
          "it: where a tree of large chips needs too many, `set: {ports: 4}` "
          "leaves those out that are not used"),
    NEEDS("latency", TIME, "0ps", "1ms", 0, "from port to port"),
    WORD("mode", "cut-through", "cut-through|store-and-forward",
         "cut-through: a TLP leaves before its end has come in"),
    WORD("arbitration", "round-robin",
         "round-robin|weighted-round-robin|oldest-first|port-table",
         "the rule by which an egress port chooses the next ingress port; "
         "port-table: by a Port Arbitration Table, filled by `share`"),
    {.key = "phases",
     .type = TOPO_TYPE_INT,
     .fallback = "128",
     .choices = "32|64|128|256",
     .help = "phases of that table"},
    SWITCH("acs", "on: its ports can redirect requests to the root"),
    DPC,
    MPS,
    SERVICE,
    BUFFERS,
};

static const TopoKey ntb_keys[] = {
    LINK,
    NEEDS("cable.ports", INT, "1", "63", 0, "cables it takes"),
    NEEDS("cable.speed", SPEED, NULL, NULL, 0, "fastest link over a cable"),
    NEEDS("cable.width", WIDTH, NULL, NULL, 0, "widest link over a cable"),
    NEEDS("latency", TIME, "0ps", "1ms", 0,
          "latency of one adapter, one way, without the cable"),
    NEEDS("window.size", BYTES, "4KiB", "1TiB", POWER,
          "size of the prefetchable BAR through which hosts see each other"),
    NEEDS("window.entries", INT, "1", "65536", POWER,
          "entries of the lookup table; an entry maps size / entries bytes"),
    NEEDS("window.reserved", INT, "0", "65536", 0,
          "entries reserved for each remote node"),
    NEEDS("requesters", INT, "1", "65536", 0,
          "entries of the requester-ID table"),
    MAY("tags", INT, "0", "0", "65534", 0,
        "outstanding non-posted requests that it forwards under tags of its "
        "own; 0: it only translates Requester IDs, and tags stay"),
    {.key = "bars",
     .type = TOPO_TYPE_LIST,
     .section = &topo_section_bar,
     .help = "its BARs besides the window"},
    WORD("chip", NULL, TOPO_LINK_CHIPS "|idt",
         "what it is in an emulated machine, unless its link has another "
         "`chip`"),
    MPS,
    SERVICE,
    BUFFERS,
};

/* The three keys of a data mover, or of the bus that both share. */
#define MOVE(SECTION, HELP, GAP)                                               \
    MAY("dma." SECTION ".beat", BYTES, NULL, "1B", "4096B", POWER,             \
        "its DMA engine " HELP                                                 \
        ", one operation after the other; with `clock` and `gap`, or none "    \
        "of them"),                                                            \
        MAY("dma." SECTION ".clock", TIME, NULL, "1ps", "1us", 0,              \
            "time of such a beat"),                                            \
        MAY("dma." SECTION ".gap", INT, NULL, "0", "64", 0,                    \
            "beats added for each " GAP)

#define DEVICE                                                                  \
    LINK,                                                                       \
        {.key = "bars",                                                         \
         .type = TOPO_TYPE_LIST,                                                \
         .section = &topo_section_bar,                                          \
         .flags = REQUIRED,                                                     \
         .help = "its BARs, in order"},                                         \
        MPS,                                                                    \
        NEEDS("mrrs", BYTES, "128B", "4096B", POWER,                            \
              "largest read request (Max_Read_Request_Size)"),                  \
        {.key = "tags",                                                         \
         .type = TOPO_TYPE_INT,                                                 \
         .choices = "32|256|768|15360",                                         \
         .flags = REQUIRED,                                                     \
         .help = "tags: 5, 8 or 10 bits; 14 with speed 64.0GT/s"},              \
        NEEDS("dma.write_size", BYTES, "4B", "4096B", 0,                        \
              "payload of a write of its DMA engine, at most `mps`; the "       \
              "mean, if it mixes sizes"),                                       \
        NEEDS("dma.read_size", BYTES, "4B", "4096B", POWER,                     \
              "size of a read of its DMA engine; at most `mrrs`"),              \
        NEEDS("dma.reads", INT, "1", "65536", 0,                                \
              "outstanding reads of its DMA engine"),                           \
        NEEDS("dma.read_latency", TIME, "0ps", "1s", 0,                         \
              "time inside the device per read"),                               \
        NEEDS("dma.write_latency", TIME, "0ps", "1s", 0,                        \
              "time inside the device before a write leaves"),                  \
        MAY("dma.write_gap", TIME, "0ps", "0ps", "1s", 0,                       \
            "its DMA engine works on a write in transfers of at most "          \
            "`dma.read_size`: time from the end of one until the begin of the " \
            "next, where their data are moved inside the device and at the "    \
            "port"),                                                            \
        MAY("dma.writes", INT, "0", "0", "65536", 0,                            \
            "writes (operations) its DMA engine works on at a time; 0: no "     \
            "limit"),                                                           \
        MAY("dma.queue", INT, "2", "1", "4096", 0,                              \
            "writes, and as many read requests, that its DMA engine keeps "     \
            "ready at its port, in one queue: requests wait behind writes"),    \
        MAY("dma.in_flight", BYTES, "0B", "0B", "1GiB", 0,                      \
            "bytes of reads under way at a time; 0B: only `dma.reads` limits"), \
        MOVE(                                                                   \
            "read_move",                                                        \
            "moves the data of a read inside the device, when all are in, in "  \
            "beats of this size",                                               \
            "request of a read"),                                               \
        MOVE("write_move",                                                      \
             "moves the data of a write inside the device, before its first "   \
             "TLP, in beats of this size",                                      \
             "write"),                                                          \
        MOVE(                                                                   \
            "move_bus",                                                         \
            "begins to move the data of a read or a write when it has a bus, "  \
            "which both share in turn, and keeps it for beats of this size",    \
            "read or write"),                                                   \
        MAY("ats.entries", INT, "0", "0", "1048576", 0,                         \
            "translations that its Address Translation Cache holds; 0: it has " \
            "none. It uses ATS if the `iommu` of its host is on, and has "      \
            "`ats: on`"),                                                       \
        MAY("ats.ways", INT, "0", "0", "1048576", 0,                            \
            "associativity of that cache; 0: fully associative"),               \
        MAY("ats.hit", TIME, "0ps", "0ps", "1ms", 0, "time of a look-up"),      \
        MAY("ats.requests", INT, "16", "1", "4096", 0,                          \
            "outstanding translation requests"),                                \
        MAY("ats.writes", INT, "64", "1", "65536", 0,                           \
            "TLPs of writes that may wait for a translation"),                  \
        MAY("ats.invalidate", TIME, "0ps", "0ps", "1s", 0,                      \
            "time from an invalidation to its answer, if no read that uses "    \
            "the translation is under way"),                                    \
        NEEDS("completer.latency", TIME, "0ps", "1s", 0,                        \
              "time from a read of its BAR to the completion"),                 \
        MAY("completer.bandwidth", RATE, NULL, "1MB/s", NULL, 0,                \
            "bandwidth of reads of its BARs; without it only the link "         \
            "limits"),                                                          \
        SWITCH("ecrc", "on: its TLPs carry an ECRC"),                           \
        SWITCH("relaxed_ordering", "on: its TLPs set RO"),                      \
        SWITCH("id_ordering", "on: its TLPs set IDO"), SERVICE, BUFFERS

/* The card as a user orders and selects it. A simulation has the virtual
 * functions that the description names; it ignores the other keys. */
#define CARD                                                                   \
    WORD("card.type", NULL,                                                    \
         "infiniband|network|gpu|storage|accelerator|other",                   \
         "type in inventories, which do not list `other`; without it gpu for " \
         "a GPU, storage for a drive, accelerator for the rest"),              \
        MAY("card.vendor", TEXT, NULL, NULL, NULL, 0,                          \
            "vendor in inventories"),                                          \
        MAY("card.name", TEXT, NULL, NULL, NULL, 0,                            \
            "name in inventories; without it the name of the part"),           \
        MAY("card.ports", INT, "1", "1", "8", 0,                               \
            "ports; each is a PCI function and a device of the inventory"),    \
        MAY("card.vfs", INT, "0", "0", "255", 0,                               \
            "virtual functions that each port can have; a simulation has "     \
            "those that the description names, such as `host.device.vf0`")

static const TopoKey gpu_keys[] = {
    DEVICE,
    CARD,
    NEEDS("copy.setup", TIME, "0ps", "1s", 0,
          "time of the engine for each copy, before its first byte"),
    NEEDS("copy.floor_write", TIME, "0ps", "1s", 0,
          "least time of a copy that writes to the buffer"),
    NEEDS("copy.floor_read", TIME, "0ps", "1s", 0,
          "least time of a copy that reads from the buffer"),
    NEEDS("copy.command_size", BYTES, "0B", "1MiB", 0,
          "bytes of commands it fetches for each copy"),
    MAY("threads.warp", INT, "32", "1", "64", 0, "threads of a warp"),
    MAY("threads.line", BYTES, "128B", "16B", "128B", POWER,
        "what the threads of a warp access within such a line, without a gap, "
        "is one request"),
    MAY("threads.sector", BYTES, "32B", "1B", "128B", POWER,
        "reads of threads fetch whole sectors; at most `threads.line`"),
    MAY("threads.latency", TIME, "0ps", "0ps", "1s", 0,
        "time inside the GPU for each access of a warp"),
    MAY("threads.read_latency", TIME, "0ps", "0ps", "1s", 0,
        "more time inside the GPU for each read of a warp, on its way out and "
        "back"),
    MAY("mmu.entries", INT, "0", "0", "1048576", 0,
        "translations that the first TLB of threads holds; 0: translations "
        "take no time"),
    MAY("mmu.page", BYTES, "64KiB", "4KiB", "1GiB", POWER,
        "what a translation covers"),
    MAY("mmu.l2_entries", INT, "0", "0", "1048576", 0,
        "translations that the second TLB holds; 0: there is none"),
    MAY("mmu.l2_hit", TIME, "0ps", "0ps", "1s", 0,
        "time of a look-up in the second TLB, hit or miss"),
    MAY("mmu.walk", TIME, "0ps", "0ps", "1s", 0,
        "time of a walk of the GPU's page tables"),
    MAY("mmu.walks", INT, "16", "1", "65536", 0, "walks at a time"),
    NEEDS("store.latency", TIME, "0ps", "1s", 0,
          "time from a kernel's decision to its store at the port"),
    NEEDS("poll.notice", TIME, "0ps", "1s", 0,
          "mean time until a kernel sees a store to its own memory"),
    MAY("poll.period", TIME, NULL, "0ps", "1s", 0,
        "time between two looks of a kernel at its own memory: the range, "
        "around `poll.notice`, of the time until it sees a store; without it "
        "twice `poll.notice`"),
    NEEDS(
        "poll.gap", TIME, "0ps", "1s", 0,
        "least time between two reads of a kernel that polls a host's memory"),
    NEEDS("poll.jitter", TIME, "0ps", "1s", 0,
          "largest random addition to `poll.gap`"),
    NEEDS("transfer.cpu_direct", TIME, "0ps", "1s", 0,
          "time of the driver for a copy from GPU to GPU"),
    NEEDS("transfer.cpu_ram", TIME, "0ps", "1s", 0,
          "time of the driver for a copy through a host's memory"),
    NEEDS("transfer.control", BYTES, "1B", "16MiB", 0,
          "bytes the GPU reads of the driver's memory for such a copy"),
    NEEDS("transfer.chunk", BYTES, "4KiB", "1GiB", 0,
          "bytes of a copy through memory that are handed on together"),
    NEEDS("transfer.buffers", INT, "1", "1024", 0,
          "chunks in memory at a time"),
    NEEDS("transfer.round_trips", INT, "0", "1000", 0,
          "reads in sequence by which the second GPU learns of a chunk"),
};

/* A part with `nvme.overhead` is a drive. A drive has all keys of `nvme:` that
 * have no default. */
static const TopoKey endpoint_keys[] = {
    DEVICE,
    CARD,
    MAY("move.setup", TIME, NULL, "0ps", "1s", 0,
        "an engine that moves memory of others: time of driver and engine for "
        "each operation; with `move.chunk` and `move.buffer`, or none of them"),
    MAY("move.chunk", BYTES, NULL, "64B", "1MiB", POWER,
        "bytes that it reads before it writes them"),
    MAY("move.buffer", BYTES, NULL, "64B", "64MiB", 0,
        "bytes that it has read, or begun to read, and not written; at least "
        "`move.chunk`"),
    MAY("move.copy_below", BYTES, "0B", "0B", "1GiB", 0,
        "its driver copies operations of fewer bytes into a buffer of its own "
        "before each; with `move.copy`"),
    MAY("move.copy", RATE, NULL, "1MB/s", NULL, 0, "rate of that copy"),
    MAY("nvme.overhead", TIME, NULL, "0ps", "1s", 0,
        "a drive: time of its controller for a command, one after the other; "
        "with it all keys of `nvme:` without a default, or none"),
    MAY("nvme.read_latency", TIME, NULL, "0ps", "1s", 0,
        "least time of its media for a read"),
    MAY("nvme.write_latency", TIME, NULL, "0ps", "1s", 0,
        "least time of its media for a write"),
    MAY("nvme.jitter", TIME, "0ps", "0ps", "1s", 0,
        "largest random addition to a latency of the media"),
    MAY("nvme.read_bandwidth", RATE, NULL, "1MB/s", NULL, 0,
        "bandwidth of its media for reads"),
    MAY("nvme.write_bandwidth", RATE, NULL, "1MB/s", NULL, 0,
        "bandwidth of its media for writes"),
    MAY("nvme.commands", INT, NULL, "1", "65535", 0,
        "commands it works on at a time"),
    MAY("nvme.max_transfer", BYTES, NULL, "4KiB", "2MiB", POWER,
        "largest transfer of one command (MDTS)"),
    MAY("nvme.block", BYTES, "512B", "512B", "4KiB", POWER,
        "size of a logical block"),
    SWITCH("nvme.serial",
           "on: it begins nothing else on the link while it waits for a queue "
           "entry, a PRP list or a shadow doorbell, or while data of a read "
           "leave, as QEMU's drive; off: commands do not wait for each other"),
    SWITCH(
        "nvme.read_ahead",
        "on: a read that begins where the last one ended does not wait for the "
        "media"),
    MAY("nic.rate", RATE, NULL, "1MB/s", NULL, 0,
        "a NIC: rate of each of its `card.ports` (200 Gb/s are 25GB/s); with "
        "it all keys of `nic:` without a default, or none"),
    MAY("nic.queues", INT, NULL, "1", "65536", 0,
        "receive queues, and as many transmit queues"),
    MAY("nic.descriptor", BYTES, NULL, "8B", "64B", POWER,
        "size of a descriptor"),
    MAY("nic.completion", BYTES, NULL, "8B", "64B", POWER,
        "size of a completion entry"),
    MAY("nic.tx_descriptor", BYTES, NULL, "8B", "64B", POWER,
        "size of a transmit descriptor; without it `nic.descriptor`"),
    MAY("nic.tx_completion", BYTES, NULL, "4B", "64B", POWER,
        "what it writes when it has sent; without it `nic.completion`"),
    MAY("nic.rx_prefetch", INT, NULL, "1", "1024", 0,
        "receive descriptors that it fetches with one read"),
    MAY("nic.tx_prefetch", INT, NULL, "1", "1024", 0,
        "the same for transmit descriptors"),
    SWITCH("nic.on_demand",
           "on: it fetches receive descriptors when a packet needs them; off: "
           "as soon as it has space for them"),
    MAY("nic.cache", INT, NULL, "8", "65536", 0,
        "descriptors of a queue that it holds or fetches at a time"),
    MAY("nic.tx_batch", INT, NULL, "1", "1024", 0,
        "transmit descriptors for which it writes one completion entry"),
    MAY("nic.rx_buffer", BYTES, NULL, "16KiB", "1GiB", 0,
        "space for packets that come in, for each port"),
    MAY("nic.tx_buffer", BYTES, NULL, "16KiB", "1GiB", 0,
        "bytes of packets for each port that it reads at a time"),
    MAY("nic.latency", TIME, NULL, "0ps", "1ms", 0,
        "time of a packet between the wire and DMA"),
    MAY("nic.moderation", TIME, "0ps", "0ps", "1s", 0,
        "longest time from a completion to its interrupt; 0ps: at once"),
    MAY("nic.moderation_packets", INT, "1", "1", "65536", 0,
        "packets after which the interrupt does not wait any longer"),
    MAY("nic.segment", BYTES, "64KiB", "256B", "1MiB", 0,
        "most payload of a transmit descriptor, which it cuts into packets"),
    SWITCH("nic.header_split",
           "on: it can write headers and payload to different places"),
    SWITCH("nic.flush",
           "on: it reads the last byte of each payload back before it writes "
           "the completion entry"),
};

const TopoSection topo_section_root_port = {
    "root port", "A member of `root_ports`.",
    (const TopoKey[]){
        NEEDS("name", NAME, NULL, NULL, 0, "its name, for `at:`"),
        LINK,
        MAY("node", INT, "0", "0", "15", 0,
            "the socket, or the quadrant of an I/O die, to which it belongs; "
            "`nodes:` has what lies between two of them"),
    },
    4};

const TopoSection topo_section_way = {
    "way", "A member of `ways`: one direction between two nodes of a CPU.",
    (const TopoKey[]){
        NEEDS("from", INT, "0", "15", 0, "node"),
        NEEDS("to", INT, "0", "15", 0, "node"),
        MAY("latency", TIME, NULL, "0ps", "1ms", 0,
            "as `nodes.latency`, which it replaces"),
        MAY("bandwidth", RATE, NULL, "1MB/s", NULL, 0,
            "of this way alone, counted in payload; without it no limit"),
        MAY("writes", BYTES, NULL, "0B", "16MiB", 0,
            "as `nodes.writes`, which it replaces"),
        MAY("acknowledge", TIME, NULL, "0ps", "1ms", 0,
            "as `nodes.acknowledge`, which it replaces"),
    },
    6};

const TopoSection topo_section_bar = {
    "BAR", "A member of `bars`. A 64-bit BAR takes two numbers of the six.",
    (const TopoKey[]){
        NEEDS("size", BYTES, "128B", "1024TiB", POWER, "its size"),
        SWITCH("prefetchable", "on: reads have no side effects"),
        {.key = "width",
         .type = TOPO_TYPE_INT,
         .fallback = "64",
         .choices = "32|64",
         .help = "bits of its addresses"},
    },
    3};

static const TopoSection part_sections[TOPO_PART_N_KINDS] = {
    [TOPO_PART_CPU] = {"cpu",
                       "Root complex, memory, IOMMU and cores of a host.",
                       cpu_keys, G_N_ELEMENTS(cpu_keys)},
    [TOPO_PART_SWITCH] = {"switch", "A transparent PCIe switch.", switch_keys,
                          G_N_ELEMENTS(switch_keys)},
    [TOPO_PART_NTB] = {"ntb", "An adapter with a non-transparent bridge.",
                       ntb_keys, G_N_ELEMENTS(ntb_keys)},
    [TOPO_PART_GPU] = {"gpu", "A GPU with a copy engine.", gpu_keys,
                       G_N_ELEMENTS(gpu_keys)},
    [TOPO_PART_ENDPOINT] = {"endpoint", "Any other device with a DMA engine.",
                            endpoint_keys, G_N_ELEMENTS(endpoint_keys)},
};

const TopoSection *topo_schema_part(TopoPartKind kind)
{
    g_assert(kind < TOPO_PART_N_KINDS);
    return &part_sections[kind];
}
