/* SPDX-License-Identifier: MIT */
#include "ntt_judge.h"

#include <string.h>

#include "table_text.h"

/* The beginnings of a client's lines */
#define WORD_OK       "ok "
#define WORD_NOT_OK   "not ok "
#define WORD_LEFT_OUT "left out "
#define WORD_MORE     "# "
#define WORD_END      "end"

typedef enum Outcome {
    WORKED,
    FAILED,
    LEFT_OUT,
} Outcome;

const char *ntt_verdict_name(NttVerdict verdict)
{
    static const char *const names[NTT_N_VERDICTS] = {
        [NTT_OK] = "ok",        [NTT_NOT_POSSIBLE] = "cannot",
        [NTT_KNOWN] = "defect", [NTT_CHANGED] = "changed",
        [NTT_FAULT] = "FAULT",
    };

    return names[verdict];
}

void ntt_result_free(NttResult *result)
{
    if (result) {
        g_free(result->step);
        g_free(result->text);
        g_free(result);
    }
}

/* True if a step that has ended so, with @text, is what @expected says. */
static bool is_as_expected(const NttExpected *expected, Outcome outcome,
                           const char *text)
{
    if (!expected->words || outcome == LEFT_OUT) {
        return !expected->words && outcome == LEFT_OUT;
    }
    return g_regex_match_simple(expected->words, text, G_REGEX_MULTILINE, 0);
}

static void judge_step(NttResult *result, Outcome outcome)
{
    const NttPlace *place = &result->place;

    result->verdict = outcome == WORKED ? NTT_OK : NTT_FAULT;
    for (const NttExpected *expected = ntt_expected; expected->name;
         expected++) {
        if (!ntt_expected_applies(expected, place->chip->name,
                                  place->client->name, place->from,
                                  result->step, place->series)) {
            continue;
        }
        if (outcome == WORKED) {
            if (!expected->is_rare) {
                result->verdict = NTT_CHANGED;
                result->expected = expected;
            }
        } else if (is_as_expected(expected, outcome, result->text)) {
            result->verdict =
                expected->kind == NTT_CANNOT ? NTT_NOT_POSSIBLE : NTT_KNOWN;
            result->expected = expected;
            return;
        }
    }
}

static void add(const NttPlace *place, const char *step, const char *text,
                Outcome outcome, GPtrArray *results)
{
    NttResult *result = g_new0(NttResult, 1);

    result->place = *place;
    result->step = table_text_from(step, -1, false);
    result->text = table_text_from(text, -1, true);
    judge_step(result, outcome);
    g_ptr_array_add(results, result);
}

void ntt_judge_failed(const NttPlace *place, const char *step, const char *text,
                      GPtrArray *results)
{
    add(place, step, text, FAILED, results);
}

/* The outcome that @line begins a step with, and the step's name. False if it
 * begins none. */
static bool begins_step(const char *line, Outcome *ret_outcome,
                        const char **ret_step)
{
    static const struct {
        const char *word;
        Outcome outcome;
    } words[] = {
        {WORD_OK, WORKED}, {WORD_NOT_OK, FAILED}, {WORD_LEFT_OUT, LEFT_OUT}};

    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++) {
        if (g_str_has_prefix(line, words[i].word)) {
            *ret_outcome = words[i].outcome;
            *ret_step = line + strlen(words[i].word);
            return true;
        }
    }
    return false;
}

void ntt_judge(const NttPlace *place, const char *output, const char *ended,
               GPtrArray *results)
{
    g_auto(GStrv) lines = g_strsplit(output, "\n", 0);
    g_autoptr(GString) text = g_string_new(NULL);
    const char *step = NULL;
    Outcome outcome = FAILED;
    bool is_whole = false;

    for (char **line = lines; *line; line++) {
        const char *next;
        Outcome its;

        if (begins_step(*line, &its, &next)) {
            if (step) {
                add(place, step, text->str, outcome, results);
            }
            step = next;
            outcome = its;
            g_string_truncate(text, 0);
        } else if (strcmp(*line, WORD_END) == 0) {
            is_whole = true;
        } else if (**line != '\0') {
            g_string_append_printf(text, "%s\n",
                                   *line + (g_str_has_prefix(*line, WORD_MORE)
                                                ? strlen(WORD_MORE)
                                                : 0));
        }
    }
    if (step) {
        add(place, step, text->str, outcome, results);
    }
    if (!is_whole) {
        add(place, "comes to its end", step ? ended : output, FAILED, results);
    }
}

char *ntt_left_out(const NttPlace *place)
{
    GString *text = g_string_new(NULL);

    for (const NttExpected *expected = ntt_expected; expected->name;
         expected++) {
        if (!expected->words &&
            ntt_expected_applies(expected, place->chip->name,
                                 place->client->name, place->from,
                                 expected->step, place->series)) {
            g_autofree char *step =
                g_strndup(expected->step, strcspn(expected->step, "*"));

            g_string_append_printf(text, "%s\n", step);
        }
    }
    return g_string_free(text, FALSE);
}
