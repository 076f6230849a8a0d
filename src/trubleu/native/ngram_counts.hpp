// How often the n-grams of a corpus occur, or in how many segments: what NIST, CIDEr and trubleu learn from references.
//
// An n-gram is an edge from the number of all but its last word by its last word; a word's number is its own. Each order is
// counted in a pass over all texts, so memory holds the edges of one order at a time, and what was counted once can be
// dropped before the next order begins: no n-gram is counted more often than its parts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "words.hpp"

namespace trubleu {

enum class Counted : uint8_t { occurrences, segments };

// Edges and their counts. Shards are told apart by the low bits of an edge's hash, so threads can share the work.
class NgramLevel {
  public:
    static constexpr size_t shard_bits = 4, shards = size_t{1} << shard_bits;

    struct Edge {
        uint64_t key;  // the number of all but the last word, and the last word
        uint32_t count;
        uint32_t segment;  // the last one that was counted, from 1
    };
    struct Shard {
        std::vector<Edge> edges;
        std::vector<uint32_t> table = std::vector<uint32_t>(16, nothing);
        unsigned bits = 4;

        size_t place(uint64_t key, uint64_t hash) const {
            size_t mask = table.size() - 1, at = slot_of(hash, bits);
            while (table[at] != nothing && edges[table[at]].key != key) at = (at + 1) & mask;
            return at;
        }
        // The place of an edge, which is added if it is new.
        uint32_t number(uint64_t key, uint64_t hash);
        // Makes the table anew, with room for so many edges.
        void rebuild_table(size_t room);
    };

    static uint64_t key_of(uint32_t prefix, uint32_t word) { return uint64_t{prefix} << 32 | word; }
    static uint64_t hash_of(uint64_t key) { return hash_edge(static_cast<uint32_t>(key >> 32), static_cast<uint32_t>(key)); }
    static uint32_t number_in(uint32_t place, size_t shard) { return place << shard_bits | static_cast<uint32_t>(shard); }

    const Edge &operator[](uint32_t number) const { return shards_[number & (shards - 1)].edges[number >> shard_bits]; }
    uint32_t find(uint32_t prefix, uint32_t word) const { return find(prefix, word, hash_edge(prefix, word)); }
    uint32_t find(uint32_t prefix, uint32_t word, uint64_t hash) const {
        const Shard &shard = shards_[hash & (shards - 1)];
        uint32_t found = shard.table[shard.place(key_of(prefix, word), hash)];
        return found == nothing ? nothing : number_in(found, hash & (shards - 1));
    }
    // Asks for the memory of an edge that will soon be looked for: its slot, then what the slot names.
    void prefetch(uint64_t hash) const {
        const Shard &shard = shards_[hash & (shards - 1)];
        __builtin_prefetch(&shard.table[slot_of(hash, shard.bits)]);
    }
    void prefetch_edge(uint64_t hash) const {
        const Shard &shard = shards_[hash & (shards - 1)];
        uint32_t edge = shard.table[slot_of(hash, shard.bits)];
        if (edge != nothing) __builtin_prefetch(&shard.edges[edge]);
    }
    size_t size() const;
    Shard &shard(size_t number) { return shards_[number]; }
    const Shard &shard(size_t number) const { return shards_[number]; }
    // How many edges earlier shards have: the number of an edge in a list of all.
    std::vector<size_t> begins() const;

  private:
    Shard shards_[shards];
};

// Counts as plain arrays; edges name the place of their prefix in the list of the order below.
struct PlainCounts {
    struct Level {
        std::vector<uint64_t> edges;
        std::vector<uint32_t> counts;
    };
    std::vector<uint32_t> words;
    std::vector<Level> levels;  // from order 2 on
};

class NgramCounts {
  public:
    NgramCounts(size_t orders, Counted counted) : orders_(orders), counted_(counted), levels_(orders - 1) {}

    size_t orders() const { return orders_; }
    uint64_t tokens() const { return tokens_; }
    uint64_t segments() const { return segments_; }
    size_t size() const;
    size_t memory() const;
    Vocabulary &words() { return words_; }
    const Vocabulary &words() const { return words_; }

    // Adds the texts of some segments; `numbers` has the number here of each of their words. If what was counted once is
    // dropped, nothing may be added afterwards.
    void add(const WordTexts &texts, std::span<const int64_t> offsets, std::span<const uint32_t> numbers, bool drop_rare, int threads);
    // Adds what others counted; words and edges below `least` are left out.
    void merge(std::span<const uint32_t> numbers, const PlainCounts &counts, uint64_t tokens, uint64_t segments, uint32_t least);
    PlainCounts plain() const;

    // Of a word by its number, and of an n-gram of two words or more.
    uint32_t word_count(uint32_t word) const { return word < word_counts_.size() ? word_counts_[word].count : 0; }
    const NgramLevel &level(size_t order) const { return levels_[order - 2]; }

  private:
    struct WordCount {
        uint32_t count = 0, segment = 0;
    };

    size_t orders_;
    Counted counted_;
    uint64_t tokens_ = 0, segments_ = 0;
    Vocabulary words_;
    std::vector<WordCount> word_counts_;
    std::vector<NgramLevel> levels_;
};

}  // namespace trubleu
