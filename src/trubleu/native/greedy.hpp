// The most similar pair first, each row and column once: greedy alignment of two lists.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace trubleu::soft {

constexpr int32_t taken = std::numeric_limits<int32_t>::min();
constexpr int32_t available = std::numeric_limits<int32_t>::max();

// Whole numbers in the order of the floats that they stand for; 0 and -0 are one.
inline int32_t key_of(float value) {
    int32_t bits = std::bit_cast<int32_t>(value + 0.0f);
    return bits ^ ((bits >> 31) & 0x7FFFFFFF);
}

inline float value_of(int32_t key) { return std::bit_cast<float>(key ^ ((key >> 31) & 0x7FFFFFFF)); }

#if defined(__AVX2__)
constexpr size_t vector_bytes = 32;
#else
constexpr size_t vector_bytes = 16;
#endif
constexpr size_t lanes = vector_bytes / sizeof(int32_t);
using Ints = int32_t __attribute__((vector_size(vector_bytes)));
using IntsAt = int32_t __attribute__((vector_size(vector_bytes), aligned(4), may_alias));

// Rows of keys have whole vectors, filled up with keys that nobody wants.
inline size_t padded(size_t size) { return (size + lanes - 1) / lanes * lanes; }
inline Ints ints_at(const int32_t *at) { return *reinterpret_cast<const IntsAt *>(at); }
inline Ints smaller(Ints a, Ints b) { return a < b ? a : b; }

// The largest key and its first place. Two passes without branches: where the largest one is cannot be foreseen.
template <typename KeysAt> std::pair<int32_t, uint32_t> largest(size_t size, KeysAt keys_at) {
    Ints best = Ints{} + taken, first = Ints{} + available, places;
    for (size_t lane = 0; lane < lanes; ++lane) places[lane] = static_cast<int32_t>(lane);
    for (size_t i = 0; i < size; i += lanes) {
        Ints keys = keys_at(i);
        best = best > keys ? best : keys;
    }
    int32_t most = taken, place = available;
    for (size_t lane = 0; lane < lanes; ++lane) most = std::max(most, best[lane]);
    for (size_t i = 0; i < size; i += lanes, places += static_cast<int32_t>(lanes))
        first = smaller(first, keys_at(i) == most ? places : Ints{} + available);
    for (size_t lane = 0; lane < lanes; ++lane) place = std::min(place, first[lane]);
    return {most, static_cast<uint32_t>(place)};
}


// The best of all pairs that are left, again and again.
//
// Cosines are kept as whole numbers that sort like them. Each row knows its best column; that a column is taken is only
// noticed when a row that wants it comes up, which then looks for its next best.
class Aligner {
  public:
    struct Match {
        uint32_t row, column;
        int32_t key;
    };

    // `keys_of(row)` returns a row's keys, which may be computed anew on every call; those up to `least` are not wanted.
    // Rows are filled up to whole vectors.
    template <typename KeysOf>
    const std::vector<Match> &align(size_t rows, size_t columns, int32_t least, KeysOf &&keys_of);

  private:
    std::vector<Match> matches_;
    std::vector<int32_t> free_, best_keys_;
    std::vector<uint32_t> best_columns_;
};

template <typename KeysOf>
const std::vector<Aligner::Match> &Aligner::align(size_t rows, size_t columns, int32_t least, KeysOf &&keys_of) {
    matches_.clear();
    free_.assign(padded(columns), available);
    best_keys_.assign(padded(rows), taken);
    best_columns_.resize(rows);
    auto look = [&](size_t row) {
        const int32_t *keys = keys_of(row), *free = free_.data();
        auto [best, column] = largest(columns, [&](size_t j) { return smaller(ints_at(keys + j), ints_at(free + j)); });
        best_keys_[row] = best;
        best_columns_[row] = column;
    };
    for (size_t row = 0; row < rows; ++row) look(row);
    for (size_t left = std::min(rows, columns); left > 0;) {
        auto [best, row] = largest(rows, [&](size_t i) { return ints_at(best_keys_.data() + i); });
        if (best <= least) break;
        uint32_t column = best_columns_[row];
        if (free_[column] == taken) {
            look(row);
            continue;
        }
        matches_.push_back({row, column, best});
        best_keys_[row] = taken;
        free_[column] = taken;
        --left;
    }
    return matches_;
}

}  // namespace trubleu::soft
