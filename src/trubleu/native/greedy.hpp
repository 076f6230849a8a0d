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

#if defined(__SSE2__)
#include <immintrin.h>
#endif

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
constexpr size_t longs = vector_bytes / sizeof(int64_t);
using Longs = int64_t __attribute__((vector_size(vector_bytes)));
using LongsAt = int64_t __attribute__((vector_size(vector_bytes), aligned(8), may_alias));
using IntsAt = int32_t __attribute__((vector_size(vector_bytes), aligned(4), may_alias));

// Rows of keys have whole vectors, filled up with keys that nobody wants.
inline size_t padded(size_t size) { return (size + lanes - 1) / lanes * lanes; }
inline Ints ints_at(const int32_t *at) { return *reinterpret_cast<const IntsAt *>(at); }
inline void ints_to(int32_t *at, Ints ints) { *reinterpret_cast<IntsAt *>(at) = ints; }
inline Ints smaller(Ints a, Ints b) { return a < b ? a : b; }

inline Ints larger(Ints a, Ints b) { return a > b ? a : b; }

// The largest lane: halves are compared with each other until one lane is left.
inline int32_t largest_lane(Ints ints) {
    using Four = int32_t __attribute__((vector_size(16)));
    auto more = [](Four a, Four b) { return a > b ? a : b; };
#if defined(__AVX2__)
    Four four = more(__builtin_shufflevector(ints, ints, 0, 1, 2, 3), __builtin_shufflevector(ints, ints, 4, 5, 6, 7));
#else
    Four four = ints;
#endif
    four = more(four, __builtin_shufflevector(four, four, 2, 3, 0, 1));
    return more(four, __builtin_shufflevector(four, four, 1, 0, 3, 2))[0];
}

// One bit for each lane that a comparison holds in.
inline uint64_t bits_of(Ints comparison) {
#if defined(__AVX2__)
    return static_cast<uint64_t>(static_cast<uint32_t>(_mm256_movemask_ps(std::bit_cast<__m256>(comparison))));
#elif defined(__SSE2__)
    return static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_ps(std::bit_cast<__m128>(comparison))));
#else
    uint64_t bits = 0;
    for (size_t lane = 0; lane < lanes; ++lane) bits |= uint64_t{comparison[lane] != 0} << lane;
    return bits;
#endif
}

constexpr size_t word = 64;  // of bits

// The largest key and its first place. Two passes: where the largest one is cannot be foreseen, and a branch for each
// key would cost more.
template <typename KeysAt> std::pair<int32_t, uint32_t> largest(size_t size, KeysAt keys_at) {
    Ints best = Ints{} + taken;
    for (size_t i = 0; i < size; i += lanes) best = larger(best, keys_at(i));
    int32_t most = largest_lane(best);
    for (size_t begin = 0;; begin += word) {
        uint64_t found = 0;
        for (size_t i = begin; i < std::min(begin + word, size); i += lanes) found |= bits_of(keys_at(i) == most) << (i - begin);
        if (found) return {most, static_cast<uint32_t>(begin) + static_cast<uint32_t>(std::countr_zero(found))};
    }
}

// The best of all pairs that are left, again and again; of equal ones the first row, then the first column.
//
// Keys are whole numbers that sort like cosines. Few n-grams of two sentences are similar, and these pairs are sorted.
// Where there are more, each round takes those that are the best of both row and column, which are taken whatever else
// is. What rounds leave is found one by one: where all keys are equal, a round finds one pair.
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

    // The same for keys in memory, row after row.
    const std::vector<Match> &align_held(size_t rows, size_t columns, int32_t least, const int32_t *keys) {
        size_t stride = padded(columns);
        if (rows <= word && columns <= word && align_few(rows * stride, stride, least, keys)) return matches_;
        return align(rows, columns, least, [=](size_t row) { return keys + row * stride; });
    }

  private:
    static constexpr size_t most_in_rounds = size_t{1} << 16;
    static constexpr size_t most_sorted = 32;

    // Sorts the pairs that are wanted and takes them; returns whether there are few enough.
    bool align_few(size_t size, size_t stride, int32_t least, const int32_t *keys) {
        // The key, the largest first, and the place.
        int64_t pairs[most_sorted + word];
        size_t count = 0;
        for (size_t begin = 0; begin < size; begin += word) {
            uint64_t wanted = 0;
            for (size_t i = begin; i < std::min(begin + word, size); i += lanes)
                wanted |= bits_of(ints_at(keys + i) > least) << (i - begin);
            for (; wanted; wanted &= wanted - 1) {
                size_t place = begin + static_cast<size_t>(std::countr_zero(wanted));
                pairs[count++] = static_cast<int64_t>(static_cast<uint64_t>(~keys[place]) << 32 | place);
            }
            if (count > most_sorted) return false;
        }
        // Each one's rank is how many are before it. No branch could be foreseen while sorting, and this has none.
        int64_t sorted[most_sorted + 1];
        std::fill_n(pairs + count, longs, std::numeric_limits<int64_t>::max());
        for (size_t i = 0; i < count; i += longs) {
            Longs here = *reinterpret_cast<const LongsAt *>(pairs + i), ranks{};
            for (size_t j = 0; j < count; ++j) ranks -= pairs[j] < here;
            for (size_t lane = 0; lane < longs; ++lane) sorted[ranks[lane]] = here[lane];
        }
        uint64_t rows = 0, columns = 0;  // that are taken
        matches_.resize(count + 1);
        size_t last = 0;
        for (size_t i = 0; i < count; ++i) {
            uint32_t place = static_cast<uint32_t>(sorted[i]), row = place / static_cast<uint32_t>(stride);
            uint32_t column = place - row * static_cast<uint32_t>(stride);
            uint64_t free = ~(rows >> row | columns >> column) & 1;
            matches_[last] = {row, column, ~static_cast<int32_t>(sorted[i] >> 32)};
            rows |= free << row;
            columns |= free << column;
            last += free;
        }
        matches_.resize(last);
        return true;
    }

    // A row's best key among the columns that are free, and where.
    std::pair<int32_t, uint32_t> look(const int32_t *keys, size_t columns) const {
        const int32_t *free = free_.data();
        return largest(columns, [&](size_t j) { return smaller(ints_at(keys + j), ints_at(free + j)); });
    }

    void take(uint32_t row, uint32_t column, int32_t key) {
        matches_.push_back({row, column, key});
        free_[column] = taken;
    }

    // Takes pairs that are the best of row and column; returns whether another round is worth it. That columns are taken
    // is noted at its end: rows that need not wait for each other are looked at side by side.
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
        size_t before = rows_.size(), left = 0, first = matches_.size(), last = first;
        matches_.resize(first + before);
        for (uint32_t row : rows_) {
            auto [key, column] = look(keys_of(row), columns);
            // Without branches, as what comes cannot be foreseen.
            bool wanted = key > least, both = best_rows_[column] == static_cast<int32_t>(row);
            matches_[last] = {row, column, key};
            rows_[left] = row;
            last += wanted & both;
            left += wanted & !both;
        }
        for (size_t i = first; i < last; ++i) free_[matches_[i].column] = taken;
        matches_.resize(last);
        rows_.resize(left);
        return 8 * (before - left) >= before;
    }

    // Each row knows its best column; that a column is taken is only noticed when a row that wants it comes up, which
    // then looks for its next best. A heap holds the rows: a million of them may want one column.
    template <typename KeysOf> void one_by_one(size_t columns, int32_t least, KeysOf &&keys_of) {
        best_columns_.resize(rows_.size());
        waiting_.clear();
        // The largest key on top; of equal ones the first row.
        auto look_again = [&](uint32_t place) {
            auto [key, column] = look(keys_of(rows_[place]), columns);
            best_columns_[place] = column;
            if (key > least) waiting_.push_back(static_cast<int64_t>(static_cast<uint64_t>(key) << 32 | ~place));
            return key > least;
        };
        for (size_t place = 0; place < rows_.size(); ++place) look_again(static_cast<uint32_t>(place));
        std::make_heap(waiting_.begin(), waiting_.end());
        while (!waiting_.empty()) {
            std::pop_heap(waiting_.begin(), waiting_.end());
            int32_t best = static_cast<int32_t>(waiting_.back() >> 32);
            uint32_t place = ~static_cast<uint32_t>(waiting_.back());
            waiting_.pop_back();
            uint32_t column = best_columns_[place];
            if (free_[column] != taken) take(rows_[place], column, best);
            else if (look_again(place)) std::push_heap(waiting_.begin(), waiting_.end());
        }
    }

    std::vector<Match> matches_;
    std::vector<uint32_t> rows_, best_columns_;  // rows that are left
    std::vector<int32_t> free_, best_rows_;
    std::vector<int64_t> waiting_;
};

}  // namespace trubleu::soft
