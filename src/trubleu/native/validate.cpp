#include "validate.hpp"

#include <bit>

namespace trubleu {

namespace {

constexpr uint64_t longest = uint64_t{1} << 31;  // positions in a segment and sizes of tokens have 32 bits

// Whether begins go from 0 to the end and never fall, which also keeps all of them inside.
bool rises(View<uint64_t> begins, uint64_t end) {
    if (begins.empty() || begins.front() != 0 || begins.back() != end) return false;
    bool fine = true;
    for (size_t i = 1; i < begins.size(); ++i) fine &= begins[i - 1] <= begins[i];
    return fine;
}

bool steps_between(View<uint64_t> begins, uint64_t least, uint64_t most) {
    bool fine = true;
    for (size_t i = 1; i < begins.size(); ++i) {
        uint64_t step = begins[i] - begins[i - 1];
        fine &= least <= step && step <= most;
    }
    return fine;
}

const char *problem_of_tokens(const Prepared &prepared) {
    View<uint64_t> table = prepared.token_table, begins = prepared.token_begins;
    size_t slots = table.size() / 2;
    if (slots < 2 || !std::has_single_bit(slots) || table.size() != 2 * slots)
        return "the size of the table of tokens is no power of two";
    if (!rises(begins, prepared.token_bytes.size())) return "the tokens do not follow each other";
    // A token has at least one byte: the kernels shift by what is missing to eight.
    if (!steps_between(begins, 1, longest - 1)) return "a token is empty or too long";
    size_t known = begins.size() - 1;
    if (known > slots / 2 || known >= separator) return "the table of tokens is too small";
    size_t taken = 0, run = 0, first_run = 0;
    uint64_t squares = 0;
    bool free_slot_seen = false;
    auto end_run = [&] {
        squares += uint64_t{run} * run;
        run = 0;
    };
    for (size_t at = 0; at < slots; ++at) {
        uint64_t entry = table[2 * at + 1];
        uint32_t id = static_cast<uint32_t>(entry);
        if (id == unknown_id) {
            if (!free_slot_seen) first_run = run, run = 0;
            free_slot_seen = true;
            end_run();
            continue;
        }
        if (id >= known || entry >> 32 != begins[id + 1] - begins[id]) return "the table of tokens has a wrong entry";
        ++run;
        ++taken;
    }
    if (taken != known) return "the table of tokens does not hold every token once";
    run += first_run;  // a search goes on from the end to the beginning
    end_run();
    // Searches end at a free slot. Half of the slots are free, but if the others were all in one row, each search would
    // be as long as the vocabulary; with hashes as they are, the squares of the rows add up to about five a slot.
    if (squares / 64 > slots) return "the table of tokens is not spread";
    return nullptr;
}

const char *problem_of_references(const Prepared &prepared) {
    View<uint32_t> ids = prepared.ids;
    View<uint64_t> begins = prepared.id_begins, segments = prepared.reference_begins;
    if (ids.size() < id_padding || !rises(begins, ids.size() - id_padding) || !steps_between(begins, 1, longest - 1))
        return "the references do not follow each other";
    if (!rises(segments, begins.size() - 1)) return "the segments do not follow each other";
    for (size_t i = 1; i < segments.size(); ++i)
        if (begins[segments[i]] - begins[segments[i - 1]] >= longest) return "a segment is too long";
    // A separator in front of each reference and behind the last, and as many in all: so there is none within one.
    size_t in_place = 0, all = 0, strange = 0;
    for (size_t j = 0; j + 1 < begins.size(); ++j) in_place += ids[begins[j]] == separator;
    for (size_t i = ids.size() - id_padding; i < ids.size(); ++i) in_place += ids[i] == separator;
    uint32_t known = static_cast<uint32_t>(prepared.token_begins.size() - 1);
    // In blocks: counters of 32 bits, as wide as the ids, go eight to a vector.
    for (size_t block = 0; block < ids.size(); block += 65536) {
        uint32_t all_here = 0, strange_here = 0;
        for (uint32_t id : ids.subspan(block, std::min<size_t>(65536, ids.size() - block))) {
            all_here += id == separator;
            strange_here += (id >= known) & (id != separator);
        }
        all += all_here;
        strange += strange_here;
    }
    if (in_place != begins.size() - 1 + id_padding || all != in_place) return "the references are not set apart";
    if (strange) return "a reference has an unknown token";
    return nullptr;
}

}  // namespace

const char *problem_of(const Prepared &prepared) {
    if (const char *problem = problem_of_tokens(prepared)) return problem;
    return problem_of_references(prepared);
}

}  // namespace trubleu
