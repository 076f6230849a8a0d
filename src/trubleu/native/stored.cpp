// What references in files need: checksums, and strings as one heap of bytes.
#include "checksum.hpp"
#include "python.hpp"

namespace trubleu {

namespace {

uint64_t checksum_of(InArray<uint8_t> bytes) {
    nb::gil_scoped_release release;
    return checksum({bytes.data(), bytes.shape(0)});
}

// How many bytes a code point takes; lone surrogates take three like all others of their size.
inline size_t utf8_size(uint32_t code) { return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4; }

template <typename Unit> size_t utf8_size(const Text &text) {
    const Unit *units = static_cast<const Unit *>(text.data);
    size_t size = 0;
    for (size_t i = 0; i < text.length; ++i) size += utf8_size(uint32_t{units[i]});
    return size;
}

template <typename Unit> void write_utf8(const Text &text, uint8_t *to) {
    const Unit *units = static_cast<const Unit *>(text.data);
    for (size_t i = 0; i < text.length; ++i) {
        uint32_t code = units[i];
        size_t size = utf8_size(code);
        constexpr uint8_t leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
        for (size_t at = size; --at;) {
            to[at] = static_cast<uint8_t>(0x80 | (code & 0x3F));
            code >>= 6;
        }
        to[0] = static_cast<uint8_t>(leads[size] | code);
        to += size;
    }
}

size_t packed_size(const Text &text) {
    if (text.ascii) return text.length;
    return text.width == 1 ? utf8_size<uint8_t>(text) : text.width == 2 ? utf8_size<uint16_t>(text) : utf8_size<uint32_t>(text);
}

void pack(const Text &text, uint8_t *to) {
    // Not memcpy, which may not be given the null pointer of an empty heap, even to copy nothing.
    if (text.ascii) std::copy_n(static_cast<const uint8_t *>(text.data), text.length, to);
    else if (text.width == 1) write_utf8<uint8_t>(text, to);
    else if (text.width == 2) write_utf8<uint16_t>(text, to);
    else write_utf8<uint32_t>(text, to);
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
        PyTuple_SET_ITEM(strings.ptr(), static_cast<Py_ssize_t>(i), text);
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
