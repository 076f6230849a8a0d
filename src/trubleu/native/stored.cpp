// What references in files need: checksums, and strings as one heap of bytes.
#include "checksum.hpp"
#include "python.hpp"
#include "utf8.hpp"

namespace trubleu {

namespace {

uint64_t checksum_of(InArray<uint8_t> bytes) {
    nb::gil_scoped_release release;
    return checksum({bytes.data(), bytes.shape(0)});
}

// Strings as UTF-8 one after the other, lone surrogates as three bytes, and where each begins.
nb::tuple pack_texts(nb::tuple strings) {
    size_t count = strings.size();
    std::vector<uint64_t> begins(count + 1, 0);
    std::vector<uint8_t> heap;
    Texts texts(strings, 0, count, false);
    {
        nb::gil_scoped_release release;
        for (size_t i = 0; i < count; ++i) {
            texts.prefetch(i + 12);
            begins[i + 1] = begins[i] + packed_size(texts[i]);
        }
        heap.resize(begins.back());
        for (size_t i = 0; i < count; ++i) {
            texts.prefetch(i + 12);
            pack(texts[i], heap.data() + begins[i]);
        }
    }
    return nb::make_tuple(to_numpy(std::move(heap)), to_numpy(std::move(begins)));
}

nb::object unpack_texts(InArray<uint8_t> heap, InArray<uint64_t> begins) {
    const uint64_t *begin = begins.data();
    size_t count = begins.shape(0);
    bool rises = count > 0 && begin[0] == 0 && begin[count - 1] == heap.shape(0);
    for (size_t i = 1; i < count; ++i) rises = rises && begin[i - 1] <= begin[i];
    if (!rises) throw nb::value_error("begins do not divide the heap");
    nb::object strings = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(count - 1)));
    if (!strings.is_valid()) throw nb::python_error();
    for (size_t i = 0; i + 1 < count; ++i) {
        const char *bytes = reinterpret_cast<const char *>(heap.data() + begin[i]);
        PyObject *text = PyUnicode_DecodeUTF8(bytes, static_cast<Py_ssize_t>(begin[i + 1] - begin[i]), "surrogatepass");
        if (!text) throw nb::python_error();
        set_item(strings, i, text);
    }
    return strings;
}

}  // namespace

}  // namespace trubleu

void bind_stored(nanobind::module_ &m) {
    using namespace trubleu;
    m.def("checksum", &checksum_of, nb::arg("data"));
    m.def("pack_texts", &pack_texts, nb::arg("texts"));
    m.def("unpack_texts", &unpack_texts, nb::arg("heap"), nb::arg("begins"));
}
