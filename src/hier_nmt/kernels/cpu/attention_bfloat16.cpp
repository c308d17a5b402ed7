// Copyright 2026 The hier_nmt Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The same as attention.cpp in bfloat16, with matrix tiles. Dimensions as in plan.h.

#include "tiles.h"

#ifdef HAS_TILES

#include <sys/syscall.h>
#include <unistd.h>

#include <type_traits>

#include "plan.h"

namespace {

constexpr float LOG2_E = 1.44269504f;
constexpr int64_t COMMON_WIDTH = 64;  // the head width that most models have

// 2^x for x <= 0 with a relative error of about 2e-7; exactly 0 if the result would be subnormal.
inline Vector power_of_two(Vector x) {
    const __mmask16 is_normal = _mm512_cmp_ps_mask(__m512(x), _mm512_set1_ps(-126.0f), _CMP_GE_OQ);
    const Vector bounded = Vector(_mm512_maskz_mov_ps(is_normal, __m512(x)));
    const Vector whole = Vector(_mm512_roundscale_ps(__m512(bounded), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    const Vector rest = bounded - whole;  // the series of exp(rest ln 2)
    Vector series = rest * 1.5403530e-4f + 1.3333558e-3f;
    series = series * rest + 9.6181291e-3f;
    series = series * rest + 5.5504109e-2f;
    series = series * rest + 2.4022651e-1f;
    series = series * rest + 6.9314718e-1f;
    series = series * rest + 1.0f;
    return Vector(_mm512_maskz_scalef_ps(is_normal, __m512(series), __m512(whole)));
}

inline void scatter(float* to, int64_t count, Integers places, Vector numbers) {
    _mm512_mask_i32scatter_ps(to, __mmask16((1 << count) - 1), __m512i(places), __m512(numbers), sizeof(float));
}

// Up to 16 queries that read a piece; the last one is repeated to fill them up.
struct TileOfQueries {
    int64_t count;
    alignas(64) int32_t pair[TILE_ROWS], query[TILE_ROWS];
    alignas(64) float logits[TILE_ROWS * PIECE];
    Numbers<BFloat16> states;  // [16][E]

    explicit TileOfQueries(int64_t width) : states(TILE_ROWS * width) {}

    // Loads the queries of a piece from a pair on and multiplies them with the piece's tokens. Prefetches what is
    // needed next: the sums of these queries and the states of the following ones.
    template <typename Width>
    void fill(const Plan& plan, const Pairs& pairs, const Piece& piece, int64_t first, const BFloat16* all_states,
              const float* all_sums, const uint32_t* columns, Width width) {
        const uint32_t num_choices = uint32_t(plan.num_choices);
        count = std::min(TILE_ROWS, piece.end_pair - first);
        for (int64_t row = 0; row < TILE_ROWS; ++row) {
            pair[row] = pairs.pair[first + std::min(row, count - 1)];
            query[row] = int32_t(uint32_t(pair[row]) / num_choices);
        }
        for (int64_t row = 0; row < count; ++row)
            for (int64_t place = 0; place < width; place += TILE_NUMBERS)
                std::memcpy(states.data() + row * width + place, all_states + query[row] * width + place,
                            sizeof(Vector));
        for (int64_t row = 0; row < count; ++row)
            for (int64_t place = 0; place < width; place += LANES)
                __builtin_prefetch(all_sums + query[row] * width + place, 1);
        const int64_t next = first + count;
        for (int64_t ahead = next; ahead < std::min<int64_t>(next + TILE_ROWS, pairs.pair.size()); ++ahead)
            for (int64_t place = 0; place < width; place += TILE_NUMBERS)
                __builtin_prefetch(all_states + uint32_t(pairs.pair[ahead]) / num_choices * width + place);
        multiply_with_columns(states.data(), columns, width, logits);
    }
};

// The memory of a thread for the queries of a head and for a piece.
struct TileMemory {
    float* sums;  // of weights and values [Q, E]
    Numbers<float> total;
    Numbers<uint32_t> columns, value_rows;
    TileOfQueries queries[2];
    Numbers<float> outputs;  // [16][E]

    explicit TileMemory(const Plan& plan)
        : sums(memory_of_thread.take(plan.num_queries * plan.width)), total(plan.num_queries),
          columns(PIECE * plan.width / 2), value_rows(PIECE * plan.width / 2),
          queries{TileOfQueries(plan.width), TileOfQueries(plan.width)}, outputs(TILE_ROWS * plan.width) {
        if (!sums) std::abort();
    }
    TileMemory(const TileMemory&) = delete;
    ~TileMemory() { memory_of_thread.release(); }
};

// width: the width of the plan, which may be a compile-time constant.
template <typename Width>
void attend_head(const Plan& plan, int64_t head, const BFloat16* query, const BFloat16* key, const BFloat16* value,
                 const float* scores, BFloat16* output, float* normaliser, TileMemory& memory, Width width) {
    const Tiles tiles;
    query += head * plan.num_queries * width, output += head * plan.num_queries * width;
    key += head * plan.num_keys * width, value += head * plan.num_keys * width;
    scores += head * plan.num_queries * plan.num_choices, normaliser += head * plan.num_queries;
    const Pairs pairs(plan, head);
    float *most = normaliser, *total = memory.total.data(), *sums = memory.sums;
    std::fill_n(most, plan.num_queries, -INFINITE);  // the largest logit so far
    std::fill_n(total, plan.num_queries, 0.0f);
    std::fill_n(sums, plan.num_queries * width, 0.0f);
    const float scaling = plan.scaling * LOG2_E;  // logits are to the base 2
    alignas(64) BFloat16 weights[TILE_ROWS * PIECE];
    for_each_piece(plan, head, pairs, [&](const Piece& piece) {
        const BFloat16 *keys[PIECE], *values[PIECE];
        for (int64_t token = 0; token < piece.count; ++token) {
            keys[token] = key + piece.index[token] * width;
            values[token] = value + piece.index[token] * width;
        }
        arrange_columns(memory.columns.data(), keys, piece.count, width);
        arrange_rows(memory.value_rows.data(), values, piece.count, width);
        Vector behind[2];  // minus infinity after the last token
        for (int64_t token = 0; token < PIECE; ++token)
            behind[token / LANES][token % LANES] = token < piece.count ? 0.0f : -INFINITE;
        const auto fill = [&](TileOfQueries& queries, int64_t first) {
            queries.fill(plan, pairs, piece, first, query, sums, memory.columns.data(), width);
        };
        // The next queries are loaded before these continue, because data just written cannot be read at once.
        fill(memory.queries[0], piece.first_pair);
        for (int64_t first = piece.first_pair, turn = 0; first < piece.end_pair; turn = 1 - turn) {
            const TileOfQueries& here = memory.queries[turn];
            first += here.count;
            if (first < piece.end_pair) fill(memory.queries[1 - turn], first);
            Vector rows[TILE_ROWS][2], lanes[TILE_ROWS];
            for (int64_t row = 0; row < TILE_ROWS; ++row) {
                for (int64_t part = 0; part < 2; ++part)
                    rows[row][part] = load(here.logits + row * PIECE + part * LANES) * scaling + behind[part];
                if (plan.query_positions)
                    for (int64_t token = 0; token < piece.count; ++token)
                        if (piece.index[token] > plan.query_positions[here.query[row]])
                            rows[row][token / LANES][token % LANES] = -INFINITE;
                lanes[row] = larger(rows[row][0], rows[row][1]);
            }
            Integers places, places_of_pairs;
            std::memcpy(&places, here.query, sizeof(places)), std::memcpy(&places_of_pairs, here.pair, sizeof(places));
            const Vector score = gather(scores, places_of_pairs) * LOG2_E, before = gather(most, places);
            Vector now = larger(before, combine_lanes(lanes, larger) + score);
            scatter(most, here.count, places, now);
            // If nothing has been read so far, infinities are not subtracted, which would give NaN.
            now = larger(now, broadcast(-std::numeric_limits<float>::max()));
            const Vector shift = score - now, factor = power_of_two(before - now);
            for (int64_t row = 0; row < TILE_ROWS; ++row) {
                const Vector left = power_of_two(rows[row][0] + shift[row]);
                const Vector right = power_of_two(rows[row][1] + shift[row]);
                lanes[row] = left + right;
                const __m512bh both = _mm512_cvtne2ps_pbh(__m512(right), __m512(left));
                std::memcpy(weights + row * PIECE, &both, sizeof(both));
            }
            const Vector added = combine_lanes(lanes, plus);
            scatter(total, here.count, places, gather(total, places) * factor + added);
            multiply_with_rows(weights, memory.value_rows.data(), width, memory.outputs.data());
            for (int64_t row = 0; row < here.count; ++row) {
                float* to = sums + here.query[row] * width;
                const float* from = memory.outputs.data() + row * width;
                for (int64_t column = 0; column < width; column += LANES)
                    store(to + column, load(to + column) * factor[row] + load(from + column));
            }
        }
    });
    for (int64_t place = 0; place < plan.num_queries; ++place) {
        const float factor = total[place] > 0.0f ? 1.0f / total[place] : 0.0f;
        for (int64_t column = place * width; column < (place + 1) * width; column += LANES)
            narrow(output + column, load(sums + column) * factor);
        normaliser[place] = total[place] > 0.0f ? (most[place] + std::log2(total[place])) / LOG2_E : INFINITE;
    }
}

}  // namespace

extern "C" {

// Whether this process may use tiles; it must request them from Linux.
int may_use_tiles() {
    constexpr int request_permission = 0x1023, tile_data = 18;
    return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

// The same as `attend_forward`, without dropout.
void attend_forward_bfloat16(const Plan* plan, const BFloat16* query, const BFloat16* key, const BFloat16* value,
                             const float* scores, BFloat16* output, float* normaliser, int num_threads) {
#pragma omp parallel num_threads(num_threads)
    {
        TileMemory memory(*plan);
#pragma omp for schedule(dynamic)
        for (int64_t head = 0; head < plan->batch_size * plan->num_heads; ++head)
            if (plan->width == COMMON_WIDTH)
                attend_head(*plan, head, query, key, value, scores, output, normaliser, memory,
                            std::integral_constant<int64_t, COMMON_WIDTH>());
            else
                attend_head(*plan, head, query, key, value, scores, output, normaliser, memory, plan->width);
    }
}

}  // extern "C"

#else

extern "C" int may_use_tiles() { return 0; }

#endif
