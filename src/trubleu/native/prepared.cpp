#include "prepared.hpp"

#include <bit>
#include <stdexcept>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace trubleu {

namespace {

// Which of 64 places hold a word.
uint64_t places_of(uint32_t word, const uint32_t *ids) {
    uint64_t places = 0;
#if defined(__AVX2__)
    const __m256i wanted = _mm256_set1_epi32(static_cast<int>(word));
    auto eight = [&](size_t i) { return _mm256_cmpeq_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(ids + i)), wanted); };
    // Packing takes four places from each of its sides in turn.
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (size_t i = 0; i < block; i += 32) {
        __m256i low = _mm256_packs_epi32(eight(i), eight(i + 8)), high = _mm256_packs_epi32(eight(i + 16), eight(i + 24));
        __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
        places |= uint64_t{static_cast<uint32_t>(_mm256_movemask_epi8(bytes))} << i;
    }
#elif defined(__SSE2__)
    const __m128i wanted = _mm_set1_epi32(static_cast<int>(word));
    auto four = [&](size_t i) { return _mm_cmpeq_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(ids + i)), wanted); };
    for (size_t i = 0; i < block; i += 16) {
        __m128i low = _mm_packs_epi32(four(i), four(i + 4)), high = _mm_packs_epi32(four(i + 8), four(i + 12));
        places |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high)))} << i;
    }
#else
    for (size_t i = 0; i < block; ++i) places |= uint64_t{ids[i] == word} << i;
#endif
    return places;
}

// The length of the reference closest to the hypothesis, as `LengthChoice` has it, in a loop that compilers make vectors of:
// a segment has fewer than 2^31 tokens, so twice a distance, and whether it is that of a longer one, take 32 bits.
double closest_length(const uint64_t *begins, size_t count, size_t hypothesis) {
    uint32_t closest = std::numeric_limits<uint32_t>::max();
    for (size_t j = 0; j < count; ++j) {
        int32_t longer = static_cast<int32_t>(begins[j + 1] - begins[j] - 1 - hypothesis);
        closest = std::min(closest, static_cast<uint32_t>(std::abs(longer)) << 1 | (longer > 0));
    }
    int64_t distance = closest >> 1;
    return static_cast<double>(static_cast<int64_t>(hypothesis) + (closest & 1 ? distance : -distance));
}

size_t blocks_of(size_t places) { return (places + block - 1) / block; }

}  // namespace

PreparedBuilder::PreparedBuilder(const Options &options) : options_(options) {
    data_.token_table.assign(size_t{2} << bits_, unknown_id);
    data_.token_begins.push_back(0);
    data_.id_begins.push_back(0);
    data_.reference_begins.push_back(0);
    data_.filter.push_back(0);
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
    hashes_.clear();
    for (size_t j = 0; j < count; ++j) {
        line_.load(references[j], options_.tokenizer, options_.lowercase);
        data_.ids.push_back(separator);
        for (const Span &span : line_) {
            Token token(line_.bytes() + span.begin, span.size());
            data_.ids.push_back(intern(token));
            hashes_.push_back(Token::short_hash(token.word, token.size));
        }
        data_.id_begins.push_back(data_.ids.size());
    }
    if (data_.ids.size() - begin > 0x7FFFFFFF) throw std::length_error("one segment has more than 2^31 tokens");
    data_.reference_begins.push_back(data_.id_begins.size() - 1);
    SegmentFilter filter{begin, data_.ids.size() - begin};
    data_.filter.resize(SegmentFilter::size(data_.ids.size()));
    for (uint64_t hash : hashes_) data_.filter[filter.bit(hash) / 64] |= uint64_t{1} << filter.bit(hash) % 64;
}

// Afterwards the builder is a new one.
PreparedData PreparedBuilder::finish() {
    data_.ids.insert(data_.ids.end(), id_padding, separator);
    PreparedData data = std::move(data_);
    *this = PreparedBuilder(options_);
    return data;
}

PreparedScorer::PreparedScorer(const Options &options, const Prepared &prepared, std::span<const double> weights)
    : options_(options), prepared_(prepared), all_weights_(weights),
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
    uint64_t begin = prepared_.id_begins[prepared_.reference_begins[segment]];
    uint64_t end = prepared_.id_begins[prepared_.reference_begins[segment + 1]];
    SegmentFilter filter{begin, end - begin};
    if (next.tokens.size() < next.line.size()) {
        next.tokens.resize(2 * next.line.size(), Token(next.line.bytes(), 1));
        next.indices.resize(next.tokens.size());
        next.longer.resize(next.tokens.size());
    }
    // Each index is written, and then maybe written over: which words references have is hard to foresee.
    Token *tokens = next.tokens.data();
    uint32_t *indices = next.indices.data(), *longer = next.longer.data();
    const uint64_t *bits = prepared_.filter.data();
    const uint8_t *bytes = next.line.bytes();
    const Span *spans = next.line.begin();
    size_t count = 0, longer_count = 0;
    for (uint32_t i = 0, all = static_cast<uint32_t>(next.line.size()); i < all; ++i) {
        uint32_t size = spans[i].size();
        uint64_t bit = filter.bit(Token::short_hash(Token::first_bytes(bytes + spans[i].begin, size), size));
        indices[count] = i;
        count += bits[bit / 64] >> bit % 64 & 1;
    }
    for (size_t i = 0; i < count; ++i) {
        const Span &span = spans[indices[i]];
        tokens[i] = Token(bytes + span.begin, span.size());
        __builtin_prefetch(&prepared_.token_table[2 * slot_of(tokens[i].hash, bits_)]);
        longer[longer_count] = static_cast<uint32_t>(i);
        longer_count += tokens[i].size > 8;
    }
    next.count = count;
    next.longer_count = longer_count;
    for (size_t i = 0; i < prefetched_lines; ++i) __builtin_prefetch(prepared_.ids.data() + begin + 16 * i);
}

// Tokens of more than eight bytes are also compared with the heap, which takes two further looks into memory; this asks
// for what they will find, supposing that the first slot is the right one, as it nearly always is.
// Inlined always: GCC takes a function that does nothing but prefetch for one without effect, and drops calls of it.
[[gnu::always_inline]] inline void PreparedScorer::ask_for_longer(size_t number) const {
    auto each = [&](size_t which, auto ask) __attribute__((always_inline)) {
        if (which >= announced_count_) return;
        const Announced &announced = announced_[which % most_announced];
        for (size_t i = 0; i < announced.longer_count; ++i) {
            size_t slot = slot_of(announced.tokens[announced.longer[i]].hash, bits_);
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
    length_ = announced.line.size();
    // Whole blocks: filling a number of places that is not known takes branches that are hard to foresee.
    size_t places = blocks_of(length_) * block;
    if (hypothesis_.size() < places) hypothesis_.resize(2 * places);
    for (size_t i = 0; i < places; i += block) std::fill_n(hypothesis_.data() + i, block, unknown_id);
    if (known_.size() < announced.indices.size()) known_.resize(announced.indices.size());
    known_count_ = 0;
    for (size_t i = 0; i < announced.count; ++i) {
        uint32_t index = announced.indices[i], id = find(announced.tokens[i]);
        hypothesis_[index] = id;
        known_[known_count_] = index;
        known_count_ += id != unknown_id;
    }
}

// Leaves out the places of references without a weight, and those behind the last one, which are other segments'.
void PreparedScorer::choose_places() {
    own_ = blocks_of(id_count_);
    row_size_ = own_ + blocks_of(length_);
    taking_part_.assign(own_, ~uint64_t{0});
    if (id_count_ % block) taking_part_.back() = (uint64_t{1} << id_count_ % block) - 1;
    for (size_t j = 0; j < reference_count_ && weights_; ++j)
        for (uint64_t i = begins_[j]; std::isnan(weights_[j]) && i < begins_[j + 1]; ++i)
            taking_part_[(i - begins_[0]) / block] &= ~(uint64_t{1} << (i - begins_[0]) % block);
}

// The credit of an n-gram that is worth as much as the references that have it.
double PreparedScorer::weighted_credit(const uint64_t *ends, uint32_t own_count) const {
    Best best;
    uint32_t count = 0;
    size_t reference = 0;
    auto settle = [&] {
        if (count) best.add(options_.credit, std::min(count, own_count), weights_ ? weights_[reference] : 1.0);
        count = 0;
    };
    for (size_t i = 0; i < own_; ++i) {
        for (uint64_t places = ends[i]; places; places &= places - 1) {
            size_t place = i * block + static_cast<size_t>(std::countr_zero(places));
            for (; place >= begins_[reference + 1] - begins_[0]; ++reference) settle();
            ++count;
        }
    }
    settle();
    return best.credited(options_.credit);
}

// How often the reference that has an n-gram most often has it, if that is not above `most`.
//
// All references at once, by addition: places where the n-gram ends and separators are 0 and all others 1, so a bit that is added
// behind an end is carried to the next end or separator. An end that is reached this way is not the first of its reference;
// one that is reached from such an end is not the second; and so on.
uint32_t PreparedScorer::largest_count(const uint64_t *ends, uint32_t most) {
    if (later_.size() < own_) later_.resize(2 * own_);
    const uint64_t *from = ends;
    uint32_t count = 1;
    for (uint64_t any = 1; any && count < most; count += any != 0, from = later_.data()) {
        uint64_t shifted = 0, carried = 0;
        any = 0;
        for (size_t k = 0; k < own_; ++k) {
            uint64_t others = ~(ends[k] | places_of(separator, ids_ + k * block)), behind = from[k] << 1 | shifted;
            shifted = from[k] >> (block - 1);
            uint64_t sum = others + behind, all = sum + carried;
            carried = (sum < others) | (all < sum);
            any |= later_[k] = all & ends[k];
        }
    }
    return count;
}

// `few`: how many blocks the places of references take, for a hypothesis of one block; 0 for any number.
template <size_t few> void PreparedScorer::compare(double *matches) {
    const size_t own = few ? few : own_, size = few ? few + 1 : row_size_, order = static_cast<size_t>(options_.order);
    if (rows_.size() < 2 * order * size) rows_.resize(4 * order * size);
    uint64_t *here = rows_.data(), *before = here + order * size;
    size_t next = ~size_t{0}, known = 0;  // orders of n-grams that end right before the word `next`, which there is none of yet
    uint64_t found[max_order] = {}, once[max_order] = {};
    for (size_t each = 0; each < known_count_; ++each) {
        size_t i = known_[each];
        uint32_t word = hypothesis_[i];
        uint64_t joined = i == next ? ~uint64_t{0} : 0;
        next = i + 1;
        found[0] = 0;
        for (size_t k = 0; k < own; ++k) found[0] |= here[k] = places_of(word, ids_ + k * block) & taking_part_[k];
        for (size_t k = own; k < size; ++k) here[k] = places_of(word, hypothesis_.data() + (k - own) * block);
        // Where longer n-grams end: where this word stands behind their first ones. Whether there are bigrams is hard to foresee, so
        // they are always looked for; of those that are longer there mostly are none.
        size_t n = 1;
        for (; n < order && (n == 1 || (n <= known && found[n - 1])); ++n) {
            const uint64_t *shorter = before + (n - 1) * size;
            uint64_t *ends = here + n * size, carried = 0;
            found[n] = 0;
            for (size_t k = 0; k < own; ++k) {
                found[n] |= ends[k] = ((shorter[k] & joined) << 1 | carried) & here[k];
                carried = (shorter[k] & joined) >> (block - 1);
            }
            carried = 0;
            for (size_t k = own; k < size; ++k) {
                ends[k] = ((shorter[k] & joined) << 1 | carried) & here[k];
                carried = (shorter[k] & joined) >> (block - 1);
            }
        }
        known = n;
        auto own_count = [&](const uint64_t *ends) {
            uint32_t count = 0;
            for (size_t k = own; k < size; ++k) count += static_cast<uint32_t>(std::popcount(ends[k]));
            return count;
        };
        // Of what the hypothesis has once it is enough to know that some reference has it.
        if (!options_.weighted() && own_count(here) == 1) {
            for (size_t m = 0; m < n; ++m) once[m] += found[m] != 0;
        } else {
            for (size_t m = 0; m < n && found[m]; ++m) {
                const uint64_t *ends = here + m * size;
                size_t first = own;
                while (!ends[first]) ++first;
                if ((first - own) * block + static_cast<size_t>(std::countr_zero(ends[first])) != i) continue;
                uint32_t count = own_count(ends);
                matches[m] += options_.weighted() ? weighted_credit(ends, count) : largest_count(ends, count);
            }
        }
        std::swap(here, before);
    }
    for (size_t m = 0; m < order; ++m) matches[m] += static_cast<double>(once[m]);
}

void PreparedScorer::walk_trie(double *matches) {
    trie_.build({hypothesis_.data(), length_});
    for (size_t j = 0; j < reference_count_; ++j) {
        double weight = weights_ ? weights_[j] : 1.0;
        if (std::isnan(weight)) continue;
        trie_.walk({ids_ + (begins_[j] - begins_[0]), ids_ + (begins_[j + 1] - begins_[0])});
        trie_.settle(weight);
    }
    trie_.collect(matches);
}

void PreparedScorer::score(double *row) {
    ask_for_longer(scored_count_);
    const Announced &announced = announced_[scored_count_++ % most_announced];
    number(announced);
    uint64_t first = prepared_.reference_begins[announced.segment];
    reference_count_ = static_cast<size_t>(prepared_.reference_begins[announced.segment + 1] - first);
    begins_ = &prepared_.id_begins[first];
    weights_ = all_weights_.empty() ? nullptr : all_weights_.data() + first;
    ids_ = prepared_.ids.data() + begins_[0];
    id_count_ = static_cast<size_t>(begins_[reference_count_] - begins_[0]);
    double reference_length, best_weight = 1.0;
    if (!weights_ && options_.reference_length == ReferenceLength::closest && reference_count_) {
        reference_length = closest_length(begins_, reference_count_, length_);
    } else {
        LengthChoice length(options_.reference_length, length_);
        if (weights_) best_weight = -std::numeric_limits<double>::infinity();
        for (size_t j = 0; j < reference_count_; ++j) {
            double weight = weights_ ? weights_[j] : 1.0;
            if (std::isnan(weight)) continue;
            best_weight = std::max(best_weight, weight);
            if (!options_.positive_lengths || weight > 0) length.add(begins_[j + 1] - begins_[j] - 1);
        }
        reference_length = length.value();
    }
    double matches[max_order] = {};
    choose_places();
    if (length_ * (id_count_ + length_) > most_comparisons) walk_trie(matches);
    else if (row_size_ - own_ != 1 || own_ == 0 || own_ > 4) compare<0>(matches);
    else if (own_ == 1) compare<1>(matches);
    else if (own_ == 2) compare<2>(matches);
    else if (own_ == 3) compare<3>(matches);
    else compare<4>(matches);
    write_row(options_, row, length_, reference_length, matches, best_weight);
}

}  // namespace trubleu
