// Python strings as they are kept in files: UTF-8, lone surrogates as three bytes.
#pragma once

#include <algorithm>

#include "text.hpp"

namespace trubleu {

// How many bytes a code point takes; lone surrogates take three like all others of their size.
inline size_t utf8_size(uint32_t code) { return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4; }

template <typename Unit> inline size_t utf8_size(const Text &text) {
    const Unit *units = static_cast<const Unit *>(text.data);
    size_t size = 0;
    for (size_t i = 0; i < text.length; ++i) size += utf8_size(uint32_t{units[i]});
    return size;
}

template <typename Unit> inline void write_utf8(const Text &text, uint8_t *to) {
    const Unit *units = static_cast<const Unit *>(text.data);
    for (size_t i = 0; i < text.length; ++i) {
        uint32_t code = units[i];
        size_t size = utf8_size(code);
        constexpr uint8_t leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
        for (size_t at = size; --at;) {
            to[at] = static_cast<uint8_t>(0x80 | (code & 0x3F));
            code >>= 6;
        }
        to[0] = static_cast<uint8_t>(leads[size] | code);
        to += size;
    }
}

inline size_t packed_size(const Text &text) {
    if (text.ascii) return text.length;
    return text.width == 1 ? utf8_size<uint8_t>(text) : text.width == 2 ? utf8_size<uint16_t>(text) : utf8_size<uint32_t>(text);
}

inline void pack(const Text &text, uint8_t *to) {
    // Not memcpy, which may not be given the null pointer of an empty heap, even to copy nothing.
    if (text.ascii) std::copy_n(static_cast<const uint8_t *>(text.data), text.length, to);
    else if (text.width == 1) write_utf8<uint8_t>(text, to);
    else if (text.width == 2) write_utf8<uint16_t>(text, to);
    else write_utf8<uint32_t>(text, to);
}

}  // namespace trubleu
