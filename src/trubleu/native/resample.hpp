// The hot loops of resampling, written once and compiled for three widths of vectors.
//
// Eight replicates run together, one a lane, in vectors of the compiler that are as wide as the CPU's registers: eight
// lanes in one, or in two of four, or in four of two. Wider vectors are not left to the compiler to split: GCC keeps
// them in memory, six times as slow. The width is chosen once a call (see `run` in resample.cpp). Every lane does the
// same additions in the same order at every width, so the results are the same bits.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define TRUBLEU_X86 1
#else
#define TRUBLEU_X86 0
#endif

namespace trubleu::resampling {

constexpr std::size_t lanes = 8;         // replicates that run together: one AVX-512 register of doubles
constexpr std::size_t block_rows = 256;  // a multiple of 64; a block's weights (16 KiB) stay in the first-level cache
constexpr std::size_t batch_words = 64;  // drawn at once for each lane; they stay there as well

// The finaliser of SplitMix64 (Steele, Lea & Flood 2014), a bijection of 64-bit words.
constexpr std::uint64_t mix(std::uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ULL;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebULL;
  return word ^ (word >> 31);
}

// Keeps apart what is drawn by one seed.
enum class Purpose : std::uint64_t {
  bootstrap = 1,
  randomisation = 2,
  units = 3,           // rows shuffled into units
  items = 4,           // items drawn with replacement, for all tables alike
  units_of_items = 5,  // the rows of such items shuffled into units
  training = 6,        // windows, sub-sampling, negatives and segmentations of training n-gram vectors
  first_vectors = 7,   // what such vectors are before training
};

// Eight xoshiro256++ generators (Blackman & Vigna 2021), one a lane.
struct Generators {
  std::uint64_t state[4][lanes];

  // Replicate b starts from words 4b .. 4b+3 of one SplitMix64 sequence. The sequence repeats no word within its
  // period, so no two replicates start alike and no state is all zero.
  Generators(std::uint64_t seed, Purpose purpose, std::uint64_t first) {
    const std::uint64_t start = mix(mix(seed) + static_cast<std::uint64_t>(purpose));
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      for (std::size_t word = 0; word < 4; ++word) {
        state[word][lane] = mix(start + (4 * (first + lane) + word + 1) * 0x9e3779b97f4a7c15ULL);
      }
    }
  }
};

// Row numbers without bias (Lemire 2019): the high half of (32 random bits x rows), unless the low half is below
// 2^32 mod rows; such bits, fewer than rows in 2^32, are passed over.
struct Die {
  std::uint32_t rows, threshold;

  explicit Die(std::uint32_t rows) : rows(rows), threshold((0U - rows) % rows) {}
  std::uint64_t roll(std::uint32_t bits) const { return std::uint64_t{bits} * rows; }
  bool fair(std::uint64_t product) const { return static_cast<std::uint32_t>(product) >= threshold; }
};

// Vectors of one width; the ...At types are for reading and writing arrays of numbers, which need not be aligned.
// `columns` is how many columns are summed at a time: enough independent additions to hide their latency, few enough
// to stay in registers.
#define TRUBLEU_VECTORS(name, bytes, column_count)                                                   \
  struct name {                                                                                      \
    using Doubles = double __attribute__((vector_size(bytes)));                                      \
    using Words = std::uint64_t __attribute__((vector_size(bytes)));                                 \
    using DoublesAt = double __attribute__((vector_size(bytes), aligned(8), may_alias));             \
    using WordsAt = std::uint64_t __attribute__((vector_size(bytes), aligned(8), may_alias));        \
    static constexpr std::size_t width = bytes / 8, parts = lanes / width, columns = column_count;   \
  };
TRUBLEU_VECTORS(Vectors16, 16, 2)  // SSE2 and NEON
TRUBLEU_VECTORS(Vectors32, 32, 4)  // AVX2
TRUBLEU_VECTORS(Vectors64, 64, 4)  // AVX-512
#undef TRUBLEU_VECTORS

// words[i][lane] = the next word of each generator.
template <class V>
[[gnu::always_inline]] inline void fill_with(Generators &generators, std::uint64_t *words, std::size_t count) {
  for (std::size_t part = 0; part < V::parts; ++part) {
    auto state = [&](std::size_t i) { return reinterpret_cast<typename V::WordsAt *>(generators.state[i]) + part; };
    typename V::Words s0 = *state(0), s1 = *state(1), s2 = *state(2), s3 = *state(3);
    auto *output = reinterpret_cast<typename V::WordsAt *>(words) + part;
    for (std::size_t i = 0; i < count; ++i) {
      const typename V::Words sum = s0 + s3;
      output[i * V::parts] = ((sum << 23) | (sum >> 41)) + s0;
      const typename V::Words shifted = s1 << 17;
      s2 ^= s0;
      s3 ^= s1;
      s1 ^= s2;
      s0 ^= s3;
      s2 ^= shifted;
      s3 = (s3 << 45) | (s3 >> 19);
    }
    *state(0) = s0, *state(1) = s1, *state(2) = s2, *state(3) = s3;
  }
}

// numbers[2i][lane] = the row from the low half of words[i][lane], numbers[2i + 1][lane] the one from its high half.
// False if bits have to be passed over, which is so rare that the caller then draws the batch again one by one.
template <class V>
[[gnu::always_inline]] inline bool roll_with(const Die &die, const std::uint64_t *words, std::size_t count,
                                             std::uint64_t *numbers) {
  constexpr std::uint64_t low_half = 0xffffffffULL;
  const std::uint64_t rows = die.rows, threshold = die.threshold;
  const auto *input = reinterpret_cast<const typename V::WordsAt *>(words);
  auto *output = reinterpret_cast<typename V::WordsAt *>(numbers);
  // A low half below the threshold borrows from the high half when the threshold is subtracted.
  typename V::Words borrowed{};
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t part = 0; part < V::parts; ++part) {
      const typename V::Words word = input[i * V::parts + part];
      const typename V::Words low = (word & low_half) * rows;
      const typename V::Words high = (word >> 32) * rows;
      output[2 * i * V::parts + part] = low >> 32;
      output[(2 * i + 1) * V::parts + part] = high >> 32;
      borrowed |= ((low & low_half) - threshold) | ((high & low_half) - threshold);
    }
  }
  std::uint64_t any = 0;
  for (std::size_t lane = 0; lane < V::width; ++lane) any |= borrowed[lane];
  return any >> 32 == 0;
}

// weights[i][lane] = counts[i][lane]. A small integer in the mantissa of 2^52 makes the double 2^52 + integer,
// exactly and with instructions that every CPU has.
template <class V>
[[gnu::always_inline]] inline void spread_counts_with(const std::uint8_t *counts, std::size_t count, double *weights) {
  constexpr std::uint64_t two_to_52 = std::bit_cast<std::uint64_t>(0x1p52);
  constexpr bool little = std::endian::native == std::endian::little;
  typename V::Words shifts[V::parts];
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    shifts[lane / V::width][lane % V::width] = 8 * (little ? lane : lanes - 1 - lane);
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t eight;
    __builtin_memcpy(&eight, counts + i * lanes, sizeof eight);
    for (std::size_t part = 0; part < V::parts; ++part) {
      const typename V::Words integers = (((typename V::Words{} + eight) >> shifts[part]) & 255) | two_to_52;
      reinterpret_cast<typename V::DoublesAt *>(weights)[i * V::parts + part] =
          reinterpret_cast<const typename V::DoublesAt &>(integers) - 0x1p52;
    }
  }
}

// weights[i][lane] = bit i % 64 of words[i / 64][lane], as 0.0 or 1.0.
template <class V>
[[gnu::always_inline]] inline void spread_bits_with(const std::uint64_t *words, std::size_t count, double *weights) {
  constexpr std::uint64_t one = std::bit_cast<std::uint64_t>(1.0);
  const auto *input = reinterpret_cast<const typename V::WordsAt *>(words);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t part = 0; part < V::parts; ++part) {
      const typename V::Words bits = (input[i / 64 * V::parts + part] >> (i % 64)) & 1;
      reinterpret_cast<typename V::WordsAt *>(weights)[i * V::parts + part] = (0 - bits) & one;
    }
  }
}

template <class V, std::size_t width>
[[gnu::always_inline]] inline void add_columns(const double *rows, std::size_t columns, std::size_t count,
                                               const double *weights, double *sums) {
  const auto *weight = reinterpret_cast<const typename V::DoublesAt *>(weights);
  auto *sum = reinterpret_cast<typename V::DoublesAt *>(sums);
  typename V::Doubles partial[width][V::parts];
  for (std::size_t k = 0; k < width; ++k) {
    for (std::size_t part = 0; part < V::parts; ++part) partial[k][part] = sum[k * V::parts + part];
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t part = 0; part < V::parts; ++part) {
      const typename V::Doubles here = weight[i * V::parts + part];
      for (std::size_t k = 0; k < width; ++k) partial[k][part] += here * rows[i * columns + k];
    }
  }
  for (std::size_t k = 0; k < width; ++k) {
    for (std::size_t part = 0; part < V::parts; ++part) sum[k * V::parts + part] = partial[k][part];
  }
}

// sums[k][lane] += weights[i][lane] * rows[i][k], rows in order.
template <class V>
[[gnu::always_inline]] inline void add_rows_with(const double *rows, std::size_t columns, std::size_t count,
                                                 const double *weights, double *sums) {
  std::size_t k = 0;
  for (; k + V::columns <= columns; k += V::columns) {
    add_columns<V, V::columns>(rows + k, columns, count, weights, sums + k * lanes);
  }
  for (; k < columns; ++k) add_columns<V, 1>(rows + k, columns, count, weights, sums + k * lanes);
}

// The loops for one instruction set. What is inlined into a function takes on its target.
#define TRUBLEU_LOOPS(name, V, target)                                                                                \
  struct name {                                                                                                       \
    target static void fill(Generators &generators, std::uint64_t *words, std::size_t count) {                        \
      fill_with<V>(generators, words, count);                                                                         \
    }                                                                                                                 \
    target static bool roll(const Die &die, const std::uint64_t *words, std::size_t count, std::uint64_t *numbers) {  \
      return roll_with<V>(die, words, count, numbers);                                                                \
    }                                                                                                                 \
    target static void spread_counts(const std::uint8_t *counts, std::size_t count, double *weights) {                \
      spread_counts_with<V>(counts, count, weights);                                                                  \
    }                                                                                                                 \
    target static void spread_bits(const std::uint64_t *words, std::size_t count, double *weights) {                  \
      spread_bits_with<V>(words, count, weights);                                                                     \
    }                                                                                                                 \
    target static void add_rows(const double *rows, std::size_t columns, std::size_t count, const double *weights,    \
                                double *sums) {                                                                       \
      add_rows_with<V>(rows, columns, count, weights, sums);                                                          \
    }                                                                                                                 \
  };
TRUBLEU_LOOPS(PlainLoops, Vectors16, )
#if TRUBLEU_X86
TRUBLEU_LOOPS(Avx2Loops, Vectors32, __attribute__((target("avx2"))))
TRUBLEU_LOOPS(Avx512Loops, Vectors64, __attribute__((target("avx512f"))))
#endif
#undef TRUBLEU_LOOPS

}  // namespace trubleu::resampling
