// Rows of a table put together into units at random.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "resample.hpp"

namespace trubleu::drawing {

using resampling::Purpose;

// One xoshiro256++ generator (Blackman & Vigna 2021), read 32 bits at a time: the low half of a word, then its high half.
class Generator {
  public:
    // Draw d starts from words 4d .. 4d + 3 of the SplitMix64 sequence that belongs to `start`.
    Generator(std::uint64_t start, std::uint64_t draw) {
        for (std::uint64_t word = 0; word < 4; ++word) {
            state_[word] = resampling::mix(start + (4 * draw + word + 1) * 0x9e3779b97f4a7c15ULL);
        }
    }

    // A whole number below `limit`, all equally likely (Lemire 2019).
    std::uint32_t below(std::uint32_t limit) {
        std::uint64_t product = std::uint64_t{half()} * limit;
        if (static_cast<std::uint32_t>(product) < limit) {
            const std::uint32_t unfair = (0U - limit) % limit;
            while (static_cast<std::uint32_t>(product) < unfair) product = std::uint64_t{half()} * limit;
        }
        return static_cast<std::uint32_t>(product >> 32);
    }

    // Every order equally likely (Fisher and Yates, from the last on).
    void shuffle(std::span<std::uint32_t> numbers) {
        for (std::size_t i = numbers.size(); i > 1; --i) {
            std::swap(numbers[i - 1], numbers[below(static_cast<std::uint32_t>(i))]);
        }
    }

    // The next 32 bits.
    std::uint32_t half() {
        if (left_) {
            left_ = false;
            return static_cast<std::uint32_t>(word_ >> 32);
        }
        word_ = next();
        left_ = true;
        return static_cast<std::uint32_t>(word_);
    }

    // The next 64 bits; does not go together with half().
    std::uint64_t next() {
        const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0], shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = std::rotl(state_[3], 45);
        return result;
    }

  private:
    std::uint64_t state_[4];
    std::uint64_t word_ = 0;
    bool left_ = false;
};

constexpr std::uint64_t start_of(std::uint64_t seed, Purpose purpose) {
    return resampling::mix(resampling::mix(seed) + static_cast<std::uint64_t>(purpose));
}

constexpr std::uint64_t start_of(std::uint64_t seed, Purpose purpose, std::uint64_t stream) {
    return resampling::mix(start_of(seed, purpose) + stream);
}

// Which rows follow one another in a draw.
class Draws {
  public:
    // Without items, a draw is a shuffle of all rows. With them, items[row] is the item, below `universe`, that a row
    // belongs to, and a draw takes as many rows as there are from a sequence of items that all tables share.
    Draws(std::size_t rows, const std::int64_t *items, std::size_t universe, std::uint64_t seed, std::uint64_t stream);

    // Fills order, which has room for as many rows as there are.
    void draw(std::uint64_t number, std::span<std::uint32_t> order) const;

  private:
    std::size_t rows_;
    std::vector<std::uint32_t> row_of_item_;  // empty without items
    std::uint64_t shuffles_, sequences_;
};

// A table in tiles of a few neighbouring columns, all rows of a tile one after the other. Rows of a tile are gathered in
// any order while the tile stays in the cache.
class Tiles {
  public:
    static constexpr std::size_t width = 16;

    Tiles(const double *table, std::size_t rows, std::size_t columns);

    std::size_t count() const { return (columns_ + width - 1) / width; }

    // sums[u][...] = the rows of unit u of this tile, added in order; sums has `columns` columns in all.
    void add(std::size_t tile, std::span<const std::uint32_t> order, std::size_t unit, double *sums) const;

  private:
    std::size_t rows_, columns_;
    std::vector<double> packed_;
};

}  // namespace trubleu::drawing
