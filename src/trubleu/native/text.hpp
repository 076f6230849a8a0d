// Text to tokens without the interpreter: Python strings become byte lines, lines become token boundaries.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace trubleu {

// Two are ROUGE's: runs of lower-case letters a to z and digits, and the stems of those that are longer than three. The last is
// TER's, with what `tercom` does added to it.
enum class Tokenizer : uint8_t { whitespace, mteval13a, alphanumeric, stems, tercom = 16 };

// White space as str.split takes it, inside ASCII and beyond.
inline bool is_ascii_space(uint32_t c) { return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F); }
inline bool is_wide_space(uint32_t c) {
    switch (c) {
        case 0x85: case 0xA0: case 0x1680: case 0x2028: case 0x2029: case 0x202F: case 0x205F: case 0x3000: return true;
        default: return c >= 0x2000 && c <= 0x200A;
    }
}

// A Python str as the kernels see it: code points of 1, 2 or 4 bytes each. The string object is kept alive elsewhere.
struct Text {
    const void *data = nullptr;
    size_t length = 0;
    uint8_t width = 1;
    bool ascii = true;
};

// Like Python's str.replace: one pass, left to right, linear in the text however many hits there are.
std::string replaced(const std::string &text, const char *from, const char *to);

// Where a token lies in its line.
struct Span {
    uint32_t begin, end;
    uint32_t size() const { return end - begin; }
};

// One line as bytes, and where its tokens are. Reused from line to line.
//
// The bytes are UTF-8, except that lone surrogates keep their three-byte form (so that distinct strings stay distinct)
// and that every white space character outside ASCII becomes a plain space (nothing but splitting ever looks at it).
// Behind the bytes there are at least `padding` readable spaces, so loads of whole words and blocks need no bounds check.
class Line {
  public:
    static constexpr size_t padding = 64;

    // Loads and tokenizes; `lowercase` folds ASCII letters only: the caller lower-cases other texts, as Python does.
    void load(const Text &text, Tokenizer tokenizer, bool lowercase);

    const uint8_t *bytes() const { return bytes_.data(); }
    const Span *begin() const { return spans_.data(); }
    const Span *end() const { return spans_.data() + count_; }
    size_t size() const { return count_; }

  private:
    void transcode(const Text &text, uint8_t space);
    void assign(const std::string &text);
    void unescape_13a();
    template <Tokenizer tokenizer> void split();
    void stem();
    void reserve(size_t length);

    std::vector<uint8_t> bytes_;
    size_t length_ = 0;
    std::vector<Span> spans_;
    size_t count_ = 0;
};

inline uint64_t load_word(const uint8_t *bytes) {
    uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}

// A token's identity: its first eight bytes (zero-filled) and its length say all about short tokens, longer ones are
// compared byte by byte behind that. The hashes are only for finding a place.
struct Token {
    uint64_t word;
    uint64_t hash;
    const uint8_t *bytes;
    uint32_t size;

    static constexpr uint64_t odd = 0x9E3779B97F4A7C15u;

    // The length of words is hard to foresee: shifts cost less than a branch that is taken wrong every third time.
    static uint64_t first_bytes(const uint8_t *begin, uint32_t length) {
        uint32_t others = 64 - 8 * std::min(length, 8u);
        return load_word(begin) << others >> others;
    }
    // A hash of the first eight bytes and the length.
    static uint64_t short_hash(uint64_t word, uint32_t length) { return (word ^ (uint64_t{length} << 56)) * odd; }

    Token(const uint8_t *begin, uint32_t length) : word(first_bytes(begin, length)), bytes(begin), size(length) {
        hash = short_hash(word, length);
        if (length > 8) {
            for (uint32_t i = 8; i + 8 < length; i += 8) hash = ((hash ^ (hash >> 31)) + load_word(begin + i)) * odd;
            hash = ((hash ^ (hash >> 31)) + load_word(begin + length - 8)) * odd;
        }
        hash ^= hash >> 32;
        hash *= 0xD6E8FEB86659FD93u;
    }

    // Whether the bytes behind the first eight are the same; nearly all tokens end within the next eight.
    bool rest_equals(const uint8_t *other) const {
        if (size <= 8) return true;
        if (load_word(bytes + size - 8) != load_word(other + size - 8)) return false;
        return size <= 16 || std::memcmp(bytes + 8, other + 8, size - 16) == 0;
    }
};

// The slot of a hash in a table of 2^bits entries.
inline size_t slot_of(uint64_t hash, unsigned bits) { return hash >> (64 - bits); }

// How many bits a table needs to hold `entries` at most half full.
inline unsigned table_bits(size_t entries) {
    unsigned bits = 4;
    while ((size_t{1} << bits) < 2 * entries) ++bits;
    return bits;
}

inline uint64_t hash_edge(uint32_t parent, uint32_t token) {
    uint64_t mixed = ((uint64_t{parent} << 32) | token) * 0x9E3779B97F4A7C15u;
    mixed ^= mixed >> 29;
    return mixed * 0xD6E8FEB86659FD93u;
}

}  // namespace trubleu
