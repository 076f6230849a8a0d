#include "mine.hpp"

#include <bit>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "checksum.hpp"
#include "mine_python.hpp"
#include "utf8.hpp"

namespace trubleu::mining {

void Shard::damaged(const char *what) { throw std::invalid_argument(what); }

uint64_t word_hash(std::string_view word) {
    // The token looks at whole words of memory behind its end.
    thread_local std::vector<uint8_t> padded;
    padded.assign(word.size() + 16, 0);
    if (!word.empty()) std::memcpy(padded.data(), word.data(), word.size());
    return Token(padded.data(), static_cast<uint32_t>(word.size())).hash;
}

uint64_t text_hash(std::string_view text) {
    return checksum({reinterpret_cast<const uint8_t *>(text.data()), text.size()}) ^ text.size() * 0x9E3779B97F4A7C15u;
}

void Shard::check() const {
    size_t slots = word_slots.size();
    bool fits = rows <= most_rows && !word_begins.empty() && std::has_single_bit(slots) && slots >= 16 &&
                slots > words() && word_begins.back() == word_bytes.size() && bag_begins.size() == 2 * rows + 1 &&
                response_hashes.size() == rows && response_begins.size() == rows + 1;
    for (const Field &field : fields)
        fits = fits && field.begins.size() == words() + 1 && field.limits.size() == words() &&
               field.begins.back() == field.postings.size();
    if (!fits) damaged("its arrays do not fit each other");
}

std::string_view Shard::word(uint32_t number) const {
    if (number >= words()) damaged("there is no word of this number");
    size_t begin = word_begins[number], end = word_begins[number + 1];
    if (begin > end || end > word_bytes.size()) damaged("a word lies outside");
    return {reinterpret_cast<const char *>(word_bytes.data()) + begin, end - begin};
}

uint32_t Shard::find(std::string_view word) const {
    unsigned bits = static_cast<unsigned>(std::countr_zero(word_slots.size()));
    size_t mask = word_slots.size() - 1, slot = slot_of(word_hash(word), bits);
    for (size_t tried = 0; tried <= mask && word_slots[slot]; ++tried, slot = (slot + 1) & mask) {
        uint32_t number = word_slots[slot] - 1;
        if (this->word(number) == word) return number;
    }
    return no_word;
}

std::span<const uint32_t> Shard::list(int field, uint32_t number) const {
    const Field &its = fields[field];
    if (number >= words()) damaged("there is no word of this number");
    size_t begin = its.begins[number], end = its.begins[number + 1];
    if (begin > end || end > its.postings.size() || end - begin > rows) damaged("the rows of a word lie outside");
    return its.postings.subspan(begin, end - begin);
}

std::string_view Shard::response(size_t row) const {
    uint64_t begin = response_begins[row], end = response_begins[row + 1];
    if (begin > end || end > response_bytes.size()) damaged("a response lies outside");
    return {reinterpret_cast<const char *>(response_bytes.data()) + begin, end - begin};
}

namespace {

int checked_field(int field) {
    if (field != 0 && field != 1) throw nb::value_error("fields are 0 and 1");
    return field;
}

OutArray<uint32_t> numbers(const ShardHandle &handle, nb::tuple words) {
    std::vector<uint32_t> found(words.size());
    Texts texts(words, 0, words.size(), false);
    nb::gil_scoped_release release;
    std::vector<uint8_t> packed;
    for (size_t i = 0; i < found.size(); ++i) {
        Text text = texts[i];
        packed.resize(packed_size(text));
        pack(text, packed.data());
        found[i] = handle.shard().find({reinterpret_cast<const char *>(packed.data()), packed.size()});
    }
    nb::gil_scoped_acquire acquire;
    return to_numpy(std::move(found));
}

OutArray<int64_t> frequencies(const ShardHandle &handle, int field, InArray<uint32_t> numbers) {
    checked_field(field);
    std::vector<int64_t> counts(numbers.shape(0), 0);
    for (size_t i = 0; i < counts.size(); ++i) {
        uint32_t number = numbers.data()[i];
        if (number != no_word) counts[i] = static_cast<int64_t>(handle.shard().list(field, number).size());
    }
    return to_numpy(std::move(counts));
}

OutArray<uint32_t> bag(const ShardHandle &handle, int field, size_t row) {
    checked_field(field);
    if (row >= handle.shard().rows) throw nb::index_error("there is no such row");
    auto words = handle.shard().bag(field, row);
    return to_numpy(std::vector<uint32_t>(words.begin(), words.end()));
}

nb::object word(const ShardHandle &handle, uint32_t number) {
    std::string_view bytes = handle.shard().word(number);
    PyObject *text = PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogatepass");
    if (!text) throw nb::python_error();
    return nb::steal(text);
}

}  // namespace

ShardHandle::ShardHandle(nb::dict arrays, size_t rows) {
    shard_.rows = rows;
    shard_.word_bytes = view<uint8_t>(arrays, "word_bytes");
    shard_.word_begins = view<uint32_t>(arrays, "word_begins");
    shard_.word_slots = view<uint32_t>(arrays, "word_slots");
    const char *names[2][3] = {{"message_begins", "message_postings", "message_limits"},
                               {"response_begins", "response_postings", "response_limits"}};
    for (int field = 0; field < 2; ++field) {
        shard_.fields[field].begins = view<uint32_t>(arrays, names[field][0]);
        shard_.fields[field].postings = view<uint32_t>(arrays, names[field][1]);
        shard_.fields[field].limits = view<uint32_t>(arrays, names[field][2]);
    }
    shard_.bags = view<uint32_t>(arrays, "bags");
    shard_.bag_begins = view<uint32_t>(arrays, "bag_begins");
    shard_.response_hashes = view<uint64_t>(arrays, "response_hashes");
    shard_.response_bytes = view<uint8_t>(arrays, "response_text_bytes");
    shard_.response_begins = view<uint64_t>(arrays, "response_text_begins");
    shard_.check();
}

}  // namespace trubleu::mining

void bind_mine_shard(nanobind::module_ &m) {
    using namespace trubleu;
    using namespace trubleu::mining;
    nb::class_<ShardHandle>(m, "MineShard")
        .def(nb::init<nb::dict, size_t>(), nb::arg("arrays"), nb::arg("rows"))
        .def("numbers", &numbers, nb::arg("words"), "The numbers of words; 2^32 - 1 for those that are not there.")
        .def("frequencies", &frequencies, nb::arg("field"), nb::arg("numbers"))
        .def("bag", &bag, nb::arg("field"), nb::arg("row"))
        .def("word", &word, nb::arg("number"))
        .def("forget", &ShardHandle::forget, "Gives back what searches keep for the next one.");
}
