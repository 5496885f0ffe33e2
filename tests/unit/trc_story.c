/* SPDX-License-Identifier: MIT */
#include "trc_story.h"

#include <inttypes.h>

static const char *const disk_hex =
    "0020 0004 00000000fe000000 0000000000004000"
    "0000000000000000 0000000000000000 0000000000000000 0000000000000000"
    "0000000000000000 0000000000000000 0000000000000000 0000000000000000"
    "0000000000000000 0000000000000000 6469736b";

void trc_story_packet(TrcStory *story, int64_t time, unsigned end,
                      unsigned kind, unsigned transaction, const char *body)
{
    g_autofree char *head =
        trc_bytes_head(kind, end, story->sequence[end]++, transaction, 0);
    g_autofree char *hex = g_strconcat(head, body, NULL);

    trc_bytes_packet(&story->bytes, end, (uint64_t)time, hex, 0);
}

TrcStory trc_story_new(int64_t time, const char *const names[2])
{
    TrcStory story = {.bytes = trc_bytes_new(false)};
    g_autofree char *start = g_strconcat("00000001 00000028 ", disk_hex, NULL);

    trc_bytes_section(&story.bytes);
    trc_bytes_interface(&story.bytes, 147, names[0], 9);
    trc_bytes_interface(&story.bytes, 147, names[1], 9);
    trc_story_packet(&story, time, 0, 2, 0, "00000001 00000028");
    trc_story_packet(&story, time, 1, 2, 0, start);
    return story;
}

void trc_story_clear(TrcStory *story)
{
    trc_bytes_clear(&story->bytes);
}

/* A request, PCIe 5.0 s2.2.7 */
static char *request(unsigned type, unsigned requester, unsigned tag,
                     uint64_t address, unsigned bytes)
{
    return g_strdup_printf("%02x00%04x %04x%02x%s %08" PRIx64, type, bytes / 4,
                           requester, tag, bytes > 4 ? "ff" : "0f", address);
}

void trc_story_write(TrcStory *story, int64_t time, unsigned end,
                     unsigned requester, uint64_t address, unsigned bytes)
{
    g_autofree char *header = request(0x40, requester, 0, address, bytes);
    g_autoptr(GString) body = g_string_new(header);

    for (unsigned i = 0; i < bytes; i++) {
        g_string_append(body, "5a");
    }
    trc_story_packet(story, time, end, 1, 0, body->str);
}

void trc_story_read(TrcStory *story, int64_t time, unsigned end,
                    unsigned requester, uint64_t address, unsigned bytes,
                    unsigned transaction)
{
    g_autofree char *header =
        request(0x00, requester, transaction & 0xff, address, bytes);

    trc_story_packet(story, time, end, 1, transaction, header);
}

void trc_story_completion(TrcStory *story, int64_t time, unsigned end,
                          unsigned transaction)
{
    g_autofree char *body = g_strdup_printf("4a000001 00280004 0028%02x00 %08x",
                                            transaction & 0xff, 0);

    trc_story_packet(story, time, end, 1, transaction, body);
}

void trc_story_doorbell(TrcStory *story, int64_t time, unsigned end,
                        uint64_t bits)
{
    g_autofree char *body = g_strdup_printf("%016" PRIx64, bits);

    trc_story_packet(story, time, end, 7, 0, body);
}

void trc_story_arrival(TrcStory *story, int64_t time, unsigned end,
                       unsigned what, unsigned bytes, uint64_t address,
                       unsigned transaction)
{
    g_autofree char *body =
        g_strdup_printf("%08x %08x %016" PRIx64, what, bytes, address);

    trc_story_packet(story, time, end, 15, transaction, body);
}
