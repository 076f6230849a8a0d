#include "diversity.hpp"

#include <algorithm>

namespace trubleu {

namespace {

// The n-grams of some texts as numbers, one length after the other.
class NumberedNgrams {
  public:
    explicit NumberedNgrams(const WordTexts &texts) : texts_(texts) {
        begins_.push_back(0);
        for (size_t i = 0; i < texts.size(); ++i) begins_.push_back(begins_.back() + texts[i].size());
        numbers_.assign(texts.ids().size(), nothing);
    }

    // Goes on to n-grams that are a word longer.
    void lengthen() {
        level_ = {};
        for (size_t i = 0; i < texts_.size(); ++i) {
            std::span<const uint32_t> words = texts_[i];
            uint32_t *numbers = numbers_.data() + begins_[i];
            for (size_t k = 0; k + order_ < words.size(); ++k) {
                uint64_t key = NgramLevel::key_of(numbers[k], words[k + order_]);
                numbers[k] = level_.number(key, NgramLevel::hash_of(key));
            }
        }
        ++order_;
    }

    size_t size() const { return level_.edges.size(); }
    std::span<const uint32_t> operator[](size_t text) const {
        size_t words = begins_[text + 1] - begins_[text];
        return {numbers_.data() + begins_[text], words < order_ ? 0 : words - order_ + 1};
    }

  private:
    const WordTexts &texts_;
    size_t order_ = 0;
    std::vector<size_t> begins_;
    std::vector<uint32_t> numbers_;
    NgramLevel::Shard level_;
};

// Calls with each different n-gram of a text and how often the text has it; `counts` are zeros before and afterwards.
template <typename Take> void each_ngram(std::span<const uint32_t> ngrams, std::vector<uint32_t> &counts, Take take) {
    for (uint32_t ngram : ngrams) ++counts[ngram];
    for (uint32_t ngram : ngrams) {
        if (counts[ngram]) take(ngram, counts[ngram]);
        counts[ngram] = 0;
    }
}

// The other length that is closest to each text's; of two the shorter one. 0 if there is no other text.
void closest_lengths(const WordTexts &texts, double *rows, size_t columns) {
    std::vector<size_t> lengths;
    for (size_t i = 0; i < texts.size(); ++i) lengths.push_back(texts[i].size());
    std::sort(lengths.begin(), lengths.end());
    for (size_t i = 0; i < texts.size(); ++i) {
        size_t length = texts[i].size(), closest = 0;
        auto [low, high] = std::equal_range(lengths.begin(), lengths.end(), length);
        if (high - low > 1) closest = length;
        else if (low == lengths.begin()) closest = high == lengths.end() ? 0 : *high;
        else if (high == lengths.end() || length - low[-1] <= *high - length) closest = low[-1];
        else closest = *high;
        rows[i * columns] = static_cast<double>(length);
        rows[i * columns + 1] = static_cast<double>(closest);
    }
}

}  // namespace

void distinct_ngrams(const WordTexts &texts, size_t order, double *rows) {
    NumberedNgrams ngrams(texts);
    for (size_t n = 0; n < order; ++n) ngrams.lengthen();
    std::vector<uint32_t> counts(ngrams.size(), 0);
    for (size_t i = 0; i < texts.size(); ++i)
        for (uint32_t ngram : ngrams[i]) ++counts[ngram];
    for (size_t i = 0; i < texts.size(); ++i) {
        double share = 0.0;
        for (uint32_t ngram : ngrams[i]) share += 1.0 / counts[ngram];
        rows[2 * i] = share;
        rows[2 * i + 1] = static_cast<double>(ngrams[i].size());
    }
}

void self_matches(const WordTexts &texts, size_t order, double *rows) {
    struct Most {
        uint32_t most = 0, second = 0, owner = nothing;  // the text that has an n-gram most often, and the most of all others
    };
    size_t columns = 2 + 2 * order;
    closest_lengths(texts, rows, columns);
    NumberedNgrams ngrams(texts);
    std::vector<Most> found;
    std::vector<uint32_t> counts;
    for (size_t n = 0; n < order; ++n) {
        ngrams.lengthen();
        counts.assign(ngrams.size(), 0);
        found.assign(ngrams.size(), {});
        for (size_t i = 0; i < texts.size(); ++i)
            each_ngram(ngrams[i], counts, [&](uint32_t ngram, uint32_t count) {
                Most &most = found[ngram];
                if (count > most.most) most = {count, most.most, static_cast<uint32_t>(i)};
                else most.second = std::max(most.second, count);
            });
        for (size_t i = 0; i < texts.size(); ++i) {
            uint64_t matches = 0;
            each_ngram(ngrams[i], counts, [&](uint32_t ngram, uint32_t count) {
                const Most &most = found[ngram];
                matches += std::min(count, most.owner == i ? most.second : most.most);
            });
            rows[i * columns + 2 + n] = static_cast<double>(matches);
            rows[i * columns + 2 + order + n] = static_cast<double>(ngrams[i].size());
        }
    }
}

}  // namespace trubleu
