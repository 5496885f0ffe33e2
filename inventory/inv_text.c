/* SPDX-License-Identifier: MIT */
/* Undoes the changes of terminals, mail programs and Markdown to a dump. */
#include <string.h>

#include "inv_inventory.h"
#include "inv_machine_priv.h"

/* Returns @text as UTF-8. A mark of byte order tells of UTF-16, in which some
 * systems save what is redirected. */
static char *to_utf8(const char *name, const char *text, size_t length,
                     GError **error)
{
    const char *encoding = length < 2                         ? NULL
                           : memcmp(text, "\xff\xfe", 2) == 0 ? "UTF-16LE"
                           : memcmp(text, "\xfe\xff", 2) == 0 ? "UTF-16BE"
                                                              : NULL;
    g_autofree char *utf8 = NULL;
    size_t n = length;

    if (encoding) {
        utf8 = g_convert(text + 2, (gssize)length - 2, "UTF-8", encoding, NULL,
                         &n, NULL);
    } else {
        bool is_marked = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;

        n = length - (is_marked ? 3 : 0);
        utf8 = g_strndup(text + (is_marked ? 3 : 0), n);
    }
    if (!utf8 || strlen(utf8) != n) {
        g_set_error(error, INV_ERROR, INV_ERROR_IMPORT,
                    "%s is no text; give the output of lspci -vvv, lspci -t or "
                    "nvidia-smi topo -m, hwloc XML or NCCL XML",
                    name);
        return NULL;
    }
    return g_steal_pointer(&utf8);
}

/* Returns the byte behind the escape sequence at @at (ECMA-48 s5.4). */
static const char *skip_escape(const char *at)
{
    at++;
    if (*at == '[') {
        at++;
        while (*at >= 0x20 && *at < 0x40) {
            at++;
        }
    } else if (*at == '(' || *at == ')') {
        at++;
    }
    return *at && *at != '\n' ? at + 1 : at;
}

/* Returns @text without CR and escape sequences, with blanks for no-break
 * spaces. */
static GString *plain_text(const char *text)
{
    GString *out = g_string_sized_new(strlen(text));

    while (*text) {
        if (*text == '\033') {
            text = skip_escape(text);
        } else if (*text == '\r') {
            text++;
        } else if (strncmp(text, "\xc2\xa0", 2) == 0) {
            g_string_append_c(out, ' ');
            text += 2;
        } else {
            g_string_append_c(out, *text++);
        }
    }
    return out;
}

static bool is_fence(const char *line)
{
    line += strspn(line, " \t");
    return g_str_has_prefix(line, "```") || g_str_has_prefix(line, "~~~");
}

/* Empties the lines outside of Markdown's fences, if there are any, and the
 * fences. */
static void drop_fences(char **lines)
{
    bool has_fences = false;
    bool is_inside = false;

    for (unsigned i = 0; lines[i]; i++) {
        has_fences |= is_fence(lines[i]);
    }
    for (unsigned i = 0; lines[i] && has_fences; i++) {
        if (is_fence(lines[i])) {
            is_inside = !is_inside;
            *lines[i] = '\0';
        } else if (!is_inside) {
            *lines[i] = '\0';
        }
    }
}

/* Takes "> " of mail off the begin of the lines. A line of XML may begin so,
 * too, but not all of them. */
static void drop_quotes(char **lines)
{
    unsigned quoted = 0, others = 0;

    for (unsigned i = 0; lines[i]; i++) {
        quoted += *lines[i] == '>';
        others += *lines[i] != '>' && *lines[i] != '\0';
    }
    if (quoted <= others) {
        return;
    }
    for (unsigned i = 0; lines[i]; i++) {
        const char *at = lines[i];

        while (*at == '>') {
            at++;
            at += at[0] == ' ';
        }
        memmove(lines[i], at, strlen(at) + 1);
    }
}

/* Takes off the blanks with which all lines begin. */
static void drop_indent(char **lines)
{
    const char *first = NULL;
    size_t length = 0;

    for (unsigned i = 0; lines[i]; i++) {
        size_t same = 0;

        if (*lines[i] == '\0') {
            continue;
        }
        if (!first) {
            first = lines[i];
            length = strspn(first, " \t");
        }
        while (same < length && lines[i][same] == first[same]) {
            same++;
        }
        length = same;
    }
    for (unsigned i = 0; lines[i] && length > 0; i++) {
        if (*lines[i] != '\0') {
            memmove(lines[i], lines[i] + length, strlen(lines[i] + length) + 1);
        }
    }
}

static bool is_command(const char *text)
{
    static const char *const commands[] = {"lspci", "nvidia-smi", "cat ",
                                           "lstopo"};

    text += strspn(text, " ");
    text += g_str_has_prefix(text, "sudo ") ? strlen("sudo ") : 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(commands); i++) {
        if (g_str_has_prefix(text, commands[i])) {
            return true;
        }
    }
    return false;
}

/* Returns whether @line is the prompt of a shell: "$ lspci", "user@host:~$"
 * with or without a command, or anything else, or nothing, before a command
 * that is known here. A line "# ..." without one is a comment. */
static bool is_prompt(const char *text)
{
    const char *line = text + strspn(text, " \t");
    const char *end = line + strcspn(line, "$#%>");
    size_t length = (size_t)(end - line);

    if (is_command(line)) {
        return true;
    }
    if (*end == '\0' || (end[1] != ' ' && end[1] != '\0')) {
        return false;
    }
    return is_command(end + 1) || (length == 0 && *end == '$') ||
           (memchr(line, '@', length) && !memchr(line, '=', length));
}

/* Empties the prompts before the dump, and all from the first prompt after it:
 * what follows is the output of another command. Returns the line of this
 * prompt, 0 if nothing follows it. */
static unsigned drop_prompts(char **lines)
{
    bool has_begun = false;
    unsigned over = 0;
    bool has_rest = false;

    for (unsigned i = 0; lines[i]; i++) {
        bool is_one = is_prompt(lines[i]);

        if (is_one && has_begun && over == 0) {
            over = i + 1;
        }
        has_rest |= over > 0 && !is_one && *lines[i] != '\0';
        has_begun |= !is_one && *lines[i] != '\0' && *lines[i] != '#';
        if (is_one || over > 0) {
            *lines[i] = '\0';
        }
    }
    return has_rest ? over : 0;
}

char *inv_text_clean(const char *name, const char *text, size_t length,
                     unsigned *ret_rest, GError **error)
{
    g_autofree char *utf8 = to_utf8(name, text, length, error);
    g_autoptr(GString) plain = NULL;
    g_auto(GStrv) lines = NULL;

    if (!utf8) {
        return NULL;
    }
    plain = plain_text(utf8);
    lines = g_strsplit(plain->str, "\n", -1);
    for (unsigned i = 0; lines[i]; i++) {
        g_strchomp(lines[i]);
    }
    drop_quotes(lines);
    drop_fences(lines);
    *ret_rest = drop_prompts(lines);
    drop_indent(lines);
    return g_strjoinv("\n", lines);
}
