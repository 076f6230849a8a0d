// Words and n-grams of a corpus, counted exactly.
//
// Words get numbers as they come. From then on an n-gram is a pair of overlapping (n-1)-grams, so counting the n-grams of
// any order is counting pairs of neighbouring numbers, and only pairs whose halves are both frequent can be frequent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "text.hpp"

namespace trubleu::training {

constexpr std::uint32_t no_entry = 0xFFFFFFFE;      // here begins no n-gram of the vocabulary
constexpr std::uint32_t sentence_end = 0xFFFFFFFF;  // follows the last word of every sentence

// Numbers for words in the order in which they first come, and how often each has come.
class WordCounter {
  public:
    WordCounter();

    std::uint32_t add(const Token &token, std::uint64_t times = 1);

    const std::vector<std::uint8_t> &heap() const { return heap_; }
    const std::vector<std::uint64_t> &begins() const { return begins_; }
    const std::vector<std::uint64_t> &counts() const { return counts_; }

  private:
    struct Key {
        std::uint64_t word, hash;
        std::uint32_t size;
    };
    void grow();

    unsigned bits_;
    std::vector<std::uint32_t> slots_;  // number + 1; 0 is empty
    std::vector<Key> keys_;
    std::vector<std::uint8_t> heap_;
    std::vector<std::uint64_t> begins_, counts_;
};

// Counts pairs of neighbours within bounded memory. When more distinct pairs turn up than there is room for, half of
// them, told by a bit of their hash, are put off to a further pass over the same data; so every count is exact.
class PairCounter {
  public:
    // Numbers from `usable` on make no pairs; pairs seen less than `least` times are dropped.
    PairCounter(std::uint32_t usable, std::uint64_t least, std::size_t most_entries);

    // Takes the next numbers of this pass; the last of them is only looked at, so it must come again as the next first.
    void add(std::span<const std::uint32_t> numbers);

    // Takes pairs that somebody else counted, each so many times, instead.
    void add_counted(std::span<const std::uint32_t> firsts, std::span<const std::uint32_t> seconds,
                     std::span<const std::uint32_t> counts);

    // Ends a pass; whether another one over the same numbers is needed.
    bool finish_pass();

    const std::vector<std::uint32_t> &firsts() const { return firsts_; }
    const std::vector<std::uint32_t> &seconds() const { return seconds_; }
    const std::vector<std::uint64_t> &counts() const { return counts_; }

  private:
    struct Slot {
        std::uint64_t pair, count;
    };
    struct Part {
        unsigned depth;      // how many bits of the hash tell it
        std::uint64_t bits;  // which ones
    };
    static constexpr std::uint64_t no_pair = ~std::uint64_t{0};

    bool mine(std::uint64_t hash) const { return (hash & ((std::uint64_t{1} << part_.depth) - 1)) == part_.bits; }
    void count(std::uint64_t pair, std::uint64_t hash, std::uint64_t times);
    void make_room();
    void rebuild(unsigned bits);

    std::uint32_t usable_;
    std::uint64_t least_;
    std::size_t most_;
    unsigned bits_;
    std::vector<Slot> slots_;
    std::size_t used_ = 0;
    Part part_{0, 0};
    std::vector<Part> waiting_;
    std::vector<std::uint32_t> firsts_, seconds_;
    std::vector<std::uint64_t> counts_;
};

// From a pair of neighbours to its number in a list.
class PairIndex {
  public:
    PairIndex(std::span<const std::uint32_t> firsts, std::span<const std::uint32_t> seconds);

    // numbers has one more element than output, the one that follows.
    void encode(std::span<const std::uint32_t> numbers, std::span<std::uint32_t> output) const;

  private:
    struct Slot {
        std::uint64_t pair;
        std::uint32_t number;
    };
    unsigned bits_;
    std::vector<Slot> slots_;
};

}  // namespace trubleu::training
