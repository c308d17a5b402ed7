// Copyright 2026 The hier_nmt Authors.
// SPDX-License-Identifier: Apache-2.0
//
// SIMD vectors of the width that the CPU has, and products of small matrices made of them. E: head width, a multiple
// of 16.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <tuple>
#include <utility>
#include <vector>

namespace {

#if defined(__AVX512F__)
constexpr int64_t LANES = 16;  // elements of a vector
#elif defined(__AVX__)
constexpr int64_t LANES = 8;
#else
constexpr int64_t LANES = 4;
#endif
constexpr int64_t PIECE = 2 * LANES;           // tokens of a sentence that are multiplied at a time
constexpr int64_t ROWS = LANES == 16 ? 8 : 4;  // queries that are multiplied at a time: their sums stay in registers
constexpr int64_t ACROSS = ROWS / 2;           // vectors of a state that are summed at a time, likewise
constexpr float INFINITE = std::numeric_limits<float>::infinity();

typedef float Vector __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t Integers __attribute__((vector_size(LANES * sizeof(int32_t))));

// Memory that begins at a cache line, so that no vector crosses one.
template <typename Number>
struct CacheLines {
    typedef Number value_type;
    static constexpr std::align_val_t line{64};

    CacheLines() = default;
    template <typename Other>
    CacheLines(const CacheLines<Other>&) {}
    Number* allocate(size_t count) { return static_cast<Number*>(::operator new(count * sizeof(Number), line)); }
    void deallocate(Number* numbers, size_t) { ::operator delete(numbers, line); }
    friend bool operator==(CacheLines, CacheLines) { return true; }
    friend bool operator!=(CacheLines, CacheLines) { return false; }
};

template <typename Number>
using Numbers = std::vector<Number, CacheLines<Number>>;

inline Vector load(const float* from) {
    Vector vector;
    std::memcpy(&vector, from, sizeof(vector));
    return vector;
}

inline void store(float* to, Vector vector) { std::memcpy(to, &vector, sizeof(vector)); }

inline Vector broadcast(float number) { return number - Vector{}; }

typedef std::make_integer_sequence<int, LANES> EachLane;

// The lanes with those that are `HALF` apart swapped.
template <int HALF, typename Lanes, int... LANE>
inline Lanes folded(Lanes lanes, std::integer_sequence<int, LANE...>) {
    return __builtin_shufflevector(lanes, lanes, (LANE ^ HALF)...);
}

// The combination of all lanes, such as their sum.
template <int HALF = LANES / 2, typename Lanes, typename Combine>
inline auto combined(Lanes lanes, Combine combine) {
    lanes = combine(lanes, folded<HALF>(lanes, EachLane()));
    if constexpr (HALF > 1)
        return combined<HALF / 2>(lanes, combine);
    else
        return lanes[0];
}

// For `groups_in_turn`: the source of each lane; those of the second vector begin at LANES.
constexpr int in_turn(int lane, int size) {
    return lane / (2 * size) * 2 * size + lane % size + lane / size % 2 * LANES;
}

// The groups of S adjacent lanes of two vectors, interleaved: those at even places, and those at odd ones.
template <int S, int... LANE>
inline std::pair<Vector, Vector> groups_in_turn(Vector left, Vector right, std::integer_sequence<int, LANE...>) {
    return {__builtin_shufflevector(left, right, in_turn(LANE, S)...),
            __builtin_shufflevector(left, right, in_turn(LANE, S) + S...)};
}

// Lane i is the combination of all lanes of vector i, in the same order as `combined`. Overwrites the vectors.
template <int S = LANES / 2, typename Combine>
inline Vector combine_lanes(Vector* vectors, Combine combine) {
    for (int place = 0; place < S; ++place) {
        const auto [even, odd] = groups_in_turn<S>(vectors[place], vectors[place + S], EachLane());
        vectors[place] = combine(even, odd);
    }
    if constexpr (S > 1) return combine_lanes<S / 2>(vectors, combine);
    return vectors[0];
}

inline Vector plus(Vector left, Vector right) { return left + right; }

inline Vector larger(Vector left, Vector right) { return left > right ? left : right; }

inline float largest(Vector vector) { return combined(vector, larger); }

inline float sum(Vector vector) { return combined(vector, plus); }

inline int32_t smallest(Integers integers) {
    return combined(integers, [](Integers left, Integers right) { return left < right ? left : right; });
}

// exp(x) for x <= 0 with a relative error of about 1e-7; exactly 0 if the result would be subnormal.
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

// Transposes the matrix [LANES][LANES] of LANES vectors.
template <int S = LANES / 2>
inline void transpose_lanes(Vector* vectors) {
    for (int place = 0; place < LANES; ++place)
        if (place / S % 2 == 0)
            std::tie(vectors[place], vectors[place + S]) =
                groups_in_turn<S>(vectors[place], vectors[place + S], EachLane());
    if constexpr (S > 1) transpose_lanes<S / 2>(vectors);
}

// The tokens' states as columns [width][PIECE], zeros after the last.
inline void transpose(float* columns, const float* const* tokens, int64_t count, int64_t width) {
    for (int64_t first = 0; first < PIECE; first += LANES)
        for (int64_t place = 0; place < width; place += LANES) {
            Vector lanes[LANES];
            for (int64_t token = 0; token < LANES; ++token)
                lanes[token] = first + token < count ? load(tokens[first + token] + place) : Vector{};
            transpose_lanes(lanes);
            for (int64_t lane = 0; lane < LANES; ++lane) store(columns + (place + lane) * PIECE + first, lanes[lane]);
        }
}

inline float product(const float* left, const float* right, int64_t width) {
    Vector total = {};
    for (int64_t place = 0; place < width; place += LANES) total += load(left + place) * load(right + place);
    return sum(total);
}

constexpr float TOO_SMALL = 1.1e-19f;  // the squares of smaller numbers are subnormal in float32

// An upper bound of the norm of a vector.
inline float length_of(const float* numbers, int64_t width) {
    return 1.001f * std::sqrt(product(numbers, numbers, width)) + float(width) * TOO_SMALL;
}

}  // namespace
