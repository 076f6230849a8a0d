#include "weighted.hpp"

#include <cmath>
#include <stdexcept>

namespace trubleu {

namespace {

constexpr size_t most_logarithms = 1 << 14;

}  // namespace

void TextNgrams::load(std::span<const uint32_t> text) {
    if (text.size() >= size_t{1} << 28) throw std::length_error("a text has 2^28 words or more");
    text_.clear();
    for (uint32_t word : text) text_.push_back(words_.class_of(word));
    size_t length = text.size();
    word_slots_.assign(size_t{1} << table_bits(length + 1), {0, nothing});
    slots_.clear();
    used_ = 0;
    ngrams_.assign(order_ * length, {});
    starts_.resize(order_ * length);
    depth_ = 0;
    bool repeats = false;
    for (size_t i = 0; i < length; ++i) {
        auto &slot = word_slots_[word_slot(text_[i])];
        starts_[i] = {static_cast<uint32_t>(i), 0};
        if (slot.place == nothing) slot = {text_[i], static_cast<uint32_t>(i)};
        else repeats = true;
        starts_[i].first = slot.place;
        ++starts_[slot.place].said;
    }
    // What follows an n-gram that occurs once does so, too.
    for (size_t n = 2; repeats && n <= order_; ++n) {
        depth_ = n - 1;
        repeats = false;
        Start *starts = starts_.data() + (n - 1) * length;
        size_t looked_up = 0;
        for (size_t i = 0; i < count(n); ++i) {
            starts[i] = {static_cast<uint32_t>(i), 0};
            looked_up += said(n - 1, first(n - 1, i)) > 1;
        }
        make_room(looked_up);
        for (size_t i = 0; i < count(n); ++i) {
            uint32_t prefix = first(n - 1, i);
            if (said(n - 1, prefix) > 1) {
                uint64_t key = key_of(n - 1, prefix, text_[i + n - 1]);
                Slot<uint64_t> &found = slots_[slot(key)];
                if (found.place == nothing) found = {key, static_cast<uint32_t>(i)};
                else repeats = true;
                starts[i].first = found.place;
            }
            ++starts[starts[i].first].said;
        }
        used_ += looked_up;
    }
    if (repeats) depth_ = order_;
}

void TextNgrams::make_room(size_t more) {
    if (2 * (used_ + more) < slots_.size()) return;
    std::vector<Slot<uint64_t>> old = std::move(slots_);
    bits_ = table_bits(used_ + more + 1);
    slots_.assign(size_t{1} << bits_, {0, nothing});
    for (const Slot<uint64_t> &each : old)
        if (each.place != nothing) slots_[slot(each.key)] = each;
}

// An n-gram that the corpus has more than once has parts that it has more than once.
TextNgrams::Ngram &TextNgrams::resolved(size_t order, size_t place) {
    Ngram &ngram = at(order, first(order, place));
    if (ngram.known != unresolved) return ngram;
    if (order == 1) {
        ngram.known = words_.known[text_[place]];
        ngram.often = words_.often[text_[place]];
        return ngram;
    }
    uint32_t prefix = resolved(order - 1, place).known;
    bool parts = prefix != nothing && resolved(order - 1, place + 1).known != nothing;
    set_known(ngram, order, parts ? words_.counts.level(order).find(prefix, words_.known[text_[place + order - 1]]) : nothing);
    return ngram;
}

void TextNgrams::resolve() {
    constexpr uint64_t no_hash = ~uint64_t{0};
    for (size_t i = 0; i < count(1); ++i) resolved(1, i);
    for (size_t n = 2; n <= order_ && count(n) > 0; ++n) {
        const NgramLevel &level = words_.counts.level(n);
        size_t size = count(n);
        auto known = [&](size_t i) { return at(n - 1, first(n - 1, i)).known; };
        // All are asked for before the first one is looked at.
        hashes_.assign(size, no_hash);
        for (size_t i = 0; i < size; ++i) {
            if (first(n, i) != i) continue;
            at(n, i).known = nothing;
            uint32_t prefix = known(i);
            if (prefix == nothing || known(i + 1) == nothing) continue;
            hashes_[i] = hash_edge(prefix, words_.known[text_[i + n - 1]]);
            level.prefetch(hashes_[i]);
        }
        for (size_t i = 0; i < size; ++i)
            if (hashes_[i] != no_hash) level.prefetch_edge(hashes_[i]);
        for (size_t i = 0; i < size; ++i)
            if (hashes_[i] != no_hash)
                set_known(at(n, i), n, level.find(known(i), words_.known[text_[i + n - 1]], hashes_[i]));
    }
}

WeightedScorer::WeightedScorer(const CorpusWords &words, size_t order) : words_(words), order_(order), ngrams_(words, order) {
    double segments = static_cast<double>(words.counts.segments());
    // The logarithm of a ratio, not a difference of two: only that of 1 is 0 whatever the number of segments.
    size_t count = static_cast<size_t>(std::min<uint64_t>(words.counts.segments() + 1, most_logarithms));
    for (size_t i = 0; i < count; ++i) logarithms_.push_back(std::log(segments / static_cast<double>(std::max(i, size_t{1}))));
}

void WeightedScorer::load_weighted(Text text, double *norms) {
    ngrams_.load(text);
    ngrams_.resolve();
    std::fill_n(norms, order_, 0.0);
    weights_.resize(order_ * text.size());
    for (size_t n = 1; n <= order_; ++n)
        for (size_t i = 0; i < ngrams_.count(n); ++i) {
            if (ngrams_.first(n, i) != i) continue;
            uint32_t often = ngrams_.at(n, i).often;
            double weight = often < logarithms_.size() ? logarithms_[often] : std::log(static_cast<double>(words_.counts.segments()) / often);
            double value = ngrams_.said(n, i) * weight;
            norms[n - 1] += value * value;
            weights_[(n - 1) * text.size() + i] = weight;
        }
}

void WeightedScorer::hold(Text text) {
    touched_.clear();
    ngrams_.find(text, [&](size_t order, uint32_t place) {
        if (ngrams_.at(order, place).held++ == 0) touched_.push_back({static_cast<uint32_t>(order), place});
    });
}

void WeightedScorer::nist(Text output, std::span<const Text> references, double *row) {
    ngrams_.load(output);
    size_t lengths = 0;
    for (Text reference : references) {
        lengths += reference.size();
        hold(reference);
        for (Place each : touched_) {
            TextNgrams::Ngram &ngram = ngrams_.at(each.order, each.place);
            ngram.most = std::max(ngram.most, ngram.held);
            ngram.held = 0;
        }
    }
    *row++ = static_cast<double>(output.size());
    *row++ = references.empty() ? 0.0 : static_cast<double>(lengths) / static_cast<double>(references.size());
    double all = static_cast<double>(std::max<uint64_t>(words_.counts.tokens(), 1));
    for (size_t n = 1; n <= order_; ++n) {
        double told = 0.0;
        for (size_t i = 0; i < ngrams_.count(n); ++i) {
            const TextNgrams::Ngram &ngram = ngrams_.at(n, i);
            if (ngram.most == 0) continue;
            double shorter = n == 1 ? all : ngrams_.resolved(n - 1, i).often, often = ngrams_.resolved(n, i).often;
            if (shorter != often) told += std::min(ngrams_.said(n, i), ngram.most) * std::log2(shorter / often);
        }
        *row++ = told;
    }
    for (size_t n = 1; n <= order_; ++n) *row++ = static_cast<double>(ngrams_.count(n));
}

void WeightedScorer::norms(std::span<const Text> references, double *norms) {
    for (Text reference : references) {
        load_weighted(reference, norms);
        norms += order_;
    }
}

double WeightedScorer::cider(Text output, std::span<const Text> references, const double *norms, double sigma) {
    if (references.empty()) return 0.0;
    double said[max_order];
    load_weighted(output, said);
    size_t count = references.size();
    alike_.assign(order_ * count, 0.0);
    for (size_t i = 0; i < count; ++i) {
        hold(references[i]);
        double products[max_order] = {}, penalty = 1.0;
        for (Place each : touched_) {
            TextNgrams::Ngram &ngram = ngrams_.at(each.order, each.place);
            uint32_t often = ngrams_.said(each.order, each.place);
            if (sigma > 0.0) often = std::min(often, ngram.held);
            double weight = weights_[(each.order - 1) * output.size() + each.place];
            products[each.order - 1] += often * weight * (ngram.held * weight);
            ngram.held = 0;
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
