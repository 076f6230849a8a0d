#include "weighted.hpp"

#include <bit>
#include <cmath>
#include <stdexcept>

namespace trubleu {

namespace {

constexpr size_t most_logarithms = 1 << 14;

}  // namespace

void TextNgrams::load(std::span<const uint32_t> text) {
    if (text.size() >= size_t{1} << 28) throw std::length_error("a text has 2^28 words or more");
    for (uint32_t word : text_) places_[word] = nothing;
    size_t length = text.size();
    text_.assign(text.begin(), text.end());
    uint32_t highest = 0;
    for (uint32_t &word : text_) highest = std::max(highest, word = words_.class_of(word));
    if (highest >= places_.size()) places_.resize(size_t{highest} + 1, nothing);
    slots_.clear();
    used_ = 0;
    ngrams_.assign(order_ * length, {});
    starts_.resize(order_ * length);
    depth_ = 0;
    bool repeats = false;
    for (size_t i = 0; i < length; ++i) {
        uint32_t &place = places_[text_[i]];
        if (place == nothing) place = static_cast<uint32_t>(i);
        else repeats = true;
        starts_[i] = {place, 0};
        ++starts_[place].said;
    }
    // What follows an n-gram that occurs once does so, too.
    repeated_.clear();
    for (size_t i = 0; repeats && i < length; ++i)
        if (starts_[starts_[i].first].said > 1) repeated_.push_back(static_cast<uint32_t>(i));
    for (size_t n = 2; !repeated_.empty() && n <= order_; ++n) {
        depth_ = n - 1;
        make_room(repeated_.size());
        Start *starts = starts_.data() + (n - 1) * length;
        for (size_t i = 0; i < count(n); ++i) starts[i] = {static_cast<uint32_t>(i), 1};
        while (!repeated_.empty() && repeated_.back() >= count(n)) repeated_.pop_back();
        for (uint32_t i : repeated_) {
            uint64_t key = key_of(n - 1, first(n - 1, i), text_[i + n - 1]);
            Slot &found = slots_[slot(key)];
            if (found.place == nothing) {
                found = {key, i};
            } else {
                starts[i] = {found.place, 0};
                ++starts[found.place].said;
            }
        }
        std::erase_if(repeated_, [&](uint32_t i) { return starts[starts[i].first].said == 1; });
    }
    if (!repeated_.empty()) depth_ = order_;
}

void TextNgrams::make_room(size_t more) {
    size_t before = used_;
    used_ += more;
    if (2 * used_ < slots_.size()) return;
    bits_ = table_bits(used_ + 1);
    std::vector<Slot> old;
    if (before > 0) old.swap(slots_);
    slots_.assign(size_t{1} << bits_, {0, nothing});
    for (const Slot &each : old)
        if (each.place != nothing) slots_[slot(each.key)] = each;
}

void CorpusLookup::load(std::span<const std::span<const uint32_t>> texts) {
    size_ = 0;
    for (std::span<const uint32_t> text : texts) size_ += text.size();
    found_.resize(order_ * size_);
    asked_.resize(size_);
    size_t place = 0;
    for (std::span<const uint32_t> text : texts)
        for (uint32_t word : text) {
            uint32_t each = words_.class_of(word);
            found_[place++] = {words_.known[each], words_.often[each]};
        }
}

void CorpusLookup::look_up(size_t order) {
    const NgramLevel &level = words_.counts.level(order);
    Found *found = found_.data() + (order - 1) * size_;
    std::span<const Asked> asked(asked_.data(), count_);
    for (const Asked &each : asked) level.prefetch_edge(hash_edge(each.prefix, each.word));
    for (const Asked &each : asked)
        if (uint32_t number = level.find(each.prefix, each.word); number != nothing) found[each.place] = {number, level[number].count};
    count_ = 0;
}

void WeightedScorer::load_weighted(std::span<const Text> texts, double *norms) {
    double segments = static_cast<double>(words_.counts.segments());
    if (logarithms_.empty()) {
        // The logarithm of a ratio, not a difference of two: only that of 1 is 0 whatever the number of segments.
        size_t count = static_cast<size_t>(std::min<uint64_t>(words_.counts.segments() + 1, most_logarithms));
        for (size_t i = 0; i < count; ++i) logarithms_.push_back(std::log(segments / static_cast<double>(std::max(i, size_t{1}))));
    }
    corpus_.load(texts);
    for (size_t n = 2; n <= order_; ++n) {
        size_t begin = 0;
        for (Text text : texts) {
            for (size_t i = 0; i + n <= text.size(); ++i) corpus_.ask(n, begin + i, begin + i, begin + i + 1);
            begin += text.size();
        }
        corpus_.look_up(n);
    }
    std::fill_n(norms, order_ * texts.size(), 0.0);
    size_t begin = 0;
    for (Text text : texts) {
        ngrams_.load(text);
        weights_.resize(order_ * text.size());
        for (size_t n = 1; n <= order_; ++n)
            for (size_t i = 0; i < ngrams_.count(n); ++i) {
                if (ngrams_.first(n, i) != i) continue;
                uint32_t often = corpus_.often(n, begin + i);
                double weight = often < logarithms_.size() ? logarithms_[often] : std::log(segments / often);
                double value = ngrams_.said(n, i) * weight;
                norms[n - 1] += value * value;
                weights_[(n - 1) * text.size() + i] = weight;
            }
        norms += order_;
        begin += text.size();
    }
}

void WeightedScorer::nist(Text output, std::span<const Text> references, double *row) {
    ngrams_.load(output);
    size_t lengths = 0, blocks = output.size() / 64 + 1;
    matched_.assign(order_ * blocks, 0);
    for (uint32_t i = 0; i < references.size(); ++i) {
        lengths += references[i].size();
        ngrams_.hold(references[i], i, [&](size_t order, uint32_t place) {
            matched_[(order - 1) * blocks + place / 64] |= uint64_t{1} << (place % 64);
        });
    }
    *row++ = static_cast<double>(output.size());
    *row++ = references.empty() ? 0.0 : static_cast<double>(lengths) / static_cast<double>(references.size());
    corpus_.load({&output, 1});
    double all = static_cast<double>(std::max<uint64_t>(words_.counts.tokens(), 1));
    for (size_t n = 1; n <= order_; ++n) {
        places_.clear();
        for (size_t i = 0; i < blocks; ++i)
            for (uint64_t bits = matched_[(n - 1) * blocks + i]; bits != 0; bits &= bits - 1)
                places_.push_back(static_cast<uint32_t>(64 * i) + static_cast<uint32_t>(std::countr_zero(bits)));
        // The parts of a match are matches, which were looked up before, where they first begin.
        if (n > 1) {
            for (uint32_t i : places_) corpus_.ask(n, i, ngrams_.first(n - 1, i), ngrams_.first(n - 1, i + 1));
            corpus_.look_up(n);
        }
        double told = 0.0;
        for (uint32_t i : places_) {
            double shorter = n == 1 ? all : corpus_.often(n - 1, ngrams_.first(n - 1, i)), often = corpus_.often(n, i);
            if (shorter != often) told += std::min(ngrams_.said(n, i), ngrams_.at(n, i).most) * std::log2(shorter / often);
        }
        *row++ = told;
    }
    for (size_t n = 1; n <= order_; ++n) *row++ = static_cast<double>(ngrams_.count(n));
}

void WeightedScorer::norms(std::span<const Text> references, double *norms) { load_weighted(references, norms); }

double WeightedScorer::cider(Text output, std::span<const Text> references, const double *norms, double sigma) {
    if (references.empty()) return 0.0;
    double said[max_order];
    load_weighted({&output, 1}, said);
    size_t count = references.size();
    alike_.assign(order_ * count, 0.0);
    for (size_t i = 0; i < count; ++i) {
        touched_.clear();
        ngrams_.hold(references[i], static_cast<uint32_t>(i), [&](size_t order, uint32_t place) {
            if (ngrams_.at(order, place).held == 1) touched_.push_back({static_cast<uint32_t>(order), place});
        });
        double products[max_order] = {}, penalty = 1.0;
        for (Place each : touched_) {
            const TextNgrams::Ngram &ngram = ngrams_.at(each.order, each.place);
            uint32_t often = ngrams_.said(each.order, each.place);
            if (sigma > 0.0) often = std::min(often, ngram.held);
            double weight = weights_[(each.order - 1) * output.size() + each.place];
            products[each.order - 1] += often * weight * (ngram.held * weight);
        }
        if (sigma > 0.0) {
            double longer = (static_cast<double>(output.size()) - static_cast<double>(references[i].size())) / sigma;
            penalty = std::exp(-(longer * longer) / 2);
        }
        for (size_t n = 0; n < order_; ++n) {
            double both = std::sqrt(said[n] * norms[i * order_ + n]);
            if (both > 0.0) alike_[n * count + i] = penalty * (products[n] / both);
        }
    }
    double sum = 0.0;
    for (size_t n = 0; n < order_; ++n) {
        // In the order of their size, so that the sum does not depend on which reference comes first.
        auto begin = alike_.begin() + static_cast<ptrdiff_t>(n * count), end = begin + static_cast<ptrdiff_t>(count);
        std::sort(begin, end);
        double all = 0.0;
        for (auto at = begin; at != end; ++at) all += *at;
        sum += all / static_cast<double>(count);
    }
    return 10.0 * sum / static_cast<double>(order_);
}

}  // namespace trubleu
