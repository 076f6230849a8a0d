// Dot products of many pairs of vectors, with sums in one fixed order whatever the width of registers.
#pragma once

#include <algorithm>
#include <cstddef>

namespace trubleu {

// Eight sums run side by side, one over every eighth place, and are added up at the end; registers of four numbers hold
// them in two halves. So all builds give the same bits, and how pairs are grouped into blocks does not matter either.
class Dots {
  public:
    static constexpr size_t lanes = 8;

    // out[i * stride + j] = rows[i] · columns[j]; `dimensions` is a multiple of `lanes`.
    static void all(const float *const *rows, size_t row_count, const float *const *columns, size_t column_count,
                    size_t dimensions, float *out, size_t stride) {
        size_t j = 0;
        for (; j + block_columns <= column_count; j += block_columns) {
            // Vectors lie all over a large matrix: those of the next block are fetched meanwhile.
            for (size_t next = j + block_columns; next < std::min(j + 2 * block_columns, column_count); ++next)
                for (size_t k = 0; k < dimensions; k += cache_line) __builtin_prefetch(columns[next] + k);
            column_of_blocks<block_columns>(rows, row_count, columns + j, dimensions, out + j, stride);
        }
        for (; j < column_count; ++j) column_of_blocks<1>(rows, row_count, columns + j, dimensions, out + j, stride);
    }

    // out[i] = left[i] · right[i]
    static void each(const float *const *left, const float *const *right, size_t count, size_t dimensions, float *out) {
        size_t i = 0;
        for (; i + together <= count; i += together) {
            Floats sums[together][parts] = {};
            for (size_t k = 0; k < dimensions; k += width)
                for (size_t j = 0; j < together; ++j)
                    sums[j][k / width % parts] += *reinterpret_cast<const FloatsAt *>(left[i + j] + k) *
                                                  *reinterpret_cast<const FloatsAt *>(right[i + j] + k);
            for (size_t j = 0; j < together; ++j) out[i + j] = folded(sums[j]);
        }
        for (; i < count; ++i) block<1, 1>(left + i, right + i, dimensions, out + i, 1);
    }

  private:
#if defined(__AVX__)
    static constexpr size_t vector_bytes = 32, block_rows = 4, block_columns = 2;
#else
    static constexpr size_t vector_bytes = 16, block_rows = 2, block_columns = 2;
#endif
    static constexpr size_t cache_line = 64 / sizeof(float);
    static constexpr size_t together = 4;  // additions wait for each other, so several sums are made at a time
    static constexpr size_t width = vector_bytes / sizeof(float), parts = lanes / width;
    using Floats = float __attribute__((vector_size(vector_bytes)));
    using FloatsAt = float __attribute__((vector_size(vector_bytes), aligned(4), may_alias));

    template <size_t breadth>
    static void column_of_blocks(const float *const *rows, size_t row_count, const float *const *columns, size_t dimensions,
                                 float *out, size_t stride) {
        size_t i = 0;
        for (; i + block_rows <= row_count; i += block_rows)
            block<block_rows, breadth>(rows + i, columns, dimensions, out + i * stride, stride);
        if constexpr (block_rows > 2)
            for (; i + block_rows / 2 <= row_count; i += block_rows / 2)
                block<block_rows / 2, breadth>(rows + i, columns, dimensions, out + i * stride, stride);
        for (; i < row_count; ++i) block<1, breadth>(rows + i, columns, dimensions, out + i * stride, stride);
    }

    template <size_t height, size_t breadth>
    static void block(const float *const *rows, const float *const *columns, size_t dimensions, float *out, size_t stride) {
        Floats sums[height][breadth][parts] = {};
        for (size_t k = 0; k < dimensions; k += lanes) {
            for (size_t part = 0; part < parts; ++part) {
                Floats right[breadth];
                for (size_t j = 0; j < breadth; ++j)
                    right[j] = *reinterpret_cast<const FloatsAt *>(columns[j] + k + part * width);
                for (size_t i = 0; i < height; ++i) {
                    Floats left = *reinterpret_cast<const FloatsAt *>(rows[i] + k + part * width);
                    for (size_t j = 0; j < breadth; ++j) sums[i][j][part] += left * right[j];
                }
            }
        }
        for (size_t i = 0; i < height; ++i)
            for (size_t j = 0; j < breadth; ++j) out[i * stride + j] = folded(sums[i][j]);
    }

    static float folded(const Floats *sums) {
        float four[4];
        for (size_t lane = 0; lane < 4; ++lane) {
            size_t other = lane + 4;
            four[lane] = sums[0][lane] + sums[other / width][other % width];
        }
        return (four[0] + four[2]) + (four[1] + four[3]);
    }
};

}  // namespace trubleu
