// Copyright 2026 The hier_nmt Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The choice of the t sentences that matter to each query, in float32: what sentence_selection.py computes with
// PyTorch.
//
// Each (document, head) is the work of one thread. Dimensions as in choice.h.

#include <numeric>

#include "choice.h"

#if defined(__AVX512VNNI__) && defined(__AVX512F__)
#define HAS_BYTE_PRODUCTS
#include <immintrin.h>
#endif

namespace {

constexpr int64_t TILE = 64;  // queries that choose their sentences at one time

// The T best scores [length], the best first, and of equal ones the first: minus infinity and 0 where there are fewer.
// Each lane keeps its own T best, which are merged in the end.
template <int T>
void best_of(const float* of_row, int64_t length, int64_t* indices, float* scores) {
    BestOfLanes<T> lanes;
    Integers here;
    for (int lane = 0; lane < LANES; ++lane) here[lane] = lane;
    for (int64_t first = 0; first < length; first += LANES, here += int32_t(LANES))
        lanes.add(load(of_row + first), here);
    Vector(&best)[T] = lanes.best;
    Integers(&at)[T] = lanes.at;
    for (int found = 0; found < T; ++found) {
        const float most = largest(best[0]);
        const Integers is_most = best[0] == most;
        const int32_t index = smallest(is_most ? at[0] : Integers{} + INT32_MAX);
        scores[found] = most, indices[found] = most > -INFINITE ? index : 0;
        const Integers is_taken = is_most & (at[0] == index);
        for (int place = 0; place + 1 < T; ++place) {
            best[place] = is_taken ? best[place + 1] : best[place];
            at[place] = is_taken ? at[place + 1] : at[place];
        }
        best[T - 1] = is_taken ? broadcast(-INFINITE) : best[T - 1];
    }
}

// The same for any number t.
void best_of_many(const float* of_row, int64_t length, int64_t t, int64_t* indices, float* scores) {
    std::vector<int64_t> order(length);
    for (int64_t index = 0; index < length; ++index) order[index] = index;
    const int64_t count = std::min(t, length);
    std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](int64_t left, int64_t right) {
        return of_row[left] > of_row[right] || (of_row[left] == of_row[right] && left < right);
    });
    for (int64_t place = 0; place < t; ++place) {
        scores[place] = place < count ? of_row[order[place]] : -INFINITE;
        indices[place] = scores[place] > -INFINITE ? order[place] : 0;
    }
}

// The t best of scores [length], a multiple of LANES; the own sentence, if it may be chosen, before all others.
void select_best(float* of_row, int64_t length, int64_t own_index, int64_t t, int64_t* indices, float* scores) {
    const float own_score = own_index >= 0 && own_index < length ? of_row[own_index] : -INFINITE;
    if (own_score > -INFINITE) of_row[own_index] = INFINITE;
    switch (t) {
        case 1: best_of<1>(of_row, length, indices, scores); break;
        case 2: best_of<2>(of_row, length, indices, scores); break;
        case 3: best_of<3>(of_row, length, indices, scores); break;
        case 4: best_of<4>(of_row, length, indices, scores); break;
        case 5: best_of<5>(of_row, length, indices, scores); break;
        case 6: best_of<6>(of_row, length, indices, scores); break;
        case 7: best_of<7>(of_row, length, indices, scores); break;
        case 8: best_of<8>(of_row, length, indices, scores); break;
        default: best_of_many(of_row, length, t, indices, scores);
    }
    if (own_score > -INFINITE) scores[0] = own_score;
}

#ifdef HAS_BYTE_PRODUCTS

// From how many sentences and queries on, and up to which t, products of rounded numbers come first.
constexpr int64_t MIN_ROUNDED_SENTENCES = 256, MIN_ROUNDED_QUERIES = 64, MAX_ROUNDED_CHOICES = 8;

// Numbers [width] rounded to multiples of `scale`, at most 127 of them.
struct Rounded {
    float scale;
    float norm;   // length of the numbers
    float error;  // length of what rounding took away

    Rounded(const float* numbers, int64_t width, int8_t* multiples) {
        Vector most = {}, squares = {}, lost = {};
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
            squares += some * some, lost += rest * rest;
        }
        norm = std::sqrt(sum(squares)), error = std::sqrt(sum(lost));
    }
};

// The sentences' keys, rounded, less their mean, which adds the same to all products of a query.
struct RoundedKeys {
    Numbers<uint8_t> bytes;  // [pieces][E / 4][PIECE][4], each 128 more than the multiple
    Numbers<float> scales;   // [pieces * PIECE]
    float norm = 0.0f, error = 0.0f;  // the largest of a key less the mean
    float whole_norm = 0.0f;          // the largest of a key, and the mean's

    explicit RoundedKeys(const Choice<float>& choice)
        : bytes(choice.num_pieces() * PIECE * choice.width, 128), scales(choice.num_pieces() * PIECE, 0.0f) {
        const int64_t width = choice.width;
        Numbers<float> mean(width, 0.0f), centred(width);
        Numbers<int8_t> multiples(width);
        int64_t count = 0;
        for (int64_t sentence = 0; sentence < choice.num_sentences; ++sentence) {
            if (!choice.sentence_mask[sentence]) continue;
            ++count;
            for (int64_t place = 0; place < width; ++place) mean[place] += choice.key[sentence * width + place];
        }
        for (float& number : mean) number /= float(std::max<int64_t>(count, 1));
        for (int64_t sentence = 0; sentence < choice.num_sentences; ++sentence) {
            if (!choice.sentence_mask[sentence]) continue;
            const float* key = choice.key + sentence * width;
            for (int64_t place = 0; place < width; ++place) centred[place] = key[place] - mean[place];
            const Rounded rounded(centred.data(), width, multiples.data());
            scales[sentence] = rounded.scale;
            // Written so that a length that is no number is taken: it rules nothing out.
            norm = rounded.norm <= norm ? norm : rounded.norm;
            error = rounded.error <= error ? error : rounded.error;
            whole_norm = std::max(whole_norm, std::sqrt(std::inner_product(key, key + width, key, 0.0f)));
            uint8_t* to = bytes.data() + (sentence / PIECE * width / 4 * PIECE + sentence % PIECE) * 4;
            for (int64_t place = 0; place < width; ++place)
                to[place / 4 * PIECE * 4 + place % 4] = uint8_t(multiples[place] + 128);
        }
        whole_norm += std::sqrt(std::inner_product(mean.begin(), mean.end(), mean.begin(), 0.0f));
    }
};

// ROWS queries, rounded.
struct RoundedQueries {
    const float* rows[ROWS];
    Numbers<int8_t> multiples;  // [ROWS][E]
    float margins[ROWS];            // how far a rounded product can be from the true one, in multiples of the scale
    int32_t sums[ROWS];             // of the multiples

    explicit RoundedQueries(int64_t width) : multiples(ROWS * width) {}

    void fill(const Choice<float>& choice, const RoundedKeys& keys, int64_t first, int64_t count) {
        const int64_t width = choice.width;
        for (int64_t row = 0; row < ROWS; ++row) {
            rows[row] = choice.query + (first + std::min(row, count - 1)) * width;
            int8_t* to = multiples.data() + row * width;
            const Rounded rounded(rows[row], width, to);
            // By the triangle inequality, and what float32 loses in the sums of both kinds.
            const float margin = rounded.error * keys.norm + (rounded.norm + rounded.error) * keys.error +
                                 float(width + 16) * 0x1p-23f * rounded.norm * keys.whole_norm;
            margins[row] = 1.001f * margin / rounded.scale;
            sums[row] = std::accumulate(to, to + width, int32_t(0));
        }
    }
};

// Rounded products [ROWS][PIECE] of the queries with a piece of the keys, in multiples of the queries' scale.
// Not inlined, where its totals would not stay in registers.
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

// A number that at least t of the products [length] are not below: the t-th largest of the lanes' largest.
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

// The places of numbers among the first `count` that are not below the least, in ascending order; their number.
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

// Chooses for the queries from the first on, where there are many sentences. Products of numbers rounded to 8 bits
// rule out the sentences that cannot be among the t best however rounding went; the others' true products decide.
// Gives back the first query for which that does not rule out most of them, or the number of queries.
int64_t select_by_rounded_products(const Choice<float>& choice) {
    const int64_t length = choice.num_pieces() * PIECE, width = choice.width, t = choice.t;
    if (choice.num_sentences < MIN_ROUNDED_SENTENCES || choice.num_queries < MIN_ROUNDED_QUERIES ||
        t > MAX_ROUNDED_CHOICES)
        return 0;
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
            if (num_candidates > length / 8) return place;
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
    }
    return choice.num_queries;
}

#else

int64_t select_by_rounded_products(const Choice<float>&) { return 0; }

#endif

// Chooses for the queries from `begin` on.
void select_by_products(const Choice<float>& choice, int64_t begin) {
    const int64_t num_pieces = choice.num_pieces(), length = num_pieces * PIECE, width = choice.width;
    const float scaling = choice.scaling();
    const Numbers<float> added = choice.added();
    Numbers<float> columns(width * length), tile_scores(TILE * length);
    for (int64_t piece = 0; piece < num_pieces; ++piece) {
        const float* sentences[PIECE];
        const int64_t count = std::min(PIECE, choice.num_sentences - piece * PIECE);
        for (int64_t sentence = 0; sentence < count; ++sentence)
            sentences[sentence] = choice.key + (piece * PIECE + sentence) * width;
        transpose(columns.data() + piece * width * PIECE, sentences, count, width);
    }
    for (int64_t first = begin; first < choice.num_queries; first += TILE) {
        const int64_t count = std::min(TILE, choice.num_queries - first);
        for (int64_t piece = 0; piece < num_pieces; ++piece)
            for (int64_t block = 0; block < count; block += ROWS) {
                const float* rows[ROWS];
                for (int64_t row = 0; row < ROWS; ++row)
                    rows[row] = choice.query + (first + std::min(block + row, count - 1)) * width;
                Vector products[ROWS][2];
                multiply_columns<2>(rows, columns.data() + piece * width * PIECE, width, products);
                for (int64_t row = 0; row < ROWS; ++row)
                    for (int64_t part = 0; part < 2; ++part) {
                        const int64_t place = piece * PIECE + part * LANES;
                        store(tile_scores.data() + (block + row) * length + place,
                              products[row][part] * scaling + load(added.data() + place));
                    }
            }
        for (int64_t row = 0; row < count; ++row) {
            float* of_row = tile_scores.data() + row * length;
            const int64_t place = first + row;
            std::fill(of_row + choice.count_choosable(place), of_row + length, -INFINITE);
            select_best(of_row, length, choice.own_index(place), choice.t, choice.indices + place * choice.t,
                        choice.scores + place * choice.t);
        }
    }
}

}  // namespace

extern "C" {

// query [num_heads, Q, E] . key [num_heads, N, E] / sqrt(E) of the keys that indices [num_heads, Q, C] names.
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
        const int64_t num_chosen = select_by_rounded_products(choice);
        if (num_chosen < choice.num_queries) select_by_products(choice, num_chosen);
    });
}

}  // extern "C"
