// What the bindings share: Python strings as kernel texts, arrays out, threads.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "text.hpp"

namespace trubleu {

namespace nb = nanobind;

template <typename T> using InArray = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using FloatMatrix = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T> using OutArray = nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig>;
template <typename T> using OutMatrix = nb::ndarray<nb::numpy, T, nb::ndim<2>, nb::c_contig>;

// A matrix that NumPy will own.
template <typename T> struct Matrix {
    explicit Matrix(size_t rows, size_t columns) : rows(rows), columns(columns), data(new T[rows * columns]) {}
    OutMatrix<T> release() {
        T *raw = data.release();
        nb::capsule owner(raw, [](void *p) noexcept { delete[] static_cast<T *>(p); });
        return OutMatrix<T>(raw, {rows, columns}, owner);
    }
    size_t rows, columns;
    std::unique_ptr<T[]> data;
};

// A vector handed over to NumPy without a copy.
template <typename T> OutArray<T> to_numpy(std::vector<T> &&values) {
    auto *held = new std::vector<T>(std::move(values));
    nb::capsule owner(held, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return OutArray<T>(held->data(), {held->size()}, owner);
}

inline nb::object text_of(std::string_view bytes) {
    nb::object text = nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogatepass"));
    if (!text.is_valid()) throw nb::python_error();
    return text;
}

// A slice of a tuple of Python strings, usable without the GIL: the tuple cannot change and keeps its strings alive, and
// strings never change. Reading them where they are needed lets every thread wait for its own cache misses.
class Texts {
  public:
    // Lower-casing beyond ASCII is Python's business and done here, while the GIL is held.
    Texts(nb::tuple texts, size_t first, size_t last, bool lowercase);

    Text operator[](size_t index) const {
        PyObject *object = items_[index];
        if (!PyUnicode_Check(object)) throw nb::type_error("texts must be strings");
#if PY_VERSION_HEX < 0x030C0000
        // Only C code of old can make such strings, and completing them takes the GIL.
        if (!PyUnicode_IS_READY(object)) throw nb::type_error("a text is a legacy string that was never made ready");
#endif
        return Text{PyUnicode_DATA(object), static_cast<size_t>(PyUnicode_GET_LENGTH(object)),
                    static_cast<uint8_t>(PyUnicode_KIND(object)), PyUnicode_IS_ASCII(object) != 0};
    }

    // Asks for the memory of a string that will soon be read.
    void prefetch(size_t index) const {
        if (index >= size_) return;
        const char *object = reinterpret_cast<const char *>(items_[index]);
        __builtin_prefetch(object);
        __builtin_prefetch(object + 64);
        __builtin_prefetch(object + 128);
    }

  private:
    nb::tuple owner_;
    std::vector<nb::object> lowered_;
    std::vector<PyObject *> replaced_;
    PyObject *const *items_;
    size_t size_;
};

// Runs work(begin, end, worker) over blocks of [0, count). Which worker takes which block does not matter to any caller.
// `make` builds each worker's scratch memory.
template <typename Make, typename Work> void parallel_blocks(size_t count, size_t block, int threads, Make make, Work work) {
    std::atomic<size_t> next{0};
    std::exception_ptr failure;
    std::mutex guard;
    auto run = [&] {
        try {
            auto worker = make();
            for (size_t begin; (begin = next.fetch_add(block)) < count;) work(worker, begin, std::min(begin + block, count));
        } catch (...) {
            std::lock_guard lock(guard);
            if (!failure) failure = std::current_exception();
        }
    };
    size_t useful = (count + block - 1) / block;
    std::vector<std::thread> others;
    try {
        for (size_t i = 1; i < std::min(useful, static_cast<size_t>(std::max(threads, 1))); ++i) others.emplace_back(run);
    } catch (const std::exception &) {
        // No more threads are to be had, or no memory for them; those there are, and this one, do all the work.
    }
    run();
    for (std::thread &other : others) other.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace trubleu
