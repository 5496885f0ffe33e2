/* SPDX-License-Identifier: MIT */
#include "inv_import.h"

#include <string.h>

#include "inv_import_priv.h"
#include "inv_inventory.h"

#define TERMINAL_NAMES 6 /* of a note, in the report */

/* ---- The comment ------------------------------------------------------- */

/* Appends @words as lines of a comment. */
static void append_wrapped(GString *out, const char *first, GPtrArray *words)
{
    g_autoptr(GString) line = g_string_new(first);

    for (unsigned i = 0; i < words->len; i++) {
        const char *word = words->pdata[i];

        if (line->len + strlen(word) > 76) {
            g_string_append_printf(out, "%s\n", line->str);
            g_string_assign(line, "#  ");
        }
        g_string_append_printf(line, " %s%s", word,
                               i + 1 < words->len ? "," : "");
    }
    g_string_append_printf(out, "%s\n", line->str);
}

/* Appends the keys of @part that the text called @name does not give. */
static void append_unknown(GString *out, const char *title,
                           const TopoPart *part, const char *name)
{
    g_autoptr(GPtrArray) keys = g_ptr_array_new();
    g_autofree char *first = g_strdup_printf("# %s:", title);

    for (unsigned i = 0; i < topo_part_n_values(part); i++) {
        g_auto(TopoPartValue) value = {0};

        topo_part_value(part, i, &value);
        if (value.text && strcmp(value.place.file, name) != 0 &&
            !g_str_has_prefix(value.key, "card.") &&
            !g_str_has_prefix(value.key, "nvme.")) {
            g_ptr_array_add(keys, (void *)value.key);
        }
    }
    append_wrapped(out, first, keys);
}

/* Appends the root ports whose link the source does not tell. */
static void append_unknown_ports(const InvImporter *importer, GString *out)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

    for (unsigned i = 0; i < importer->machine->functions->len; i++) {
        const TopoFunction *function = &inv_function_at(importer, i)->pub;

        if (inv_has_root_port(importer, i) &&
            (!function->speed_mtps || !function->width)) {
            g_ptr_array_add(names, inv_element_name(importer, i, "rp"));
        }
    }
    if (names->len > 0) {
        append_wrapped(out, "# speed or width of the root ports:", names);
    }
}

/* Says that DMA engines use their settings to the full, if a device has some.
 */
static void append_assumed(const InvImporter *importer, GString *out)
{
    for (unsigned i = 0; i < importer->machine->functions->len; i++) {
        const InvSettings *settings = &inv_function_at(importer, i)->settings;

        if (importer->places[i].role == INV_ROLE_DEVICE &&
            (settings->mps_bytes || settings->mrrs_bytes)) {
            g_string_append(out,
                            "# dma.write_size and dma.read_size are assumed to "
                            "be mps and mrrs.\n");
            return;
        }
    }
}

/* Adds a note about the functions whose link was guessed from its bandwidth. */
static void note_guessed(const InvImporter *importer)
{
    for (unsigned i = 0; i < importer->machine->functions->len; i++) {
        const InvFunction *function = inv_function_at(importer, i);
        g_autofree char *address =
            topo_address_to_string(function->pub.address);

        if (function->is_guessed) {
            inv_machine_note(importer->machine,
                             "two links have the bandwidth of these; the wider "
                             "one is assumed",
                             address);
        }
    }
}

/* Appends the notes, with all names. */
static void append_notes(const InvMachine *machine, GString *out)
{
    for (unsigned i = 0; i < machine->notes->len; i++) {
        const InvNote *note = machine->notes->pdata[i];
        g_auto(GStrv) words = g_strsplit(note->text, " ", -1);
        g_autoptr(GString) line = g_string_new("#\n#");

        for (unsigned j = 0; words[j]; j++) {
            if (line->len + strlen(words[j]) > 76) {
                g_string_append_printf(out, "%s\n", line->str);
                g_string_assign(line, "#");
            }
            g_string_append_printf(line, " %s", words[j]);
        }
        g_string_append_printf(out, "%s%s\n", line->str,
                               note->names->len > 0 ? ":" : "");
        if (note->names->len > 0) {
            append_wrapped(out, "#  ", note->names);
        }
    }
}

static void append_left_out(const InvImporter *importer, GString *out)
{
    for (unsigned i = 0; i < importer->machine->functions->len; i++) {
        if (importer->places[i].reason) {
            g_autofree char *address = topo_address_to_string(
                inv_function_at(importer, i)->pub.address);

            g_string_append_printf(out, "#   %s  %s\n", address,
                                   importer->places[i].reason);
        }
    }
}

/* Returns the comment on the description that was loaded from @text. */
static char *comment_new(const InvImporter *importer, const char *file,
                         const TopoDescription *description)
{
    const TopoHost *host = description->hosts->pdata[0];
    g_autofree char *base = g_path_get_basename(file);
    GString *out = g_string_new(NULL);

    g_string_append_printf(out,
                           "# Imported from %s.\n#\n"
                           "# These numbers are not known. They are those of "
                           "the generic parts:\n",
                           base);
    append_unknown(out, "cpu", host->cpu, description->file);
    for (unsigned i = 0; i < host->switches->len; i++) {
        const TopoSwitch *sw = host->switches->pdata[i];

        append_unknown(out, sw->name, sw->part, description->file);
    }
    for (unsigned i = 0; i < host->devices->len; i++) {
        const TopoDevice *device = host->devices->pdata[i];

        append_unknown(out, device->name, device->part, description->file);
    }
    append_unknown_ports(importer, out);
    append_assumed(importer, out);
    append_notes(importer->machine, out);
    g_string_append(out, "#\n");
    g_string_append(out, "# The model has one root for all root buses, and "
                         "leaves these functions out:\n");
    append_left_out(importer, out);
    g_string_append_c(out, '\n');
    return g_string_free(out, FALSE);
}

/* ---- The report -------------------------------------------------------- */

/* Appends "N WORD", or "N WORDs". */
static void append_count(GString *out, unsigned n, const char *word)
{
    g_string_append_printf(out, "%u %s%s", n, word,
                           n == 1                             ? ""
                           : g_str_has_suffix(word, "switch") ? "es"
                                                              : "s");
}

/* Appends the reasons for which functions are left out, with their numbers. */
static void append_reasons(const InvImporter *importer, GString *out)
{
    unsigned n = importer->machine->functions->len;
    const char *separator = "";

    for (unsigned i = 0; i < n; i++) {
        const char *reason = importer->places[i].reason;
        unsigned count = 0;
        bool is_new = reason;

        for (unsigned j = 0; j < n && reason; j++) {
            is_new &= j >= i || importer->places[j].reason != reason;
            count += importer->places[j].reason == reason;
        }
        if (is_new) {
            g_string_append_printf(out, "%s%s (%u)", separator, reason, count);
            separator = "; ";
        }
    }
}

/* Returns the lines for the user: the notes, and one that says what was taken
 * and what was not. */
static char *report_new(const InvImporter *importer)
{
    GString *out = g_string_new(NULL);
    unsigned n = importer->machine->functions->len;
    unsigned counts[INV_ROLE_PORT + 1] = {0};
    unsigned root_ports = 0;

    for (unsigned i = 0; i < importer->machine->notes->len; i++) {
        const InvNote *note = importer->machine->notes->pdata[i];

        g_string_append(out, note->text);
        for (unsigned j = 0; j < MIN(note->names->len, TERMINAL_NAMES); j++) {
            g_string_append_printf(out, "%s%s", j > 0 ? ", " : ": ",
                                   (char *)note->names->pdata[j]);
        }
        if (note->names->len > TERMINAL_NAMES) {
            g_string_append_printf(out, " and %u more",
                                   note->names->len - TERMINAL_NAMES);
        }
        g_string_append_c(out, '\n');
    }
    for (unsigned i = 0; i < n; i++) {
        counts[importer->places[i].role]++;
        root_ports += inv_has_root_port(importer, i);
    }
    g_string_append(out, counts[INV_ROLE_DEVICE] == 0
                             ? "no device was imported; took "
                             : "took ");
    append_count(out, counts[INV_ROLE_DEVICE], "device");
    g_string_append(out, ", ");
    append_count(out, counts[INV_ROLE_UPSTREAM], "switch");
    g_string_append(out, " and ");
    append_count(out, root_ports, "root port");
    if (!importer->machine->has_no_addresses) {
        g_string_append_printf(out, " from %u function%s; left out %u", n,
                               n == 1 ? "" : "s", counts[INV_ROLE_NONE]);
        if (counts[INV_ROLE_NONE] > 0) {
            g_string_append(out, ": ");
            append_reasons(importer, out);
        }
    }
    return g_string_free(out, FALSE);
}

/* ---- Import ------------------------------------------------------------ */

static InvMachine *read_machine(const char *file, const char *text,
                                size_t length, GError **error)
{
    unsigned rest = 0;
    g_autofree char *clean = inv_text_clean(file, text, length, &rest, error);
    const char *first;
    InvMachine *machine;

    if (!clean) {
        return NULL;
    }
    first = clean + strspn(clean, " \t\n");
    while (*first == '#') {
        first += strcspn(first, "\n");
        first += strspn(first, " \t\n");
    }
    machine = *first == '<' ? inv_read_xml(file, clean, error)
              : g_str_has_prefix(first, "-[") || g_str_has_prefix(first, "-+-[")
                  ? inv_read_lspci_tree(file, clean, error)
              : inv_is_matrix(first) ? inv_read_matrix(file, clean, error)
                                     : inv_read_lspci(file, clean, error);
    if (machine && rest > 0) {
        g_autofree char *line = g_strdup_printf("%s:%u", file, rest);

        inv_machine_note(machine,
                         "another command begins here, and its output was not "
                         "read",
                         line);
    }
    return machine;
}

char *inv_import(const char *file, const char *text, size_t length,
                 const char *host, const char *parts_dir, char **ret_report,
                 GError **error)
{
    g_autoptr(InvMachine) machine = read_machine(file, text, length, error);
    g_autofree InvPlace *places = NULL;
    InvImporter importer = {.machine = machine};
    g_autofree char *body = NULL;
    g_autofree char *comment = NULL;
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(TopoDescription) description = NULL;

    if (!machine) {
        return NULL;
    }
    places = g_new0(InvPlace, machine->functions->len);
    importer.places = places;
    inv_find_roles(&importer);
    note_guessed(&importer);
    body = inv_description_text(&importer, host);
    description =
        topo_load_buffer(file, body, strlen(body), parts_dir, NULL, errors);
    if (!description) {
        g_autoptr(GError) first = topo_errors_to_gerror(errors);

        /* Generic parts of the user may be wrong. Places in the text that was
         * made here would tell the user nothing. */
        if (g_str_has_prefix(first->message, file)) {
            g_set_error(error, INV_ERROR, INV_ERROR_IMPORT,
                        "%s: this machine is one that the import cannot "
                        "describe; please report it with the dump",
                        file);
        } else {
            g_set_error(error, INV_ERROR, INV_ERROR_IMPORT,
                        "%s: the generic parts are wrong: %s", file,
                        first->message);
        }
        return NULL;
    }
    comment = comment_new(&importer, file, description);
    *ret_report = report_new(&importer);
    return g_strconcat(comment, body, NULL);
}
