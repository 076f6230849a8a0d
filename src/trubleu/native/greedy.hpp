// The most similar pair first, each row and column once: greedy alignment of two lists.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>
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
inline void ints_to(int32_t *at, Ints ints) { *reinterpret_cast<IntsAt *>(at) = ints; }
inline Ints smaller(Ints a, Ints b) { return a < b ? a : b; }

// The largest or smallest lane, by `better(a, b)`: halves are compared with each other until one lane is left.
template <typename Better> int32_t folded(Ints ints, Better better) {
    using Four = int32_t __attribute__((vector_size(16)));
#if defined(__AVX2__)
    Four four = better(__builtin_shufflevector(ints, ints, 0, 1, 2, 3), __builtin_shufflevector(ints, ints, 4, 5, 6, 7));
#else
    Four four = ints;
#endif
    four = better(four, __builtin_shufflevector(four, four, 2, 3, 0, 1));
    return better(four, __builtin_shufflevector(four, four, 1, 0, 3, 2))[0];
}

// The largest key and its first place. Two passes without branches: where the largest one is cannot be foreseen.
template <typename KeysAt> std::pair<int32_t, uint32_t> largest(size_t size, KeysAt keys_at) {
    auto more = [](auto a, auto b) { return a > b ? a : b; };
    auto less = [](auto a, auto b) { return a < b ? a : b; };
    Ints best = Ints{} + taken, first = Ints{} + available, places;
    for (size_t lane = 0; lane < lanes; ++lane) places[lane] = static_cast<int32_t>(lane);
    for (size_t i = 0; i < size; i += lanes) best = more(best, keys_at(i));
    int32_t most = folded(best, more);
    for (size_t i = 0; i < size; i += lanes, places += static_cast<int32_t>(lanes))
        first = less(first, keys_at(i) == most ? places : Ints{} + available);
    return {most, static_cast<uint32_t>(folded(first, less))};
}

// The best of all pairs that are left, again and again; of equal ones the first row, then the first column.
//
// Keys are whole numbers that sort like cosines. A pair that is the best of both its row and its column is always taken,
// whatever else is: a few rounds find most pairs, many in each. What they leave is found one by one, as where all keys
// are equal each round finds one pair.
class Aligner {
  public:
    struct Match {
        uint32_t row, column;
        int32_t key;
    };

    // `keys_of(row)` returns a row's keys, which may be computed anew on every call where there are many; those up to
    // `least` are not wanted.
    // Rows are filled up to whole vectors. Matches come in no particular order.
    template <typename KeysOf>
    const std::vector<Match> &align(size_t rows, size_t columns, int32_t least, KeysOf &&keys_of) {
        matches_.clear();
        free_.assign(padded(columns), available);
        rows_.resize(rows);
        std::iota(rows_.begin(), rows_.end(), uint32_t{0});
        if (rows * columns <= most_in_rounds)
            while (!rows_.empty() && round(columns, least, keys_of)) {}
        if (!rows_.empty()) one_by_one(columns, least, keys_of);
        return matches_;
    }

  private:
    static constexpr size_t most_in_rounds = size_t{1} << 16;

    // A row's best key among the columns that are free, and where.
    std::pair<int32_t, uint32_t> look(const int32_t *keys, size_t columns) const {
        const int32_t *free = free_.data();
        return largest(columns, [&](size_t j) { return smaller(ints_at(keys + j), ints_at(free + j)); });
    }

    void take(uint32_t row, uint32_t column, int32_t key) {
        matches_.push_back({row, column, key});
        free_[column] = taken;
    }

    // Takes pairs that are the best of row and column; returns whether another round is worth it.
    template <typename KeysOf> bool round(size_t columns, int32_t least, KeysOf &&keys_of) {
        best_rows_.resize(padded(columns));
        for (size_t j = 0; j < columns; j += lanes) {
            Ints best = Ints{} + least, row_of_best = Ints{} - 1;
            for (uint32_t row : rows_) {
                Ints keys = ints_at(keys_of(row) + j), better = keys > best;
                best = better ? keys : best;
                row_of_best = better ? Ints{} + static_cast<int32_t>(row) : row_of_best;
            }
            ints_to(best_rows_.data() + j, row_of_best);
        }
        size_t before = rows_.size(), left = 0;
        for (uint32_t row : rows_) {
            auto [key, column] = look(keys_of(row), columns);
            if (key <= least) continue;
            if (best_rows_[column] == static_cast<int32_t>(row)) take(row, column, key);
            else rows_[left++] = row;
        }
        rows_.resize(left);
        return 8 * (before - left) >= before;
    }

    // Each row knows its best column; that a column is taken is only noticed when a row that wants it comes up, which
    // then looks for its next best.
    template <typename KeysOf> void one_by_one(size_t columns, int32_t least, KeysOf &&keys_of) {
        best_keys_.assign(padded(rows_.size()), taken);
        best_columns_.resize(rows_.size());
        auto look_again = [&](size_t place) {
            std::tie(best_keys_[place], best_columns_[place]) = look(keys_of(rows_[place]), columns);
        };
        for (size_t place = 0; place < rows_.size(); ++place) look_again(place);
        for (;;) {
            auto [best, place] = largest(rows_.size(), [&](size_t i) { return ints_at(best_keys_.data() + i); });
            if (best <= least) return;
            uint32_t column = best_columns_[place];
            if (free_[column] == taken) {
                look_again(place);
                continue;
            }
            take(rows_[place], column, best);
            best_keys_[place] = taken;
        }
    }

    std::vector<Match> matches_;
    std::vector<uint32_t> rows_, best_columns_;  // rows that are left
    std::vector<int32_t> free_, best_keys_, best_rows_;
};

}  // namespace trubleu::soft
