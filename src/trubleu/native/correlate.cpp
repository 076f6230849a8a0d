// Spearman's rho and Kendall's tau-b of many sets of points.
//
// All sums are of whole numbers: ranks are doubled and taken from their mean, which makes the rank of a value the number
// of observations below it less the number above. Only the last square root and division round, so the order of the
// points, threads and the machine change no bit.
//
// Mirrored points enter as (x, y) and as (-x, -y). They need not be written out twice. The rank of -x is the rank of x
// with the other sign, so absolute values are ranked. Of a point i and another one j with counts, turned to x >= 0, the
// four pairs between (i, -i) and (j, -j) agree in sign with y_i by
//     (1 + sgn(|x_i| - |x_j|)) (1 + sgn(|y_i| - |y_j|))
// and those with j in the place of i likewise. Summed over all j, i itself among them for the pair (i, -i), this is
// 4 for each that is smaller in both, 2 for each that is smaller in one and equal in the other, 1 for equals.
#include "correlate.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

#include "python.hpp"

#include <nanobind/stl/optional.h>

namespace trubleu::correlating {

namespace {

using Wide = __int128;

constexpr std::size_t sorted_at_once = 48;      // fewer points than this are sorted by comparing
constexpr std::size_t worth_wide_digits = 4096;  // from here on, fewer passes are worth larger tables
constexpr std::int64_t narrow_sums = std::int64_t{1} << 20;  // observations whose cube fits 64 bits

// Positions 32 - p .. 63 - p: nothing up to and with position p of 32, everything after it.
struct Steps {
    std::uint32_t masks[64] = {};
    constexpr Steps() {
        for (int i = 33; i < 64; ++i) masks[i] = ~std::uint32_t{0};
        masks[32] = 0;
    }
};
constexpr Steps steps;

double quotient(double numerator, double a, double b) {
    // Equal numbers a and b give themselves back, so a perfect correlation is exactly 1.
    return std::clamp(numerator / std::sqrt(a * b), -1.0, 1.0);
}

}  // namespace

Axis::Axis(std::size_t points, bool mirrored)
    : mirrored_(mirrored), keys_(points), packed_(points), spare_(points), order_(points), level_(points),
      sign_(points) {}

void Axis::load(const double *values) {
    if (values == loaded_) return;
    loaded_ = values;
    const std::size_t n = keys_.size();
    levels_ = 0;
    if (n == 0) return;
    constexpr std::uint64_t sign_bit = std::uint64_t{1} << 63;
    std::uint64_t least = ~std::uint64_t{0}, most = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const double value = values[i] + 0.0;  // -0.0 becomes 0.0
        std::uint64_t key = std::bit_cast<std::uint64_t>(value);
        if (mirrored_) {
            key &= ~sign_bit;
        } else {
            key ^= key & sign_bit ? ~std::uint64_t{0} : sign_bit;
        }
        sign_[i] = static_cast<std::int8_t>((value > 0.0) - (value < 0.0));
        keys_[i] = key;
        least = std::min(least, key);
        most = std::max(most, key);
    }
    from_zero_ = mirrored_ && least == 0;
    sort(least, most);
    std::uint64_t before = least;
    std::uint32_t level = 0;
    for (const std::uint32_t point : order_) {
        level += keys_[point] != before;
        before = keys_[point];
        level_[point] = level;
    }
    levels_ = std::size_t{level} + 1;
}

// Sorts by the first 32 bits in which keys differ, then whatever those leave undecided.
void Axis::sort(std::uint64_t least, std::uint64_t most) {
    const std::size_t n = keys_.size();
    const int width = std::bit_width(most - least);
    const int shift = std::max(width - 32, 0);
    for (std::size_t i = 0; i < n; ++i) packed_[i] = ((keys_[i] - least) >> shift) << 32 | i;
    if (n < sorted_at_once) {
        std::sort(packed_.begin(), packed_.end());
    } else {
        sort_by_prefix(std::min(width, 32));
    }
    for (std::size_t i = 0; i < n; ++i) order_[i] = static_cast<std::uint32_t>(packed_[i]);
    if (shift == 0) return;
    for (std::size_t begin = 0, end; begin < n; begin = end) {
        bool equal = true;
        for (end = begin + 1; end < n && packed_[end] >> 32 == packed_[begin] >> 32; ++end) {
            equal = equal && keys_[order_[end]] == keys_[order_[begin]];
        }
        if (equal) continue;
        std::sort(order_.begin() + static_cast<std::ptrdiff_t>(begin), order_.begin() + static_cast<std::ptrdiff_t>(end),
                  [this](std::uint32_t a, std::uint32_t b) { return keys_[a] < keys_[b]; });
    }
}

// A radix sort of packed_ by its `bits` bits from bit 32 on.
void Axis::sort_by_prefix(int bits) {
    const std::size_t n = packed_.size();
    const int digit = n < worth_wide_digits ? 8 : 11;
    const std::uint64_t mask = (std::uint64_t{1} << digit) - 1;
    std::uint32_t starts[2048];
    for (int done = 0; done < bits; done += digit) {
        const int from = 32 + done;
        std::fill(starts, starts + mask + 1, 0U);
        for (std::size_t i = 0; i < n; ++i) ++starts[packed_[i] >> from & mask];
        std::uint32_t start = 0;
        for (std::size_t value = 0; value <= mask; ++value) {
            const std::uint32_t count = starts[value];
            starts[value] = start;
            start += count;
        }
        for (std::size_t i = 0; i < n; ++i) spare_[starts[packed_[i] >> from & mask]++] = packed_[i];
        packed_.swap(spare_);
    }
}

void RunningWeights::reset(std::size_t levels) {
    std::size_t entries = 0, size = levels + 1;
    for (tiers_ = 0;; size = (size + 31) / 32) {
        begins_[tiers_++] = entries;
        entries += (size + 31) / 32 * 32;
        if (size <= 32) break;
    }
    entries_.assign(entries, 0);
}

void RunningWeights::add(std::size_t level, std::uint32_t weight) {
    for (std::size_t tier = 0; tier < tiers_; ++tier, level >>= 5) {
        std::uint32_t *entry = entries_.data() + begins_[tier] + (level & ~std::size_t{31});
        const std::uint32_t *mask = steps.masks + 32 - (level & 31);
        for (std::size_t i = 0; i < 32; ++i) entry[i] += weight & mask[i];
    }
}

Correlator::Correlator(std::size_t points, bool mirrored)
    : points_(points), mirrored_(mirrored), x_(points, mirrored), y_(points, mirrored), weights_(points) {}

Coefficients Correlator::operator()(const double *x, const double *y, const std::int64_t *counts) {
    constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
    weigh(counts);
    if (weight_ == 0) return {undefined, undefined};
    x_.load(x);
    y_.load(y);
    const Spread across = rank(x_, x_ranks_), up = rank(y_, y_ranks_);
    if (across.unequal == 0 || up.unequal == 0) return {undefined, undefined};
    const double together = observations_ <= narrow_sums ? products<std::int64_t>() : products<Wide>();
    const std::int64_t agreement = mirrored_ ? mirrored_concordance() : concordance();
    return {quotient(together, across.squares, up.squares),
            quotient(static_cast<double>(2 * agreement), static_cast<double>(across.unequal),
                     static_cast<double>(up.unequal))};
}

void Correlator::weigh(const std::int64_t *counts) {
    weight_ = 0;
    for (std::size_t i = 0; i < points_; ++i) {
        const std::int64_t count = counts ? counts[i] : 1;
        if (count < 0 || count > most_points - weight_) {
            throw std::invalid_argument("counts must not be negative nor add up to more than 2^30");
        }
        weights_[i] = static_cast<std::uint32_t>(count);
        weight_ += count;
    }
    observations_ = mirrored_ ? 2 * weight_ : weight_;
}

Correlator::Spread Correlator::rank(const Axis &axis, std::vector<std::int64_t> &ranks) {
    level_weights_.assign(axis.levels(), 0);
    for (std::size_t i = 0; i < points_; ++i) level_weights_[axis.level()[i]] += weights_[i];
    ranks.resize(axis.levels());
    std::int64_t below = 0, equal = 0;
    for (std::size_t level = 0; level < axis.levels(); ++level) {
        const std::int64_t here = level_weights_[level];
        const bool zero = axis.from_zero() && level == 0;  // the only value that is its own mirror image
        const std::int64_t above = weight_ - below - here;
        ranks[level] = zero ? 0 : below - above + (mirrored_ ? weight_ : 0);
        equal += (zero ? 4 : mirrored_ ? 2 : 1) * here * here;
        below += here;
    }
    const double squares = observations_ <= narrow_sums ? squares_of<std::int64_t>(ranks) : squares_of<Wide>(ranks);
    return {observations_ * observations_ - equal, squares};
}

template <typename Sum> double Correlator::squares_of(const std::vector<std::int64_t> &ranks) const {
    Sum sum = 0;
    for (std::size_t level = 0; level < ranks.size(); ++level) {
        sum += static_cast<Sum>(level_weights_[level] * ranks[level]) * ranks[level];
    }
    return static_cast<double>(sum);
}

template <typename Sum> double Correlator::products() const {
    Sum sum = 0;
    for (std::size_t i = 0; i < points_; ++i) {
        std::int64_t product = weights_[i] * x_ranks_[x_.level()[i]];
        if (mirrored_) product *= x_.sign()[i] * y_.sign()[i];
        sum += static_cast<Sum>(product) * y_ranks_[y_.level()[i]];
    }
    return static_cast<double>(sum);
}

// Pairs of observations ordered alike in x and y, less those ordered otherwise.
std::int64_t Correlator::concordance() {
    running_.reset(y_.levels());
    std::int64_t sum = 0, before = 0;
    for (std::size_t begin = 0, end; begin < points_; begin = end) {
        const std::uint32_t level = x_.level()[x_.order()[begin]];
        for (end = begin; end < points_ && x_.level()[x_.order()[end]] == level; ++end) {
            const std::uint32_t point = x_.order()[end];
            sum += weights_[point] * (running_.around(y_.level()[point]) - before);
        }
        for (std::size_t at = begin; at < end; ++at) {
            const std::uint32_t point = x_.order()[at];
            running_.add(y_.level()[point], weights_[point]);
            before += weights_[point];
        }
    }
    return sum;
}

// The same of the mirrored points; see the top of this file.
std::int64_t Correlator::mirrored_concordance() {
    running_.reset(y_.levels());
    std::int64_t sum = 0;
    auto add = [&](std::uint32_t point) {
        const std::int64_t sign = x_.sign()[point] * y_.sign()[point];
        sum += sign * weights_[point] * running_.around(y_.level()[point]);
    };
    for (std::size_t begin = 0, end; begin < points_; begin = end) {
        const std::uint32_t level = x_.level()[x_.order()[begin]];
        for (end = begin; end < points_ && x_.level()[x_.order()[end]] == level; ++end) add(x_.order()[end]);
        for (std::size_t at = begin; at < end; ++at) {
            const std::uint32_t point = x_.order()[at];
            running_.add(y_.level()[point], weights_[point]);
        }
        for (std::size_t at = begin; at < end; ++at) add(x_.order()[at]);
    }
    return sum;
}

namespace {

template <typename T> using InMatrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Rows of an array of which one row may stand for all.
template <typename T> struct Rows {
    Rows(const InMatrix<T> &array, std::size_t rows, std::size_t columns)
        : data(array.data()), step(array.shape(0) == 1 ? 0 : columns) {
        if (array.shape(1) != columns || (array.shape(0) != 1 && array.shape(0) != rows)) {
            throw std::invalid_argument("the arrays differ in shape");
        }
    }
    const T *operator[](std::size_t row) const { return data + row * step; }
    const T *data;
    std::size_t step;
};

OutMatrix<double> rank_correlations(const InMatrix<double> &x, const InMatrix<double> &y,
                                    const std::optional<InMatrix<std::int64_t>> &counts, bool mirrored, int threads) {
    const std::size_t points = x.shape(1);
    const std::size_t rows = std::max({x.shape(0) == 1 ? 0 : x.shape(0), y.shape(0) == 1 ? 0 : y.shape(0),
                                       counts && counts->shape(0) != 1 ? counts->shape(0) : 0, std::size_t{1}});
    if (points > static_cast<std::size_t>(most_points)) throw std::invalid_argument("more than 2^30 points");
    const Rows<double> across(x, rows, points), up(y, rows, points);
    std::optional<Rows<std::int64_t>> often;
    if (counts) often.emplace(*counts, rows, points);
    Matrix<double> result(rows, 2);
    {
        nb::gil_scoped_release release;
        const std::size_t block = std::max<std::size_t>(1, std::min<std::size_t>(rows / 64, 4096 / (points + 1)));
        parallel_blocks(
            rows, block, threads, [&] { return Correlator(points, mirrored); },
            [&](Correlator &correlator, std::size_t begin, std::size_t end) {
                for (std::size_t row = begin; row < end; ++row) {
                    const Coefficients found = correlator(across[row], up[row], often ? (*often)[row] : nullptr);
                    result.data[2 * row] = found.spearman;
                    result.data[2 * row + 1] = found.kendall;
                }
            });
    }
    return result.release();
}

}  // namespace

}  // namespace trubleu::correlating

void bind_correlate(nanobind::module_ &m) {
    namespace nb = nanobind;
    m.def("rank_correlations", &trubleu::correlating::rank_correlations, nb::arg("x").noconvert(),
          nb::arg("y").noconvert(), nb::arg("counts").none(), nb::arg("mirrored"), nb::arg("threads"),
          "Row r: Spearman's rho and Kendall's tau-b of the points (x[r], y[r]), NaN where undefined.");
}
