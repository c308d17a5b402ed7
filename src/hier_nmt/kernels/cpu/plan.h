// Copyright 2026 The hier_nmt Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which queries of a document read which of its sentences. Dimensions: B batch, H heads, Q queries, K keys, E head
// width, N sentences, C sentences read per query.

#pragma once

#include <cstdlib>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "vectors.h"

extern "C" {

// Strides of the documents, heads and rows of a tensor [B, H, L, E], in elements.
struct Steps {
    int64_t document, head, row;
};

// What is attended to; rank, start, length and keys are those of RankedSentences in torch_cpu/block_plan.py.
struct Plan {
    int64_t batch_size, num_heads, num_queries, num_keys, width, num_choices, num_numbers;
    const int64_t* numbers;          // ids of the sentences to read [B, H, Q, C], from 1; 0 is none
    const int64_t* query_positions;  // [Q], or null
    const int64_t* rank;
    const int64_t* start;
    const int64_t* length;
    const int64_t* keys;
    float scaling, dropout;
    uint64_t seed;
    Steps of_query, of_key, of_value;  // also of the output and of all gradients; not used with tiles
};

}  // extern "C"

namespace {

// Uninitialised memory for floats, on huge pages if the system has them.
class Memory {
  public:
    Memory() = default;
    Memory(const Memory&) = delete;
    ~Memory() { std::free(numbers_); }

    // Memory for this many floats; the earlier contents are lost. Null if there is not enough memory.
    float* take(int64_t count) {
        if (count > count_) {
            constexpr int64_t page = 1 << 21;
            const int64_t size = (count * int64_t(sizeof(float)) + page - 1) / page * page;
            std::free(numbers_);
            numbers_ = static_cast<float*>(std::aligned_alloc(page, size));
            count_ = numbers_ ? size / int64_t(sizeof(float)) : 0;
#ifdef MADV_HUGEPAGE
            if (numbers_) madvise(numbers_, size, MADV_HUGEPAGE);
#endif
        }
        return numbers_;
    }
    // Frees the memory if it is too much to keep for the next call.
    void release() {
        constexpr int64_t most_kept = 3 << 20;
        if (count_ <= most_kept) return;
        std::free(numbers_);
        numbers_ = nullptr, count_ = 0;
    }

  private:
    float* numbers_ = nullptr;
    int64_t count_ = 0;
};

// Each thread keeps its memory between calls, because fresh pages cost more than the arithmetic on them.
thread_local Memory memory_of_thread;

// Rows [L, E] of a document and head.
template <typename Number>
struct Rows {
    Number* first;
    int64_t step;

    Rows(Number* all, const Plan& plan, const Steps& steps, int64_t head)
        : first(all + head / plan.num_heads * steps.document + head % plan.num_heads * steps.head), step(steps.row) {}
    Number* operator[](int64_t row) const { return first + row * step; }
};

// The pairs of one document and head, sorted by sentence.
struct Pairs {
    std::vector<int64_t> begin;  // of the pairs of each sentence id [1 + N + 1]
    std::vector<int32_t> pair;   // query * C + choice

    Pairs(const Plan& plan, int64_t head) : begin(plan.num_numbers + 1), pair() {
        const int64_t count = plan.num_queries * plan.num_choices;
        const int64_t* numbers = plan.numbers + head * count;
        for (int64_t place = 0; place < count; ++place) ++begin[numbers[place] + 1];
        for (int64_t number = 0; number < plan.num_numbers; ++number) begin[number + 1] += begin[number];
        pair.resize(count);
        std::vector<int64_t> next(begin.begin(), begin.end() - 1);
        for (int64_t place = 0; place < count; ++place) pair[next[numbers[place]]++] = int32_t(place);
    }
};

// Up to PIECE tokens of a sentence, and the queries that read them.
struct Piece {
    int64_t count;                // number of tokens
    int64_t index[PIECE];         // index of each token among the document's keys
    int64_t first_pair, end_pair;
};

// Calls use(piece) for every piece of every sentence of a document and head that some query reads.
template <typename Use>
void for_each_piece(const Plan& plan, int64_t head, const Pairs& pairs, Use use) {
    const int64_t document = head / plan.num_heads;
    for (int64_t number = 1; number < plan.num_numbers; ++number) {
        const int64_t rank = plan.rank[document * plan.num_numbers + number];
        if (pairs.begin[number] == pairs.begin[number + 1] || rank >= plan.batch_size * plan.num_numbers) continue;
        for (int64_t first = 0; first < plan.length[rank]; first += PIECE) {
            Piece piece;
            piece.count = std::min(PIECE, plan.length[rank] - first);
            for (int64_t token = 0; token < piece.count; ++token)
                piece.index[token] = plan.keys[plan.start[rank] + first + token] - document * plan.num_keys;
            piece.first_pair = pairs.begin[number];
            piece.end_pair = pairs.begin[number + 1];
            use(piece);
        }
    }
}

}  // namespace
