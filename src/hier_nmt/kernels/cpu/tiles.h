// Copyright 2026 The hier_nmt Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Products of tiles of bfloat16 numbers (AMX), exact and summed in float32. E: head width, a multiple of 32.

#pragma once

#if defined(__AMX_BF16__) && defined(__AVX512BF16__) && defined(__AVX512BW__) && defined(__linux__)
#define HAS_TILES

#include <immintrin.h>

#include "vectors.h"

namespace {

typedef uint16_t BFloat16;  // its bits

constexpr int64_t TILE_ROWS = 16;                  // rows of a tile, and float32 numbers of a row
constexpr int64_t TILE_NUMBERS = 32;               // bfloat16 numbers of a row
constexpr int64_t TILE_PAIRS = TILE_ROWS * LANES;  // pairs of bfloat16 numbers of a tile
static_assert(TILE_ROWS == LANES && TILE_NUMBERS == PIECE);

// Configures the tiles of this thread, all with 16 rows of 64 bytes; the destructor restores the earlier configuration.
class Tiles {
  public:
    Tiles() {
        alignas(64) uint8_t all_of_one_size[64] = {1};  // palette 1
        for (int tile = 0; tile < 8; ++tile) {
            all_of_one_size[16 + 2 * tile] = 64;  // bytes of a row
            all_of_one_size[48 + tile] = TILE_ROWS;
        }
        _tile_storeconfig(before_);
        _tile_loadconfig(all_of_one_size);
    }
    Tiles(const Tiles&) = delete;
    ~Tiles() { _tile_loadconfig(before_); }

  private:
    alignas(64) uint8_t before_[64];
};

// Makes the compiler write pending data to memory before tiles are loaded.
inline void finish_writing() { __asm__ volatile("" ::: "memory"); }

// The bits of 16 numbers as integers.
inline __m512i widen(const BFloat16* from) {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}

inline void narrow(BFloat16* to, Vector numbers) {
    const __m256bh bits = _mm512_cvtneps_pbh(__m512(numbers));
    std::memcpy(to, &bits, sizeof(bits));
}

// The states [PIECE][E] of `count` tokens, zeros after the last, as right factors of products with rows of E numbers:
// tiles [E / 32][2], the second for the tokens from the 17th on. A tile [16][tokens] has pairs of adjacent numbers of a
// token.
inline void arrange_columns(uint32_t* tiles, const BFloat16* const* tokens, int64_t count, int64_t width) {
    for (int64_t place = 0; place < width; place += TILE_NUMBERS)
        for (int64_t first = 0; first < PIECE; first += LANES, tiles += TILE_PAIRS) {
            Vector pairs[LANES] = {};
            for (int64_t token = first; token < std::min(first + LANES, count); ++token)
                pairs[token - first] = Vector(_mm512_loadu_ps(tokens[token] + place));
            transpose_lanes(pairs);
            std::memcpy(tiles, pairs, sizeof(pairs));
        }
}

// The same as right factors of products with the weights of the tokens: tiles [E / 16]. A tile [16][numbers] has pairs
// of the numbers of two adjacent tokens.
inline void arrange_rows(uint32_t* tiles, const BFloat16* const* tokens, int64_t count, int64_t width) {
    for (int64_t place = 0; place < width; place += LANES)
        for (int64_t token = 0; token < PIECE; token += 2, tiles += LANES) {
            __m512i pair = _mm512_setzero_si512();
            if (token < count) pair = widen(tokens[token] + place);
            if (token + 1 < count)
                pair = _mm512_or_si512(pair, _mm512_slli_epi32(widen(tokens[token + 1] + place), 16));
            std::memcpy(tiles, &pair, sizeof(pair));
        }
}

// Products of 16 rows of E numbers with a piece's columns: float32 numbers [16][PIECE].
inline void multiply_with_columns(const BFloat16* rows, const uint32_t* columns, int64_t width, float* products) {
    finish_writing();
    _tile_zero(0);
    _tile_zero(1);
    for (int64_t place = 0; place < width; place += TILE_NUMBERS, columns += 2 * TILE_PAIRS) {
        _tile_loadd(2, rows + place, width * sizeof(BFloat16));
        _tile_loadd(3, columns, LANES * sizeof(uint32_t));
        _tile_loadd(4, columns + TILE_PAIRS, LANES * sizeof(uint32_t));
        _tile_dpbf16ps(0, 2, 3);
        _tile_dpbf16ps(1, 2, 4);
    }
    _tile_stored(0, products, PIECE * sizeof(float));
    _tile_stored(1, products + LANES, PIECE * sizeof(float));
}

// Products [PIECE][PIECE] of PIECE rows of E numbers with a piece's columns.
inline void multiply_piece(const BFloat16* rows, const uint32_t* columns, int64_t width, float* products) {
    finish_writing();
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t place = 0; place < width; place += TILE_NUMBERS, columns += 2 * TILE_PAIRS) {
        _tile_loadd(4, rows + place, width * sizeof(BFloat16));
        _tile_loadd(5, rows + TILE_ROWS * width + place, width * sizeof(BFloat16));
        _tile_loadd(6, columns, LANES * sizeof(uint32_t));
        _tile_loadd(7, columns + TILE_PAIRS, LANES * sizeof(uint32_t));
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, products, PIECE * sizeof(float));
    _tile_stored(1, products + LANES, PIECE * sizeof(float));
    _tile_stored(2, products + TILE_ROWS * PIECE, PIECE * sizeof(float));
    _tile_stored(3, products + TILE_ROWS * PIECE + LANES, PIECE * sizeof(float));
}

// Products of 16 rows of weights [16][PIECE] with a piece's rows of E numbers: float32 numbers [16][E].
inline void multiply_with_rows(const BFloat16* weights, const uint32_t* rows, int64_t width, float* products) {
    finish_writing();
    _tile_loadd(2, weights, PIECE * sizeof(BFloat16));
    for (int64_t place = 0; place < width; place += 2 * LANES, rows += 2 * TILE_PAIRS) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_loadd(3, rows, LANES * sizeof(uint32_t));
        _tile_loadd(4, rows + TILE_PAIRS, LANES * sizeof(uint32_t));
        _tile_dpbf16ps(0, 2, 3);
        _tile_dpbf16ps(1, 2, 4);
        _tile_stored(0, products + place, width * sizeof(float));
        _tile_stored(1, products + place + LANES, width * sizeof(float));
    }
}

inline Vector gather(const float* from, Integers places) {
    return Vector(_mm512_i32gather_ps(__m512i(places), from, sizeof(float)));
}

}  // namespace

#endif
