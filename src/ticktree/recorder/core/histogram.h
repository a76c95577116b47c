/* Where a value falls: exponential buckets of base 2^(1/32), which are OpenTelemetry's at scale 5.
 *
 * Bucket i holds the values with floor(32 * log2(v)) == i. The octave is the place of the highest bit; within
 * it, the value shifted to the left is compared with TT_THRESHOLD[k] = floor(2^(63 + k/32)).
 */
#ifndef TICKTREE_HISTOGRAM_H
#define TICKTREE_HISTOGRAM_H

#include "layout.h"

static const uint64_t TT_THRESHOLD[TT_SUB_BUCKETS + 1] = {
    0x8000000000000000ULL, 0x82CD8698AC2BA1D7ULL, 0x85AAC367CC487B14ULL, 0x88980E8092DA8527ULL,
    0x8B95C1E3EA8BD6E6ULL, 0x8EA4398B45CD53C0ULL, 0x91C3D373AB11C336ULL, 0x94F4EFA8FEF70961ULL,
    0x9837F0518DB8A96FULL, 0x9B8D39B9D54E5538ULL, 0x9EF5326091A111ADULL, 0xA27043030C496818ULL,
    0xA5FED6A9B15138EAULL, 0xA9A15AB4EA7C0EF8ULL, 0xAD583EEA42A14AC6ULL, 0xB123F581D2AC258FULL,
    0xB504F333F9DE6484ULL, 0xB8FBAF4762FB9EE9ULL, 0xBD08A39F580C36BEULL, 0xC12C4CCA66709456ULL,
    0xC5672A115506DADDULL, 0xC9B9BD866E2F27A2ULL, 0xCE248C151F8480E3ULL, 0xD2A81D91F12AE45AULL,
    0xD744FCCAD69D6AF4ULL, 0xDBFBB797DAF23755ULL, 0xE0CCDEEC2A94E111ULL, 0xE5B906E77C8348A8ULL,
    0xEAC0C6E7DD24392EULL, 0xEFE4B99BDCDAF5CBULL, 0xF5257D152486CC2CULL, 0xFA83B2DB722A033AULL,
    UINT64_MAX, /* the next octave: never reached, for a value shifted left that far ends in zeros */
};

/* The first guess from the six bits below the highest: a sixty-fourth of an octave is narrower than any
 * bucket, so that one comparison corrects it. */
static const uint8_t TT_GUESS[64] = {
    0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7, 7, 8, 9, 9,
    10, 10, 11, 12, 12, 13, 13, 14, 14, 15, 15, 16, 16, 17, 17, 18,
    18, 19, 19, 20, 20, 21, 21, 21, 22, 22, 23, 23, 24, 24, 25, 25,
    25, 26, 26, 27, 27, 27, 28, 28, 29, 29, 29, 30, 30, 30, 31, 31,
};

static inline unsigned tt_sub_bucket(uint64_t leftmost)
{
    unsigned guess = TT_GUESS[(leftmost >> 57) & 63];
    return guess + (leftmost >= TT_THRESHOLD[guess + 1]);
}

static inline void tt_bucket_of(uint64_t ns, unsigned *octave, unsigned *sub)
{
    if (ns < 1) ns = 1;
    unsigned zeros = (unsigned)__builtin_clzll(ns);
    *octave = 63 - zeros;
    *sub = tt_sub_bucket(ns << zeros);
    if (__builtin_expect(*octave >= TT_OCTAVES, 0)) {
        *octave = TT_OCTAVES - 1;
        *sub = TT_SUB_BUCKETS - 1;
    }
}

#endif
