#include "text.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

#include "porter.hpp"
#include "tercom.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace trubleu {

namespace {

bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }
bool is_point(uint8_t c) { return c == '.' || c == ','; }

template <typename CodePoint> uint8_t *encode(const CodePoint *from, size_t length, uint8_t space, uint8_t *to) {
    for (size_t i = 0; i < length; ++i) {
        uint32_t c = from[i];
        if (c < 0x80) {
            *to++ = static_cast<uint8_t>(c);
        } else if (is_wide_space(c)) {
            *to++ = space;
        } else if (c < 0x800) {
            *to++ = static_cast<uint8_t>(0xC0 | c >> 6);
            *to++ = static_cast<uint8_t>(0x80 | (c & 0x3F));
        } else if (c < 0x10000) {
            *to++ = static_cast<uint8_t>(0xE0 | c >> 12);
            *to++ = static_cast<uint8_t>(0x80 | (c >> 6 & 0x3F));
            *to++ = static_cast<uint8_t>(0x80 | (c & 0x3F));
        } else {
            *to++ = static_cast<uint8_t>(0xF0 | c >> 18);
            *to++ = static_cast<uint8_t>(0x80 | (c >> 12 & 0x3F));
            *to++ = static_cast<uint8_t>(0x80 | (c >> 6 & 0x3F));
            *to++ = static_cast<uint8_t>(0x80 | (c & 0x3F));
        }
    }
    return to;
}

// What the bytes of one block of 64 are, a bit each.
struct Block {
    uint64_t space = 0;   // what separates tokens: ASCII white space, or all but letters and digits
    uint64_t single = 0;  // punctuation that 13a always makes a token of its own
    uint64_t point = 0;   // . and ,
    uint64_t dash = 0;
    uint64_t digit = 0;
};

#if defined(__SSE2__)

__m128i in_range(__m128i bytes, uint8_t low, uint8_t high) {
    __m128i shifted = _mm_sub_epi8(bytes, _mm_set1_epi8(static_cast<char>(low)));
    return _mm_cmpeq_epi8(_mm_min_epu8(shifted, _mm_set1_epi8(static_cast<char>(high - low))), shifted);
}

__m128i equals(__m128i bytes, char value) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(value)); }

// Whole vectors: what is behind the text is written over afterwards.
void fold_ascii(uint8_t *bytes, size_t length) {
    for (size_t i = 0; i < length; i += 16) {
        __m128i *at = reinterpret_cast<__m128i *>(bytes + i), chunk = _mm_loadu_si128(at);
        _mm_storeu_si128(at, _mm_or_si128(chunk, _mm_and_si128(in_range(chunk, 'A', 'Z'), _mm_set1_epi8(0x20))));
    }
}

uint64_t bits_of(__m128i mask, int position) {
    return static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(mask))) << position;
}

template <Tokenizer tokenizer> Block classify(const uint8_t *bytes) {
    Block block;
    for (int i = 0; i < 64; i += 16) {
        __m128i chunk = _mm_loadu_si128(reinterpret_cast<const __m128i *>(bytes + i));
        if constexpr (tokenizer == Tokenizer::alphanumeric) {
            block.space |= bits_of(_mm_or_si128(in_range(chunk, 'a', 'z'), in_range(chunk, '0', '9')), i);
            continue;
        }
        block.space |= bits_of(_mm_or_si128(in_range(chunk, 0x09, 0x0D), in_range(chunk, 0x1C, 0x20)), i);
        if constexpr (tokenizer == Tokenizer::mteval13a) {
            __m128i low = _mm_or_si128(in_range(chunk, '!', '&'), in_range(chunk, '(', '+'));
            __m128i middle = _mm_or_si128(equals(chunk, '/'), in_range(chunk, ':', '@'));
            __m128i high = _mm_or_si128(in_range(chunk, '[', '`'), in_range(chunk, '{', '~'));
            block.single |= bits_of(_mm_or_si128(_mm_or_si128(low, middle), high), i);
            block.point |= bits_of(_mm_or_si128(equals(chunk, '.'), equals(chunk, ',')), i);
            block.dash |= bits_of(equals(chunk, '-'), i);
            block.digit |= bits_of(in_range(chunk, '0', '9'), i);
        }
    }
    if constexpr (tokenizer == Tokenizer::alphanumeric) block.space = ~block.space;
    return block;
}

#else

void fold_ascii(uint8_t *bytes, size_t length) {
    for (size_t i = 0; i < length; ++i)
        if (bytes[i] >= 'A' && bytes[i] <= 'Z') bytes[i] |= 0x20;
}

bool is_single(uint8_t c) {
    return (c >= '!' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
           (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

template <Tokenizer tokenizer> Block classify(const uint8_t *bytes) {
    Block block;
    for (int i = 0; i < 64; ++i) {
        uint8_t c = bytes[i];
        bool kept = (c >= 'a' && c <= 'z') || is_digit(c);
        block.space |= uint64_t{tokenizer == Tokenizer::alphanumeric ? !kept : is_ascii_space(c)} << i;
        if constexpr (tokenizer == Tokenizer::mteval13a) {
            block.single |= uint64_t{is_single(c)} << i;
            block.point |= uint64_t{is_point(c)} << i;
            block.dash |= uint64_t{c == '-'} << i;
            block.digit |= uint64_t{is_digit(c)} << i;
        }
    }
    return block;
}

#endif

// Whether a point or comma that has a digit behind it stays joined to that digit.
//
// mteval-v13a pads points twice: first every (non-digit, point) pair, then every (point, non-digit) pair, each from left
// to right without overlap. In a run of points the first rule takes them by twos, beginning with the character in front
// of the run if that is no digit. So the last point is left over, and joined to the digit behind it, when the run is odd
// behind a digit ("3.5", "3...5") or even behind anything else ("a..5"). All other points stand alone.
bool joins_next_digit(const uint8_t *line, size_t position) {
    size_t first = position;
    while (first > 0 && is_point(line[first - 1])) --first;
    bool odd = ((position - first + 1) & 1) != 0;
    bool behind_digit = first > 0 && is_digit(line[first - 1]);
    return odd == behind_digit;
}

// Writes the positions of the set bits. Eight at a time whether they are there or not: how many words a block holds is
// hard to foresee, and what is written too much is written over by the next block.
Span *write_positions(Span *to, uint32_t Span::*field, uint64_t bits, uint32_t offset) {
    Span *end = to + std::popcount(bits);
    // The highest bit is set for those that are not there: std::countr_zero has a branch for 0.
    constexpr uint64_t highest = uint64_t{1} << 63;
    do {
        for (int i = 0; i < 8; ++i, bits &= bits - 1)
            to[i].*field = offset + static_cast<uint32_t>(std::countr_zero(bits | highest));
        to += 8;
    } while (to < end);
    return end;
}

}  // namespace

std::string replaced(const std::string &text, const char *from, const char *to) {
    std::string result;
    size_t size = std::strlen(from), copied = 0;
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, copied)) {
        result.append(text, copied, at - copied).append(to);
        copied = at + size;
    }
    return result.append(text, copied, std::string::npos);
}

void Line::reserve(size_t length) {
    if (length > (uint64_t{1} << 31)) throw std::length_error("a single text is longer than 2^31 bytes");
    size_t needed = length + 64 + padding;
    if (bytes_.size() < needed) bytes_.resize(needed + needed / 4);
}

void Line::transcode(const Text &text, uint8_t space) {
    reserve(text.ascii ? text.length : text.length * 4);
    uint8_t *to = bytes_.data();
    if (text.ascii) {
        if (text.length) std::memcpy(to, text.data, text.length);
        length_ = text.length;
        return;
    }
    uint8_t *end;
    if (text.width == 1) end = encode(static_cast<const uint8_t *>(text.data), text.length, space, to);
    else if (text.width == 2) end = encode(static_cast<const uint16_t *>(text.data), text.length, space, to);
    else end = encode(static_cast<const uint32_t *>(text.data), text.length, space, to);
    length_ = static_cast<size_t>(end - to);
}

// The replacements that mteval-v13a makes before it splits. Lines without any of their first characters are left alone.
void Line::unescape_13a() {
    const uint8_t *bytes = bytes_.data();
    bool ampersand = std::memchr(bytes, '&', length_) != nullptr;
    if (!ampersand && !std::memchr(bytes, '<', length_) && !std::memchr(bytes, '\n', length_)) return;
    size_t length = length_;
    while (length > 0 && is_ascii_space(bytes[length - 1])) --length;
    std::string text(reinterpret_cast<const char *>(bytes), length);
    text = replaced(text, "<skipped>", "");
    text = replaced(text, "-\n", "");
    if (ampersand) {
        text = replaced(text, "&quot;", "\"");
        text = replaced(text, "&amp;", "&");
        text = replaced(text, "&lt;", "<");
        text = replaced(text, "&gt;", ">");
    }
    assign(text);
}

void Line::assign(const std::string &text) {
    reserve(text.size());
    std::memcpy(bytes_.data(), text.data(), text.size());
    length_ = text.size();
}

template <Tokenizer tokenizer> void Line::split() {
    constexpr bool punctuation = tokenizer == Tokenizer::mteval13a;
    const uint8_t *line = bytes_.data();
    Span *opened = spans_.data(), *closed = spans_.data();
    uint64_t space_before = 1, alone_before = 0, digit_before = 0;
    for (size_t base = 0; base <= length_; base += 64) {
        Block block = classify<tokenizer>(line + base);
        uint64_t alone = 0;
        if constexpr (punctuation) {
            alone = block.single | (block.dash & (block.digit << 1 | digit_before)) | block.point;
            uint64_t next_digit = block.digit >> 1 | uint64_t{is_digit(line[base + 64])} << 63;
            for (uint64_t points = block.point & next_digit; points; points &= points - 1) {
                int i = std::countr_zero(points);
                if (joins_next_digit(line, base + static_cast<size_t>(i))) alone &= ~(uint64_t{1} << i);
            }
            digit_before = block.digit >> 63;
        }
        uint64_t after_space = block.space << 1 | space_before;
        uint64_t begin = ~block.space & (after_space | alone | (alone << 1 | alone_before));
        uint64_t end = (block.space | begin) & ~after_space;
        space_before = block.space >> 63;
        alone_before = alone >> 63;
        uint32_t offset = static_cast<uint32_t>(base);
        opened = write_positions(opened, &Span::begin, begin, offset);
        closed = write_positions(closed, &Span::end, end, offset);
    }
    count_ = static_cast<size_t>(closed - spans_.data());
}

void Line::load(const Text &text, Tokenizer tokenizer, bool lowercase) {
    uint8_t kind = static_cast<uint8_t>(tokenizer), ters = static_cast<uint8_t>(Tokenizer::tercom);
    // Where TER asks for a plain space, no other white space is one.
    transcode(text, kind & ters ? '\t' : ' ');
    if (lowercase) fold_ascii(bytes_.data(), length_);
    if (tokenizer == Tokenizer::mteval13a) unescape_13a();
    if (kind & ters) assign(tercom::changed({reinterpret_cast<const char *>(bytes_.data()), length_}, kind & (ters - 1)));
    // A token takes at least one byte, and positions are written eight at a time.
    if (spans_.size() < length_ + 64) spans_.resize(length_ + length_ / 4 + 64);
    std::memset(bytes_.data() + length_, ' ', 64 + padding);  // to the end of the last block, and behind it
    switch (tokenizer) {
        case Tokenizer::mteval13a: split<Tokenizer::mteval13a>(); break;
        case Tokenizer::alphanumeric: split<Tokenizer::alphanumeric>(); break;
        case Tokenizer::stems:
            split<Tokenizer::alphanumeric>();
            stem();
            break;
        default: split<Tokenizer::whitespace>();
    }
}

// A stem is never longer than its word, so it takes its place.
void Line::stem() {
    for (size_t i = 0; i < count_; ++i) {
        Span &span = spans_[i];
        if (span.size() > 3) span.end = span.begin + static_cast<uint32_t>(porter_stem(bytes_.data() + span.begin, span.size()));
    }
}

}  // namespace trubleu
