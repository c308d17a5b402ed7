// Copyright 2026 The hier_nmt Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Selecting sentences by their float32 products with each query. Dimensions as in choice.h.

#pragma once

#include "choice.h"

namespace {

constexpr int64_t QUERIES_AT_ONCE = 64;  // queries that choose their sentences at a time

// The T best scores [length] and their indices, the best first, of equal ones the first; minus infinity and 0 if there
// are fewer. Each lane keeps its own T best, which are merged in the end.
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

// Subtracts the slope from products [num_sentences] for each sentence between one and that of the index.
inline void prefer_near(float* of_row, int64_t num_sentences, int64_t index, float slope) {
    for (int32_t sentence = 0; sentence < int32_t(num_sentences); ++sentence)
        of_row[sentence] -= slope * float(std::max(std::abs(sentence - int32_t(index)) - 1, 0));
}

// Chooses for these queries.
void select_by_products(const Choice<float>& choice, const Undecided& undecided) {
    const std::vector<int64_t>& places = undecided.places;
    if (places.empty()) return;
    const int64_t num_pieces = choice.num_pieces(), length = num_pieces * PIECE, width = choice.width;
    const bool has_slope = choice.query_sentences;
    // With a slope, products are compared before they are scaled, as in sentence_selection.py.
    const float scaling = has_slope ? 1.0f : choice.scaling();
    const Numbers<float> added = choice.added();
    Numbers<float> columns(width * length), scores(QUERIES_AT_ONCE * length), products_of_row(length);
    for (int64_t piece = 0; piece < num_pieces; ++piece) {
        const float* sentences[PIECE];
        const int64_t count = std::min(PIECE, choice.num_sentences - piece * PIECE);
        for (int64_t sentence = 0; sentence < count; ++sentence)
            sentences[sentence] = choice.key + (piece * PIECE + sentence) * width;
        transpose(columns.data() + piece * width * PIECE, sentences, count, width);
    }
    for (size_t first = 0; first < places.size(); first += QUERIES_AT_ONCE) {
        const int64_t count = std::min<int64_t>(QUERIES_AT_ONCE, places.size() - first);
        for (int64_t piece = 0; piece < num_pieces; ++piece)
            for (int64_t block = 0; block < count; block += ROWS) {
                const float* rows[ROWS];
                for (int64_t row = 0; row < ROWS; ++row)
                    rows[row] = choice.query + places[first + std::min(block + row, count - 1)] * width;
                Vector products[ROWS][2];
                multiply_columns<2>(rows, columns.data() + piece * width * PIECE, width, products);
                for (int64_t row = 0; row < ROWS; ++row)
                    for (int64_t part = 0; part < 2; ++part) {
                        const int64_t place = piece * PIECE + part * LANES;
                        store(scores.data() + (block + row) * length + place,
                              products[row][part] * scaling + load(added.data() + place));
                    }
            }
        for (int64_t row = 0; row < count; ++row) {
            float* of_row = scores.data() + row * length;
            const int64_t place = places[first + row];
            int64_t* indices = choice.indices + place * choice.t;
            float* best = choice.scores + place * choice.t;
            std::fill(of_row + choice.count_choosable(place), of_row + length, -INFINITE);
            if (has_slope) {
                std::copy_n(of_row, length, products_of_row.data());
                prefer_near(of_row, choice.num_sentences, choice.query_sentences[place] - 1, choice.slope);
            }
            select_best(of_row, length, choice.own_index(place), choice.t, indices, best);
            for (int64_t found = 0; has_slope && found < choice.t; ++found)
                if (best[found] > -INFINITE) best[found] = products_of_row[indices[found]] * choice.scaling();
        }
    }
}

}  // namespace
