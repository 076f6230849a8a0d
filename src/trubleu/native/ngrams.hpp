// n-gram statistics of hypotheses against references: what both the direct and the prepared kernel share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "text.hpp"

namespace trubleu {

constexpr int max_order = 9;

enum class ReferenceLength : uint8_t { closest, shortest, longest, average };

// How a hypothesis n-gram that several references hold is credited.
enum class Credit : uint8_t {
    counts,    // BLEU: the largest clipped count
    products,  // ΔBLEU: the largest weight times clipped count
    fork2019   // the largest weight times the largest clipped count, maybe from two references
};

struct Options {
    Tokenizer tokenizer = Tokenizer::mteval13a;
    bool lowercase = false;
    int order = 4;
    Credit credit = Credit::counts;
    ReferenceLength reference_length = ReferenceLength::closest;
    bool positive_lengths = false;  // only references of positive weight set the reference length

    bool weighted() const { return credit != Credit::counts; }
    // Columns: hypothesis length, reference length, matches by order, [weighted totals by order,] totals by order.
    size_t columns() const { return 2 + static_cast<size_t>(order) * (weighted() ? 3 : 2); }
};

// Collects reference lengths of one segment and answers with the one the options ask for. All of them are followed: that takes
// less time than a branch for each reference.
class LengthChoice {
  public:
    LengthChoice(ReferenceLength rule, size_t hypothesis) : rule_(rule), hypothesis_(hypothesis) {}

    void add(size_t length) {
        ++count_;
        sum_ += length;
        shortest_ = std::min(shortest_, length);
        longest_ = std::max(longest_, length);
        // The shorter of two that are as close: the distance decides, and then the length.
        uint64_t distance = length > hypothesis_ ? length - hypothesis_ : hypothesis_ - length;
        closest_ = std::min(closest_, distance << 32 | length);
    }

    double value() const {
        if (count_ == 0) return 0.0;
        switch (rule_) {
            case ReferenceLength::closest: return static_cast<uint32_t>(closest_);
            case ReferenceLength::shortest: return static_cast<double>(shortest_);
            case ReferenceLength::longest: return static_cast<double>(longest_);
            case ReferenceLength::average: return static_cast<double>(sum_) / static_cast<double>(count_);
        }
        return 0.0;
    }

  private:
    ReferenceLength rule_;
    size_t hypothesis_;
    size_t count_ = 0, sum_ = 0, shortest_ = std::numeric_limits<size_t>::max(), longest_ = 0;
    uint64_t closest_ = std::numeric_limits<uint64_t>::max();
};

// Writes one row of statistics: see Options::columns for the order of the columns.
inline void write_row(const Options &options, double *row, size_t hypothesis_length, double reference_length,
                      const double *matches, double best_weight) {
    *row++ = static_cast<double>(hypothesis_length);
    *row++ = reference_length;
    for (int n = 0; n < options.order; ++n) *row++ = matches[n];
    // By a maximum of numbers with a sign: GCC makes a branch of a condition here, and short texts are hard to foresee.
    auto total = [&](int n) { return static_cast<double>(std::max(static_cast<int64_t>(hypothesis_length) - n, int64_t{0})); };
    if (options.weighted())
        for (int n = 0; n < options.order; ++n) *row++ = best_weight * total(n);
    for (int n = 0; n < options.order; ++n) *row++ = total(n);
}

// Adds one reference's view of an n-gram to what earlier references gave.
struct Best {
    uint32_t count = 0;
    double value = -std::numeric_limits<double>::infinity();

    void add(Credit credit, uint32_t clipped, double weight) {
        value = std::max(value, credit == Credit::products ? weight * clipped : weight);
        count = std::max(count, clipped);
    }
    double credited(Credit credit) const {
        if (count == 0) return 0.0;
        switch (credit) {
            case Credit::counts: return count;
            case Credit::products: return value;
            case Credit::fork2019: return value * count;
        }
        return 0.0;
    }
};

}  // namespace trubleu
