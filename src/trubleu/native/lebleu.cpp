#include "lebleu.hpp"

#include <bit>

namespace trubleu::lebleu {

namespace {

// How many bits are set below a place.
size_t count_below(const uint64_t *bits, size_t place) {
    size_t count = 0, i = 0;
    for (; 64 * (i + 1) <= place; ++i) count += static_cast<size_t>(std::popcount(bits[i]));
    if (place % 64) count += static_cast<size_t>(std::popcount(bits[i] & ((uint64_t{1} << place % 64) - 1)));
    return count;
}

}  // namespace

Scorer::Scorer(const Options &options, double threshold)
    : options_(options), order_(static_cast<size_t>(options.order)), threshold_(threshold), no_counts_(1, Counted::occurrences),
      words_{no_counts_, {}, {}, {}}, ngrams_(words_, order_) {}

void Scorer::Letters::load(const Line &line) {
    letters.clear();
    words.clear();
    for (const Span &span : line) {
        if (!words.empty()) letters.push_back(' ');
        uint32_t begin = static_cast<uint32_t>(letters.size());
        for (const uint8_t *at = line.bytes() + span.begin, *end = line.bytes() + span.end; at < end;) {
            uint32_t code = *at++;
            size_t more = code < 0xC0 ? 0 : code < 0xE0 ? 1 : code < 0xF0 ? 2 : 3;
            if (more) code &= 0x3Fu >> more;
            for (; more; --more) code = code << 6 | (*at++ & 0x3Fu);
            letters.push_back(code);
        }
        words.push_back({begin, static_cast<uint32_t>(letters.size())});
    }
}

// Gives the letters of the output numbers from 1 on; all that only references have are 0.
void Scorer::number_letters(size_t count) {
    latin_numbers_.fill(0);
    numbers_.clear();
    alphabet_ = 1;
    output_.numbers.clear();
    for (uint32_t letter : output_.letters) {
        uint32_t &number = letter < latin_numbers_.size() ? latin_numbers_[letter] : numbers_[letter];
        if (number == 0) number = static_cast<uint32_t>(alphabet_++);
        output_.numbers.push_back(number);
    }
    for (size_t j = 0; j < count; ++j) {
        references_[j].numbers.clear();
        for (uint32_t letter : references_[j].letters) {
            uint32_t number = 0;
            if (letter < latin_numbers_.size()) number = latin_numbers_[letter];
            else if (auto found = numbers_.find(letter); found != numbers_.end()) number = found->second;
            references_[j].numbers.push_back(number);
        }
    }
}

// The letters of the longest n-gram that begins at a word and wants something.
void Scorer::prepare(size_t place) {
    size_t size = wanting_.back().size, begin = output_.words[place].begin;
    blocks_ = (size + 63) / 64;
    places_.assign(alphabet_ * blocks_, 0);
    for (size_t i = 0; i < size; ++i) places_[output_.numbers[begin + i] * blocks_ + i / 64] |= uint64_t{1} << i % 64;
    rises_.resize(blocks_);
    falls_.resize(blocks_);
}

// The distances of the n-grams that begin at a word of the reference, by the algorithm of Myers and Hyyrö.
void Scorer::compare(const Letters &reference, size_t number, size_t word) {
    std::fill(rises_.begin(), rises_.end(), ~uint64_t{0});
    std::fill(falls_.begin(), falls_.end(), 0);
    size_t begin = reference.words[word].begin, last = std::min(word + reach * order_, reference.words.size()), at = begin;
    for (; word < last; ++word) {
        // An n-gram of m letters is at most min(m, n) / max(m, n) similar to one of n.
        size_t length = reference.end(word) - begin;
        bool possible = false;
        for (const Wanting &ngram : wanting_)
            possible |= ngram.size >= length || static_cast<double>(ngram.size) / static_cast<double>(length) >= ngram.best;
        if (!possible) return;  // nor with more letters
        for (; at < begin + length; ++at) {
            const uint64_t *places = places_.data() + reference.numbers[at] * blocks_;
            uint64_t carry = 0, rise_in = 1, fall_in = 0;
            for (size_t i = 0; i < blocks_; ++i) {
                uint64_t rises = rises_[i], equal = places[i] | falls_[i], hits = equal & rises, sum = rises + hits, more = sum + carry;
                carry = (sum < hits) | (more < carry);
                uint64_t same = (more ^ rises) | equal;  // the distance is that of both texts without their last letters
                uint64_t fall = rises & same, rise = falls_[i] | ~(rises | same);
                uint64_t rise_before = rise << 1 | rise_in, fall_before = fall << 1 | fall_in;
                rise_in = rise >> 63;
                fall_in = fall >> 63;
                falls_[i] = rise_before & same;
                rises_[i] = fall_before | ~(rise_before | same);
            }
        }
        for (Wanting &ngram : wanting_) {
            size_t shorter = std::min(ngram.size, length), longer = std::max(ngram.size, length);
            if (static_cast<double>(shorter) / static_cast<double>(longer) < ngram.best) continue;
            size_t distance = length + count_below(rises_.data(), ngram.size) - count_below(falls_.data(), ngram.size);
            // One division of whole numbers, so that a similarity which equals the threshold is never rounded below it.
            double value = static_cast<double>(longer - distance) / static_cast<double>(longer);
            if (value < ngram.best || distance == 0 || distance == longer) continue;
            if (!ngram.several) ngram.best = value;
            similar_[ngram.order].push_back({value, number, {reference.letters.data() + begin, length}});
        }
    }
}

// The largest similarities, each as often as the reference that has its n-gram most often has it.
double Scorer::earned(const Wanting &ngram) {
    std::vector<Similar> &similar = similar_[ngram.order];
    if (similar.empty()) return 0.0;
    if (!ngram.several) return similar.back().value;
    auto compared = [](const Similar &a, const Similar &b) {
        return std::lexicographical_compare_three_way(a.letters.begin(), a.letters.end(), b.letters.begin(), b.letters.end());
    };
    std::sort(similar.begin(), similar.end(), [&](const Similar &a, const Similar &b) {
        if (a.value != b.value) return a.value > b.value;
        if (auto order = compared(a, b); order != 0) return order < 0;
        return a.reference < b.reference;
    });
    double sum = 0.0;
    size_t missing = ngram.missing;
    for (size_t i = 0; i < similar.size() && missing > 0;) {
        size_t first = i, most = 0, held = 0;
        for (; i < similar.size() && similar[i].value == similar[first].value && compared(similar[i], similar[first]) == 0; ++i) {
            held = i > first && similar[i].reference == similar[i - 1].reference ? held + 1 : 1;
            most = std::max(most, held);
        }
        size_t taken = std::min(missing, most);
        sum += static_cast<double>(taken) * similar[first].value;
        missing -= taken;
    }
    return sum;
}

void Scorer::score(const Text &output, const Text *references, size_t count, double *row) {
    output_line_.load(output, options_.tokenizer, options_.lowercase);
    output_.load(output_line_);
    if (references_.size() < count) references_.resize(count);
    size_t words = output_.words.size();
    ngrams_.load(vocabulary_.number(output_line_));
    LengthChoice length(ReferenceLength::closest, output_.letters.size());
    for (size_t j = 0; j < count; ++j) {
        reference_line_.load(references[j], options_.tokenizer, options_.lowercase);
        references_[j].load(reference_line_);
        length.add(references_[j].letters.size());
        touched_.clear();
        ngrams_.find(vocabulary_.look_up(reference_line_), [&](size_t order, size_t place) {
            if (ngrams_.at(order, place).held++ == 0) touched_.emplace_back(order, place);
        });
        for (auto [order, place] : touched_) {
            TextNgrams::Ngram &ngram = ngrams_.at(order, place);
            ngram.most = std::max(ngram.most, ngram.held);
            ngram.held = 0;
        }
    }
    row[0] = static_cast<double>(output_.letters.size());
    row[1] = length.value();
    double *sums = row + 2;
    for (size_t n = 1; n <= order_; ++n) {
        sums[n - 1] = 0.0;
        sums[order_ + n - 1] = static_cast<double>(ngrams_.count(n));
        for (size_t i = 0; i < ngrams_.count(n); ++i)
            if (ngrams_.first(n, i) == i) sums[n - 1] += std::min(ngrams_.said(n, i), ngrams_.at(n, i).most);
    }
    number_letters(count);
    for (size_t i = 0; i < words; ++i) {
        wanting_.clear();
        for (size_t n = 1; n <= order_ && i + n <= words; ++n) {
            if (ngrams_.first(n, i) != i) continue;
            size_t said = ngrams_.said(n, i), most = ngrams_.at(n, i).most;
            if (said <= most) continue;
            size_t size = output_.end(i + n - 1) - output_.words[i].begin;
            wanting_.push_back({n, size, said - most, most > 0 || said > 1, threshold_});
            similar_[n].clear();
        }
        if (wanting_.empty()) continue;
        prepare(i);
        for (size_t j = 0; j < count; ++j)
            for (size_t k = 0; k < references_[j].words.size(); ++k) compare(references_[j], j, k);
        for (const Wanting &ngram : wanting_) sums[ngram.order - 1] += earned(ngram);
    }
}

}  // namespace trubleu::lebleu
