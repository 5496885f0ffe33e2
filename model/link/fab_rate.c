/* SPDX-License-Identifier: MIT */
#include "fab_flit_priv.h"
#include "fab_port_priv.h"

/*
 * Values that follow from the speed and width of a link: the time of a byte,
 * the interval of SKP ordered sets, the Ack latency limit, the beats of a port.
 */

/* Rounding of the times of the TLPs between two DLLPs. */
#define DLLP_LIMIT_SLACK (20 * SIM_PS)

/* Time of a byte on one lane, encoding included, in 1/FAB_PS_FRACTION ps. */
static uint64_t lane_byte_time(FabSpeed speed)
{
    switch (speed) {
    case FAB_SPEED_2_5GT: /* 8b/10b */
        return 4000 * FAB_PS_FRACTION;
    case FAB_SPEED_5_0GT:
        return 2000 * FAB_PS_FRACTION;
    case FAB_SPEED_8_0GT: /* 128b/130b: 1015.625 ps */
        return 8125 * FAB_PS_FRACTION / 8;
    case FAB_SPEED_16_0GT:
        return 8125 * FAB_PS_FRACTION / 16;
    case FAB_SPEED_32_0GT:
        return 8125 * FAB_PS_FRACTION / 32;
    default: /* 1b/1b */
        return 125 * FAB_PS_FRACTION;
    }
}

/* An SKP ordered set, and the longest interval between two, in symbols
 * (PCIe 5.0 s4.2.7, PCIe 6.0 s4.2.8). The blocks have 16 symbols. */
typedef struct Skp {
    uint32_t symbols, interval;
} Skp;

static Skp skp_of(FabSpeed speed)
{
    return speed <= FAB_SPEED_5_0GT    ? (Skp){4, 1538}      /* 8b/10b */
           : speed <= FAB_SPEED_32_0GT ? (Skp){16, 375 * 16} /* 128b/130b */
                                       : (Skp){40, 750 * 16} /* 1b/1b */;
}

/* The first interval begins at @now. In FLIT mode the flits know about SKP
 * ordered sets, and the port itself has none. */
static void port_set_skp(FabPort *port, SimTime now)
{
    uint64_t symbol = lane_byte_time(port->speed);
    Skp skp = skp_of(port->speed);

    if (port->flits) {
        fab_flits_restart(port->flits, now, port->byte_time,
                          skp.interval * port->width / FAB_FLIT_BYTES,
                          skp.symbols * symbol);
        return;
    }
    port->skp.interval = symbol * skp.interval / FAB_PS_FRACTION;
    port->skp.time = symbol * skp.symbols / FAB_PS_FRACTION;
    port->skp.next = now + port->skp.interval;
}

/* Ten times the AckFactor: the number of largest TLPs that a receiver may
 * collect before it sends an Ack or UpdateFC. */
static uint32_t ack_factor_x10(uint32_t width, uint32_t mps_bytes)
{
    switch (width) {
    case 1:
    case 2:
    case 4:
        return mps_bytes <= 256 ? 14 : 10;
    case 8:
        return mps_bytes <= 256 ? 25 : 10;
    case 12:
    case 16:
        return mps_bytes <= 256 ? 30 : 20;
    default:
        return mps_bytes <= 256 ? 30 : 20;
    }
}

/*
 * The Ack latency limit, in symbol times: (MPS + 28) * AckFactor / width plus
 * an internal delay (PCIe 5.0 s3.6.3.1; the tables 3-10 to 3-12 of revision 6
 * have the same values). s2.6.1.2 gives UpdateFCs the same limit.
 */
static uint32_t dllp_limit_symbols(FabSpeed speed, uint32_t width,
                                   uint32_t mps_bytes)
{
    uint32_t delay = speed == FAB_SPEED_2_5GT   ? 19
                     : speed == FAB_SPEED_5_0GT ? 70
                                                : 115;

    return (mps_bytes + 28) * ack_factor_x10(width, mps_bytes) / (10 * width) +
           delay;
}

/* The limit as a time, for a link of @speed and @width. It is a little shorter
 * than the specification's, so that TLPs that fill it exactly reach it in spite
 * of rounding. */
static SimTime dllp_limit(FabSpeed speed, uint32_t width, uint32_t mps_bytes)
{
    return dllp_limit_symbols(speed, width, mps_bytes) * lane_byte_time(speed) /
               FAB_PS_FRACTION -
           DLLP_LIMIT_SLACK;
}

SimTime fab_port_ack_limit(const FabPort *port)
{
    return dllp_limit(port->speed, port->width, port->mps_bytes);
}

void fab_port_set_rate(FabPort *port, FabSpeed speed, uint32_t width,
                       SimTime now)
{
    FabService *service = &port->params.service;

    port->speed = speed;
    port->width = width;
    port->byte_time = lane_byte_time(speed) / width;
    port->dllp_time =
        fab_port_wire_time(port, FAB_DLLP_BYTES) / FAB_PS_FRACTION;
    port_set_skp(port, now);
    if (service->width) {
        service->beat_bytes =
            MAX(port->service_bytes * width / service->width, 1);
    }
    if (service->beat_bytes) {
        port->beat_inverse = fab_beat_inverse(service->beat_bytes);
    }
}

const char *fab_speed_name(FabSpeed speed)
{
    static const char *const names[] = {
        [FAB_SPEED_2_5GT] = "2.5GT/s",   [FAB_SPEED_5_0GT] = "5.0GT/s",
        [FAB_SPEED_8_0GT] = "8.0GT/s",   [FAB_SPEED_16_0GT] = "16.0GT/s",
        [FAB_SPEED_32_0GT] = "32.0GT/s", [FAB_SPEED_64_0GT] = "64.0GT/s",
    };

    return speed >= FAB_SPEED_2_5GT && speed <= FAB_SPEED_64_0GT ? names[speed]
                                                                 : "?";
}
