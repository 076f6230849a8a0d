// Rank correlations of points that may enter several times, in whole numbers up to the last division.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace trubleu::correlating {

// More observations than this could overflow the sums below.
constexpr std::int64_t most_points = std::int64_t{1} << 30;

struct Coefficients {
    double spearman, kendall;  // NaN where undefined
};

// One coordinate of all points: which values are equal and how the different ones are ordered.
class Axis {
  public:
    // With `mirrored` the order is that of the absolute values.
    Axis(std::size_t points, bool mirrored);

    // Does nothing if the same values were loaded last, so that one set of points can be counted in many ways.
    void load(const double *values);

    std::size_t levels() const { return levels_; }
    bool from_zero() const { return from_zero_; }
    const std::vector<std::uint32_t> &order() const { return order_; }
    const std::vector<std::uint32_t> &level() const { return level_; }
    const std::vector<std::int8_t> &sign() const { return sign_; }

  private:
    void sort(std::uint64_t least, std::uint64_t most);
    void sort_by_prefix(int bits);

    bool mirrored_;
    const double *loaded_ = nullptr;
    std::size_t levels_ = 0;
    bool from_zero_ = false;                   // whether the least absolute value is 0
    std::vector<std::uint64_t> keys_;          // whole numbers in the order of the values
    std::vector<std::uint64_t> packed_, spare_;  // the first bits of a key, and which point it belongs to
    std::vector<std::uint32_t> order_;         // points by value
    std::vector<std::uint32_t> level_;         // of each point: how many different values are smaller
    std::vector<std::int8_t> sign_;            // of each point
};

// How much weight lies below a level, while weights are being added. Tiers of 32: a tier's entry is the weight of those
// before it among its 32, so that adding touches 32 neighbours a tier, which vectors do at once, and asking one.
class RunningWeights {
  public:
    void reset(std::size_t levels);
    void add(std::size_t level, std::uint32_t weight);
    std::uint32_t below(std::size_t level) const {
        std::uint32_t sum = 0;
        for (std::size_t tier = 0; tier < tiers_; ++tier, level >>= 5) sum += entries_[begins_[tier] + level];
        return sum;
    }
    // The weight below the level plus the weight up to and with it.
    std::int64_t around(std::size_t level) const { return std::int64_t{below(level)} + below(level + 1); }

  private:
    std::size_t tiers_ = 0;
    std::size_t begins_[8] = {};
    std::vector<std::uint32_t> entries_;
};

class Correlator {
  public:
    Correlator(std::size_t points, bool mirrored);

    // `counts` says how often each point enters; without it, each does once.
    Coefficients operator()(const double *x, const double *y, const std::int64_t *counts);

  private:
    // Sums over the observations of one coordinate.
    struct Spread {
        std::int64_t unequal;  // ordered pairs with different values
        double squares;        // of the ranks, each doubled and less the mean; half of that if mirrored
    };
    void weigh(const std::int64_t *counts);
    Spread rank(const Axis &axis, std::vector<std::int64_t> &ranks);
    template <typename Sum> double squares_of(const std::vector<std::int64_t> &ranks) const;
    template <typename Sum> double products() const;
    std::int64_t concordance();
    std::int64_t mirrored_concordance();

    std::size_t points_;
    bool mirrored_;
    Axis x_, y_;
    std::int64_t weight_ = 0;  // points, counted as often as they enter
    std::int64_t observations_ = 0;
    std::vector<std::uint32_t> weights_;
    std::vector<std::int64_t> level_weights_, x_ranks_, y_ranks_;
    RunningWeights running_;
};

}  // namespace trubleu::correlating
