// What a search knows of all rows of a shard before the first query: it is made once a shard, for many queries.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "mine.hpp"
#include "mine_search.hpp"

namespace trubleu::mining {

constexpr size_t window = 1 << 12;  // rows whose bounds are added up at once: they fit into the fastest memory
using Sum = uint16_t;               // bounds are whole steps, so that one instruction adds many of them

// A word of very many rows: a bit for each row instead of a list. In a block of 256 rows, bit j of number i is row
// 16 * j + i, so that the bits of neighbouring rows lie in neighbouring numbers.
struct Dense {
    static constexpr size_t block = 256, lanes = 16;
    bool twice = false;             // whether there are also bits for the rows that have it more than once
    std::vector<uint16_t> bits;     // window by window; then come those for more than once
    std::vector<uint32_t> repeats;  // the postings of rows of which the bits do not say how often

    Dense(std::span<const uint32_t> list, size_t rows);

    // Adds to the sums of those rows of a window that have the word, and of those that have it again.
    void add(size_t base, Sum once, Sum again, Sum *sums) const {
        add(bits.data() + base / lanes, once, sums);
        if (twice) add(bits.data() + bits.size() / 2 + base / lanes, again, sums);
    }

    bool has(size_t row) const { return bits[row / block * lanes + row % lanes] >> row / lanes % lanes & 1; }

  private:
    static void add(const uint16_t *from, Sum value, Sum *sums) {
        constexpr size_t words = window / lanes;
        for (size_t i = 0; i < words; i += 32) __builtin_prefetch(from + words + i);  // for the next window
        using Lanes [[gnu::vector_size(lanes * sizeof(Sum))]] = uint16_t;  // compilers make of it what the CPU can
        Lanes values = Lanes{} + value;
        for (size_t start = 0; start < window; start += block, from += lanes) {
            Lanes its_bits, bit = Lanes{} + uint16_t{1};
            std::memcpy(&its_bits, from, sizeof its_bits);
            for (size_t j = 0; j < lanes; ++j, sums += lanes, bit += bit) {
                Lanes row;
                std::memcpy(&row, sums, sizeof row);
                row += values & ((its_bits & bit) == bit);
                std::memcpy(sums, &row, sizeof row);
            }
        }
    }
};

// What holds whatever the queries and the scoring are, so that one search after another can use it; threads may share it.
class Ground {
  public:
    explicit Ground(const Shard &shard);

    // The bits of a word, made when they are first asked for; nothing if it does not come in enough rows.
    std::shared_ptr<const Dense> dense(int field, uint32_t number);

    // What each row has of these shares, by its length; the last ones are kept.
    std::shared_ptr<const std::vector<uint8_t>> by_length(int field, const std::vector<uint8_t> &shares);

    uint32_t longest[2] = {1, 1};  // rows, up to most_length

  private:
    struct ByLength {
        std::vector<uint8_t> shares;
        std::shared_ptr<const std::vector<uint8_t>> rows;
    };

    const Shard &shard_;
    std::mutex guard_;
    std::vector<uint16_t> lengths_[2];  // of rows, up to most_length
    ByLength by_length_[2];
    std::unordered_map<uint32_t, std::shared_ptr<const Dense>> dense_[2];
};

class Terrain {
  public:
    // The numbers are those of the words of all queries.
    Terrain(Ground &ground, const Scoring &scoring, std::span<const uint32_t> numbers);

    const Dense *dense(int field, uint32_t number) const {
        auto at = dense_[field].find(number);
        return at == dense_[field].end() ? nullptr : at->second.get();
    }

    // What a word that comes once is worth in a row, by the row's length: as 255ths of the highest, rounded up.
    const uint8_t *once(int field) const { return once_[field]->data(); }

    uint32_t longest[2];  // rows, up to most_length

  private:
    std::shared_ptr<const std::vector<uint8_t>> once_[2];
    std::unordered_map<uint32_t, std::shared_ptr<const Dense>> dense_[2];
};

}  // namespace trubleu::mining
