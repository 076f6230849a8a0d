// Sums of rows drawn at random: the bootstrap (rows with replacement) and randomisation (every row in or out).
//
// A replicate is a vector of small weights, one a row (how often it was drawn, or its bit), and its sums are the rows
// times the weights. Eight replicates run together: every row is read once for the eight, and the inner loop is as
// wide for two columns as for two hundred.
//
// The same seed gives the same bits on every machine. Replicate b has a generator of its own, seeded from (seed, b),
// so neither threads nor slices nor lanes matter; each sum adds its rows in order, so the width of the CPU's vectors
// does not matter; and CMakeLists.txt switches fused multiply-add off.

#include "resample.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

namespace nb = nanobind;

namespace {

using namespace trubleu::resampling;

// How often each row is drawn in eight resamples.
//
// A byte a count is enough: up to 255 rows no count can pass 255, and with more, the chance that any row is drawn 256
// times is below rows / 256!, less than one in 10^490. Bytes keep the counts of 100,000 rows in the second-level
// cache.
template <class Loops>
class Resamples {
 public:
  static constexpr Purpose purpose = Purpose::bootstrap;

  explicit Resamples(std::size_t rows) : die_(static_cast<std::uint32_t>(rows)), counts_(rows * lanes) {}

  void begin(Generators generators) {
    std::fill(counts_.begin(), counts_.end(), std::uint8_t{0});
    std::size_t missing[lanes];
    std::fill(missing, missing + lanes, std::size_t{die_.rows});
    while (const std::size_t most = *std::max_element(missing, missing + lanes)) {
      const std::size_t batch = std::clamp(most / 2, std::size_t{1}, batch_words);
      Loops::fill(generators, words_, batch);
      const std::size_t least = *std::min_element(missing, missing + lanes);
      if (least >= 2 * batch && Loops::roll(die_, words_, batch, numbers_)) {
        for (std::size_t i = 0; i < 2 * batch * lanes; i += lanes) {
          for (std::size_t lane = 0; lane < lanes; ++lane) ++counts_[numbers_[i + lane] * lanes + lane];
        }
        for (std::size_t &left : missing) left -= 2 * batch;
      } else {
        for (std::size_t lane = 0; lane < lanes; ++lane) draw(lane, batch, missing[lane]);
      }
    }
  }

  void next(std::size_t first, std::size_t count, double *weights) {
    Loops::spread_counts(counts_.data() + first * lanes, count, weights);
  }

 private:
  // One by one: low half, then high half of each word, until nothing is missing.
  void draw(std::size_t lane, std::size_t batch, std::size_t &missing) {
    for (std::size_t half = 0; half < 2 * batch && missing > 0; ++half) {
      const std::uint64_t word = words_[half / 2 * lanes + lane];
      const std::uint64_t product = die_.roll(static_cast<std::uint32_t>(word >> (half % 2 * 32)));
      if (!die_.fair(product)) continue;
      ++counts_[(product >> 32) * lanes + lane];
      --missing;
    }
  }

  Die die_;
  std::vector<std::uint8_t> counts_;  // [rows][lanes]
  alignas(64) std::uint64_t words_[batch_words * lanes];
  alignas(64) std::uint64_t numbers_[2 * batch_words * lanes];
};

// One bit a row for eight trials; nothing is kept, the bits are made as the rows go by.
template <class Loops>
class Swaps {
 public:
  static constexpr Purpose purpose = Purpose::randomisation;

  explicit Swaps(std::size_t) {}

  void begin(const Generators &generators) { generators_ = generators; }

  void next(std::size_t, std::size_t count, double *weights) {
    alignas(64) std::uint64_t words[block_rows / 64 * lanes];
    Loops::fill(generators_, words, (count + 63) / 64);
    Loops::spread_bits(words, count, weights);
  }

 private:
  Generators generators_{0, purpose, 0};
};

struct Job {
  const double *data;
  std::size_t rows, columns;
  std::size_t replicates;
  std::uint64_t first, seed;
  double *output;  // [replicates][columns]
};

// Takes groups of eight replicates until none is left.
template <class Weights, class Loops>
void work(const Job &job, std::atomic<std::size_t> &next_group) {
  Weights weights(job.rows);
  alignas(64) double block[block_rows * lanes];
  std::vector<double> sums(job.columns * lanes);
  for (;;) {
    const std::size_t start = next_group.fetch_add(1) * lanes;
    if (start >= job.replicates) return;
    std::fill(sums.begin(), sums.end(), 0.0);
    weights.begin(Generators(job.seed, Weights::purpose, job.first + start));
    for (std::size_t row = 0; row < job.rows; row += block_rows) {
      const std::size_t count = std::min(block_rows, job.rows - row);
      weights.next(row, count, block);
      Loops::add_rows(job.data + row * job.columns, job.columns, count, block, sums.data());
    }
    const std::size_t wanted = std::min(lanes, job.replicates - start);
    for (std::size_t lane = 0; lane < wanted; ++lane) {
      double *output = job.output + (start + lane) * job.columns;
      for (std::size_t k = 0; k < job.columns; ++k) output[k] = sums[k * lanes + lane];
    }
  }
}

template <class Weights, class Loops>
void run_threads(const Job &job, std::size_t threads) {
  const std::size_t groups = (job.replicates + lanes - 1) / lanes;
  const std::size_t workers = std::min(threads, groups);
  std::atomic<std::size_t> next_group{0};
  std::exception_ptr error;
  std::mutex error_guard;
  auto worker = [&] {
    try {
      work<Weights, Loops>(job, next_group);
    } catch (...) {
      const std::lock_guard lock(error_guard);
      error = std::current_exception();
    }
  };
  std::vector<std::thread> helpers;
  helpers.reserve(workers);
  try {
    while (helpers.size() + 1 < workers) helpers.emplace_back(worker);
  } catch (const std::exception &) {
    // The system gives no more threads, or no memory for them: the ones there are do the work.
  }
  worker();
  for (std::thread &helper : helpers) helper.join();
  if (error) std::rethrow_exception(error);
}

template <template <class> class Weights>
void run(const Job &job, std::size_t threads) {
#if TRUBLEU_X86
  if (__builtin_cpu_supports("avx512f")) return run_threads<Weights<Avx512Loops>, Avx512Loops>(job, threads);
  if (__builtin_cpu_supports("avx2")) return run_threads<Weights<Avx2Loops>, Avx2Loops>(job, threads);
#endif
  run_threads<Weights<PlainLoops>, PlainLoops>(job, threads);
}

using Statistics = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Sums = nb::ndarray<nb::numpy, double, nb::ndim<2>>;

void check_rows(std::size_t rows) {
  if (rows == 0 || rows > std::numeric_limits<std::uint32_t>::max()) {
    throw std::invalid_argument("resampling needs between 1 and 2^32 - 1 rows");
  }
}

template <template <class> class Weights>
Sums sums_of(const Statistics &statistics, std::size_t replicates, std::uint64_t first, std::uint64_t seed,
             std::size_t threads) {
  const std::size_t rows = statistics.shape(0), columns = statistics.shape(1);
  check_rows(rows);
  auto output = std::make_unique<double[]>(replicates * columns);
  const Job job{statistics.data(), rows, columns, replicates, first, seed, output.get()};
  {
    const nb::gil_scoped_release release;
    run<Weights>(job, threads);
  }
  nb::capsule owner(output.get(), [](void *data) noexcept { delete[] static_cast<double *>(data); });
  return Sums(output.release(), {replicates, columns}, owner);
}

// How often each row enters each resample, as `resample_sums` draws them.
Sums counts_of(std::size_t rows, std::size_t replicates, std::uint64_t first, std::uint64_t seed) {
  check_rows(rows);
  auto output = std::make_unique<double[]>(replicates * rows);
  {
    const nb::gil_scoped_release release;
    Resamples<PlainLoops> resamples(rows);
    std::vector<double> weights(rows * lanes);
    for (std::size_t start = 0; start < replicates; start += lanes) {
      resamples.begin(Generators(seed, Purpose::bootstrap, first + start));
      resamples.next(0, rows, weights.data());
      const std::size_t wanted = std::min(lanes, replicates - start);
      for (std::size_t lane = 0; lane < wanted; ++lane) {
        double *counts = output.get() + (start + lane) * rows;
        for (std::size_t row = 0; row < rows; ++row) counts[row] = weights[row * lanes + lane];
      }
    }
  }
  nb::capsule owner(output.get(), [](void *data) noexcept { delete[] static_cast<double *>(data); });
  return Sums(output.release(), {replicates, rows}, owner);
}

}  // namespace

void bind_resample(nb::module_ &m) {
  m.def("resample_sums", &sums_of<Resamples>, nb::arg("statistics").noconvert(), nb::arg("resamples"), nb::arg("first"),
        nb::arg("seed"), nb::arg("threads"),
        "Row b: the sum of as many rows as there are, drawn with replacement by generator first + b.");
  m.def("resample_counts", &counts_of, nb::arg("rows"), nb::arg("resamples"), nb::arg("first"), nb::arg("seed"),
        "Row b: how often each row enters the sum b of resample_sums.");
  m.def("permute_sums", &sums_of<Swaps>, nb::arg("difference").noconvert(), nb::arg("trials"), nb::arg("first"),
        nb::arg("seed"), nb::arg("threads"), "Row t: the sum of the rows whose bit, by generator first + t, is 1.");
}
