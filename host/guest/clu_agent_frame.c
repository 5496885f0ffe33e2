/* SPDX-License-Identifier: MIT */
/* Frames between a supervisor and its guests' agents: see clu_agent.h. */
#include "clu_agent.h"

#include <string.h>

/*
 * Coded data are a sequence of blocks. A block is a byte n from 1 to 255 and
 * n - 1 bytes that are not 0. It stands for these bytes and a 0 after them. No
 * 0 follows if n is 255, or after the last block.
 */
typedef struct Coder {
    uint8_t *to;
    size_t block; /* index of the byte n of the open block */
    size_t used;
} Coder;

static void coder_close(Coder *coder)
{
    coder->to[coder->block] = coder->used - coder->block;
    coder->block = coder->used++;
}

static void coder_add(Coder *coder, const uint8_t *data, size_t length)
{
    while (length > 0) {
        size_t left = 255 - (coder->used - coder->block);
        size_t part = length < left ? length : left;
        const uint8_t *zero = memchr(data, 0, part);
        if (zero) {
            part = zero - data;
        }

        memcpy(coder->to + coder->used, data, part);
        coder->used += part;
        data += part;
        length -= part;
        if (zero) {
            coder_close(coder);
            data++;
            length--;
        } else if (coder->used - coder->block == 255) {
            coder_close(coder);
        }
    }
}

size_t clu_agent_encode(uint8_t *to, CluAgentType type, uint32_t session,
                        const void *body, uint32_t length)
{
    uint8_t head[CLU_AGENT_HEAD_BYTES];
    Coder coder = {.to = to, .used = 1};

    clu_agent_put32(head, length);
    clu_agent_put32(head + 4, session);
    clu_agent_put32(head + 8, type | (uint32_t)CLU_AGENT_VERSION << 16);
    coder_add(&coder, head, sizeof head);
    coder_add(&coder, body, length);
    coder_close(&coder);
    to[coder.used - 1] = 0;
    return coder.used;
}

/* Decodes @data in place, because the result is never longer. Returns false if
 * the coding is wrong. */
static bool decode(uint8_t *data, size_t length, size_t *ret_length)
{
    size_t from = 0;
    size_t to = 0;

    while (from < length) {
        size_t part = data[from] - 1;
        bool is_full = data[from] == 255;
        from++;
        if (part > length - from) {
            return false;
        }
        memmove(data + to, data + from, part);
        from += part;
        to += part;
        if (!is_full && from < length) {
            data[to++] = 0;
        }
    }
    *ret_length = to;
    return true;
}

static bool parse(uint8_t *data, size_t coded, CluAgentFrame *ret_frame)
{
    size_t length;

    if (!decode(data, coded, &length) || length < CLU_AGENT_HEAD_BYTES ||
        clu_agent_get32(data) != length - CLU_AGENT_HEAD_BYTES ||
        length - CLU_AGENT_HEAD_BYTES > CLU_AGENT_BODY_MAX) {
        return false;
    }
    ret_frame->length = length - CLU_AGENT_HEAD_BYTES;
    ret_frame->session = clu_agent_get32(data + 4);
    ret_frame->type = clu_agent_get32(data + 8);
    ret_frame->version = clu_agent_get32(data + 8) >> 16;
    ret_frame->body = data + CLU_AGENT_HEAD_BYTES;
    return true;
}

void clu_agent_reader_init(CluAgentReader *reader)
{
    reader->used = 0;
    reader->overrun = false;
    reader->dropped = 0;
}

size_t clu_agent_reader_feed(CluAgentReader *reader, const uint8_t *data,
                             size_t length, bool *ret_found,
                             CluAgentFrame *ret_frame)
{
    size_t taken = 0;

    *ret_found = false;
    while (taken < length && !*ret_found) {
        const uint8_t *start = data + taken;
        const uint8_t *end = memchr(start, 0, length - taken);
        size_t part = end ? (size_t)(end - start) : length - taken;

        if (part > sizeof reader->data - reader->used) {
            reader->overrun = true;
        }
        if (!reader->overrun && part > 0) {
            memcpy(reader->data + reader->used, start, part);
            reader->used += part;
        }
        taken += part;
        if (end) {
            taken++;
            /* A 0 right after another is not an empty frame: a sender starts
             * with a 0. */
            if (reader->overrun || reader->used > 0) {
                *ret_found = !reader->overrun &&
                             parse(reader->data, reader->used, ret_frame);
                reader->dropped += !*ret_found;
            }
            reader->used = 0;
            reader->overrun = false;
        }
    }
    return taken;
}

uint64_t clu_agent_reader_dropped(const CluAgentReader *reader)
{
    return reader->dropped;
}
