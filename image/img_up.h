/* SPDX-License-Identifier: MIT */
#ifndef IMG_UP_H
#define IMG_UP_H

#include "img_start.h"

/* The start of a cluster in the words of `farside cluster up`. */
typedef struct ImgUpWords {
    char **sets;              /* nullable: the changes of the description */
    int timeout_s, silence_s; /* 0: the usual ones */
    gboolean is_timed;
    char *log, *steps; /* nullable; of a timed cluster, as the rest */
    char *slice;       /* nullable */
    int spins;         /* -1: none are given */
} ImgUpWords;

typedef struct ImgUp {
    ImgStart start;    /* `notes` is left out */
    ImgTimed timed;    /* of `start` */
    char *log, *steps; /* the same, absolute */
} ImgUp;

/* Makes @ret_up, which must stay where it is, of @words, which are borrowed. To
 * be cleared. False and G_OPTION_ERROR if a word is wrong, or if words do not
 * go together. */
bool img_up_parse(const ImgUpWords *words, ImgUp *ret_up, GError **error);
void img_up_clear(ImgUp *up);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ImgUp, img_up_clear)

#endif
