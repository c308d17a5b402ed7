// Copyright 2026 The hier_nmt Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Selecting the t most relevant sentences of each query, in float32: the same as sentence_search.py.
//
// One thread computes each (document, head). Dimensions as in choice.h.

#include <numeric>

#include "choice_by_products.h"

#if defined(__AVX512VNNI__) && defined(__AVX512F__)
#define HAS_BYTE_PRODUCTS
#include <immintrin.h>
#endif

namespace {

#ifdef HAS_BYTE_PRODUCTS

// Minimum numbers of sentences and queries, and maximum t, for which products of rounded numbers come first.
constexpr int64_t MIN_ROUNDED_SENTENCES = 256, MIN_ROUNDED_QUERIES = 64, MAX_ROUNDED_CHOICES = 8;

// Numbers [width] rounded to multiples of `scale`, up to 127 times the scale.
struct Rounded {
    float scale;
    float norm;   // of the numbers
    float error;  // norm of the rounding error

    Rounded(const float* numbers, int64_t width, int8_t* multiples) {
        Vector most = {}, lost = {};
        for (int64_t place = 0; place < width; place += LANES)
            most = larger(most, larger(load(numbers + place), -load(numbers + place)));
        scale = largest(most) / 127.0f;
        const bool is_something = scale > 1e-30f;
        const float factor = is_something ? 1.0f / scale : 0.0f;
        if (!is_something) scale = 1.0f;
        for (int64_t place = 0; place < width; place += LANES) {
            const Vector some = load(numbers + place);
            const __m512i whole = _mm512_cvtps_epi32(some * factor);
            _mm_storeu_si128(reinterpret_cast<__m128i*>(multiples + place), _mm512_cvtsepi32_epi8(whole));
            const Vector rest = some - Vector(_mm512_cvtepi32_ps(whole)) * scale;
            lost += rest * rest;
        }
        norm = length_of(numbers, width), error = std::sqrt(sum(lost));
    }
};

// The keys of the sentences, minus their mean, rounded.
struct RoundedKeys {
    Numbers<uint8_t> bytes;  // [pieces][E / 4][PIECE][4], each the multiple plus 128
    Numbers<float> scales;   // [pieces * PIECE]
    float norm = 0.0f, error = 0.0f;  // the largest of all keys minus the mean
    float whole_norm;                 // see `CentredKeys`

    explicit RoundedKeys(const Choice<float>& choice)
        : bytes(choice.num_pieces() * PIECE * choice.width, 128), scales(choice.num_pieces() * PIECE, 0.0f) {
        const int64_t width = choice.width;
        const CentredKeys centred(choice);
        whole_norm = centred.whole_norm;
        Numbers<int8_t> multiples(width);
        for (int64_t sentence = 0; sentence < choice.num_sentences; ++sentence) {
            const Rounded rounded(centred.rows.data() + sentence * width, width, multiples.data());
            scales[sentence] = rounded.scale;
            norm = std::max(norm, rounded.norm), error = std::max(error, rounded.error);
            uint8_t* to = bytes.data() + (sentence / PIECE * width / 4 * PIECE + sentence % PIECE) * 4;
            for (int64_t place = 0; place < width; ++place)
                to[place / 4 * PIECE * 4 + place % 4] = uint8_t(multiples[place] + 128);
        }
    }
};

// ROWS queries, rounded.
struct RoundedQueries {
    const float* rows[ROWS];
    Numbers<int8_t> multiples;  // [ROWS][E]
    float margins[ROWS];            // maximum error of a rounded product, in multiples of the scale
    int32_t sums[ROWS];             // of the multiples

    explicit RoundedQueries(int64_t width) : multiples(ROWS * width) {}

    void fill(const Choice<float>& choice, const RoundedKeys& keys, int64_t first, int64_t count) {
        const int64_t width = choice.width;
        for (int64_t row = 0; row < ROWS; ++row) {
            rows[row] = choice.query + (first + std::min(row, count - 1)) * width;
            int8_t* to = multiples.data() + row * width;
            const Rounded rounded(rows[row], width, to);
            // By the triangle inequality, plus the float32 rounding errors of both sums.
            const float margin = rounded.error * keys.norm + (rounded.norm + rounded.error) * keys.error +
                                 float(width + 16) * 0x1p-23f * rounded.norm * keys.whole_norm;
            margins[row] = 1.001f * margin / rounded.scale;
            sums[row] = std::accumulate(to, to + width, int32_t(0));
        }
    }
};

// Rounded products [ROWS][PIECE] of the queries with a piece of the keys, in multiples of the queries' scale.
// Not inlined, because its totals would not stay in registers then.
__attribute__((noinline)) void multiply_rounded(const RoundedQueries& queries, const RoundedKeys& keys, int64_t piece,
                                                int64_t width, const float* added, float* products, int64_t length) {
    __m512i totals[ROWS][2];
    for (int64_t row = 0; row < ROWS; ++row)
        totals[row][0] = totals[row][1] = _mm512_set1_epi32(-128 * queries.sums[row]);
    const uint8_t* bytes = keys.bytes.data() + piece * PIECE * width;
#pragma GCC unroll 4
    for (int64_t place = 0; place < width; place += 4, bytes += PIECE * 4) {
        const __m512i left = _mm512_loadu_si512(bytes), right = _mm512_loadu_si512(bytes + LANES * 4);
        for (int64_t row = 0; row < ROWS; ++row) {
            int32_t four;
            std::memcpy(&four, queries.multiples.data() + row * width + place, sizeof(four));
            totals[row][0] = _mm512_dpbusd_epi32(totals[row][0], left, _mm512_set1_epi32(four));
            totals[row][1] = _mm512_dpbusd_epi32(totals[row][1], right, _mm512_set1_epi32(four));
        }
    }
    for (int64_t part = 0; part < 2; ++part) {
        const int64_t place = piece * PIECE + part * LANES;
        const Vector scale = load(keys.scales.data() + place), more = load(added + place);
        for (int64_t row = 0; row < ROWS; ++row)
            store(products + row * length + place, Vector(_mm512_cvtepi32_ps(totals[row][part])) * scale + more);
    }
}

// A lower bound of the t largest products [length]: the t-th largest of the maxima of the lanes.
inline float lower_bound(const float* products, int64_t length, int64_t t) {
    Vector most[2] = {broadcast(-INFINITE), broadcast(-INFINITE)};
    for (int64_t place = 0; place < length; place += PIECE)
        for (int64_t part = 0; part < 2; ++part) most[part] = larger(load(products + place + part * LANES), most[part]);
    for (int64_t found = 1;; ++found) {
        const float highest = largest(larger(most[0], most[1]));
        if (found == t || highest == -INFINITE) return highest;
        for (int64_t part = 0; part < 2; ++part) {
            const uint32_t equal = _mm512_cmp_ps_mask(most[part], broadcast(highest), _CMP_EQ_OQ);
            if (!equal) continue;
            most[part] = Vector(_mm512_mask_mov_ps(most[part], __mmask16(equal & -equal), broadcast(-INFINITE)));
            break;
        }
    }
}

// Writes the places of those of the first `count` numbers that are at least `least`, ascending; returns how many.
inline int64_t find_above(const float* numbers, int64_t count, float least, int32_t* places) {
    int64_t found = 0;
    Integers here;
    for (int lane = 0; lane < LANES; ++lane) here[lane] = lane;
    for (int64_t place = 0; place < count; place += LANES, here += int32_t(LANES)) {
        const __mmask16 is_above = _mm512_cmp_ps_mask(load(numbers + place), broadcast(least), _CMP_NLT_UQ);
        _mm512_storeu_si512(places + found, _mm512_maskz_compress_epi32(is_above, __m512i(here)));
        found += __builtin_popcount(is_above);
    }
    return found;
}

// Chooses among many sentences. Products of numbers rounded to 8 bits rule out the sentences that cannot be among the t
// best, whatever the rounding errors; the exact products of the others decide. Returns the queries for which this does
// not rule out most sentences.
Undecided select_by_rounded_products(const Choice<float>& choice) {
    Undecided undecided;
    const int64_t length = choice.num_pieces() * PIECE, width = choice.width, t = choice.t;
    if (choice.num_sentences < MIN_ROUNDED_SENTENCES || choice.num_queries < MIN_ROUNDED_QUERIES ||
        t > MAX_ROUNDED_CHOICES) {
        undecided.add(0, choice.num_queries);
        return undecided;
    }
    const Numbers<float> added = choice.added();
    const RoundedKeys keys(choice);
    RoundedQueries queries(width);
    const float scaling = choice.scaling();
    Numbers<float> products(ROWS * length), scores(length);
    std::vector<int32_t> candidates(length + LANES);
    for (int64_t first = 0; first < choice.num_queries; first += ROWS) {
        const int64_t count = std::min(ROWS, choice.num_queries - first);
        queries.fill(choice, keys, first, count);
        for (int64_t piece = 0; piece < choice.num_pieces(); ++piece)
            multiply_rounded(queries, keys, piece, width, added.data(), products.data(), length);
        for (int64_t row = 0; row < count; ++row) {
            const int64_t place = first + row, choosable = choice.count_choosable(place);
            float* of_row = products.data() + row * length;
            std::fill(of_row + choosable, of_row + length, -INFINITE);
            const int64_t own = choice.own_index(place);
            if (own >= 0 && own < choosable && choice.sentence_mask[own]) of_row[own] = INFINITE;
            const float least = lower_bound(of_row, length, t) - 2.0f * queries.margins[row];
            int64_t num_candidates = find_above(of_row, choosable, least, candidates.data());
            while (num_candidates && candidates[num_candidates - 1] >= choosable) --num_candidates;
            if (num_candidates > length / 8) {
                undecided.add(place, place + 1);
                continue;
            }
            const int64_t padded = (num_candidates + LANES - 1) / LANES * LANES;
            int64_t own_candidate = -1;
            for (int64_t candidate = 0; candidate < num_candidates; ++candidate) {
                const int32_t index = candidates[candidate];
                if (index == own) own_candidate = candidate;
                const float true_product = product(queries.rows[row], choice.key + index * width, width);
                scores[candidate] = true_product * scaling + added[index];
            }
            std::fill(scores.begin() + num_candidates, scores.begin() + padded, -INFINITE);
            int64_t* indices = choice.indices + place * t;
            select_best(scores.data(), padded, own_candidate, t, indices, choice.scores + place * t);
            for (int64_t found = 0; found < t; ++found)
                indices[found] = choice.scores[place * t + found] > -INFINITE ? candidates[indices[found]] : 0;
        }
        if (undecided.are_too_many(first + count)) {
            undecided.add(first + count, choice.num_queries);
            break;
        }
    }
    return undecided;
}

#else

Undecided select_by_rounded_products(const Choice<float>& choice) {
    Undecided undecided;
    undecided.add(0, choice.num_queries);
    return undecided;
}

#endif

}  // namespace

extern "C" {

// query [num_heads, Q, E] . key [num_heads, N, E] / sqrt(E) for the keys with the indices [num_heads, Q, C].
void relevance(int64_t num_heads, int64_t num_queries, int64_t num_keys, int64_t width, int64_t num_choices,
               const float* query, const float* key, const int64_t* indices, float* scores, int num_threads) {
    const float scaling = 1.0f / std::sqrt(float(width));
#pragma omp parallel for num_threads(num_threads)
    for (int64_t row = 0; row < num_heads * num_queries; ++row)
        for (int64_t place = row * num_choices; place < (row + 1) * num_choices; ++place)
            scores[place] =
                scaling * product(query + row * width,
                                  key + (row / num_queries * num_keys + indices[place]) * width, width);
}

// The gradients of `relevance`.
void relevance_gradients(int64_t num_heads, int64_t num_queries, int64_t num_keys, int64_t width, int64_t num_choices,
                         const float* query, const float* key, const int64_t* indices, const float* grad_scores,
                         float* grad_query, float* grad_key, int num_threads) {
    const float scaling = 1.0f / std::sqrt(float(width));
#pragma omp parallel for schedule(dynamic) num_threads(num_threads)
    for (int64_t head = 0; head < num_heads; ++head) {
        std::fill_n(grad_query + head * num_queries * width, num_queries * width, 0.0f);
        std::fill_n(grad_key + head * num_keys * width, num_keys * width, 0.0f);
        for (int64_t row = head * num_queries; row < (head + 1) * num_queries; ++row)
            for (int64_t place = row * num_choices; place < (row + 1) * num_choices; ++place) {
                const float grad = scaling * grad_scores[place];
                const int64_t of_key = (head * num_keys + indices[place]) * width;
                for (int64_t column = 0; column < width; column += LANES) {
                    float *to_query = grad_query + row * width + column, *to_key = grad_key + of_key + column;
                    store(to_query, load(to_query) + grad * load(key + of_key + column));
                    store(to_key, load(to_key) + grad * load(query + row * width + column));
                }
            }
    }
}

// The arguments are those of `choose_in_heads`.
void select_sentences(int64_t batch_size, int64_t num_heads, int64_t num_queries, int64_t num_sentences, int64_t width,
                      int64_t t, const float* query, const float* key, const uint8_t* sentence_mask, const int64_t* own,
                      const int64_t* num_choosable, int64_t* indices, float* scores, int num_threads) {
    const Choice<float> all{query, key, sentence_mask, own, num_choosable, num_queries, num_sentences,
                            width, t, indices, scores};
    choose_in_heads(all, batch_size, num_heads, num_threads, [](const Choice<float>& choice) {
        select_by_products(choice, select_by_rounded_products(choice));
    });
}

// The same where sentences are ranked by their products minus a slope for each sentence between them and the query's.
void select_near_sentences(int64_t batch_size, int64_t num_heads, int64_t num_queries, int64_t num_sentences,
                           int64_t width, int64_t t, const float* query, const float* key,
                           const uint8_t* sentence_mask, const int64_t* own, const int64_t* num_choosable,
                           const int64_t* query_sentences, int64_t* indices, float* scores, float slope,
                           int num_threads) {
    const Choice<float> all{query, key, sentence_mask, own, num_choosable, num_queries, num_sentences,
                            width, t, indices, scores, query_sentences, slope};
    choose_in_heads(all, batch_size, num_heads, num_threads, [](const Choice<float>& choice) {
        Undecided all_queries;
        all_queries.add(0, choice.num_queries);
        select_by_products(choice, all_queries);
    });
}

}  // extern "C"
