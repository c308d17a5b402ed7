// Copyright 2026 The hier_nmt Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Attention to selected sentences on the CPU, in float32: the same as grouped_attention.py, in one pass whose data stay
// in the first levels of the cache.
//
// One thread computes each (document, head), so that no two threads write the same memory. Dimensions as in plan.h.

#include "plan.h"

namespace {

// Multiplies the first `num_rows` of the rows by `factors` and adds weights [ROWS][count] . tokens [count][width].
template <int R, int V>
inline void add_tokens(float* const* rows, const float* factors, const float (*weights)[PIECE],
                      const float* const* tokens, int64_t count, int64_t column) {
    Vector totals[R][V];
    for (int row = 0; row < R; ++row)
        for (int part = 0; part < V; ++part)
            totals[row][part] = load(rows[row] + column + part * LANES) * factors[row];
    for (int64_t token = 0; token < count; ++token) {
        Vector values[V];
        for (int part = 0; part < V; ++part) values[part] = load(tokens[token] + column + part * LANES);
        for (int row = 0; row < R; ++row)
            for (int part = 0; part < V; ++part) totals[row][part] += weights[row][token] * values[part];
    }
    for (int row = 0; row < R; ++row)
        for (int part = 0; part < V; ++part) store(rows[row] + column + part * LANES, totals[row][part]);
}

template <int V>
inline void add_tokens_to_rows(float* const* rows, const float* factors, const float (*weights)[PIECE],
                              const float* const* tokens, int64_t count, int64_t column, int64_t num_rows) {
    int64_t row = 0;
    for (; row + 4 <= num_rows; row += 4)
        add_tokens<4, V>(rows + row, factors + row, weights + row, tokens, count, column);
    for (; row < num_rows; ++row)
        add_tokens<1, V>(rows + row, factors + row, weights + row, tokens, count, column);
}

void add_all_tokens(float* const* rows, const float* factors, const float (*weights)[PIECE], const float* const* tokens,
                   int64_t count, int64_t width, int64_t num_rows) {
    int64_t column = 0;
    for (; column + ACROSS * LANES <= width; column += ACROSS * LANES)
        add_tokens_to_rows<ACROSS>(rows, factors, weights, tokens, count, column, num_rows);
    for (; column < width; column += LANES)
        add_tokens_to_rows<1>(rows, factors, weights, tokens, count, column, num_rows);
}

// Adds weights^T [W][num_rows] . rows [num_rows][V * LANES] to sums [W][width].
template <int W, int V>
inline void add_rows(float* sums, const float (*weights)[PIECE], const float* const* rows, int64_t token,
                     int64_t column, int64_t width, int64_t num_rows) {
    Vector totals[W][V];
    for (int some = 0; some < W; ++some)
        for (int part = 0; part < V; ++part) totals[some][part] = load(sums + some * width + part * LANES);
    for (int64_t row = 0; row < num_rows; ++row) {
        Vector numbers[V];
        for (int part = 0; part < V; ++part) numbers[part] = load(rows[row] + column + part * LANES);
        for (int some = 0; some < W; ++some)
            for (int part = 0; part < V; ++part) totals[some][part] += weights[row][token + some] * numbers[part];
    }
    for (int some = 0; some < W; ++some)
        for (int part = 0; part < V; ++part) store(sums + some * width + part * LANES, totals[some][part]);
}

template <int V>
inline void add_rows_to_columns(float* sums, const float (*weights)[PIECE], const float* const* rows, int64_t count,
                                int64_t column, int64_t width, int64_t num_rows) {
    int64_t token = 0;
    for (; token + 4 <= count; token += 4)
        add_rows<4, V>(sums + token * width + column, weights, rows, token, column, width, num_rows);
    for (; token < count; ++token)
        add_rows<1, V>(sums + token * width + column, weights, rows, token, column, width, num_rows);
}

// Adds weights^T [count][num_rows] . rows [num_rows][width] to sums [count][width].
void add_rows_to_tokens(float* sums, const float (*weights)[PIECE], const float* const* rows, int64_t count,
                       int64_t width, int64_t num_rows) {
    int64_t column = 0;
    for (; column + ACROSS * LANES <= width; column += ACROSS * LANES)
        add_rows_to_columns<ACROSS>(sums, weights, rows, count, column, width, num_rows);
    for (; column < width; column += LANES)
        add_rows_to_columns<1>(sums, weights, rows, count, column, width, num_rows);
}

// 0 or 1 / (1 - probability), the same in every call.
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

// From this many elements of a state on, the states of a head are copied side by side.
constexpr int64_t MIN_SIDE_BY_SIDE = 1 << 18;

// S states of a head's queries [Q, E], copied side by side as [Q, S, E], so that all states of a query are on one page
// of memory, a huge page if the system has them: the queries that read a sentence are scattered over the document, and
// the CPU caches the addresses of few pages. The states of a short document stay in place, all with the same step.
template <int S>
class QueryStates {
  public:
    float* states[S];  // of the first query
    int64_t step;      // elements from one query to the next

    explicit QueryStates(const Plan& plan)
        : step(plan.of_query.row), num_queries_(plan.num_queries), width_(plan.width) {
        if (num_queries_ * width_ >= MIN_SIDE_BY_SIDE) memory_ = memory_of_thread.take(num_queries_ * S * width_);
        if (memory_) step = S * width_;
    }
    QueryStates(const QueryStates&) = delete;
    ~QueryStates() { memory_of_thread.release(); }

    // Copies the rows of a head to a state.
    void put(int state, Rows<const float> rows) {
        locate(state, rows);
        for (int64_t place = 0; memory_ && place < num_queries_; ++place)
            std::copy_n(rows[place], width_, states[state] + place * step);
    }
    // Sets a state to zeros; it is to be written to the rows.
    void clear(int state, Rows<float> rows) {
        locate(state, rows);
        for (int64_t place = 0; place < num_queries_; ++place) std::fill_n(states[state] + place * step, width_, 0.0f);
    }
    // Writes a state to the rows.
    void take(int state, Rows<float> rows) const {
        for (int64_t place = 0; memory_ && place < num_queries_; ++place)
            std::copy_n(states[state] + place * step, width_, rows[place]);
    }

    // Prefetches the states of a query.
    void fetch(int64_t query) const {
        for (int state = 0; state < S; ++state)
            for (int64_t place = 0; place < width_; place += LANES)
                __builtin_prefetch(states[state] + query * step + place, 1);
    }

  private:
    template <typename Number>
    void locate(int state, Rows<Number> rows) {
        states[state] = memory_ ? memory_ + state * width_ : const_cast<float*>(rows.first);
    }

    int64_t num_queries_, width_;
    float* memory_ = nullptr;
};

// Up to ROWS queries that read a piece.
struct Block {
    int64_t count;
    int32_t pair[ROWS], query[ROWS];

    template <typename States>
    Block(const Plan& plan, const Pairs& pairs, const Piece& piece, int64_t first, const States& of_queries) {
        const uint32_t num_choices = uint32_t(plan.num_choices);
        count = std::min(ROWS, piece.end_pair - first);
        for (int64_t row = 0; row < ROWS; ++row) {
            pair[row] = pairs.pair[first + std::min(row, count - 1)];  // beyond count, they are ignored
            query[row] = int32_t(uint32_t(pair[row]) / num_choices);
        }
        const int64_t next = first + count;
        for (int64_t ahead = next; ahead < std::min<int64_t>(next + ROWS, pairs.pair.size()); ++ahead)
            of_queries.fetch(uint32_t(pairs.pair[ahead]) / num_choices);
    }
};

// Logits [ROWS][PIECE] of a block; minus infinity where a query may not attend to a token. Nothing is written after the
// vectors of the tokens.
void logits_of(const Plan& plan, const Piece& piece, const Block& block, const float* queries, int64_t step,
               const float* columns, Vector (*logits)[2]) {
    const float* rows[ROWS];
    for (int64_t row = 0; row < ROWS; ++row) rows[row] = queries + block.query[row] * step;
    piece.count > LANES ? multiply_columns<2>(rows, columns, plan.width, logits)
                        : multiply_columns<1>(rows, columns, plan.width, logits);
    for (int64_t row = 0; row < block.count; ++row) {
        float* of_row = reinterpret_cast<float*>(logits[row]);
        for (int64_t part = 0; part * LANES < piece.count; ++part) logits[row][part] *= plan.scaling;
        for (int64_t token = piece.count; token % LANES; ++token) of_row[token] = -INFINITE;
        if (plan.query_positions)
            for (int64_t token = 0; token < piece.count; ++token)
                if (piece.index[token] > plan.query_positions[block.query[row]]) of_row[token] = -INFINITE;
    }
}

void drop(const Plan& plan, int64_t head, const Piece& piece, const Block& block, float (*weights)[PIECE]) {
    const Dropout dropout{plan.dropout, plan.seed};
    for (int64_t row = 0; row < block.count; ++row)
        for (int64_t token = 0; token < piece.count; ++token)
            weights[row][token] *= dropout.factor(head, block.query[row], piece.index[token]);
}

void attend_head(const Plan& plan, int64_t head, const float* query, const float* all_keys, const float* all_values,
                 const float* scores, float* all_outputs, float* normaliser, QueryStates<2>& of_queries) {
    const int64_t width = plan.width, step = of_queries.step;
    const Rows<const float> key(all_keys, plan, plan.of_key, head), value(all_values, plan, plan.of_value, head);
    const Rows<float> output(all_outputs, plan, plan.of_query, head);
    of_queries.put(0, {query, plan, plan.of_query, head}), of_queries.clear(1, output);
    scores += head * plan.num_queries * plan.num_choices, normaliser += head * plan.num_queries;
    const Pairs pairs(plan, head);
    Numbers<float> columns(width * PIECE), total(plan.num_queries, 0.0f);
    float* most = normaliser;  // the largest logit so far
    std::fill(most, most + plan.num_queries, -INFINITE);
    for_each_piece(plan, head, pairs, [&](const Piece& piece) {
        const float *keys[PIECE], *values[PIECE];
        for (int64_t token = 0; token < piece.count; ++token) {
            keys[token] = key[piece.index[token]];
            values[token] = value[piece.index[token]];
        }
        transpose(columns.data(), keys, piece.count, width);
        const int64_t num_parts = piece.count > LANES ? 2 : 1;
        for (int64_t first = piece.first_pair; first < piece.end_pair; first += ROWS) {
            const Block block(plan, pairs, piece, first, of_queries);
            Vector logits[ROWS][2];
            logits_of(plan, piece, block, of_queries.states[0], step, columns.data(), logits);
            float added[LANES] = {}, so_far[LANES] = {}, factors[LANES], weights[ROWS][PIECE], *outputs[ROWS];
            Vector lanes[LANES];  // from ROWS on they are ignored
            for (int64_t row = 0; row < ROWS; ++row) {
                added[row] = scores[block.pair[row]], so_far[row] = most[block.query[row]];
                outputs[row] = of_queries.states[1] + block.query[row] * step;
            }
            for (int64_t row = 0; row < LANES; ++row) {
                const Vector* of_row = logits[row % ROWS];
                lanes[row] = num_parts == 2 ? larger(of_row[0], of_row[1]) : of_row[0];
            }
            const Vector score = load(added), before = load(so_far);
            const Vector now = larger(before, combine_lanes(lanes, larger) + score);
            // If nothing has been read so far, infinities are not subtracted, which would give NaN.
            const Vector bounded = larger(now, broadcast(-std::numeric_limits<float>::max()));
            const Vector shift = score - bounded;
            store(factors, exponential(before - bounded));
            for (int64_t row = 0; row < block.count; ++row) {
                lanes[row] = Vector{};
                for (int64_t part = 0; part < num_parts; ++part) {
                    const Vector some = exponential(logits[row][part] + shift[row]);
                    store(weights[row] + part * LANES, some);
                    lanes[row] += some;
                }
            }
            const Vector sums = combine_lanes(lanes, plus);
            for (int64_t row = 0; row < block.count; ++row) {
                const int64_t place = block.query[row];
                total[place] = total[place] * factors[row] + sums[row];
                most[place] = now[row];
            }
            if (plan.dropout > 0.0f) drop(plan, head, piece, block, weights);
            add_all_tokens(outputs, factors, weights, values, piece.count, width, block.count);
        }
    });
    for (int64_t place = 0; place < plan.num_queries; ++place) {
        const float factor = total[place] > 0.0f ? 1.0f / total[place] : 0.0f;
        const float* from = of_queries.states[1] + place * step;
        for (int64_t column = 0; column < width; ++column) output[place][column] = from[column] * factor;
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
    const int64_t width = plan.width, of_queries = head * plan.num_queries;
    const Rows<const float> query(states.query, plan, plan.of_query, head);
    const Rows<const float> output(states.output, plan, plan.of_query, head);
    const Rows<const float> grad_output(states.grad_output, plan, plan.of_query, head);
    const Rows<const float> key(states.key, plan, plan.of_key, head), value(states.value, plan, plan.of_value, head);
    const Rows<float> grad_query(grads.query, plan, plan.of_query, head);
    const Rows<float> grad_key(grads.key, plan, plan.of_key, head), grad_value(grads.value, plan, plan.of_value, head);
    const float *scores = states.scores + of_queries * plan.num_choices, *normaliser = states.normaliser + of_queries;
    float* grad_scores = grads.scores + of_queries * plan.num_choices;
    const Pairs pairs(plan, head);
    Numbers<float> delta(plan.num_queries), key_columns(width * PIECE), value_columns(width * PIECE);
    Numbers<float> key_sums(PIECE * width), value_sums(PIECE * width);
    for (int64_t place = 0; place < plan.num_queries; ++place) {
        Vector total = {};
        for (int64_t column = 0; column < width; column += LANES)
            total += load(grad_output[place] + column) * load(output[place] + column);
        delta[place] = sum(total);
    }
    side_by_side.put(0, query), side_by_side.put(1, grad_output), side_by_side.clear(2, grad_query);
    const int64_t step = side_by_side.step;
    std::fill(grad_scores, grad_scores + plan.num_queries * plan.num_choices, 0.0f);
    for (int64_t token = 0; token < plan.num_keys; ++token)
        std::fill_n(grad_key[token], width, 0.0f), std::fill_n(grad_value[token], width, 0.0f);
    float ones[ROWS];
    std::fill_n(ones, ROWS, 1.0f);
    for_each_piece(plan, head, pairs, [&](const Piece& piece) {
        const float *keys[PIECE], *values[PIECE];
        for (int64_t token = 0; token < piece.count; ++token) {
            keys[token] = key[piece.index[token]];
            values[token] = value[piece.index[token]];
        }
        transpose(key_columns.data(), keys, piece.count, width);
        transpose(value_columns.data(), values, piece.count, width);
        std::fill(key_sums.begin(), key_sums.end(), 0.0f);
        std::fill(value_sums.begin(), value_sums.end(), 0.0f);
        const int64_t num_parts = piece.count > LANES ? 2 : 1;
        for (int64_t first = piece.first_pair; first < piece.end_pair; first += ROWS) {
            const Block block(plan, pairs, piece, first, side_by_side);
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
            Vector lanes[LANES] = {};
            for (int64_t row = 0; row < block.count; ++row) {
                const int64_t place = block.query[row];
                const float shift = scores[block.pair[row]] - normaliser[place];
                for (int64_t part = 0; part < num_parts; ++part) {
                    Vector weight = exponential(logits[row][part] + shift), grad = grad_weights[row][part];
                    Vector read = weight;
                    if (plan.dropout > 0.0f) {
                        const Vector factor = load(factors[row] + part * LANES);
                        grad *= factor, read *= factor;
                    }
                    grad = weight * (grad - delta[place]);
                    lanes[row] += grad;
                    store(weights[row] + part * LANES, read);
                    store(grad_logits[row] + part * LANES, grad * plan.scaling);
                }
            }
            const Vector sums = combine_lanes(lanes, plus);
            for (int64_t row = 0; row < block.count; ++row) grad_scores[block.pair[row]] += sums[row];
            add_all_tokens(query_grads, ones, grad_logits, keys, piece.count, width, block.count);
            add_rows_to_tokens(key_sums.data(), grad_logits, queries, piece.count, width, block.count);
            add_rows_to_tokens(value_sums.data(), weights, grads_of, piece.count, width, block.count);
        }
        for (int64_t token = 0; token < piece.count; ++token) {
            std::copy_n(key_sums.data() + token * width, width, grad_key[piece.index[token]]);
            std::copy_n(value_sums.data() + token * width, width, grad_value[piece.index[token]]);
        }
    });
    side_by_side.take(2, grad_query);
}

}  // namespace

extern "C" {

void attend_forward(const Plan* plan, const float* query, const float* key, const float* value, const float* scores,
                    float* output, float* normaliser, int num_threads) {
#pragma omp parallel num_threads(num_threads)
    {
        QueryStates<2> of_queries(*plan);
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
        QueryStates<3> of_queries(*plan);
#pragma omp for schedule(dynamic)
        for (int64_t head = 0; head < plan->batch_size * plan->num_heads; ++head)
            head_gradients(*plan, head, states, grads, of_queries);
    }
}

}  // extern "C"
