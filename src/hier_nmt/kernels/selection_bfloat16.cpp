// Copyright 2026 The hier_nmt Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The choice of sentences in bfloat16, with tiles; what selection.cpp computes. Dimensions as in choice.h.

#include "tiles.h"

#ifdef HAS_TILES

#include "choice.h"

namespace {

// Numbers of sentences, ascending in each lane.
template <int T>
inline void sort_lanes(Integers* numbers) {
    for (int end = T - 1; end > 0; --end)
        for (int place = 0; place < end; ++place) {
            const Integers left = numbers[place], right = numbers[place + 1];
            numbers[place] = left < right ? left : right, numbers[place + 1] = left < right ? right : left;
        }
}

// What 32 queries, each in a lane of two vectors, are told about the sentences they choose from.
struct Limits {
    Vector own_scores[2];
    Integers own[2], num_choosable[2];

    Limits(const Choice<BFloat16>& choice, int64_t first, int64_t count) {
        for (int64_t query = 0; query < PIECE; ++query) {
            const int64_t part = query / LANES, lane = query % LANES, place = first + std::min(query, count - 1);
            own[part][lane] = int32_t(choice.own_index(place));
            num_choosable[part][lane] = int32_t(choice.count_choosable(place));
            own_scores[part][lane] = -INFINITE;
        }
    }

    // The score of a sentence as it is ranked: the own one, if it may be chosen, before all others.
    Vector ranked(Vector score, int part, int32_t sentence) {
        const Integers here = Integers{} + sentence;
        score = here < num_choosable[part] ? score : broadcast(-INFINITE);
        const Integers is_own = here == own[part];
        own_scores[part] = is_own ? score : own_scores[part];
        return is_own & (score > -INFINITE) ? broadcast(INFINITE) : score;
    }
};

// The T best of 16 queries, which are members of the T groups of `size` neighbours with the best members.
// scores: of each sentence, PIECE numbers apart; behind the last there is room for a group.
template <int T>
BestOfLanes<T> best_members(BestOfLanes<T> groups, int32_t num_groups, int32_t size, float* scores) {
    if (size == 1) return groups;
    for (int place = 0; place < T; ++place)  // where there is none, the one behind the last
        groups.at[place] = groups.best[place] > -INFINITE ? groups.at[place] : Integers{} + num_groups;
    for (int64_t row = num_groups * size; row < (num_groups + 1) * size; ++row)
        store(scores + row * PIECE, broadcast(-INFINITE));
    sort_lanes<T>(groups.at);
    Integers lane;
    for (int place = 0; place < LANES; ++place) lane[place] = place;
    BestOfLanes<T> members;
    for (int place = 0; place < T; ++place)
        for (int32_t row = 0; row < size; ++row) {
            const Integers sentence = groups.at[place] * size + row;
            members.add(gather(scores, sentence * int32_t(PIECE) + lane), sentence);
        }
    return members;
}

// Chooses T sentences for each of a head's queries.
template <int T>
void choose(const Choice<BFloat16>& choice) {
    const Tiles tiles;
    const int64_t length = choice.num_pieces() * PIECE, width = choice.width;
    const float scaling = choice.scaling();  // comes last: it changes no order
    const Numbers<float> added = choice.added();
    const bool is_limited = choice.own || choice.num_choosable;
    Numbers<uint32_t> columns(PIECE * width / 2);
    Numbers<float> scores((length + TILE_ROWS) * PIECE);
    Numbers<BFloat16> keys(length * width);
    std::copy_n(choice.key, choice.num_sentences * width, keys.data());
    int32_t group_size = 1;  // as many groups as members of T groups
    while (group_size < TILE_ROWS && 2 * group_size * group_size * T < length) group_size *= 2;
    for (int64_t first = 0; first < choice.num_queries; first += PIECE) {
        const BFloat16* queries[PIECE];
        const int64_t count = std::min(PIECE, choice.num_queries - first);
        for (int64_t query = 0; query < count; ++query) queries[query] = choice.query + (first + query) * width;
        arrange_columns(columns.data(), queries, count, width);
        Limits limits(choice, first, count);
        BestOfLanes<T> groups[2];
        for (int64_t sentence = 0; sentence < length; sentence += TILE_ROWS) {
            float* of_tile = scores.data() + sentence * PIECE;
            multiply_with_columns(keys.data() + sentence * width, width, columns.data(), width, of_tile, PIECE);
            const float* of_added = added.data() + sentence;
            if (is_limited || std::any_of(of_added, of_added + TILE_ROWS, [](float number) { return number != 0.0f; }))
                for (int64_t row = 0; row < TILE_ROWS; ++row)
                    for (int part = 0; part < 2; ++part) {
                        float* to = of_tile + row * PIECE + part * LANES;
                        store(to, limits.ranked(load(to) + of_added[row], part, int32_t(sentence + row)));
                    }
            for (int64_t row = 0; row < TILE_ROWS; row += group_size)
                for (int part = 0; part < 2; ++part) {
                    Vector most = broadcast(-INFINITE);
                    for (int64_t member = row; member < row + group_size; ++member)
                        most = larger(load(of_tile + member * PIECE + part * LANES), most);
                    groups[part].add(most, Integers{} + int32_t((sentence + row) / group_size));
                }
        }
        for (int part = 0; part * LANES < count; ++part) {
            const BestOfLanes<T> found =
                best_members(groups[part], int32_t(length / group_size), group_size, scores.data() + part * LANES);
            for (int64_t lane = 0; lane < std::min(LANES, count - part * LANES); ++lane)
                for (int place = 0; place < T; ++place) {
                    const int64_t to = (first + part * LANES + lane) * T + place;
                    const float score = found.best[place][lane], own_score = limits.own_scores[part][lane];
                    choice.indices[to] = found.at[place][lane];
                    choice.scores[to] = scaling * (place == 0 && own_score > -INFINITE ? own_score : score);
                }
        }
    }
}

}  // namespace

extern "C" {

// The arguments are those of `choose_in_heads`; t is at most 8.
void select_sentences_bfloat16(int64_t batch_size, int64_t num_heads, int64_t num_queries, int64_t num_sentences,
                               int64_t width, int64_t t, const BFloat16* query, const BFloat16* key,
                               const uint8_t* sentence_mask, const int64_t* own, const int64_t* num_choosable,
                               int64_t* indices, float* scores, int num_threads) {
    const Choice<BFloat16> all{query, key, sentence_mask, own, num_choosable, num_queries, num_sentences,
                               width, t, indices, scores};
    const auto choose_in_all = [&](auto choose) { choose_in_heads(all, batch_size, num_heads, num_threads, choose); };
    switch (t) {
        case 1: return choose_in_all(choose<1>);
        case 2: return choose_in_all(choose<2>);
        case 3: return choose_in_all(choose<3>);
        case 4: return choose_in_all(choose<4>);
        case 5: return choose_in_all(choose<5>);
        case 6: return choose_in_all(choose<6>);
        case 7: return choose_in_all(choose<7>);
        case 8: return choose_in_all(choose<8>);
    }
}

}  // extern "C"

#endif
