// Copyright 2026 The hier_nmt Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The walk down a binary tree over the sentences, in float32: what sentence_tree.py computes with PyTorch.

#include <vector>

#include "vectors.h"

namespace {

// The sums of the lanes of 8 vectors, in the first 8 lanes; each is added up in the order in which `sum` does it.
inline Vector sums_of(const Vector (&vectors)[8]) {
    Vector halves[4], quarters[2];
    for (int place = 0; place < 4; ++place) {
        const Vector left = vectors[place], right = vectors[place + 4];
        halves[place] =
            __builtin_shufflevector(left, right, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
            __builtin_shufflevector(left, right, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
    }
    for (int place = 0; place < 2; ++place) {
        const Vector left = halves[place], right = halves[place + 2];
        quarters[place] =
            __builtin_shufflevector(left, right, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27) +
            __builtin_shufflevector(left, right, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
    }
    const Vector left = quarters[0], right = quarters[1];
    const Vector pairs =
        __builtin_shufflevector(left, right, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29) +
        __builtin_shufflevector(left, right, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
    return __builtin_shufflevector(pairs, pairs, 0, 2, 4, 6, 8, 10, 12, 14, 0, 2, 4, 6, 8, 10, 12, 14) +
           __builtin_shufflevector(pairs, pairs, 1, 3, 5, 7, 9, 11, 13, 15, 1, 3, 5, 7, 9, 11, 13, 15);
}

// The nodes of a level that the search keeps, at most t, in ascending order, and what it needs to go down.
struct Beam {
    int64_t count = 0;
    std::vector<int64_t> nodes, children;
    std::vector<float> scores;
    std::vector<int32_t> ranks;

    explicit Beam(int64_t t) : nodes(t + 1), children(2 * t), scores(2 * t + LANES), ranks(2 * t + LANES) {}
};

// Goes down one level: of the children of the kept nodes that exist the t best stay, of equal ones the first.
// own_node: a child that stays in any case, or -1.
void descend(Beam& beam, const float* query, const float* keys, const uint8_t* mask, int64_t num_nodes, int64_t width,
             int64_t t, int64_t own_node) {
    int64_t count = 0;
    for (int64_t kept = 0; kept < beam.count; ++kept)
        for (int64_t child = 2 * beam.nodes[kept]; child < std::min(2 * beam.nodes[kept] + 2, num_nodes); ++child)
            if (mask[child]) beam.children[count++] = child;
    float* scores = beam.scores.data();
    int32_t* ranks = beam.ranks.data();
    for (int64_t first = 0; first < count && count > t; first += 8) {
        Vector products[8] = {};
        const float* rows[8];
        for (int64_t row = 0; row < 8; ++row)
            rows[row] = keys + beam.children[std::min(first + row, count - 1)] * width;
        for (int64_t place = 0; place < width; place += LANES)
            for (int64_t row = 0; row < 8; ++row) products[row] += load(query + place) * load(rows[row] + place);
        const Vector sums = sums_of(products);
        std::memcpy(scores + first, &sums, 8 * sizeof(float));
    }
    for (int64_t place = 0; place < count && own_node >= 0; ++place)
        if (beam.children[place] == own_node) scores[place] = INFINITE;
    for (int64_t first = 0; first < count && count > t; first += LANES) {
        // How many are better than each, or as good and before it.
        Integers rank = {}, here;
        for (int lane = 0; lane < LANES; ++lane) here[lane] = int32_t(first) + lane;
        const Vector score = load(scores + first);
        for (int64_t other = 0; other < count; ++other) {
            const Vector than = broadcast(scores[other]);
            rank -= (than > score) | ((than == score) & (here > int32_t(other)));
        }
        std::memcpy(ranks + first, &rank, sizeof(rank));
    }
    beam.count = 0;
    for (int64_t place = 0; place < count; ++place) {
        beam.nodes[beam.count] = beam.children[place];  // without a branch, which nobody could foresee
        beam.count += count <= t || ranks[place] < t;
    }
}

}  // namespace

extern "C" {

// The levels of a binary tree over the sentences, leaves first: keys [B, H, nodes of all levels, E] and masks
// [B, nodes of all levels], in which level l begins at node `first_node[l]`.
struct Tree {
    int64_t batch_size, num_heads, num_queries, width, num_nodes, num_levels, start_level, t;
    const int64_t* first_node;  // [levels + 1]
    const float* keys;
    const uint8_t* masks;
    const int64_t* own;  // [B, Q], numbers from 1, or null
};

// Leaves [B, H, Q, t] that the walk keeps, ascending, 0 behind them; is_kept [B, H, Q, t] says where they end.
void search_tree(const Tree* tree, const float* query, int64_t* leaves, uint8_t* is_kept, int num_threads) {
    const int64_t t = tree->t;
#pragma omp parallel for schedule(dynamic) num_threads(num_threads)
    for (int64_t head = 0; head < tree->batch_size * tree->num_heads; ++head) {
        const int64_t document = head / tree->num_heads;
        const float* keys = tree->keys + head * tree->num_nodes * tree->width;
        const uint8_t* masks = tree->masks + document * tree->num_nodes;
        const int64_t* sizes = tree->first_node;
        Beam beam(t);
        for (int64_t place = 0; place < tree->num_queries; ++place) {
            const float* of_query = query + (head * tree->num_queries + place) * tree->width;
            const int64_t own = tree->own ? tree->own[document * tree->num_queries + place] - 1 : -1;
            const int64_t top = sizes[tree->start_level];
            beam.count = 0;
            for (int64_t node = 0; node < sizes[tree->start_level + 1] - top && beam.count < t; ++node)
                if (masks[top + node]) beam.nodes[beam.count++] = node;
            for (int64_t level = tree->start_level - 1; level >= 0; --level)
                descend(beam, of_query, keys + sizes[level] * tree->width, masks + sizes[level],
                        sizes[level + 1] - sizes[level], tree->width, t, own < 0 ? -1 : own >> level);
            for (int64_t kept = 0; kept < t; ++kept) {
                const int64_t to = (head * tree->num_queries + place) * t + kept;
                is_kept[to] = kept < beam.count;
                leaves[to] = kept < beam.count ? beam.nodes[kept] : 0;
            }
        }
    }
}

}  // extern "C"
