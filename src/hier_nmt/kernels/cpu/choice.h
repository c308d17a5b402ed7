// Copyright 2026 The hier_nmt Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Shared parts of the selection of sentences. Dimensions: B batch, H heads, Q queries, N sentences, E head width.

#pragma once

#include "vectors.h"

namespace {

// The T best scores of each lane so far, the best first, and their indices; of equal ones the first wins.
template <int T>
struct BestOfLanes {
    Vector best[T];
    Integers at[T] = {};

    BestOfLanes() {
        for (int place = 0; place < T; ++place) best[place] = broadcast(-INFINITE);
    }

    void add(Vector score, Integers here) {
        // From the last place on. A score goes after those equal to it, because they came first.
        Integers is_above = score > best[T - 1];
        for (int place = T - 1; place > 0; --place) {
            const Integers makes_room = score > best[place - 1];
            best[place] = makes_room ? best[place - 1] : is_above ? score : best[place];
            at[place] = makes_room ? at[place - 1] : is_above ? here : at[place];
            is_above = makes_room;
        }
        best[0] = is_above ? score : best[0];
        at[0] = is_above ? here : at[0];
    }
};

// Sorts the T numbers of each lane, the smallest first.
template <int T>
inline void sort_lanes(Integers* numbers) {
    for (int end = T - 1; end > 0; --end)
        for (int place = 0; place < end; ++place) {
            const Integers left = numbers[place], right = numbers[place + 1];
            numbers[place] = left < right ? left : right, numbers[place + 1] = left < right ? right : left;
        }
}

// The arguments of `choose_in_heads` for one head: what its queries choose from, and what they choose.
template <typename State>
struct Choice {
    const State *query, *key;
    const uint8_t* sentence_mask;
    const int64_t *own, *num_choosable;
    int64_t num_queries, num_sentences, width, t;
    int64_t* indices;
    float* scores;
    const int64_t* query_sentences = nullptr;  // id, from 1, of each query's sentence, if there is a slope
    float slope = 0.0f;                        // subtracted from products for each sentence between the two

    float scaling() const { return 1.0f / std::sqrt(float(width)); }
    int64_t num_pieces() const { return (num_sentences + PIECE - 1) / PIECE; }
    int64_t own_index(int64_t place) const { return own ? own[place] - 1 : -1; }

    int64_t count_choosable(int64_t place) const {
        return num_choosable ? std::clamp<int64_t>(num_choosable[place], 0, num_sentences) : num_sentences;
    }

    // 0 for sentences that may be chosen, minus infinity for others and after the last.
    Numbers<float> added() const {
        Numbers<float> numbers(num_pieces() * PIECE, -INFINITE);
        for (int64_t sentence = 0; sentence < num_sentences; ++sentence)
            if (sentence_mask[sentence]) numbers[sentence] = 0.0f;
        return numbers;
    }
};

// The keys of the sentences that may be chosen, minus their mean, which shifts all products of a query equally.
struct CentredKeys {
    Numbers<float> rows;      // [pieces * PIECE][E], zeros for other sentences
    float whole_norm = 0.0f;  // largest norm of a key plus the norm of the mean; NaN if a key has NaN

    explicit CentredKeys(const Choice<float>& choice) : rows(choice.num_pieces() * PIECE * choice.width, 0.0f) {
        const int64_t width = choice.width;
        Numbers<float> mean(width, 0.0f);
        int64_t count = 0;
        for (int64_t sentence = 0; sentence < choice.num_sentences; ++sentence) {
            if (!choice.sentence_mask[sentence]) continue;
            const float* key = choice.key + sentence * width;
            for (int64_t place = 0; place < width; ++place) mean[place] += key[place];
            whole_norm = std::max(whole_norm, length_of(key, width));
            ++count;
        }
        for (float& number : mean) number /= float(std::max<int64_t>(count, 1));
        for (int64_t sentence = 0; sentence < choice.num_sentences; ++sentence)
            for (int64_t place = 0; choice.sentence_mask[sentence] && place < width; ++place)
                rows[sentence * width + place] = choice.key[sentence * width + place] - mean[place];
        whole_norm += length_of(mean.data(), width);
    }
};

// The queries of a head for which approximate products do not determine the best sentences.
struct Undecided {
    std::vector<int64_t> places;

    void add(int64_t begin, int64_t end) {
        for (int64_t place = begin; place < end; ++place) places.push_back(place);
    }
    // Whether they are more than half of the queries so far, so that approximate products are not worth their time.
    bool are_too_many(int64_t num_seen) const { return num_seen >= 64 && 2 * int64_t(places.size()) > num_seen; }
};

// Calls choose(choice) for each head, which writes the t best sentences of each query and their relevance to indices
// and scores [B, H, Q, t]: 0 and minus infinity in empty places. sentence_mask [B, N]: nonzero on sentences that may be
// chosen. own [B, Q]: id, from 1, of a sentence that is always chosen, or null. num_choosable [B, Q]: how many of the
// first sentences may be chosen, or null.
template <typename State, typename Choose>
void choose_in_heads(const Choice<State>& all, int64_t batch_size, int64_t num_heads, int num_threads, Choose choose) {
    const int64_t num_queries = all.num_queries, num_sentences = all.num_sentences, t = all.t;
#pragma omp parallel for schedule(dynamic) num_threads(num_threads)
    for (int64_t head = 0; head < batch_size * num_heads; ++head) {
        const int64_t document = head / num_heads, first_place = document * num_queries;
        Choice<State> choice = all;
        choice.query += head * num_queries * all.width, choice.key += head * num_sentences * all.width;
        choice.sentence_mask += document * num_sentences;
        if (all.own) choice.own += first_place;
        if (all.num_choosable) choice.num_choosable += first_place;
        if (all.query_sentences) choice.query_sentences += first_place;
        choice.indices += head * num_queries * t, choice.scores += head * num_queries * t;
        choose(choice);
    }
}

}  // namespace
