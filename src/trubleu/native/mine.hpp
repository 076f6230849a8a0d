// Mining: shards of an index of messages and responses, and the search for the best ones by the product of two BM25 scores.
//
// A shard holds counts only. What depends on the whole corpus (document frequencies, mean lengths, the variant of BM25)
// comes with a query, so a score does not depend on where shards were cut.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace trubleu::mining {

constexpr uint32_t most_rows = 1u << 20;
constexpr uint32_t no_word = 0xFFFFFFFF;

// A posting is a row (20 bits) above a class (12 bits): how often the word comes there, 1 to 8 or more, and how many
// words the row has, 1 to 512 or more. A class gives an upper bound of what the word is worth there, and for nearly all
// rows it is exact.
constexpr unsigned length_bits = 9, class_bits = 12, classes = 1u << class_bits;
constexpr uint32_t most_count = 8, most_length = 1u << length_bits;

inline uint32_t class_of(uint32_t count, uint32_t length) {
    return (std::min(count, most_count) - 1) << length_bits | (std::min(length, most_length) - 1);
}
inline uint32_t posting_of(uint32_t row, uint32_t kind) { return row << class_bits | kind; }
inline uint32_t row_of(uint32_t posting) { return posting >> class_bits; }

// The best classes of a word in one number: the shortest row that has it once, the shortest that has it twice, the
// shortest that has it more often (9 bits each), and the class of how often it comes at most (3 bits). Where nothing
// comes twice or more often, the last of these says so.
struct Limits {
    uint32_t lengths[3] = {most_length - 1, most_length - 1, most_length - 1};
    uint32_t most = 0;

    void see(uint32_t kind) {
        uint32_t count = kind >> length_bits, length = kind & (most_length - 1);
        uint32_t &shortest = lengths[std::min(count, 2u)];
        shortest = std::min(shortest, length);
        most = std::max(most, count);
    }
    uint32_t packed() const {
        return lengths[0] | lengths[1] << length_bits | lengths[2] << 2 * length_bits | most << 3 * length_bits;
    }
    static double highest(uint32_t packed, std::span<const double> worth) {
        uint32_t mask = most_length - 1, most = packed >> 3 * length_bits & (most_count - 1);
        double best = worth[packed & mask];
        if (most >= 1) best = std::max(best, worth[1 << length_bits | (packed >> length_bits & mask)]);
        if (most >= 2) best = std::max(best, worth[most << length_bits | (packed >> 2 * length_bits & mask)]);
        return best;
    }
};

// The arrays of a shard, from a file that anybody may have made: every access that could leave an array is checked, and
// throws std::invalid_argument. Contents that are wrong in other ways give wrong numbers, never a crash.
struct Shard {
    struct Field {
        std::span<const uint32_t> begins, postings, limits;  // begins: one a word, and the end
    };
    size_t rows = 0;
    std::span<const uint8_t> word_bytes;
    std::span<const uint32_t> word_begins, word_slots;  // slots: number + 1, or 0
    Field fields[2];                                    // messages, responses
    std::span<const uint32_t> bags, bag_begins;         // a row's words in order: the message's, then the response's
    std::span<const uint64_t> response_hashes;          // of folded responses
    std::span<const uint8_t> response_bytes;
    std::span<const uint64_t> response_begins;

    // Throws if the arrays' lengths do not fit each other.
    void check() const;

    size_t words() const { return word_begins.size() - 1; }
    uint32_t find(std::string_view word) const;
    std::string_view word(uint32_t number) const;
    std::span<const uint32_t> list(int field, uint32_t number) const;
    std::span<const uint32_t> bag(int field, size_t row) const {
        size_t begin = bag_begins[2 * row + field], end = bag_begins[2 * row + field + 1];
        if (begin > end || end > bags.size()) damaged("the words of a row lie outside");
        return bags.subspan(begin, end - begin);
    }
    std::string_view response(size_t row) const;

    [[noreturn]] static void damaged(const char *what);
};

// The hash that finds a word's slot, and the one that finds equal responses; both are part of the format of files.
uint64_t word_hash(std::string_view word);
uint64_t text_hash(std::string_view text);

}  // namespace trubleu::mining
