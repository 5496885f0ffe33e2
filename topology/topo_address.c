/* SPDX-License-Identifier: MIT */
#include "topo_address.h"

#include <glib.h>

/* Reads hexadecimal digits, at least one and at most @most, up to @end, and
 * moves *@text behind @end. */
static bool read_hex(const char **text, unsigned most, char end,
                     unsigned *ret_value)
{
    unsigned n = 0;

    *ret_value = 0;
    while (n < most && g_ascii_isxdigit(**text)) {
        *ret_value = *ret_value * 16 + (unsigned)g_ascii_xdigit_value(**text);
        (*text)++;
        n++;
    }
    if (n == 0 || **text != end) {
        return false;
    }
    *text += end != '\0';
    return true;
}

bool topo_address_parse(const char *text, TopoPciAddress *ret_address)
{
    const char *rest = text;

    if (!read_hex(&rest, 8, ':', &ret_address->domain)) {
        return false;
    }
    if (!read_hex(&rest, 2, ':', &ret_address->bus)) {
        /* There is no domain. */
        ret_address->domain = 0;
        rest = text;
        if (!read_hex(&rest, 2, ':', &ret_address->bus)) {
            return false;
        }
    }
    return read_hex(&rest, 2, '.', &ret_address->dev) &&
           ret_address->dev < 32 &&
           read_hex(&rest, 1, '\0', &ret_address->fn) && ret_address->fn < 8;
}

char *topo_address_to_string(TopoPciAddress address)
{
    return g_strdup_printf("%04x:%02x:%02x.%x", address.domain, address.bus,
                           address.dev, address.fn);
}

int topo_address_compare(TopoPciAddress a, TopoPciAddress b)
{
    if (a.domain != b.domain) {
        return a.domain < b.domain ? -1 : 1;
    }
    if (a.bus != b.bus) {
        return a.bus < b.bus ? -1 : 1;
    }
    if (a.dev != b.dev) {
        return a.dev < b.dev ? -1 : 1;
    }
    return a.fn < b.fn ? -1 : a.fn > b.fn;
}

TopoPciAddress topo_address_add(TopoPciAddress address, unsigned distance)
{
    unsigned id = address.bus * 256 + address.dev * 8 + address.fn + distance;

    address.bus = id / 256;
    address.dev = id / 8 % 32;
    address.fn = id % 8;
    return address;
}
