// From texts to the arrays of a shard.
#include <bit>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "count.hpp"
#include "mine_python.hpp"
#include "utf8.hpp"

namespace trubleu::mining {

namespace {

constexpr size_t ahead = 12;
constexpr uint64_t content_base = 0x9E3779B97F4A7C15u;  // part of the format of files

struct Heap {
    std::vector<uint8_t> bytes;
    std::vector<uint64_t> begins{0};

    std::string_view add(const Text &text) {
        size_t begin = bytes.size(), size = packed_size(text);
        bytes.resize(begin + size);
        pack(text, bytes.data() + begin);
        begins.push_back(bytes.size());
        return {reinterpret_cast<const char *>(bytes.data()) + begin, size};
    }
    size_t memory() const { return bytes.capacity() + 8 * begins.capacity(); }
};

struct Inverted {
    std::vector<uint32_t> begins, postings, limits;
};

class Builder {
  public:
    explicit Builder(nb::tuple stop_words) {
        Texts texts(stop_words, 0, stop_words.size(), false);
        std::vector<uint8_t> packed;
        for (size_t i = 0; i < stop_words.size(); ++i) {
            Text text = texts[i];
            size_t size = packed_size(text);
            packed.assign(size + 16, 0);
            pack(text, packed.data());
            words_.add(Token(packed.data(), static_cast<uint32_t>(size)));
        }
        stopped_ = static_cast<uint32_t>(words_.counts().size());
    }

    void add(nb::tuple ids, nb::tuple messages, nb::tuple responses, nb::tuple message_lines, nb::tuple response_lines,
             const std::string &tokenizer, bool lowercase);
    nb::dict finish();

    size_t rows() const { return hashes_.size(); }
    size_t words(int field) const { return lengths_[field]; }
    uint64_t content() const { return content_; }
    size_t memory() const {
        return ids_.memory() + messages_.memory() + responses_.memory() + 4 * (bags_.capacity() + bag_begins_.capacity()) +
               4 * bags_.size() + 8 * hashes_.capacity() + words_.heap().capacity() + 48 * words_.counts().capacity();
    }

  private:
    void add_words(Line &line, const Text &text, Tokenizer kind, bool lowercase, int field);
    Inverted invert(int field, size_t vocabulary) const;

    training::WordCounter words_;  // the stop words come first
    uint32_t stopped_ = 0;
    Heap ids_, messages_, responses_;
    std::vector<uint32_t> bags_, bag_begins_{0};
    std::vector<uint64_t> hashes_;
    size_t lengths_[2] = {0, 0};
    uint64_t content_ = 0;
    bool usable_ = true;
};

void Builder::add_words(Line &line, const Text &text, Tokenizer kind, bool lowercase, int field) {
    line.load(text, kind, lowercase);
    size_t before = bags_.size();
    if (before + line.size() > std::numeric_limits<uint32_t>::max())
        throw std::length_error("a shard holds at most 2^32 words");
    for (const Span &span : line) {
        uint32_t number = words_.add(Token(line.bytes() + span.begin, span.size()));
        if (number >= stopped_) bags_.push_back(number - stopped_);
    }
    lengths_[field] += bags_.size() - before;
    bag_begins_.push_back(static_cast<uint32_t>(bags_.size()));
}

void Builder::add(nb::tuple ids, nb::tuple messages, nb::tuple responses, nb::tuple message_lines,
                  nb::tuple response_lines, const std::string &tokenizer, bool lowercase) {
    if (tokenizer != "13a" && tokenizer != "none") throw nb::value_error("the kernel has the tokenizers 13a and none");
    Tokenizer kind = tokenizer == "13a" ? Tokenizer::mteval13a : Tokenizer::whitespace;
    size_t count = ids.size();
    for (const nb::tuple &texts : {ids, messages, responses, message_lines, response_lines}) {
        if (texts.size() != count) throw nb::value_error("there must be as many texts of each kind");
        for (nb::handle text : texts)
            if (!PyUnicode_Check(text.ptr())) throw nb::type_error("texts must be strings");
    }
    if (count > most_rows - rows()) throw nb::value_error("a shard holds at most 2^20 triples");
    if (!usable_) throw nb::value_error("this shard was finished, or failed");
    Texts id_texts(ids, 0, count, false), message_texts(messages, 0, count, false),
        response_texts(responses, 0, count, false);
    Texts message_words(message_lines, 0, count, lowercase), response_words(response_lines, 0, count, lowercase);
    // Case folding beyond ASCII is Python's business, like lower-casing.
    nb::list folded;
    for (size_t i = 0; i < count; ++i)
        if (!response_texts[i].ascii) folded.append(nb::borrow(Items(responses)[i]).attr("casefold")());
    Texts folded_texts{nb::tuple(folded)};
    usable_ = false;
    {
        nb::gil_scoped_release release;
        Line line;
        std::string joined;
        size_t next_folded = 0;
        for (size_t i = 0; i < count; ++i) {
            message_texts.prefetch(i + ahead);
            response_texts.prefetch(i + ahead);
            id_texts.prefetch(i + ahead);
            uint64_t content = text_hash(ids_.add(id_texts[i])) * content_base;
            content = (content ^ content >> 32 ^ text_hash(messages_.add(message_texts[i]))) * content_base;
            content = (content ^ content >> 32 ^ text_hash(responses_.add(response_texts[i]))) * content_base;
            content_ = content_ * content_base + (content ^ content >> 32);
            add_words(line, message_words[i], kind, lowercase, 0);
            add_words(line, response_words[i], kind, lowercase, 1);
            Text text = response_texts[i];
            if (!text.ascii) text = folded_texts[next_folded++];
            hashes_.push_back(text_hash(fold(line, text, joined)));
        }
    }
    usable_ = true;
}

Inverted Builder::invert(int field, size_t vocabulary) const {
    struct Mark {
        uint32_t row = 0, count = 0;  // row + 1
    };
    std::vector<Mark> marks(vocabulary);
    Inverted result;
    result.begins.assign(vocabulary + 1, 0);
    for (size_t row = 0; row < rows(); ++row) {
        for (size_t i = bag_begins_[2 * row + field]; i < bag_begins_[2 * row + field + 1]; ++i) {
            Mark &mark = marks[bags_[i]];
            if (mark.row == row + 1) continue;
            mark.row = static_cast<uint32_t>(row + 1);
            ++result.begins[bags_[i] + 1];
        }
    }
    for (size_t word = 0; word < vocabulary; ++word) result.begins[word + 1] += result.begins[word];
    result.postings.resize(result.begins.back());
    std::vector<uint32_t> next(result.begins.begin(), result.begins.end() - 1);
    std::vector<Limits> limits(vocabulary);
    std::fill(marks.begin(), marks.end(), Mark{});
    std::vector<uint32_t> distinct;
    for (size_t row = 0; row < rows(); ++row) {
        size_t begin = bag_begins_[2 * row + field], end = bag_begins_[2 * row + field + 1];
        distinct.clear();
        for (size_t i = begin; i < end; ++i) {
            Mark &mark = marks[bags_[i]];
            if (mark.row == row + 1) {
                ++mark.count;
            } else {
                mark = {static_cast<uint32_t>(row + 1), 1};
                distinct.push_back(bags_[i]);
            }
        }
        for (uint32_t word : distinct) {
            uint32_t kind = class_of(marks[word].count, static_cast<uint32_t>(end - begin));
            result.postings[next[word]++] = posting_of(static_cast<uint32_t>(row), kind);
            limits[word].see(kind);
        }
    }
    result.limits.resize(vocabulary);
    for (size_t word = 0; word < vocabulary; ++word) result.limits[word] = limits[word].packed();
    return result;
}

nb::dict Builder::finish() {
    if (!usable_) throw nb::value_error("this shard was finished, or failed");
    usable_ = false;
    std::vector<uint8_t> word_bytes;
    std::vector<uint32_t> word_begins, slots;
    Inverted fields[2];
    {
        nb::gil_scoped_release release;
        size_t vocabulary = words_.counts().size() - stopped_;
        size_t first = words_.begins()[stopped_];
        if (words_.heap().size() - first > std::numeric_limits<uint32_t>::max())
            throw std::length_error("a shard holds at most 2^32 bytes of different words");
        word_bytes.assign(words_.heap().begin() + static_cast<std::ptrdiff_t>(first), words_.heap().end());
        for (size_t i = 0; i <= vocabulary; ++i)
            word_begins.push_back(static_cast<uint32_t>(words_.begins()[stopped_ + i] - first));
        words_ = training::WordCounter();
        unsigned bits = table_bits(vocabulary + 1);
        slots.assign(size_t{1} << bits, 0);
        for (size_t i = 0; i < vocabulary; ++i) {
            std::string_view word(reinterpret_cast<const char *>(word_bytes.data()) + word_begins[i],
                                  word_begins[i + 1] - word_begins[i]);
            size_t slot = slot_of(word_hash(word), bits);
            while (slots[slot]) slot = (slot + 1) & (slots.size() - 1);
            slots[slot] = static_cast<uint32_t>(i + 1);
        }
        for (int field : {0, 1}) fields[field] = invert(field, vocabulary);
    }
    nb::dict arrays;
    arrays["word_bytes"] = to_numpy(std::move(word_bytes));
    arrays["word_begins"] = to_numpy(std::move(word_begins));
    arrays["word_slots"] = to_numpy(std::move(slots));
    arrays["message_begins"] = to_numpy(std::move(fields[0].begins));
    arrays["message_limits"] = to_numpy(std::move(fields[0].limits));
    arrays["message_postings"] = to_numpy(std::move(fields[0].postings));
    arrays["response_begins"] = to_numpy(std::move(fields[1].begins));
    arrays["response_limits"] = to_numpy(std::move(fields[1].limits));
    arrays["response_postings"] = to_numpy(std::move(fields[1].postings));
    arrays["bags"] = to_numpy(std::move(bags_));
    arrays["bag_begins"] = to_numpy(std::move(bag_begins_));
    arrays["response_hashes"] = to_numpy(std::move(hashes_));
    arrays["id_text_bytes"] = to_numpy(std::move(ids_.bytes));
    arrays["id_text_begins"] = to_numpy(std::move(ids_.begins));
    arrays["message_text_bytes"] = to_numpy(std::move(messages_.bytes));
    arrays["message_text_begins"] = to_numpy(std::move(messages_.begins));
    arrays["response_text_bytes"] = to_numpy(std::move(responses_.bytes));
    arrays["response_text_begins"] = to_numpy(std::move(responses_.begins));
    return arrays;
}

}  // namespace

std::string_view fold(Line &line, const Text &casefolded, std::string &joined) {
    line.load(casefolded, Tokenizer::whitespace, true);
    joined.clear();
    for (const Span &span : line) {
        if (!joined.empty()) joined += ' ';
        joined.append(reinterpret_cast<const char *>(line.bytes()) + span.begin, span.size());
    }
    return joined;
}

}  // namespace trubleu::mining

void bind_mine_build(nanobind::module_ &m) {
    using namespace trubleu;
    using namespace trubleu::mining;
    nb::class_<Builder>(m, "MineBuilder")
        .def(nb::init<nb::tuple>(), nb::arg("stop_words"))
        .def("add", &Builder::add, nb::arg("ids"), nb::arg("messages"), nb::arg("responses"), nb::arg("message_lines"),
             nb::arg("response_lines"), nb::arg("tokenizer"), nb::arg("lowercase"))
        .def("finish", &Builder::finish, "The arrays of the shard; the builder is of no use afterwards.")
        .def_prop_ro("rows", &Builder::rows)
        .def_prop_ro("message_words", [](const Builder &self) { return self.words(0); })
        .def_prop_ro("response_words", [](const Builder &self) { return self.words(1); })
        .def_prop_ro("content", &Builder::content)
        .def_prop_ro("memory", &Builder::memory);
}
