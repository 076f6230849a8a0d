#include "checksum.hpp"

#include <bit>

#include "text.hpp"

namespace trubleu {

namespace {

constexpr size_t lane_count = 8, block_size = 8 * lane_count;
constexpr uint64_t odd = 0x9E3779B97F4A7C15u;

inline uint64_t mixed(uint64_t state, uint64_t word) { return (std::rotl(state, 27) ^ word) * odd; }

inline uint64_t load_little(const uint8_t *bytes) {
    uint64_t word = load_word(bytes);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    return word;
}

}  // namespace

uint64_t checksum(std::span<const uint8_t> bytes) {
    uint64_t lanes[lane_count] = {};
    auto add = [&](const uint8_t *block) {
        for (size_t i = 0; i < lane_count; ++i) lanes[i] = mixed(lanes[i], load_little(block + 8 * i));
    };
    size_t whole = bytes.size() / block_size, rest = bytes.size() % block_size;
    for (size_t i = 0; i < whole; ++i) add(bytes.data() + i * block_size);
    if (rest) {
        uint8_t last[block_size] = {};
        std::memcpy(last, bytes.data() + whole * block_size, rest);
        add(last);
    }
    uint64_t state = whole + (rest != 0);
    for (uint64_t lane : lanes) state = mixed(state, lane);
    state = (state ^ state >> 32) * 0xD6E8FEB86659FD93u;
    return state ^ state >> 32;
}

}  // namespace trubleu
