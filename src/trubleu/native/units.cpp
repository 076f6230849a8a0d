// Sums of units: the rows of a table are put in a random order, which is cut into units of consecutive rows.
//
// Draw d has generators of its own, seeded from what the draw depends on and nothing else, so neither threads nor slices
// matter; a unit's rows are added in the order in which they were drawn, column by column, so vectors do not either.
#include "units.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

#include "python.hpp"

#include <nanobind/stl/optional.h>

namespace trubleu::drawing {

namespace {

constexpr std::uint32_t no_row = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t order_numbers = 1024 * 1024;  // of the draws that are worked on together: four megabytes
constexpr std::size_t most_draws_together = 32;

// As wide as the registers; GCC keeps wider vectors in memory.
#if defined(__AVX__)
constexpr std::size_t vector_bytes = 32;
#else
constexpr std::size_t vector_bytes = 16;
#endif

}  // namespace

Draws::Draws(std::size_t rows, const std::int64_t *items, std::size_t universe, std::uint64_t seed, std::uint64_t stream)
    : rows_(rows), shuffles_(start_of(seed, items ? Purpose::units_of_items : Purpose::units, stream)),
      sequences_(start_of(seed, Purpose::items)) {
    if (!items) return;
    row_of_item_.assign(universe, no_row);
    for (std::size_t row = 0; row < rows; ++row) {
        const std::int64_t item = items[row];
        if (item < 0 || static_cast<std::uint64_t>(item) >= universe) throw std::invalid_argument("an unknown item");
        std::uint32_t &place = row_of_item_[static_cast<std::size_t>(item)];
        if (place != no_row) throw std::invalid_argument("an item has two rows");
        place = static_cast<std::uint32_t>(row);
    }
}

void Draws::draw(std::uint64_t number, std::span<std::uint32_t> order) const {
    if (row_of_item_.empty()) {
        std::iota(order.begin(), order.end(), 0U);
    } else {
        Generator sequence(sequences_, number);
        const auto universe = static_cast<std::uint32_t>(row_of_item_.size());
        for (std::size_t taken = 0; taken < rows_;) {
            const std::uint32_t row = row_of_item_[sequence.below(universe)];
            order[taken] = row;
            taken += row != no_row;
        }
    }
    Generator(shuffles_, number).shuffle(order);
}

Tiles::Tiles(const double *table, std::size_t rows, std::size_t columns)
    : rows_(rows), columns_(columns), packed_(count() * rows * width) {
    for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t tile = 0; tile < count(); ++tile) {
            const std::size_t first = tile * width;
            std::copy_n(table + row * columns + first, std::min(width, columns - first),
                        packed_.data() + (tile * rows + row) * width);
        }
    }
}

void Tiles::add(std::size_t tile, std::span<const std::uint32_t> order, std::size_t unit, double *sums) const {
    constexpr std::size_t parts = width / (vector_bytes / sizeof(double));
    using Doubles = double __attribute__((vector_size(vector_bytes)));
    using DoublesAt = double __attribute__((vector_size(vector_bytes), aligned(8), may_alias));
    const double *data = packed_.data() + tile * rows_ * width;
    const std::size_t first = tile * width, wanted = std::min(width, columns_ - first);
    for (std::size_t begin = 0; begin < order.size(); begin += unit, sums += columns_) {
        const std::size_t end = std::min(begin + unit, order.size());
        Doubles sum[parts] = {};
        for (std::size_t at = begin; at < end; ++at) {
            const auto *row = reinterpret_cast<const DoublesAt *>(data + order[at] * width);
            for (std::size_t part = 0; part < parts; ++part) sum[part] += row[part];
        }
        const auto *values = reinterpret_cast<const double *>(sum);
        std::copy_n(values, wanted, sums + first);
    }
}

namespace {

using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Sums = nb::ndarray<nb::numpy, double, nb::ndim<3>, nb::c_contig>;

Sums unit_sums(const Table &table, const std::optional<InArray<std::int64_t>> &items, std::size_t universe,
               std::size_t unit, bool partial, std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
               std::size_t count, int threads) {
    const std::size_t rows = table.shape(0), columns = table.shape(1);
    if (rows == 0 || rows >= no_row || (items && universe >= no_row)) {
        throw std::invalid_argument("units need between 1 and 2^32 - 2 rows and items");
    }
    if (unit < 1 || unit > rows) throw std::invalid_argument("a unit needs between 1 and all rows");
    if (items && items->shape(0) != rows) throw std::invalid_argument("one item a row is needed");
    const std::size_t units = partial ? (rows + unit - 1) / unit : rows / unit;
    const std::size_t used = std::min(units * unit, rows);
    auto output = std::make_unique<double[]>(count * units * columns);
    {
        nb::gil_scoped_release release;
        const Draws draws(rows, items ? items->data() : nullptr, universe, seed, stream);
        const Tiles tiles(table.data(), rows, columns);
        const std::size_t workers = static_cast<std::size_t>(std::max(threads, 1));
        const std::size_t together = std::clamp(std::min(order_numbers / rows, count / (2 * workers)), std::size_t{1},
                                                most_draws_together);
        parallel_blocks(
            count, together, threads, [&] { return std::vector<std::uint32_t>(together * rows); },
            [&](std::vector<std::uint32_t> &orders, std::size_t begin, std::size_t end) {
                const std::span<std::uint32_t> all(orders);
                for (std::size_t draw = begin; draw < end; ++draw) {
                    draws.draw(first + draw, all.subspan((draw - begin) * rows, rows));
                }
                for (std::size_t tile = 0; tile < tiles.count(); ++tile) {
                    for (std::size_t draw = begin; draw < end; ++draw) {
                        tiles.add(tile, all.subspan((draw - begin) * rows, used), unit,
                                  output.get() + draw * units * columns);
                    }
                }
            });
    }
    nb::capsule owner(output.get(), [](void *data) noexcept { delete[] static_cast<double *>(data); });
    return Sums(output.release(), {count, units, columns}, owner);
}

}  // namespace

}  // namespace trubleu::drawing

void bind_units(nanobind::module_ &m) {
    namespace nb = nanobind;
    m.def("unit_sums", &trubleu::drawing::unit_sums, nb::arg("rows").noconvert(), nb::arg("items").none(),
          nb::arg("universe"), nb::arg("unit"), nb::arg("partial"), nb::arg("seed"), nb::arg("stream"),
          nb::arg("first"), nb::arg("count"), nb::arg("threads"),
          "[d, u]: the sum of the rows that draw first + d puts into unit u.");
}
