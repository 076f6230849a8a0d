// Checksums of arrays that live in files.
#pragma once

#include <cstdint>
#include <span>

namespace trubleu {

// A 64-bit checksum that notices damage; it is no signature, and who wants to can make another file with the same one.
//
// The bytes are filled up with zeros to blocks of 64 and read as little-endian words. Word i of every block goes into
// lane i of eight: lane = (rotl(lane, 27) ^ word) * odd, from 0 on. At the end the lanes go the same way, in order, into
// one state that starts as the number of blocks, and its bits are mixed once more. Every step can be undone, so a change
// within one word always changes the result; the rotation keeps changes of high bits from staying there, where two of
// them could cancel. Eight lanes keep the multiplier busy. This is part of the format of files: it must never change.
uint64_t checksum(std::span<const uint8_t> bytes);

}  // namespace trubleu
