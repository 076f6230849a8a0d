// Texts as numbers of words.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "ngrams.hpp"

namespace trubleu {

constexpr uint32_t nothing = 0xFFFFFFFF;  // no number, no vector

// Doubles a table of entries' numbers that is half full; `hash_of` returns the hash of an entry.
template <typename HashOf> void grow_table(std::vector<uint32_t> &table, unsigned &bits, size_t entries, HashOf hash_of) {
    if (2 * (entries + 1) <= table.size()) return;
    table.assign(size_t{1} << ++bits, nothing);
    size_t mask = table.size() - 1;
    for (size_t entry = 0; entry < entries; ++entry) {
        size_t at = slot_of(hash_of(entry), bits);
        while (table[at] != nothing) at = (at + 1) & mask;
        table[at] = static_cast<uint32_t>(entry);
    }
}

// Words and their numbers, in the order in which they came.
class Vocabulary {
  public:
    size_t size() const { return words_.size(); }
    std::string_view operator[](size_t number) const {
        return {reinterpret_cast<const char *>(bytes_.data()) + words_[number].begin, words_[number].size};
    }
    size_t memory() const { return bytes_.capacity() + sizeof(Word) * words_.capacity() + sizeof(uint32_t) * table_.capacity(); }

    // The number of a word; `nothing` for one that is not there.
    uint32_t find(const Token &token) const { return table_[place(token.word, token.hash, token.bytes, token.size)]; }
    // The same for a word of another vocabulary.
    uint32_t find(const Vocabulary &other, size_t number) const {
        const Word &word = other.words_[number];
        // Most often two have the same words in the same order.
        if (number < words_.size() && equals(words_[number], word.word, other.bytes_.data() + word.begin, word.size))
            return static_cast<uint32_t>(number);
        return table_[place(word.word, word.hash, other.bytes_.data() + word.begin, word.size)];
    }
    // The number of a word, which is added if it is new.
    uint32_t number(const Token &token) { return number(token.word, token.hash, token.bytes, token.size); }
    uint32_t number(const Vocabulary &other, size_t number) {
        const Word &word = other.words_[number];
        return this->number(word.word, word.hash, other.bytes_.data() + word.begin, word.size);
    }

  private:
    struct Word {
        uint64_t word, hash;  // as in Token
        size_t begin;
        uint32_t size;
    };

    uint32_t number(uint64_t word, uint64_t hash, const uint8_t *bytes, uint32_t size) {
        grow_table(table_, bits_, words_.size(), [&](size_t i) { return words_[i].hash; });
        uint32_t &number = table_[place(word, hash, bytes, size)];
        if (number == nothing) {
            number = static_cast<uint32_t>(words_.size());
            words_.push_back({word, hash, bytes_.size(), size});
            bytes_.insert(bytes_.end(), bytes, bytes + size);
        }
        return number;
    }
    bool equals(const Word &known, uint64_t word, const uint8_t *bytes, uint32_t size) const {
        return known.word == word && known.size == size &&
               (size <= 8 || std::memcmp(bytes_.data() + known.begin + 8, bytes + 8, size - 8) == 0);
    }
    size_t place(uint64_t word, uint64_t hash, const uint8_t *bytes, uint32_t size) const {
        size_t mask = table_.size() - 1, at = slot_of(hash, bits_);
        for (; table_[at] != nothing; at = (at + 1) & mask) {
            if (equals(words_[table_[at]], word, bytes, size)) break;
        }
        return at;
    }

    std::vector<uint8_t> bytes_;
    std::vector<Word> words_;
    std::vector<uint32_t> table_ = std::vector<uint32_t>(16, nothing);
    unsigned bits_ = 4;
};

// Some texts as numbers of words. Texts that come with others, outputs with their references, share the numbers of those:
// only words that the others do not have get numbers of their own, behind theirs.
class WordTexts {
  public:
    explicit WordTexts(const WordTexts *others = nullptr) : others_(others) {}

    void add(const Text &text, Tokenizer tokenizer, bool lowercase);
    // Adds texts that come with the same others; words get the numbers that they would have got one text after the other.
    void append(const WordTexts &part);

    size_t size() const { return begins_.size() - 1; }
    std::span<const uint32_t> ids() const { return ids_; }
    std::span<const uint32_t> operator[](size_t text) const { return {ids_.data() + begins_[text], begins_[text + 1] - begins_[text]}; }
    size_t word_count() const { return (others_ ? others_->word_count() : 0) + own_.size(); }
    const WordTexts *others() const { return others_; }
    const Vocabulary &own_words() const { return own_; }
    size_t memory() const { return own_.memory() + sizeof(size_t) * begins_.capacity() + sizeof(uint32_t) * ids_.capacity(); }

  private:
    const WordTexts *others_;
    Vocabulary own_;
    Line line_;
    std::vector<size_t> begins_{0};
    std::vector<uint32_t> ids_;
};

}  // namespace trubleu
