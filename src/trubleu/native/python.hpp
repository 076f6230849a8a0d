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

// Built for one version of Python, kernels read strings and the items of sequences where Python keeps them. The Stable ABI
// hides both. There an ASCII string is read from its UTF-8 form, which is the same memory, other strings are copied as UTF-32,
// and items are fetched by calls. TRUBLEU_COPY_TEXTS takes this path with any Python, for tests.
#if defined(Py_LIMITED_API) && !defined(TRUBLEU_COPY_TEXTS)
#define TRUBLEU_COPY_TEXTS
#endif

// The items of a list or a tuple.
class Items {
  public:
#ifdef TRUBLEU_COPY_TEXTS
    explicit Items(nb::handle sequence)
        : sequence_(sequence.ptr()), list_(PyList_Check(sequence_)),
          size_(static_cast<size_t>(list_ ? PyList_Size(sequence_) : PyTuple_Size(sequence_))) {}
    PyObject *operator[](size_t index) const {
        Py_ssize_t at = static_cast<Py_ssize_t>(index);
        return list_ ? PyList_GetItem(sequence_, at) : PyTuple_GetItem(sequence_, at);
    }
#else
    explicit Items(nb::handle sequence)
        : items_(PySequence_Fast_ITEMS(sequence.ptr())), size_(static_cast<size_t>(PySequence_Fast_GET_SIZE(sequence.ptr()))) {}
    PyObject *operator[](size_t index) const { return items_[index]; }
#endif
    size_t size() const { return size_; }

  private:
#ifdef TRUBLEU_COPY_TEXTS
    PyObject *sequence_;
    bool list_;
#else
    PyObject *const *items_;
#endif
    size_t size_;
};

// Puts a new reference into a tuple that nobody else has seen yet.
inline void set_item(nb::handle tuple, size_t index, PyObject *item) {
#ifdef TRUBLEU_COPY_TEXTS
    if (PyTuple_SetItem(tuple.ptr(), static_cast<Py_ssize_t>(index), item) != 0) throw nb::python_error();
#else
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(index), item);
#endif
}

// A slice of a tuple of Python strings, usable without the GIL as long as this object lives: the tuple cannot change and keeps
// its strings alive, and strings never change. Reading them where they are needed lets every thread wait for its own cache
// misses.
class Texts {
  public:
    // Lower-casing beyond ASCII is Python's business and done here, while the GIL is held.
    Texts(nb::tuple texts, size_t first, size_t last, bool lowercase);
    explicit Texts(nb::tuple texts) : Texts(texts, 0, texts.size(), false) {}

#ifdef TRUBLEU_COPY_TEXTS
    Text operator[](size_t index) const { return views_[index]; }
    void prefetch(size_t index) const {
        if (index < views_.size()) __builtin_prefetch(views_[index].data);
    }
#else
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
#endif

  private:
    nb::tuple owner_;
    std::vector<nb::object> lowered_;
#ifdef TRUBLEU_COPY_TEXTS
    std::vector<Text> views_;
    std::vector<std::unique_ptr<Py_UCS4[]>> copies_;
#else
    std::vector<PyObject *> replaced_;
    PyObject *const *items_;
    size_t size_;
#endif
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
