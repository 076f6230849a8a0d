#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "mine.hpp"

namespace trubleu::mining {

// Which of a few numbers come in a row, told with one look for each word of the row and without a branch: the table has
// room enough that, for one of some multipliers, every number has a slot of its own. Of very many numbers chains are made.
class Lookup {
  public:
    void build(std::span<const uint32_t> numbers) {
        chained_ = false;
        for (unsigned bits = std::bit_width(numbers.size() | 8) + 3; bits <= most_bits; ++bits)
            for (uint32_t attempt = 0; attempt < 8; ++attempt) {
                multiplier_ = 0x9E3779B9u + 0x3C6EF372u * attempt;
                if (fill(numbers, bits)) return;
            }
        chained_ = true;
        multiplier_ = 0x9E3779B9u;
        fill(numbers, std::bit_width(numbers.size()) + 2);
    }

    // Writes the places of those words of a row that are there, again where they come again; returns how many.
    size_t collect(std::span<const uint32_t> row, uint32_t *places) const {
        size_t count = 0;
        if (chained_) {
            for (uint32_t number : row)
                for (size_t slot = first(number); slots_[slot].number != no_word; slot = (slot + 1) & (slots_.size() - 1))
                    if (slots_[slot].number == number) {
                        places[count++] = slots_[slot].place;
                        break;
                    }
            return count;
        }
        const Slot *slots = slots_.data();
        for (uint32_t number : row) {
            const Slot &slot = slots[first(number)];
            places[count] = slot.place;
            count += slot.number == number;
        }
        // A damaged file may have words without a number, which are those of the empty slots.
        return static_cast<size_t>(std::remove(places, places + count, no_word) - places);
    }

  private:
    struct Slot {
        uint32_t number, place;
    };
    static constexpr unsigned most_bits = 13;

    size_t first(uint32_t number) const { return number * multiplier_ >> shift_; }

    bool fill(std::span<const uint32_t> numbers, unsigned bits) {
        shift_ = 32 - bits;
        slots_.assign(size_t{1} << bits, {no_word, no_word});
        for (size_t i = 0; i < numbers.size(); ++i) {
            size_t slot = first(numbers[i]);
            while (slots_[slot].number != no_word) {
                if (!chained_) return false;
                slot = (slot + 1) & (slots_.size() - 1);
            }
            slots_[slot] = {numbers[i], static_cast<uint32_t>(i)};
        }
        return true;
    }

    uint32_t multiplier_ = 0, shift_ = 0;
    bool chained_ = false;
    std::vector<Slot> slots_;
};

}  // namespace trubleu::mining
