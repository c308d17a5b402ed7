// Copyright 2026 The hier_nmt Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Attention to selected sentences and their selection on a processor, in float32: what grouped_attention.py and
// sentence_selection.py compute with PyTorch, in one pass that stays in the first levels of the cache.
//
// Each (document, head) is the work of one thread, so nothing is written by two. Dimensions: B batch, H heads, Q queries,
// K keys, E head width (a multiple of 16), N sentences, C sentences read per query.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

#if defined(__AVX512VNNI__) && defined(__AVX512F__)
#define HAS_BYTE_PRODUCTS
#include <immintrin.h>
#endif

namespace {

constexpr int64_t LANES = 16;        // numbers of a vector
constexpr int64_t PIECE = 2 * LANES;  // words of a sentence that are multiplied at one time
constexpr int64_t ROWS = 8;           // queries that are multiplied at one time
constexpr int64_t TILE = 64;          // queries that choose their sentences at one time
constexpr float INFINITE = std::numeric_limits<float>::infinity();

typedef float Vector __attribute__((vector_size(64)));
typedef int32_t Integers __attribute__((vector_size(64)));

inline Vector load(const float* from) {
    Vector vector;
    std::memcpy(&vector, from, sizeof(vector));
    return vector;
}

inline void store(float* to, Vector vector) { std::memcpy(to, &vector, sizeof(vector)); }

inline Vector broadcast(float number) { return number - Vector{}; }

// The lanes in an order in which each of the first `half` meets the one that is `half` behind it.
template <typename Lanes>
inline Lanes folded(Lanes lanes, int half) {
    switch (half) {
        case 8: return __builtin_shufflevector(lanes, lanes, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
        case 4: return __builtin_shufflevector(lanes, lanes, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
        case 2: return __builtin_shufflevector(lanes, lanes, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
        default: return __builtin_shufflevector(lanes, lanes, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
    }
}

inline Vector larger(Vector left, Vector right) { return left > right ? left : right; }

inline float largest(Vector vector) {
    for (int half = LANES / 2; half; half /= 2) vector = larger(vector, folded(vector, half));
    return vector[0];
}

inline float sum(Vector vector) {
    for (int half = LANES / 2; half; half /= 2) vector += folded(vector, half);
    return vector[0];
}

inline int32_t smallest(Integers integers) {
    for (int half = LANES / 2; half; half /= 2) {
        const Integers others = folded(integers, half);
        integers = integers < others ? integers : others;
    }
    return integers[0];
}

// exp(x) for x <= 0 with a relative error of about 1e-7; exactly 0 where the result is below the normal numbers.
inline Vector exponential(Vector x) {
    const Vector bounded = x < -87.0f ? broadcast(-87.0f) : x;
    const float rounder = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
    const Vector power = (bounded * 1.44269504f + rounder) - rounder;
    const Vector rest = (bounded - power * 0.693359375f) + power * 2.12194440e-4f;
    Vector series = broadcast(1.0f / 5040.0f);
    series = series * rest + 1.0f / 720.0f;
    series = series * rest + 1.0f / 120.0f;
    series = series * rest + 1.0f / 24.0f;
    series = series * rest + 1.0f / 6.0f;
    series = series * rest + 0.5f;
    series = series * rest + 1.0f;
    series = series * rest + 1.0f;
    const Integers exponent = (__builtin_convertvector(power, Integers) + 127) << 23;
    Vector scale;
    std::memcpy(&scale, &exponent, sizeof(scale));
    return x < -87.0f ? Vector{} : series * scale;
}

// Products [ROWS][V * LANES] of the rows of E numbers with a matrix [E][PIECE].
template <int V>
inline void multiply_columns(const float* const* rows, const float* matrix, int64_t width, Vector (*products)[2]) {
    Vector totals[ROWS][V] = {};
    for (int64_t place = 0; place < width; ++place) {
        Vector column[V];
        for (int part = 0; part < V; ++part) column[part] = load(matrix + place * PIECE + part * LANES);
        for (int row = 0; row < ROWS; ++row)
            for (int part = 0; part < V; ++part) totals[row][part] += rows[row][place] * column[part];
    }
    for (int row = 0; row < ROWS; ++row)
        for (int part = 0; part < V; ++part) products[row][part] = totals[row][part];
}

// Adds weights [ROWS][count] . words [count][width] to the first `num_rows` of the rows, which are multiplied by `factors` before.
template <int R, int V>
inline void add_words(float* const* rows, const float* factors, const float (*weights)[PIECE],
                      const float* const* words, int64_t count, int64_t column) {
    Vector totals[R][V];
    for (int row = 0; row < R; ++row)
        for (int part = 0; part < V; ++part)
            totals[row][part] = load(rows[row] + column + part * LANES) * factors[row];
    for (int64_t word = 0; word < count; ++word) {
        Vector values[V];
        for (int part = 0; part < V; ++part) values[part] = load(words[word] + column + part * LANES);
        for (int row = 0; row < R; ++row)
            for (int part = 0; part < V; ++part) totals[row][part] += weights[row][word] * values[part];
    }
    for (int row = 0; row < R; ++row)
        for (int part = 0; part < V; ++part) store(rows[row] + column + part * LANES, totals[row][part]);
}

template <int V>
inline void add_words_to_rows(float* const* rows, const float* factors, const float (*weights)[PIECE],
                              const float* const* words, int64_t count, int64_t column, int64_t num_rows) {
    int64_t row = 0;
    for (; row + 4 <= num_rows; row += 4)
        add_words<4, V>(rows + row, factors + row, weights + row, words, count, column);
    for (; row < num_rows; ++row)
        add_words<1, V>(rows + row, factors + row, weights + row, words, count, column);
}

void add_all_words(float* const* rows, const float* factors, const float (*weights)[PIECE], const float* const* words,
                   int64_t count, int64_t width, int64_t num_rows) {
    int64_t column = 0;
    for (; column + 4 * LANES <= width; column += 4 * LANES)
        add_words_to_rows<4>(rows, factors, weights, words, count, column, num_rows);
    for (; column < width; column += LANES)
        add_words_to_rows<1>(rows, factors, weights, words, count, column, num_rows);
}

// Adds weights^T [W][num_rows] . rows [num_rows][V * LANES] to sums [W][width].
template <int W, int V>
inline void add_rows(float* sums, const float (*weights)[PIECE], const float* const* rows, int64_t word, int64_t column,
                     int64_t width, int64_t num_rows) {
    Vector totals[W][V];
    for (int some = 0; some < W; ++some)
        for (int part = 0; part < V; ++part) totals[some][part] = load(sums + some * width + part * LANES);
    for (int64_t row = 0; row < num_rows; ++row) {
        Vector numbers[V];
        for (int part = 0; part < V; ++part) numbers[part] = load(rows[row] + column + part * LANES);
        for (int some = 0; some < W; ++some)
            for (int part = 0; part < V; ++part) totals[some][part] += weights[row][word + some] * numbers[part];
    }
    for (int some = 0; some < W; ++some)
        for (int part = 0; part < V; ++part) store(sums + some * width + part * LANES, totals[some][part]);
}

template <int V>
inline void add_rows_to_columns(float* sums, const float (*weights)[PIECE], const float* const* rows, int64_t count,
                                int64_t column, int64_t width, int64_t num_rows) {
    int64_t word = 0;
    for (; word + 4 <= count; word += 4)
        add_rows<4, V>(sums + word * width + column, weights, rows, word, column, width, num_rows);
    for (; word < count; ++word)
        add_rows<1, V>(sums + word * width + column, weights, rows, word, column, width, num_rows);
}

// Adds weights^T [count][num_rows] . rows [num_rows][width] to sums [count][width].
void add_rows_to_words(float* sums, const float (*weights)[PIECE], const float* const* rows, int64_t count,
                       int64_t width, int64_t num_rows) {
    int64_t column = 0;
    for (; column + 4 * LANES <= width; column += 4 * LANES)
        add_rows_to_columns<4>(sums, weights, rows, count, column, width, num_rows);
    for (; column < width; column += LANES)
        add_rows_to_columns<1>(sums, weights, rows, count, column, width, num_rows);
}

// The words' states as columns [width][PIECE], zeros behind the last.
void transpose(float* columns, const float* const* words, int64_t count, int64_t width) {
    for (int64_t place = 0; place < width; ++place) {
        for (int64_t word = 0; word < count; ++word) columns[place * PIECE + word] = words[word][place];
        for (int64_t word = count; word < PIECE; ++word) columns[place * PIECE + word] = 0.0f;
    }
}

// 0 or 1 / (1 - probability), the same whenever it is asked for.
struct Dropout {
    float probability;
    uint64_t seed;

    float factor(int64_t head, int64_t query, int64_t key) const {
        uint64_t mixed = seed + 0x9E3779B97F4A7C15ull * (uint64_t(head) << 40 ^ uint64_t(query) << 20 ^ uint64_t(key));
        mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9ull;
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBull;
        const float uniform = float((mixed ^ mixed >> 31) >> 40) * 0x1p-24f;
        return uniform < probability ? 0.0f : 1.0f / (1.0f - probability);
    }
};

}  // namespace

extern "C" {

// What is attended to; see SentenceWords in sentence_blocks.py for the last five.
struct Plan {
    int64_t batch_size, num_heads, num_queries, num_keys, width, num_choices, num_numbers;
    const int64_t* numbers;          // sentences read [B, H, Q, C], from 1; 0 is none
    const int64_t* query_positions;  // [Q], or null
    const int64_t* rank;
    const int64_t* start;
    const int64_t* length;
    const int64_t* keys;
    float scaling, dropout;
    uint64_t seed;
};

}  // extern "C"

namespace {

// From so many numbers of a state on, the states of a head are put side by side.
constexpr int64_t MIN_SIDE_BY_SIDE = 1 << 18;

// S states of a head's queries [Q, E] side by side [Q, S, E], so that what a query needs lies on one page of memory, a
// huge one where the system has them: those who read a sentence are scattered over the document, and the processor keeps
// the addresses of few pages. A short document's states stay where they are.
template <int S>
class QueryStates {
  public:
    float* states[S];  // of the first query
    int64_t step;      // from one query to the next

    QueryStates(int64_t num_queries, int64_t width) : step(width), num_queries_(num_queries), width_(width) {
        if (num_queries * width < MIN_SIDE_BY_SIDE) return;
        constexpr int64_t huge_page = 1 << 21;
        const int64_t size = num_queries * S * width * int64_t(sizeof(float));
        memory_ = static_cast<float*>(std::aligned_alloc(huge_page, (size + huge_page - 1) / huge_page * huge_page));
        if (!memory_) return;
#ifdef MADV_HUGEPAGE
        madvise(memory_, size, MADV_HUGEPAGE);
#endif
        step = S * width;
    }
    QueryStates(const QueryStates&) = delete;
    ~QueryStates() { std::free(memory_); }

    // Copies the rows [Q, E] of a head to a state.
    void put(int state, const float* rows) {
        locate(state, rows);
        for (int64_t place = 0; memory_ && place < num_queries_; ++place)
            std::copy_n(rows + place * width_, width_, states[state] + place * step);
    }
    // Has a state of zeros, to be written to the rows.
    void clear(int state, float* rows) {
        locate(state, rows);
        for (int64_t place = 0; place < num_queries_; ++place) std::fill_n(states[state] + place * step, width_, 0.0f);
    }
    // Writes a state to the rows.
    void take(int state, float* rows) const {
        for (int64_t place = 0; memory_ && place < num_queries_; ++place)
            std::copy_n(states[state] + place * step, width_, rows + place * width_);
    }

  private:
    void locate(int state, const float* rows) {
        states[state] = memory_ ? memory_ + state * width_ : const_cast<float*>(rows);
    }

    int64_t num_queries_, width_;
    float* memory_ = nullptr;
};

// The pairs of one document and head, sorted by sentence.
struct Pairs {
    std::vector<int64_t> begin;  // of each number's pairs [1 + N + 1]
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

// Up to PIECE words of one sentence, and the queries that read them.
struct Piece {
    int64_t count;                // its words
    int64_t index[PIECE];         // of each among the document's keys
    int64_t first_pair, end_pair;
};

// Calls use(piece) for all pieces of all sentences of a document and head that somebody reads.
template <typename Use>
void for_each_piece(const Plan& plan, int64_t head, const Pairs& pairs, Use use) {
    const int64_t document = head / plan.num_heads;
    for (int64_t number = 1; number < plan.num_numbers; ++number) {
        const int64_t rank = plan.rank[document * plan.num_numbers + number];
        if (pairs.begin[number] == pairs.begin[number + 1] || rank >= plan.batch_size * plan.num_numbers) continue;
        for (int64_t first = 0; first < plan.length[rank]; first += PIECE) {
            Piece piece;
            piece.count = std::min(PIECE, plan.length[rank] - first);
            for (int64_t word = 0; word < piece.count; ++word)
                piece.index[word] = plan.keys[plan.start[rank] + first + word] - document * plan.num_keys;
            piece.first_pair = pairs.begin[number];
            piece.end_pair = pairs.begin[number + 1];
            use(piece);
        }
    }
}

// Up to ROWS of the queries that read a piece.
struct Block {
    int64_t count;
    int32_t pair[ROWS], query[ROWS];

    Block(const Plan& plan, const Pairs& pairs, const Piece& piece, int64_t first) {
        count = std::min(ROWS, piece.end_pair - first);
        for (int64_t row = 0; row < ROWS; ++row) {
            pair[row] = pairs.pair[first + std::min(row, count - 1)];  // the last ones are not looked at
            query[row] = int32_t(pair[row] / plan.num_choices);
        }
    }
};

// Logits [ROWS][PIECE] of a block; minus infinity for what may not be seen. Nothing is written behind the words' vectors.
void logits_of(const Plan& plan, const Piece& piece, const Block& block, const float* queries, int64_t step,
               const float* columns, Vector (*logits)[2]) {
    const float* rows[ROWS];
    for (int64_t row = 0; row < ROWS; ++row) rows[row] = queries + block.query[row] * step;
    piece.count > LANES ? multiply_columns<2>(rows, columns, plan.width, logits)
                        : multiply_columns<1>(rows, columns, plan.width, logits);
    for (int64_t row = 0; row < block.count; ++row) {
        float* of_row = reinterpret_cast<float*>(logits[row]);
        for (int64_t part = 0; part * LANES < piece.count; ++part) logits[row][part] *= plan.scaling;
        for (int64_t word = piece.count; word % LANES; ++word) of_row[word] = -INFINITE;
        if (plan.query_positions)
            for (int64_t word = 0; word < piece.count; ++word)
                if (piece.index[word] > plan.query_positions[block.query[row]]) of_row[word] = -INFINITE;
    }
}

void drop(const Plan& plan, int64_t head, const Piece& piece, const Block& block, float (*weights)[PIECE]) {
    const Dropout dropout{plan.dropout, plan.seed};
    for (int64_t row = 0; row < block.count; ++row)
        for (int64_t word = 0; word < piece.count; ++word)
            weights[row][word] *= dropout.factor(head, block.query[row], piece.index[word]);
}

void attend_head(const Plan& plan, int64_t head, const float* query, const float* key, const float* value,
                 const float* scores, float* output, float* normaliser, QueryStates<2>& of_queries) {
    const int64_t width = plan.width, step = of_queries.step;
    query += head * plan.num_queries * width, output += head * plan.num_queries * width;
    of_queries.put(0, query), of_queries.clear(1, output);
    key += head * plan.num_keys * width, value += head * plan.num_keys * width;
    scores += head * plan.num_queries * plan.num_choices, normaliser += head * plan.num_queries;
    const Pairs pairs(plan, head);
    std::vector<float> columns(width * PIECE), total(plan.num_queries, 0.0f);
    float* most = normaliser;  // the largest logit so far
    std::fill(most, most + plan.num_queries, -INFINITE);
    for_each_piece(plan, head, pairs, [&](const Piece& piece) {
        const float *keys[PIECE], *values[PIECE];
        for (int64_t word = 0; word < piece.count; ++word) {
            keys[word] = key + piece.index[word] * width;
            values[word] = value + piece.index[word] * width;
        }
        transpose(columns.data(), keys, piece.count, width);
        const int64_t num_parts = piece.count > LANES ? 2 : 1;
        for (int64_t first = piece.first_pair; first < piece.end_pair; first += ROWS) {
            const Block block(plan, pairs, piece, first);
            Vector logits[ROWS][2];
            logits_of(plan, piece, block, of_queries.states[0], step, columns.data(), logits);
            float factors[ROWS], weights[ROWS][PIECE], *outputs[ROWS];
            for (int64_t row = 0; row < block.count; ++row) {
                const int64_t place = block.query[row];
                const float score = scores[block.pair[row]], before = most[place];
                float here = largest(logits[row][0]);
                if (num_parts == 2) here = std::max(here, largest(logits[row][1]));
                const float now = std::max(before, here + score);
                Vector sums = {};
                for (int64_t part = 0; part < num_parts; ++part) {
                    // Nothing seen so far: no difference of infinities.
                    const Vector some = now == -INFINITE ? Vector{} : exponential(logits[row][part] + (score - now));
                    store(weights[row] + part * LANES, some);
                    sums += some;
                }
                factors[row] = before == -INFINITE ? 0.0f : std::exp(before - now);
                total[place] = total[place] * factors[row] + sum(sums);
                most[place] = now;
                outputs[row] = of_queries.states[1] + place * step;
            }
            if (plan.dropout > 0.0f) drop(plan, head, piece, block, weights);
            add_all_words(outputs, factors, weights, values, piece.count, width, block.count);
        }
    });
    for (int64_t place = 0; place < plan.num_queries; ++place) {
        const float factor = total[place] > 0.0f ? 1.0f / total[place] : 0.0f;
        const float* from = of_queries.states[1] + place * step;
        for (int64_t column = 0; column < width; ++column) output[place * width + column] = from[column] * factor;
        normaliser[place] = total[place] > 0.0f ? most[place] + std::log(total[place]) : INFINITE;
    }
}

struct States {
    const float *query, *key, *value, *scores, *output, *normaliser, *grad_output;
};

struct Gradients {
    float *query, *key, *value, *scores;
};

void head_gradients(const Plan& plan, int64_t head, States states, Gradients grads, QueryStates<3>& side_by_side) {
    const int64_t width = plan.width, of_queries = head * plan.num_queries, of_keys = head * plan.num_keys;
    const float *query = states.query + of_queries * width, *grad_output = states.grad_output + of_queries * width;
    const float *output = states.output + of_queries * width, *normaliser = states.normaliser + of_queries;
    const float *key = states.key + of_keys * width, *value = states.value + of_keys * width;
    const float* scores = states.scores + of_queries * plan.num_choices;
    float *grad_query = grads.query + of_queries * width, *grad_scores = grads.scores + of_queries * plan.num_choices;
    float *grad_key = grads.key + of_keys * width, *grad_value = grads.value + of_keys * width;
    const Pairs pairs(plan, head);
    std::vector<float> delta(plan.num_queries), key_columns(width * PIECE), value_columns(width * PIECE);
    std::vector<float> key_sums(PIECE * width), value_sums(PIECE * width);
    for (int64_t place = 0; place < plan.num_queries; ++place) {
        Vector total = {};
        for (int64_t column = place * width; column < (place + 1) * width; column += LANES)
            total += load(grad_output + column) * load(output + column);
        delta[place] = sum(total);
    }
    side_by_side.put(0, query), side_by_side.put(1, grad_output), side_by_side.clear(2, grad_query);
    const int64_t step = side_by_side.step;
    std::fill(grad_scores, grad_scores + plan.num_queries * plan.num_choices, 0.0f);
    std::fill(grad_key, grad_key + plan.num_keys * width, 0.0f);
    std::fill(grad_value, grad_value + plan.num_keys * width, 0.0f);
    const float ones[ROWS] = {1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f};
    for_each_piece(plan, head, pairs, [&](const Piece& piece) {
        const float *keys[PIECE], *values[PIECE];
        for (int64_t word = 0; word < piece.count; ++word) {
            keys[word] = key + piece.index[word] * width;
            values[word] = value + piece.index[word] * width;
        }
        transpose(key_columns.data(), keys, piece.count, width);
        transpose(value_columns.data(), values, piece.count, width);
        std::fill(key_sums.begin(), key_sums.end(), 0.0f);
        std::fill(value_sums.begin(), value_sums.end(), 0.0f);
        const int64_t num_parts = piece.count > LANES ? 2 : 1;
        for (int64_t first = piece.first_pair; first < piece.end_pair; first += ROWS) {
            const Block block(plan, pairs, piece, first);
            const float *queries[ROWS], *grads_of[ROWS];
            float* query_grads[ROWS];
            for (int64_t row = 0; row < ROWS; ++row) {
                queries[row] = side_by_side.states[0] + block.query[row] * step;
                grads_of[row] = side_by_side.states[1] + block.query[row] * step;
                query_grads[row] = side_by_side.states[2] + block.query[row] * step;
            }
            Vector logits[ROWS][2], grad_weights[ROWS][2];
            logits_of(plan, piece, block, side_by_side.states[0], step, key_columns.data(), logits);
            piece.count > LANES ? multiply_columns<2>(grads_of, value_columns.data(), width, grad_weights)
                                : multiply_columns<1>(grads_of, value_columns.data(), width, grad_weights);
            float weights[ROWS][PIECE], grad_logits[ROWS][PIECE], factors[ROWS][PIECE];
            if (plan.dropout > 0.0f) {
                std::fill(&factors[0][0], &factors[0][0] + ROWS * PIECE, 1.0f);
                drop(plan, head, piece, block, factors);
            }
            for (int64_t row = 0; row < block.count; ++row) {
                const int64_t place = block.query[row];
                const float shift = scores[block.pair[row]] - normaliser[place];
                Vector sums = {};
                for (int64_t part = 0; part < num_parts; ++part) {
                    Vector weight = exponential(logits[row][part] + shift), grad = grad_weights[row][part];
                    Vector read = weight;
                    if (plan.dropout > 0.0f) {
                        const Vector factor = load(factors[row] + part * LANES);
                        grad *= factor, read *= factor;
                    }
                    grad = weight * (grad - delta[place]);
                    sums += grad;
                    store(weights[row] + part * LANES, read);
                    store(grad_logits[row] + part * LANES, grad * plan.scaling);
                }
                grad_scores[block.pair[row]] += sum(sums);
            }
            add_all_words(query_grads, ones, grad_logits, keys, piece.count, width, block.count);
            add_rows_to_words(key_sums.data(), grad_logits, queries, piece.count, width, block.count);
            add_rows_to_words(value_sums.data(), weights, grads_of, piece.count, width, block.count);
        }
        for (int64_t word = 0; word < piece.count; ++word) {
            std::copy_n(key_sums.data() + word * width, width, grad_key + piece.index[word] * width);
            std::copy_n(value_sums.data() + word * width, width, grad_value + piece.index[word] * width);
        }
    });
    side_by_side.take(2, grad_query);
}

// The T best scores [length], the best first, and of equal ones the first: minus infinity and 0 where there are fewer.
// Each lane keeps its own T best, which are merged in the end.
template <int T>
void best_of(const float* of_row, int64_t length, int64_t* indices, float* scores) {
    Vector best[T];
    Integers at[T] = {}, here;
    for (int place = 0; place < T; ++place) best[place] = broadcast(-INFINITE);
    for (int lane = 0; lane < LANES; ++lane) here[lane] = lane;
    for (int64_t first = 0; first < length; first += LANES, here += int32_t(LANES)) {
        const Vector score = load(of_row + first);
        // From the last place on: what makes room goes before those equal to it, which came later.
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

inline float product(const float* left, const float* right, int64_t width) {
    Vector total = {};
    for (int64_t place = 0; place < width; place += LANES) total += load(left + place) * load(right + place);
    return sum(total);
}

// What a head's queries choose from, and what they choose: the arguments of `select_sentences` for one head.
struct Choice {
    const float *query, *key;
    const uint8_t* sentence_mask;
    const int64_t *own, *num_choosable;
    int64_t num_queries, num_sentences, width, t;
    int64_t* indices;
    float* scores;

    float scaling() const { return 1.0f / std::sqrt(float(width)); }
    int64_t num_pieces() const { return (num_sentences + PIECE - 1) / PIECE; }
    int64_t own_index(int64_t place) const { return own ? own[place] - 1 : -1; }

    int64_t count_choosable(int64_t place) const {
        return num_choosable ? std::clamp<int64_t>(num_choosable[place], 0, num_sentences) : num_sentences;
    }

    // Minus infinity for sentences that may not be chosen, and behind the last, else 0.
    std::vector<float> added() const {
        std::vector<float> numbers(num_pieces() * PIECE, -INFINITE);
        for (int64_t sentence = 0; sentence < num_sentences; ++sentence)
            if (sentence_mask[sentence]) numbers[sentence] = 0.0f;
        return numbers;
    }
};

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
    std::vector<uint8_t> bytes;  // [pieces][E / 4][PIECE][4], each 128 more than the multiple
    std::vector<float> scales;   // [pieces * PIECE]
    float norm = 0.0f, error = 0.0f;  // the largest of a key less the mean
    float whole_norm = 0.0f;          // the largest of a key, and the mean's

    explicit RoundedKeys(const Choice& choice)
        : bytes(choice.num_pieces() * PIECE * choice.width, 128), scales(choice.num_pieces() * PIECE, 0.0f) {
        const int64_t width = choice.width;
        std::vector<float> mean(width, 0.0f), centred(width);
        std::vector<int8_t> multiples(width);
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
    std::vector<int8_t> multiples;  // [ROWS][E]
    float margins[ROWS];            // how far a rounded product can be from the true one, in multiples of the scale
    int32_t sums[ROWS];             // of the multiples

    explicit RoundedQueries(int64_t width) : multiples(ROWS * width) {}

    void fill(const Choice& choice, const RoundedKeys& keys, int64_t first, int64_t count) {
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
int64_t select_by_rounded_products(const Choice& choice) {
    const int64_t length = choice.num_pieces() * PIECE, width = choice.width, t = choice.t;
    if (choice.num_sentences < MIN_ROUNDED_SENTENCES || choice.num_queries < MIN_ROUNDED_QUERIES ||
        t > MAX_ROUNDED_CHOICES)
        return 0;
    const std::vector<float> added = choice.added();
    const RoundedKeys keys(choice);
    RoundedQueries queries(width);
    const float scaling = choice.scaling();
    std::vector<float> products(ROWS * length), scores(length);
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

int64_t select_by_rounded_products(const Choice&) { return 0; }

#endif

// Chooses for the queries from `begin` on.
void select_by_products(const Choice& choice, int64_t begin) {
    const int64_t num_pieces = choice.num_pieces(), length = num_pieces * PIECE, width = choice.width;
    const float scaling = choice.scaling();
    const std::vector<float> added = choice.added();
    std::vector<float> columns(width * length), tile_scores(TILE * length);
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

    explicit Beam(int64_t t) : nodes(t), children(2 * t), scores(2 * t + LANES), ranks(2 * t + LANES) {}
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
        for (int64_t row = 0; row < 8; ++row) rows[row] = keys + beam.children[std::min(first + row, count - 1)] * width;
        for (int64_t place = 0; place < width; place += LANES)
            for (int64_t row = 0; row < 8; ++row) products[row] += load(query + place) * load(rows[row] + place);
        const Vector sums = sums_of(products);
        std::memcpy(scores + first, &sums, 8 * sizeof(float));
    }
    for (int64_t place = 0; place < count; ++place)
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
    for (int64_t place = 0; place < count && beam.count < t; ++place)
        if (count <= t || ranks[place] < t) beam.nodes[beam.count++] = beam.children[place];
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

void attend_forward(const Plan* plan, const float* query, const float* key, const float* value, const float* scores,
                    float* output, float* normaliser, int num_threads) {
#pragma omp parallel num_threads(num_threads)
    {
        QueryStates<2> of_queries(plan->num_queries, plan->width);
#pragma omp for schedule(dynamic)
        for (int64_t head = 0; head < plan->batch_size * plan->num_heads; ++head)
            attend_head(*plan, head, query, key, value, scores, output, normaliser, of_queries);
    }
}

void attend_backward(const Plan* plan, const float* query, const float* key, const float* value, const float* scores,
                     const float* output, const float* normaliser, const float* grad_output, float* grad_query,
                     float* grad_key, float* grad_value, float* grad_scores, int num_threads) {
    const States states{query, key, value, scores, output, normaliser, grad_output};
    const Gradients grads{grad_query, grad_key, grad_value, grad_scores};
#pragma omp parallel num_threads(num_threads)
    {
        QueryStates<3> of_queries(plan->num_queries, plan->width);
#pragma omp for schedule(dynamic)
        for (int64_t head = 0; head < plan->batch_size * plan->num_heads; ++head)
            head_gradients(*plan, head, states, grads, of_queries);
    }
}

// The t best sentences of each query and their relevance: indices and scores [B, H, Q, t], 0 and minus infinity where
// there is none. sentence_mask [B, N]: nonzero on sentences that may be chosen. own [B, Q]: numbers from 1 of sentences
// that are always among the t, or null. num_choosable [B, Q]: only the first so many may be chosen, or null.
void select_sentences(int64_t batch_size, int64_t num_heads, int64_t num_queries, int64_t num_sentences, int64_t width,
                      int64_t t, const float* query, const float* key, const uint8_t* sentence_mask, const int64_t* own,
                      const int64_t* num_choosable, int64_t* indices, float* scores, int num_threads) {
#pragma omp parallel for schedule(dynamic) num_threads(num_threads)
    for (int64_t head = 0; head < batch_size * num_heads; ++head) {
        const int64_t document = head / num_heads, first_place = document * num_queries;
        const Choice choice{query + head * num_queries * width, key + head * num_sentences * width,
                            sentence_mask + document * num_sentences, own ? own + first_place : nullptr,
                            num_choosable ? num_choosable + first_place : nullptr, num_queries, num_sentences, width, t,
                            indices + head * num_queries * t, scores + head * num_queries * t};
        const int64_t num_chosen = select_by_rounded_products(choice);
        if (num_chosen < num_queries) select_by_products(choice, num_chosen);
    }
}

}  // extern "C"
