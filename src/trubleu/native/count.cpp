#include "count.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <stdexcept>

#include "python.hpp"

namespace trubleu::training {

namespace {

constexpr std::size_t ahead = 12;  // pairs whose slots are asked for before they are needed

constexpr std::uint64_t pair_of(std::uint32_t first, std::uint32_t second) {
    return std::uint64_t{first} << 32 | second;
}

std::uint64_t hash_of(std::uint64_t pair) {
    return hash_edge(static_cast<std::uint32_t>(pair >> 32), static_cast<std::uint32_t>(pair));
}

}  // namespace

WordCounter::WordCounter() : bits_(16), slots_(std::size_t{1} << bits_), begins_{0} {}

std::uint32_t WordCounter::add(const Token &token, std::uint64_t times) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = slot_of(token.hash, bits_);
    for (; slots_[slot]; slot = (slot + 1) & mask) {
        const std::uint32_t number = slots_[slot] - 1;
        const Key &key = keys_[number];
        if (key.word == token.word && key.size == token.size && token.rest_equals(heap_.data() + begins_[number])) {
            counts_[number] += times;
            return number;
        }
    }
    if (keys_.size() >= no_entry - 1) throw std::length_error("there are too many different words");
    keys_.push_back({token.word, token.hash, token.size});
    heap_.insert(heap_.end(), token.bytes, token.bytes + token.size);
    begins_.push_back(heap_.size());
    counts_.push_back(times);
    slots_[slot] = static_cast<std::uint32_t>(keys_.size());
    if (2 * keys_.size() > slots_.size()) grow();
    return static_cast<std::uint32_t>(keys_.size() - 1);
}

void WordCounter::grow() {
    slots_.assign(std::size_t{1} << ++bits_, 0);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t number = 0; number < keys_.size(); ++number) {
        std::size_t slot = slot_of(keys_[number].hash, bits_);
        while (slots_[slot]) slot = (slot + 1) & mask;
        slots_[slot] = static_cast<std::uint32_t>(number + 1);
    }
}

PairCounter::PairCounter(std::uint32_t usable, std::uint64_t least, std::size_t most_entries)
    : usable_(std::min(usable, no_entry)), least_(least), most_(std::max<std::size_t>(most_entries, 1)), bits_(16) {
    slots_.assign(std::size_t{1} << bits_, {no_pair, 0});
}

void PairCounter::add(std::span<const std::uint32_t> numbers) {
    if (numbers.size() < 2) return;
    const std::size_t pairs = numbers.size() - 1;
    for (std::size_t i = 0; i < pairs; ++i) {
        if (i + ahead < pairs) {
            const std::uint32_t first = numbers[i + ahead], second = numbers[i + ahead + 1];
            if (first < usable_ && second < usable_) {
                __builtin_prefetch(&slots_[slot_of(hash_edge(first, second), bits_)], 1);
            }
        }
        if (numbers[i] >= usable_ || numbers[i + 1] >= usable_) continue;
        const std::uint64_t hash = hash_edge(numbers[i], numbers[i + 1]);
        if (mine(hash)) count(pair_of(numbers[i], numbers[i + 1]), hash, 1);
    }
}

void PairCounter::add_counted(std::span<const std::uint32_t> firsts, std::span<const std::uint32_t> seconds,
                              std::span<const std::uint32_t> counts) {
    for (std::size_t i = 0; i < firsts.size(); ++i) {
        if (i + ahead < firsts.size()) {
            __builtin_prefetch(&slots_[slot_of(hash_edge(firsts[i + ahead], seconds[i + ahead]), bits_)], 1);
        }
        if (firsts[i] >= usable_ || seconds[i] >= usable_) continue;
        const std::uint64_t hash = hash_edge(firsts[i], seconds[i]);
        if (mine(hash)) count(pair_of(firsts[i], seconds[i]), hash, counts[i]);
    }
}

void PairCounter::count(std::uint64_t pair, std::uint64_t hash, std::uint64_t times) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = slot_of(hash, bits_);
    for (; slots_[slot].pair != no_pair; slot = (slot + 1) & mask) {
        if (slots_[slot].pair == pair) {
            slots_[slot].count += times;
            return;
        }
    }
    slots_[slot] = {pair, times};
    ++used_;
    if (used_ > most_) make_room();
    if (2 * used_ > slots_.size()) rebuild(bits_ + 1);
}

void PairCounter::make_room() {
    // Slots are found by the hash's high bits and parts told by its low ones, so a part fills its table evenly.
    while (used_ > most_ && part_.depth < 32) {
        waiting_.push_back({part_.depth + 1, part_.bits | std::uint64_t{1} << part_.depth});
        ++part_.depth;
        rebuild(bits_);
    }
}

void PairCounter::rebuild(unsigned bits) {
    std::vector<Slot> old(std::size_t{1} << bits, {no_pair, 0});
    std::swap(old, slots_);
    bits_ = bits;
    used_ = 0;
    const std::size_t mask = slots_.size() - 1;
    for (const Slot &entry : old) {
        if (entry.pair == no_pair) continue;
        const std::uint64_t hash = hash_of(entry.pair);
        if (!mine(hash)) continue;
        std::size_t slot = slot_of(hash, bits_);
        while (slots_[slot].pair != no_pair) slot = (slot + 1) & mask;
        slots_[slot] = entry;
        ++used_;
    }
}

bool PairCounter::finish_pass() {
    for (const Slot &slot : slots_) {
        if (slot.pair == no_pair || slot.count < least_) continue;
        firsts_.push_back(static_cast<std::uint32_t>(slot.pair >> 32));
        seconds_.push_back(static_cast<std::uint32_t>(slot.pair));
        counts_.push_back(slot.count);
    }
    if (counts_.size() >= no_entry) throw std::length_error("there are too many different n-grams");
    std::fill(slots_.begin(), slots_.end(), Slot{no_pair, 0});
    used_ = 0;
    if (waiting_.empty()) return false;
    part_ = waiting_.back();
    waiting_.pop_back();
    return true;
}

PairIndex::PairIndex(std::span<const std::uint32_t> firsts, std::span<const std::uint32_t> seconds)
    : bits_(table_bits(firsts.size())), slots_(std::size_t{1} << bits_, {0, no_entry}) {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t number = 0; number < firsts.size(); ++number) {
        std::size_t slot = slot_of(hash_edge(firsts[number], seconds[number]), bits_);
        while (slots_[slot].number != no_entry) slot = (slot + 1) & mask;
        slots_[slot] = {pair_of(firsts[number], seconds[number]), static_cast<std::uint32_t>(number)};
    }
}

void PairIndex::encode(std::span<const std::uint32_t> numbers, std::span<std::uint32_t> output) const {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = 0; i < output.size(); ++i) {
        if (i + ahead < output.size()) {
            __builtin_prefetch(&slots_[slot_of(hash_edge(numbers[i + ahead], numbers[i + ahead + 1]), bits_)]);
        }
        const std::uint32_t first = numbers[i], second = numbers[i + 1];
        if (first >= no_entry || second >= no_entry) {
            output[i] = first == sentence_end ? sentence_end : no_entry;
            continue;
        }
        const std::uint64_t pair = pair_of(first, second);
        std::size_t slot = slot_of(hash_edge(first, second), bits_);
        while (slots_[slot].number != no_entry && slots_[slot].pair != pair) slot = (slot + 1) & mask;
        output[i] = slots_[slot].number;
    }
}

namespace {

using Numbers = InArray<std::uint32_t>;
using Writable = nb::ndarray<std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::span<const std::uint32_t> span_of(const Numbers &array) { return {array.data(), array.shape(0)}; }

OutArray<std::uint32_t> add_texts(WordCounter &counter, nb::tuple strings, const std::string &tokenizer, bool lowercase) {
    if (tokenizer != "13a" && tokenizer != "none") throw nb::value_error("the kernel has the tokenizers 13a and none");
    const Tokenizer kind = tokenizer == "13a" ? Tokenizer::mteval13a : Tokenizer::whitespace;
    const std::size_t count = strings.size();
    std::vector<std::uint32_t> numbers;
    Texts texts(strings, 0, count, lowercase);
    {
        nb::gil_scoped_release release;
        Line line;
        for (std::size_t i = 0; i < count; ++i) {
            texts.prefetch(i + ahead);
            line.load(texts[i], kind, lowercase);
            for (const Span &span : line) numbers.push_back(counter.add(Token(line.bytes() + span.begin, span.size())));
            if (line.size() > 0) numbers.push_back(sentence_end);
        }
    }
    return to_numpy(std::move(numbers));
}

OutArray<std::uint32_t> merge_words(WordCounter &counter, const InArray<std::uint8_t> &heap,
                                    const InArray<std::uint64_t> &begins, const InArray<std::uint64_t> &counts) {
    const std::size_t size = counts.shape(0);
    if (begins.shape(0) != size + 1) throw nb::value_error("every word needs a begin and a count, and the last an end");
    if (begins(0) != 0 || begins(size) != heap.shape(0)) throw nb::value_error("words must fill their heap");
    for (std::size_t i = 0; i < size; ++i) {
        const bool rises = begins(i) < begins(i + 1) && begins(i + 1) <= heap.shape(0);
        if (!rises || begins(i + 1) - begins(i) > std::numeric_limits<std::uint32_t>::max()) {
            throw nb::value_error("words must follow each other and have bytes");
        }
    }
    std::vector<std::uint32_t> numbers(size);
    {
        nb::gil_scoped_release release;
        // A token is read in whole words, so there must be something behind the last one.
        std::vector<std::uint8_t> bytes(heap.shape(0) + Line::padding);
        std::copy_n(heap.data(), heap.shape(0), bytes.data());
        for (std::size_t i = 0; i < size; ++i) {
            const auto length = static_cast<std::uint32_t>(begins(i + 1) - begins(i));
            numbers[i] = counter.add(Token(bytes.data() + begins(i), length), counts(i));
        }
    }
    return to_numpy(std::move(numbers));
}

nb::tuple words(const WordCounter &counter) {
    return nb::make_tuple(to_numpy(std::vector(counter.heap())), to_numpy(std::vector(counter.begins())),
                          to_numpy(std::vector(counter.counts())));
}

nb::tuple pairs(const PairCounter &counter) {
    return nb::make_tuple(to_numpy(std::vector(counter.firsts())), to_numpy(std::vector(counter.seconds())),
                          to_numpy(std::vector(counter.counts())));
}

void encode_pairs(const PairIndex &index, const Numbers &numbers, Writable output) {
    if (numbers.shape(0) != output.shape(0) + 1) throw nb::value_error("one number more than places is needed");
    nb::gil_scoped_release release;
    index.encode(span_of(numbers), {output.data(), output.shape(0)});
}

}  // namespace

}  // namespace trubleu::training

void bind_count(nanobind::module_ &m) {
    using namespace trubleu;
    using namespace trubleu::training;
    nb::class_<WordCounter>(m, "WordCounter")
        .def(nb::init<>())
        .def("add", &add_texts, nb::arg("texts"), nb::arg("tokenizer"), nb::arg("lowercase"),
             "The numbers of the words of each text that has any, each text followed by 2^32 - 1.")
        .def("merge", &merge_words, nb::arg("heap"), nb::arg("begins"), nb::arg("counts"),
             "Adds what another counter's words() returned; the numbers that its words have here.")
        .def("words", &words, "All words as one heap of bytes, where each begins, and how often each came.");
    nb::class_<PairCounter>(m, "PairCounter")
        .def(nb::init<std::uint32_t, std::uint64_t, std::size_t>(), nb::arg("usable"), nb::arg("least"),
             nb::arg("most_entries"))
        .def("add",
             [](PairCounter &self, const Numbers &numbers) {
                 nb::gil_scoped_release release;
                 self.add(span_of(numbers));
             },
             nb::arg("numbers"))
        .def("add_counted",
             [](PairCounter &self, const Numbers &firsts, const Numbers &seconds, const Numbers &counts) {
                 if (firsts.shape(0) != seconds.shape(0) || firsts.shape(0) != counts.shape(0)) {
                     throw nb::value_error("every pair needs two numbers and a count");
                 }
                 nb::gil_scoped_release release;
                 self.add_counted(span_of(firsts), span_of(seconds), span_of(counts));
             },
             nb::arg("firsts"), nb::arg("seconds"), nb::arg("counts"))
        .def("finish_pass", &PairCounter::finish_pass)
        .def("pairs", &pairs, "First and second numbers of the pairs that came often enough, and how often.");
    nb::class_<PairIndex>(m, "PairIndex")
        .def("__init__",
             [](PairIndex *self, const Numbers &firsts, const Numbers &seconds) {
                 if (firsts.shape(0) != seconds.shape(0)) throw nb::value_error("every pair needs two numbers");
                 new (self) PairIndex(span_of(firsts), span_of(seconds));
             },
             nb::arg("firsts"), nb::arg("seconds"))
        .def("encode", &encode_pairs, nb::arg("numbers"), nb::arg("output").noconvert());
}
