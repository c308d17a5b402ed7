// Copyright 2026 The hier_nmt Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The walk down a binary tree over the sentences, in float32: the same as `search_tree` of ops/sentence_tree.py.

#include "choice.h"

extern "C" {

// The levels of a binary tree over the sentences, leaves first, with all levels in one dimension: keys [B, H, nodes, E]
// and masks [B, nodes]; level l begins at node `first_node[l]`.
struct Tree {
    int64_t batch_size, num_heads, num_queries, width, num_nodes, num_levels, start_level, t;
    const int64_t* first_node;  // [levels + 1]
    const float* keys;
    const uint8_t* masks;
    const int64_t* own;  // [B, Q], sentence ids from 1, or null
};

}  // extern "C"

namespace {

// A level of the tree: keys [nodes, E], followed by those of the next level, and the mask of its nodes.
struct Level {
    const float* keys;
    const uint8_t* mask;
    int64_t num_nodes, width;

    bool has(int64_t node) const { return node < num_nodes && mask[node]; }
};

// The scores with NaN replaced by infinity: NaN ranks first, so that it stays visible. Like a node that does not exist,
// one with a score of minus infinity is not kept.
inline Vector nan_first(Vector score) { return score == score ? score : broadcast(INFINITE); }

constexpr int32_t NO_NODE = 1 << 29;  // larger than any node, and so are its children

// Relevance of both children of a node for each of LANES queries.
inline void score_children(const Level& level, const float* const* queries, Integers nodes, Vector (&scores)[2]) {
    Vector products[2][LANES];
    for (int64_t lane = 0; lane < LANES; ++lane) {
        const int64_t child = 2 * int64_t(nodes[lane]);
        const float* keys = level.keys + (child < level.num_nodes ? child : 0) * level.width;
        Vector left = {}, right = {};
        for (int64_t place = 0; place < level.width; place += LANES) {
            left += load(queries[lane] + place) * load(keys + place);
            right += load(queries[lane] + place) * load(keys + level.width + place);
        }
        products[0][lane] = left, products[1][lane] = right;
    }
    for (int64_t side = 0; side < 2; ++side)
        scores[side] = nan_first(combine_lanes(products[side], plus));
}

// Goes down one level with LANES queries. nodes: the kept nodes of each, ascending, then NO_NODE. The T best of their
// children are kept; of equal ones the first. own: a child that is always kept, or -1.
template <int T>
void descend(Integers (&nodes)[T], const float* const* queries, const Level& level, Integers own) {
    BestOfLanes<T> best;
    for (const Integers node : nodes) {
        Vector scores[2];
        score_children(level, queries, node, scores);
        for (int64_t side = 0; side < 2; ++side) {
            const Integers child = 2 * node + int32_t(side);
            int32_t is_there[LANES];
            for (int64_t lane = 0; lane < LANES; ++lane) is_there[lane] = level.has(child[lane]) ? -1 : 0;
            Integers of_lanes;
            std::memcpy(&of_lanes, is_there, sizeof(of_lanes));
            const Vector score = child == own ? broadcast(INFINITE) : scores[side];
            best.add(of_lanes ? score : broadcast(-INFINITE), child);
        }
    }
    for (int place = 0; place < T; ++place)
        nodes[place] = best.best[place] > -INFINITE ? best.at[place] : Integers{} + NO_NODE;
    sort_lanes<T>(nodes);
}

// The same with one query and any number t.
void descend(std::vector<int64_t>& nodes, const float* query, const Level& level, int64_t t, int64_t own) {
    std::vector<std::pair<float, int64_t>> children;  // rank, which is the negative relevance, and node
    for (const int64_t node : nodes)
        for (int64_t child = 2 * node; child < 2 * node + 2; ++child)
            if (level.has(child)) {
                const float score = product(query, level.keys + child * level.width, level.width);
                const float rank = child == own ? -INFINITE : -nan_first(broadcast(score))[0];
                if (rank < INFINITE) children.emplace_back(rank, child);
            }
    const int64_t count = std::min<int64_t>(t, children.size());
    std::partial_sort(children.begin(), children.begin() + count, children.end());
    nodes.clear();
    for (int64_t place = 0; place < count; ++place) nodes.push_back(children[place].second);
    std::sort(nodes.begin(), nodes.end());
}

// The walks of the queries of a head.
class HeadOfTree {
  public:
    HeadOfTree(const Tree& tree, int64_t head, const float* query, int64_t* leaves, uint8_t* is_kept)
        : tree_(tree), document_(head / tree.num_heads), query_(query + head * tree.num_queries * tree.width),
          keys_(tree.keys + head * tree.num_nodes * tree.width), leaves_(leaves + head * tree.num_queries * tree.t),
          is_kept_(is_kept + head * tree.num_queries * tree.t) {
        const Level start = level(tree.start_level);
        for (int64_t node = 0; node < start.num_nodes && int64_t(start_.size()) < tree.t; ++node)
            if (start.has(node)) start_.push_back(node);
    }

    // LANES queries at a time.
    template <int T>
    void together() const {
        for (int64_t first = 0; first < tree_.num_queries; first += LANES) {
            const int64_t count = std::min(LANES, tree_.num_queries - first);
            const float* queries[LANES];
            Integers nodes[T], own;
            for (int64_t lane = 0; lane < LANES; ++lane) {
                const int64_t place = first + std::min(lane, count - 1);
                queries[lane] = query_ + place * tree_.width;
                own[lane] = int32_t(own_leaf(place));
            }
            for (int64_t place = 0; place < T; ++place)
                nodes[place] = Integers{} + (place < int64_t(start_.size()) ? int32_t(start_[place]) : NO_NODE);
            for (int64_t below = tree_.start_level - 1; below >= 0; --below)
                descend<T>(nodes, queries, level(below), own >> int32_t(below));
            for (int64_t lane = 0; lane < count; ++lane)
                for (int64_t place = 0; place < T; ++place) keep(first + lane, place, nodes[place][lane]);
        }
    }

    // One query at a time.
    void alone() const {
        for (int64_t query = 0; query < tree_.num_queries; ++query) {
            std::vector<int64_t> nodes = start_;
            for (int64_t below = tree_.start_level - 1; below >= 0; --below)
                descend(nodes, query_ + query * tree_.width, level(below), tree_.t, own_leaf(query) >> below);
            nodes.resize(tree_.t, NO_NODE);
            for (int64_t place = 0; place < tree_.t; ++place) keep(query, place, nodes[place]);
        }
    }

  private:
    Level level(int64_t number) const {
        const int64_t first = tree_.first_node[number];
        return {keys_ + first * tree_.width, tree_.masks + document_ * tree_.num_nodes + first,
                tree_.first_node[number + 1] - first, tree_.width};
    }
    int64_t own_leaf(int64_t query) const {
        return tree_.own ? tree_.own[document_ * tree_.num_queries + query] - 1 : -1;
    }
    void keep(int64_t query, int64_t place, int64_t node) const {
        is_kept_[query * tree_.t + place] = node < NO_NODE;
        leaves_[query * tree_.t + place] = node < NO_NODE ? node : 0;
    }

    const Tree& tree_;
    int64_t document_;
    const float *query_, *keys_;
    int64_t* leaves_;
    uint8_t* is_kept_;
    std::vector<int64_t> start_;  // nodes from which the walk begins, at most t
};

}  // namespace

extern "C" {

// Writes the leaves [B, H, Q, t] that the walk keeps, ascending, then 0; is_kept [B, H, Q, t] tells which are leaves.
void search_tree(const Tree* tree, const float* query, int64_t* leaves, uint8_t* is_kept, int num_threads) {
#pragma omp parallel for schedule(dynamic) num_threads(num_threads)
    for (int64_t head = 0; head < tree->batch_size * tree->num_heads; ++head) {
        const HeadOfTree walk(*tree, head, query, leaves, is_kept);
        switch (tree->t) {
            case 1: walk.together<1>(); break;
            case 2: walk.together<2>(); break;
            case 3: walk.together<3>(); break;
            case 4: walk.together<4>(); break;
            case 5: walk.together<5>(); break;
            case 6: walk.together<6>(); break;
            case 7: walk.together<7>(); break;
            case 8: walk.together<8>(); break;
            default: walk.alone();
        }
    }
}

}  // extern "C"
