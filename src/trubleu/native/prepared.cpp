#include "prepared.hpp"

#include <bit>
#include <stdexcept>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace trubleu {

namespace {

// Which of 64 ids equal one, a bit each.
uint64_t equal_bits(const uint32_t *ids, uint32_t id) {
    uint64_t bits = 0;
#if defined(__AVX2__)
    __m256i wanted = _mm256_set1_epi32(static_cast<int>(id));
    auto equal = [&](int i) {
        return _mm256_cmpeq_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(ids + i)), wanted);
    };
    // Packing works on the two halves of a register apart, which leaves groups of four out of order.
    const __m256i in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (int i = 0; i < 64; i += 32) {
        __m256i low = _mm256_packs_epi32(equal(i), equal(i + 8)), high = _mm256_packs_epi32(equal(i + 16), equal(i + 24));
        __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), in_order);
        bits |= static_cast<uint64_t>(static_cast<uint32_t>(_mm256_movemask_epi8(bytes))) << i;
    }
#elif defined(__SSE2__)
    __m128i wanted = _mm_set1_epi32(static_cast<int>(id));
    auto equal = [&](int i) {
        return _mm_cmpeq_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(ids + i)), wanted);
    };
    for (int i = 0; i < 64; i += 16) {
        __m128i low = _mm_packs_epi32(equal(i), equal(i + 4)), high = _mm_packs_epi32(equal(i + 8), equal(i + 12));
        uint32_t bytes = static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high)));
        bits |= static_cast<uint64_t>(bytes) << i;
    }
#else
    for (int i = 0; i < 64; ++i) bits |= uint64_t{ids[i] == id} << i;
#endif
    return bits;
}

}  // namespace

PreparedBuilder::PreparedBuilder(const Options &options) : options_(options) {
    data_.token_table.assign(size_t{2} << bits_, unknown_id);
    data_.token_begins.push_back(0);
    data_.id_begins.push_back(0);
    data_.reference_begins.push_back(0);
}

uint32_t PreparedBuilder::intern(const Token &token) {
    size_t mask = (size_t{1} << bits_) - 1;
    for (size_t at = slot_of(token.hash, bits_);; at = (at + 1) & mask) {
        uint64_t *slot = &data_.token_table[2 * at];
        uint32_t id = static_cast<uint32_t>(slot[1]);
        if (id == unknown_id) {
            size_t known = data_.token_begins.size() - 1;
            if (known >= separator) throw std::length_error("references have more than 2^32 distinct tokens");
            slot[0] = token.word;
            slot[1] = uint64_t{token.size} << 32 | known;
            data_.token_bytes.insert(data_.token_bytes.end(), token.bytes, token.bytes + token.size);
            data_.token_begins.push_back(data_.token_bytes.size());
            if (2 * (known + 1) > size_t{1} << bits_) grow();
            return static_cast<uint32_t>(known);
        }
        if (slot[0] == token.word && slot[1] >> 32 == token.size &&
            token.rest_equals(data_.token_bytes.data() + data_.token_begins[id]))
            return id;
    }
}

void PreparedBuilder::grow() {
    ++bits_;
    std::vector<uint64_t> table(size_t{2} << bits_, unknown_id);
    size_t mask = (size_t{1} << bits_) - 1, known = data_.token_begins.size() - 1;
    // Words are read eight bytes at a time, so the heap needs room behind its last token while it is hashed.
    data_.token_bytes.resize(data_.token_bytes.size() + 8);
    for (size_t id = 0; id < known; ++id) {
        uint64_t begin = data_.token_begins[id];
        Token token(data_.token_bytes.data() + begin, static_cast<uint32_t>(data_.token_begins[id + 1] - begin));
        size_t at = slot_of(token.hash, bits_);
        while (static_cast<uint32_t>(table[2 * at + 1]) != unknown_id) at = (at + 1) & mask;
        table[2 * at] = token.word;
        table[2 * at + 1] = uint64_t{token.size} << 32 | id;
    }
    data_.token_bytes.resize(data_.token_bytes.size() - 8);
    data_.token_table = std::move(table);
}

void PreparedBuilder::add_segment(const Text *references, size_t count) {
    size_t begin = data_.ids.size();
    for (size_t j = 0; j < count; ++j) {
        line_.load(references[j], options_.tokenizer, options_.lowercase);
        data_.ids.push_back(separator);
        for (const Span &span : line_) data_.ids.push_back(intern(Token(line_.bytes() + span.begin, span.size())));
        data_.id_begins.push_back(data_.ids.size());
    }
    if (data_.ids.size() - begin > 0x7FFFFFFF) throw std::length_error("one segment has more than 2^31 tokens");
    data_.reference_begins.push_back(data_.id_begins.size() - 1);
}

// Afterwards the builder is a new one.
PreparedData PreparedBuilder::finish() {
    data_.ids.insert(data_.ids.end(), id_padding, separator);
    PreparedData data = std::move(data_);
    *this = PreparedBuilder(options_);
    return data;
}

PreparedScorer::PreparedScorer(const Options &options, const Prepared &prepared, std::span<const double> weights)
    : options_(options), prepared_(prepared), weights_(weights),
      bits_(static_cast<unsigned>(std::countr_zero(prepared.token_table.size() / 2))), trie_(options) {}

inline uint32_t PreparedScorer::find(const Token &token) const {
    size_t mask = (size_t{1} << bits_) - 1;
    for (size_t at = slot_of(token.hash, bits_);; at = (at + 1) & mask) {
        const uint64_t *slot = &prepared_.token_table[2 * at];
        uint32_t id = static_cast<uint32_t>(slot[1]);
        if (id == unknown_id) return unknown_id;
        if (slot[0] == token.word && slot[1] >> 32 == token.size &&
            token.rest_equals(prepared_.token_bytes.data() + prepared_.token_begins[id]))
            return id;
    }
}

void PreparedScorer::announce(size_t segment, const Text &hypothesis) {
    Announced &next = announced_[announced_count_++ % most_announced];
    next.segment = segment;
    next.line.load(hypothesis, options_.tokenizer, options_.lowercase);
    next.tokens.clear();
    next.longer.resize(next.line.size());
    size_t longer = 0;
    for (const Span &span : next.line) {
        next.longer[longer] = static_cast<uint32_t>(next.tokens.size());
        longer += span.size() > 8;
        next.tokens.emplace_back(next.line.bytes() + span.begin, span.size());
        __builtin_prefetch(&prepared_.token_table[2 * slot_of(next.tokens.back().hash, bits_)]);
    }
    next.longer.resize(longer);
    const uint32_t *ids = prepared_.ids.data() + prepared_.id_begins[prepared_.reference_begins[segment]];
    const uint32_t *end = prepared_.ids.data() + prepared_.id_begins[prepared_.reference_begins[segment + 1]];
    for (size_t i = 0; i < most_prefetched && ids < end; ++i, ids += 16) __builtin_prefetch(ids);
}

// Tokens of more than eight bytes are also compared with the heap, which takes two further looks into memory; this asks
// for what they will find, supposing that the first slot is the right one, as it nearly always is.
// Inlined always: GCC takes a function that does nothing but prefetch for one without effect, and drops calls of it.
[[gnu::always_inline]] inline void PreparedScorer::ask_for_longer(size_t number) const {
    auto each = [&](size_t which, auto ask) __attribute__((always_inline)) {
        if (which >= announced_count_) return;
        const Announced &announced = announced_[which % most_announced];
        for (uint32_t i : announced.longer) {
            size_t slot = slot_of(announced.tokens[i].hash, bits_);
            uint32_t id = static_cast<uint32_t>(prepared_.token_table[2 * slot + 1]);
            if (id != unknown_id) ask(&prepared_.token_begins[id]);
        }
    };
    each(number + 2, [](const uint64_t *begin) __attribute__((always_inline)) { __builtin_prefetch(begin); });
    each(number + 1, [&](const uint64_t *begin) __attribute__((always_inline)) {
        __builtin_prefetch(prepared_.token_bytes.data() + *begin);
    });
}

// The hypothesis' words as ids.
void PreparedScorer::number(const Announced &announced) {
    hypothesis_.resize(announced.tokens.size());
    for (size_t i = 0; i < announced.tokens.size(); ++i) hypothesis_[i] = find(announced.tokens[i]);
}

// How often each n-gram of the hypothesis occurs in it, noted where it first ends.
void PreparedScorer::find_repeats() {
    size_t length = hypothesis_.size(), order = static_cast<size_t>(options_.order);
    counts_.assign(length * order, 1);
    hypothesis_.resize((length + 63) / 64 * 64, unknown_id);
    // Most words are new, which a few bits nearly always tell; only those that may have occurred are looked for.
    uint64_t seen[16] = {};
    for (size_t i = 0; i < length; ++i) {
        uint32_t hash = hypothesis_[i] * 0x9E3779B1u >> 22;
        uint64_t bit = uint64_t{1} << (hash % 64), &bits = seen[hash / 64];
        bool maybe = bits & bit;
        bits |= bit;
        if (!maybe || hypothesis_[i] == unknown_id) continue;
        size_t possible = std::min(i + 1, order), noted = 0;
        for (size_t word = 0; word <= i / 64 && noted < possible; ++word) {
            uint64_t same = equal_bits(hypothesis_.data() + word * 64, hypothesis_[i]);
            if (word == i / 64) same &= (uint64_t{1} << (i % 64)) - 1;
            for (; same && noted < possible; same &= same - 1) {
                size_t earlier = word * 64 + static_cast<size_t>(std::countr_zero(same)), agreed = 1;
                while (agreed < std::min(earlier + 1, possible) && hypothesis_[i - agreed] != unknown_id &&
                       hypothesis_[earlier - agreed] == hypothesis_[i - agreed])
                    ++agreed;
                for (; noted < agreed; ++noted) {
                    counts_[i * order + noted] = 0;
                    ++counts_[earlier * order + noted];
                }
            }
        }
    }
    hypothesis_.resize(length);
}

uint32_t PreparedScorer::count_in(const uint64_t *bits, const Reference &reference) const {
    uint32_t count = 0;
    for (size_t word = reference.begin / 64; word <= (reference.end - 1) / 64; ++word) {
        uint64_t here = bits[word];
        if (word == reference.begin / 64) here &= ~uint64_t{0} << (reference.begin % 64);
        if (word == reference.end / 64) here &= (uint64_t{1} << (reference.end % 64)) - 1;
        count += static_cast<uint32_t>(std::popcount(here));
    }
    return count;
}

double PreparedScorer::credit_of(const uint64_t *bits, uint32_t hypothesis_count) const {
    Best best;
    for (const Reference &reference : references_)
        if (uint32_t count = count_in(bits, reference))
            best.add(options_.credit, std::min(count, hypothesis_count), reference.weight);
    return best.credited(options_.credit);
}

// The credit of an n-gram that the hypothesis has once: the largest weight of a reference that holds it.
double PreparedScorer::best_weight_of(const uint64_t *bits) const {
    double best = -std::numeric_limits<double>::infinity();
    size_t at = 0;
    for (size_t word = 0; word < words_; ++word) {
        for (uint64_t here = bits[word]; here; here &= here - 1) {
            uint32_t position = static_cast<uint32_t>(word * 64) + static_cast<uint32_t>(std::countr_zero(here));
            while (references_[at].end <= position) ++at;
            best = std::max(best, references_[at].weight);
        }
    }
    return best;
}

// Segments of few words of bits and the usual orders: every row in registers, and no branch on what is found.
template <size_t order, size_t words> void PreparedScorer::compare_few(double *matches) {
    bool weighted = options_.weighted();
    uint64_t previous[order][words] = {};
    uint64_t found_once[order] = {};
    for (size_t i = 0; i < hypothesis_.size(); ++i) {
        // Unknown words need no care: their id is in no reference.
        uint64_t current[order][words];
        for (size_t word = 0; word < words; ++word)
            current[0][word] = equal_bits(ids_ + word * 64, hypothesis_[i]) & taking_part_[word];
        for (size_t n = 1; n < order; ++n) {
            uint64_t carry = 0;
            for (size_t word = 0; word < words; ++word) {
                current[n][word] = current[0][word] & (previous[n - 1][word] << 1 | carry);
                carry = previous[n - 1][word] >> 63;
            }
        }
        for (size_t n = 0; n < order; ++n) {
            uint64_t any = 0;
            for (size_t word = 0; word < words; ++word) any |= current[n][word];
            uint8_t count = counts_[i * order + n];
            found_once[n] += (any != 0) & (count == 1);
            if ((any != 0) & ((count > 1) | (weighted & (count == 1)))) [[unlikely]]
                matches[n] += count > 1 ? credit_of(current[n], count) : best_weight_of(current[n]);
        }
        std::memcpy(previous, current, sizeof current);
    }
    if (!weighted)
        for (size_t n = 0; n < order; ++n) matches[n] += static_cast<double>(found_once[n]);
}

void PreparedScorer::compare_many(double *matches) {
    size_t order = static_cast<size_t>(options_.order);
    bool weighted = options_.weighted();
    // Two rows an order: of the n-grams that end at the previous word, and at this one.
    rows_.assign(2 * order * words_, 0);
    uint64_t *previous = rows_.data(), *current = rows_.data() + order * words_;
    size_t active = 0;
    for (size_t i = 0; i < hypothesis_.size(); ++i) {
        uint64_t any = 0;
        for (size_t word = 0; word < words_; ++word) {
            current[word] = equal_bits(ids_ + word * 64, hypothesis_[i]) & taking_part_[word];
            any |= current[word];
        }
        size_t grams = std::min(active + 1, order), found = 0;
        while (any) {
            const uint64_t *bits = current + found * words_;
            if (uint8_t count = counts_[i * order + found]; count > 1) matches[found] += credit_of(bits, count);
            else if (count == 1) matches[found] += weighted ? best_weight_of(bits) : 1.0;
            if (++found == grams) break;
            any = 0;
            uint64_t carry = 0;
            const uint64_t *shorter = previous + (found - 1) * words_;
            for (size_t word = 0; word < words_; ++word) {
                uint64_t longer = current[word] & (shorter[word] << 1 | carry);
                carry = shorter[word] >> 63;
                current[found * words_ + word] = longer;
                any |= longer;
            }
        }
        active = found;
        std::swap(previous, current);
    }
}

template <size_t order> void PreparedScorer::compare_short(double *matches) {
    switch (words_) {
        case 1: return compare_few<order, 1>(matches);
        case 2: return compare_few<order, 2>(matches);
        case 3: return compare_few<order, 3>(matches);
        case 4: return compare_few<order, 4>(matches);
        case 5: return compare_few<order, 5>(matches);
        case 6: return compare_few<order, 6>(matches);
        default: return compare_many(matches);
    }
}

void PreparedScorer::compare(double *matches) {
    find_repeats();
    switch (options_.order) {
        case 1: return compare_short<1>(matches);
        case 2: return compare_short<2>(matches);
        case 3: return compare_short<3>(matches);
        case 4: return compare_short<4>(matches);
        default: return compare_many(matches);
    }
}

void PreparedScorer::walk_trie(double *matches) {
    trie_.build(hypothesis_);
    for (const Reference &reference : references_) {
        trie_.walk({ids_ + reference.begin, ids_ + reference.end});
        trie_.settle(reference.weight);
    }
    trie_.collect(matches);
}

void PreparedScorer::score(double *row) {
    ask_for_longer(scored_count_);
    const Announced &announced = announced_[scored_count_++ % most_announced];
    number(announced);
    size_t hypothesis_length = announced.line.size();
    uint64_t first = prepared_.reference_begins[announced.segment];
    uint64_t last = prepared_.reference_begins[announced.segment + 1];
    uint64_t begin = prepared_.id_begins[first];
    ids_ = prepared_.ids.data() + begin;
    id_count_ = static_cast<size_t>(prepared_.id_begins[last] - begin);
    words_ = (id_count_ + 63) / 64;
    references_.clear();
    LengthChoice length(options_.reference_length, hypothesis_length);
    double best_weight = weights_.empty() ? 1.0 : -std::numeric_limits<double>::infinity();
    taking_part_.assign(words_, ~uint64_t{0});
    // The last word reaches into the next segment, or into the padding.
    if (words_) taking_part_.back() >>= 64 * words_ - id_count_;
    for (uint64_t j = first; j < last; ++j) {
        double weight = weights_.empty() ? 1.0 : weights_[j];
        Reference reference{static_cast<uint32_t>(prepared_.id_begins[j] - begin),
                            static_cast<uint32_t>(prepared_.id_begins[j + 1] - begin), weight};
        if (std::isnan(weight)) {
            for (uint32_t i = reference.begin; i < reference.end; ++i) taking_part_[i / 64] &= ~(uint64_t{1} << (i % 64));
            continue;
        }
        references_.push_back(reference);
        best_weight = std::max(best_weight, weight);
        if (!options_.positive_lengths || weight > 0) length.add(reference.end - reference.begin - 1);
    }
    double matches[max_order] = {};
    bool short_enough = hypothesis_.size() <= 255 && hypothesis_.size() * id_count_ <= most_comparisons;
    if (short_enough) compare(matches);
    else walk_trie(matches);
    write_row(options_, row, hypothesis_length, length.value(), matches, best_weight);
}

}  // namespace trubleu
