/* SPDX-License-Identifier: MIT */
/* The faults of random descriptions. */
#include "fuzz_gen.h"

/* Begins a fault at a time when flows run, or with a packet. */
static void add_begin(Gen *gen, bool dllps)
{
    static const char *const events[] = {"tlp",        "write",    "read",
                                         "completion", "doorbell", "dllp"};

    if (gen_one_in(gen, 2)) {
        gen_add(gen, ", at: %uns", gen_below(gen, 30000));
    } else {
        gen_add(gen, ", when: %s", events[gen_below(gen, dllps ? 6 : 5)]);
        gen_add(gen, " %u", 1 + gen_below(gen, 200));
    }
    if (gen_one_in(gen, 4)) {
        gen_add(gen, ", end: %s", gen_one_in(gen, 2) ? "lower" : "upper");
    }
}

/* Lasts for a while or for ever, after which a link trains. */
static void add_while(Gen *gen)
{
    if (!gen_one_in(gen, 4)) {
        gen_add(gen, ", for: %uns", 1 + gen_below(gen, 20000));
        gen_add(gen, ", training: %uns", 1 + gen_below(gen, 100000));
    }
}

static void add_fault(Gen *gen)
{
    unsigned kind = gen_below(gen, 8);

    if (kind < 3) {
        gen_add(gen, "link-down");
        add_begin(gen, false);
        add_while(gen);
    } else if (kind == 3) {
        gen_add(gen, "degrade, %s",
                gen_one_in(gen, 2) ? "speed: 2.5GT/s" : "width: x1");
        add_begin(gen, false);
        add_while(gen);
    } else if (kind == 4) {
        gen_add(gen, "overflow, surplus: %u", 1 + gen_below(gen, 8));
        if (gen_one_in(gen, 2)) {
            gen_add(gen, ", end: upper");
        }
    } else if (kind == 5) {
        gen_add(gen, "bit-errors, rate: 1e-%u", 4 + gen_below(gen, 4));
        add_begin(gen, true);
    } else if (kind == 6) {
        gen_add(gen, "bit-errors, count: %u", 1 + gen_below(gen, 9));
        add_begin(gen, true);
    } else {
        gen_add(gen, "poison, %s",
                gen_one_in(gen, 2) ? "count: 3" : "rate: 0.01");
        add_begin(gen, false);
    }
    gen_add(gen, "}\n");
}

/* Faults of the links of devices, of every kind. */
void gen_add_faults(Gen *gen)
{
    unsigned count = gen_one_in(gen, 3) ? 1 + gen_below(gen, 3) : 0;
    unsigned last = 0;

    if (count > 0) {
        gen_add(gen, "faults:\n");
    }
    /* Two faults of one link that do the same are refused, so most are of
     * different links. */
    for (unsigned i = 0; i < count; i++) {
        unsigned target = gen_below(gen, gen->devices->len);

        if (i > 0 && !gen_one_in(gen, 4)) {
            target = (last + 1) % gen->devices->len;
        }
        last = target;
        gen_add(gen, "  - {name: fault%u, target: %s, action: ", i,
                (const char *)gen->devices->pdata[target]);
        add_fault(gen);
    }
}
