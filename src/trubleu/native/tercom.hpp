// How TER's normalisation and removal of punctuation change a line, as in sacreBLEU's TercomTokenizer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace trubleu::tercom {

// What is done to a line. References are `twice` normalised in sacreBLEU, which splits some of them further.
enum : uint8_t { normalized = 1, no_punct = 2, asian = 4, twice = 8 };

// Changes UTF-8 whose white space is all in ASCII and no plain space outside of it; tokens are then what white space separates.
std::string changed(std::string_view line, uint8_t options);

}  // namespace trubleu::tercom
