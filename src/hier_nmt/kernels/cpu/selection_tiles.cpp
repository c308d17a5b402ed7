// Copyright 2026 The hier_nmt Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The same as selection.cpp, with matrix tiles. Dimensions as in choice.h; E is a multiple of 32.

#include "tiles.h"

#ifdef HAS_TILES

#include "choice_by_products.h"

namespace {

// The limits of 32 queries, one in each lane of two vectors, on the sentences they choose from.
struct Limits {
    Vector own_scores[2];
    Integers own[2], num_choosable[2];

    template <typename State>
    Limits(const Choice<State>& choice, int64_t first, int64_t count) {
        int32_t of_own[PIECE], of_choosable[PIECE];
        for (int64_t query = 0; query < PIECE; ++query) {
            const int64_t place = first + std::min(query, count - 1);
            of_own[query] = int32_t(choice.own_index(place));
            of_choosable[query] = int32_t(choice.count_choosable(place));
        }
        std::memcpy(own, of_own, sizeof(own)), std::memcpy(num_choosable, of_choosable, sizeof(num_choosable));
        own_scores[0] = own_scores[1] = broadcast(-INFINITE);
    }

    // The score by which a sentence is ranked: the own one, if it may be chosen, before all others.
    Vector ranked(Vector score, int part, Integers sentence) {
        score = sentence < num_choosable[part] ? score : broadcast(-INFINITE);
        const Integers is_own = sentence == own[part];
        own_scores[part] = is_own ? score : own_scores[part];
        return is_own & (score > -INFINITE) ? broadcast(INFINITE) : score;
    }
};

// Products of a head's sentences with 32 of its queries at a time, in bfloat16.
class BFloat16Products {
  public:
    static constexpr int NUM_MORE = 0;  // number of sentences to find besides the best

    explicit BFloat16Products(const Choice<BFloat16>& choice)
        : choice_(choice), keys_(choice.num_pieces() * PIECE * choice.width), columns_(PIECE * choice.width / 2) {
        std::copy_n(choice.key, choice.num_sentences * choice.width, keys_.data());
    }

    // Loads these 32 queries.
    void take(const BFloat16* const* queries) { arrange_columns(columns_.data(), queries, PIECE, choice_.width); }
    // Products [32][32] of the queries with the sentences from this one on.
    void multiply(int64_t sentence, float* products) const {
        multiply_piece(keys_.data() + sentence * choice_.width, columns_.data(), choice_.width, products);
    }
    // The T best of the found sentences, for half of the queries.
    template <int T>
    BestOfLanes<T> best_of(const BestOfLanes<T>& found, int, Limits&) const {
        return found;
    }
    // For which of these queries the best are certain: all bits of the lane are set.
    template <int T>
    Integers are_certain(const BestOfLanes<T>&, int) const {
        return Integers{} - 1;
    }

  private:
    const Choice<BFloat16>& choice_;
    Numbers<BFloat16> keys_;  // [pieces * PIECE][E]
    Numbers<uint32_t> columns_;
};

// Writes numbers [E] rounded to bfloat16. Adds up the squares of the numbers and of the rounding errors.
inline void round_to_bfloat16(const float* numbers, int64_t width, BFloat16* rounded, Vector& squares, Vector& lost) {
    for (int64_t place = 0; place < width; place += LANES) {
        const Vector some = load(numbers + place);
        const __m256i bits = __m256i(_mm512_cvtneps_pbh(__m512(some)));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(rounded + place), bits);
        const Vector rest = some - Vector(_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16)));
        squares += some * some, lost += rest * rest;
    }
}

// Upper bounds of the norms, from the sums of squares.
inline Vector lengths(Vector squares, int64_t width) {
    return Vector(_mm512_sqrt_ps(__m512(squares))) * 1.001f + float(width) * TOO_SMALL;
}

// The same in float32. Products of numbers rounded to bfloat16 determine which sentences can be among the best; the
// exact products of these decide, unless too many are nearly as good.
class Float32Products {
  public:
    static constexpr int NUM_MORE = 3;

    explicit Float32Products(const Choice<float>& choice)
        : choice_(choice), keys_(choice.num_pieces() * PIECE * choice.width), states_(PIECE * choice.width),
          columns_(PIECE * choice.width / 2) {
        const CentredKeys centred(choice);
        whole_norm_ = centred.whole_norm;
        for (int64_t sentence = 0; sentence < choice.num_sentences; ++sentence) {
            const float* row = centred.rows.data() + sentence * choice.width;
            Vector squares = {}, lost = {};
            round_to_bfloat16(row, choice.width, keys_.data() + sentence * choice.width, squares, lost);
            norm_ = std::max(norm_, lengths(broadcast(sum(squares)), choice.width)[0]);
            error_ = std::max(error_, lengths(broadcast(sum(lost)), choice.width)[0]);
        }
    }

    void take(const float* const* queries) {
        const int64_t width = choice_.width;
        const BFloat16* states[PIECE];
        for (int64_t part = 0; part < 2; ++part) {
            Vector squares[LANES] = {}, lost[LANES] = {};
            for (int64_t lane = 0; lane < LANES; ++lane) {
                const int64_t query = part * LANES + lane;
                queries_[query] = queries[query], states[query] = states_.data() + query * width;
                round_to_bfloat16(queries[query], width, states_.data() + query * width, squares[lane], lost[lane]);
            }
            const Vector norm = lengths(combine_lanes(squares, plus), width);
            const Vector error = lengths(combine_lanes(lost, plus), width);
            // By the triangle inequality, plus the float32 rounding errors of both sums.
            margins_[part] = error * norm_ + (norm + error) * error_ +
                             norm * (float(width + 16) * 0x1p-22f * whole_norm_) +
                             (norm + (1.0f + whole_norm_)) * (float(width) * TOO_SMALL);
        }
        arrange_columns(columns_.data(), states, PIECE, width);
    }
    void multiply(int64_t sentence, float* products) const {
        multiply_piece(keys_.data() + sentence * choice_.width, columns_.data(), choice_.width, products);
    }
    template <int T>
    BestOfLanes<T> best_of(const BestOfLanes<T + NUM_MORE>& found, int part, Limits& limits) const {
        constexpr int NUM_SCORED = T + NUM_MORE - 1;
        const int32_t none = int32_t(choice_.num_sentences);
        Integers sentences[NUM_SCORED];
        for (int place = 0; place < NUM_SCORED; ++place)
            sentences[place] = found.best[place] > -INFINITE ? found.at[place] : Integers{} + none;
        sort_lanes<NUM_SCORED>(sentences);
        BestOfLanes<T> best;
        for (const Integers sentence : sentences) {
            const Vector score = sentence < none ? products_of(sentence, part) : broadcast(-INFINITE);
            best.add(limits.ranked(score, part, sentence), sentence);
        }
        return best;
    }
    template <int T>
    Integers are_certain(const BestOfLanes<T + NUM_MORE>& found, int part) const {
        const Vector margin = margins_[part];  // NaN if a key or the query has NaN
        const Vector last = found.best[T - 1], not_scored = found.best[T + NUM_MORE - 1];
        return margin < 1e30f & (not_scored == -INFINITE | not_scored < last - 2.0f * margin);
    }

  private:
    // Exact products of one sentence for each of 16 queries.
    Vector products_of(Integers sentences, int part) const {
        Vector sums[LANES];
        for (int64_t lane = 0; lane < LANES; ++lane) {
            const int64_t sentence = std::min<int64_t>(sentences[lane], choice_.num_sentences - 1);
            const float *query = queries_[part * LANES + lane], *key = choice_.key + sentence * choice_.width;
            Vector left = {}, right = {};
            for (int64_t place = 0; place < choice_.width; place += 2 * LANES) {
                left += load(query + place) * load(key + place);
                right += load(query + place + LANES) * load(key + place + LANES);
            }
            sums[lane] = left + right;
        }
        return combine_lanes(sums, plus);
    }

    const Choice<float>& choice_;
    Numbers<BFloat16> keys_;    // minus their mean [pieces * PIECE][E]
    Numbers<BFloat16> states_;  // [PIECE][E]
    Numbers<uint32_t> columns_;
    const float* queries_[PIECE];
    float norm_ = 0.0f, error_ = 0.0f;  // largest norm of a key minus the mean, and of its rounding error
    float whole_norm_;                  // see `CentredKeys`
    Vector margins_[2];                 // maximum error of each query's products against float32
};

// The T best sentences of 16 queries, which are in the T groups of `size` neighbours with the best members.
// scores: of each sentence, PIECE elements apart; after the last there is room for a group.
template <int T>
BestOfLanes<T> best_members(BestOfLanes<T> groups, int32_t num_groups, int32_t size, float* scores) {
    if (size == 1) return groups;
    for (int place = 0; place < T; ++place)  // where there is no group, the one after the last
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

// Chooses T sentences for each query of a head. Returns the queries for which they are not certain.
template <typename Products, int T, typename State>
Undecided choose(const Choice<State>& choice) {
    constexpr int NUM_FOUND = T + Products::NUM_MORE;
    const Tiles tiles;
    const int64_t length = choice.num_pieces() * PIECE, width = choice.width;
    const float scaling = choice.scaling();  // applied last, because it does not change the order
    const Numbers<float> added = choice.added();
    const bool is_limited = choice.own || choice.num_choosable;
    Products products(choice);
    Numbers<float> scores((length + TILE_ROWS) * PIECE);
    int32_t group_size = 1;  // the number of groups is about that of the members of T groups
    while (group_size < TILE_ROWS && 2 * group_size * group_size * NUM_FOUND < length) group_size *= 2;
    Undecided undecided;
    for (int64_t first = 0; first < choice.num_queries; first += PIECE) {
        const State* queries[PIECE];
        const int64_t count = std::min(PIECE, choice.num_queries - first);
        for (int64_t query = 0; query < PIECE; ++query)
            queries[query] = choice.query + (first + std::min(query, count - 1)) * width;
        products.take(queries);
        Limits limits(choice, first, count);
        BestOfLanes<NUM_FOUND> groups[2];
        for (int64_t sentence = 0; sentence < length; sentence += PIECE) {
            float* of_piece = scores.data() + sentence * PIECE;
            products.multiply(sentence, of_piece);
            const float* of_added = added.data() + sentence;
            if (is_limited || std::any_of(of_added, of_added + PIECE, [](float number) { return number != 0.0f; }))
                for (int64_t row = 0; row < PIECE; ++row)
                    for (int part = 0; part < 2; ++part) {
                        float* to = of_piece + row * PIECE + part * LANES;
                        store(to, limits.ranked(load(to) + of_added[row], part, Integers{} + int32_t(sentence + row)));
                    }
            for (int64_t row = 0; row < PIECE; row += group_size)
                for (int part = 0; part < 2; ++part) {
                    Vector most = broadcast(-INFINITE);
                    for (int64_t member = row; member < row + group_size; ++member)
                        most = larger(load(of_piece + member * PIECE + part * LANES), most);
                    groups[part].add(most, Integers{} + int32_t((sentence + row) / group_size));
                }
        }
        for (int part = 0; part * LANES < count; ++part) {
            const BestOfLanes<NUM_FOUND> found =
                best_members(groups[part], int32_t(length / group_size), group_size, scores.data() + part * LANES);
            const BestOfLanes<T> best = products.template best_of<T>(found, part, limits);
            const Integers are_certain = products.template are_certain<T>(found, part);
            for (int64_t lane = 0; lane < std::min(LANES, count - part * LANES); ++lane) {
                const int64_t query = first + part * LANES + lane;
                const float own_score = limits.own_scores[part][lane];
                for (int place = 0; place < T; ++place) {
                    const float score = best.best[place][lane];
                    choice.indices[query * T + place] = score > -INFINITE ? best.at[place][lane] : 0;
                    choice.scores[query * T + place] =
                        scaling * (place == 0 && own_score > -INFINITE ? own_score : score);
                }
                if (!are_certain[lane]) undecided.add(query, query + 1);
            }
        }
        if (undecided.are_too_many(first + count)) {
            undecided.add(first + count, choice.num_queries);
            break;
        }
    }
    return undecided;
}

template <typename Products, typename State>
Undecided choose(const Choice<State>& choice) {
    switch (choice.t) {
        case 1: return choose<Products, 1>(choice);
        case 2: return choose<Products, 2>(choice);
        case 3: return choose<Products, 3>(choice);
        case 4: return choose<Products, 4>(choice);
        case 5: return choose<Products, 5>(choice);
        case 6: return choose<Products, 6>(choice);
        case 7: return choose<Products, 7>(choice);
        default: return choose<Products, 8>(choice);
    }
}

}  // namespace

extern "C" {

// The arguments of both are those of `choose_in_heads`; t is at most 8.
void select_sentences_bfloat16(int64_t batch_size, int64_t num_heads, int64_t num_queries, int64_t num_sentences,
                               int64_t width, int64_t t, const BFloat16* query, const BFloat16* key,
                               const uint8_t* sentence_mask, const int64_t* own, const int64_t* num_choosable,
                               int64_t* indices, float* scores, int num_threads) {
    const Choice<BFloat16> all{query, key, sentence_mask, own, num_choosable, num_queries, num_sentences,
                               width, t, indices, scores};
    choose_in_heads(all, batch_size, num_heads, num_threads,
                    [](const Choice<BFloat16>& choice) { choose<BFloat16Products>(choice); });
}

void select_sentences_tiles(int64_t batch_size, int64_t num_heads, int64_t num_queries, int64_t num_sentences,
                            int64_t width, int64_t t, const float* query, const float* key,
                            const uint8_t* sentence_mask, const int64_t* own, const int64_t* num_choosable,
                            int64_t* indices, float* scores, int num_threads) {
    const Choice<float> all{query, key, sentence_mask, own, num_choosable, num_queries, num_sentences,
                            width, t, indices, scores};
    choose_in_heads(all, batch_size, num_heads, num_threads, [](const Choice<float>& choice) {
        select_by_products(choice, choose<Float32Products>(choice));
    });
}

}  // extern "C"

#endif
