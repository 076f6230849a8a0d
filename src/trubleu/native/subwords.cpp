// Sums of the vectors of words' subword tokens. Byte-pair encoding finds these as the package tokenizers does for a vocabulary
// with a token for every byte.
#include <array>
#include <bit>
#include <cstdio>

#include "python.hpp"
#include "utf8.hpp"
#include "words.hpp"

namespace trubleu {

namespace {

constexpr size_t longest = 64;  // symbols of a word, of which each is looked at for each merge

class Subwords {
  public:
    using Vectors = nb::ndarray<const uint16_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

    // Tokens and their ids; merges, the first ones first, as two tokens and a space between them; the id that is left out;
    // ASCII characters that tokens begin with which are cut out of a text before it is encoded; a vector of 16-bit numbers for
    // each id.
    Subwords(nb::tuple tokens, InArray<uint32_t> ids, nb::tuple merges, int64_t unknown, const std::string &stops, Vectors vectors)
        : ids_(ids.data(), ids.data() + ids.shape(0)), unknown_(unknown), vectors_(vectors) {
        if (ids_.size() != tokens.size()) throw nb::value_error("one id is needed for each token");
        for (uint32_t id : ids_)
            if (id >= vectors.shape(0)) throw nb::value_error("a token has no vector");
        for (char stop : stops) stops_[static_cast<uint8_t>(stop) & 0x7F] = true;
        Texts token_texts(tokens), merge_texts(merges);
        std::vector<uint8_t> line;
        for (size_t i = 0; i < tokens.size(); ++i) {
            uint32_t size = load(token_texts[i], line);
            if (vocabulary_.number(Token(line.data(), size)) != i) throw nb::value_error("a token is there twice");
        }
        line.assign(Line::padding, 0);
        for (unsigned byte = 0; byte < 256; ++byte) {
            std::snprintf(reinterpret_cast<char *>(line.data()), line.size(), "<0x%02X>", byte);
            bytes_[byte] = vocabulary_.find(Token(line.data(), 6));
            if (bytes_[byte] == nothing) throw nb::value_error("a byte has no token");
        }
        for (uint8_t c = 0; c < 128; ++c) {
            line[0] = c;
            ascii_[c] = vocabulary_.find(Token(line.data(), 1));
        }
        std::memcpy(line.data(), "\xE2\x96\x81", 3);
        space_ = vocabulary_.find(Token(line.data(), 3));
        if (space_ == nothing) throw nb::value_error("a space has no token");
        bits_ = table_bits(merges.size());
        merges_.resize(size_t{1} << bits_);
        for (size_t rank = 0; rank < merges.size(); ++rank) {
            size_t size = load(merge_texts[rank], line);
            uint8_t *space = std::find(line.data(), line.data() + size, ' '), *end = line.data() + size;
            if (space == end || std::find(space + 1, end, ' ') != end) throw nb::value_error("a merge needs two tokens");
            auto token = [&](const uint8_t *from, const uint8_t *to) {
                uint32_t number = vocabulary_.find(Token(from, static_cast<uint32_t>(to - from)));
                if (number == nothing) throw nb::value_error("a merge has tokens that are not there");
                return number;
            };
            uint32_t left = token(line.data(), space), right = token(space + 1, end);
            std::copy(space + 1, end, space);
            Merge &merge = place(left, right);  // of two equal ones the last counts
            merge = {uint64_t{left} << 32 | right, static_cast<uint32_t>(rank), token(line.data(), end - 1)};
        }
    }

    // The sum of the vectors of each word's tokens, and the places of words that this is left open for: those that only the
    // package can encode, and those with numbers that are not finite.
    nb::tuple sums(nb::tuple words) const {
        Texts texts(words);
        size_t width = vectors_.shape(1);
        Matrix<float> rows(words.size(), width);
        std::vector<int64_t> open;
        {
            nb::gil_scoped_release release;
            std::vector<uint32_t> ids;
            for (size_t i = 0; i < rows.rows; ++i) {
                float *row = rows.data.get() + i * width;
                std::fill_n(row, width, 0.0f);
                ids.clear();
                bool fits = encode(texts[i], ids);
                for (uint32_t id : ids) fits &= add(vectors_.data() + id * width, row, width);
                if (!fits) open.push_back(static_cast<int64_t>(i));
            }
        }
        return nb::make_tuple(rows.release(), to_numpy(std::move(open)));
    }

  private:
    struct Merge {
        uint64_t pair = ~uint64_t{0};
        uint32_t rank = nothing, token = nothing;
    };

    static uint32_t load(const Text &text, std::vector<uint8_t> &line) {
        size_t size = packed_size(text);
        if (size >= nothing) throw nb::value_error("a token is too long");
        line.assign(size + Line::padding, 0);
        pack(text, line.data());
        return static_cast<uint32_t>(size);
    }

    size_t slot(uint32_t left, uint32_t right) const {
        uint64_t pair = uint64_t{left} << 32 | right;
        size_t mask = merges_.size() - 1, at = slot_of(hash_edge(left, right), bits_);
        while (merges_[at].rank != nothing && merges_[at].pair != pair) at = (at + 1) & mask;
        return at;
    }
    Merge &place(uint32_t left, uint32_t right) { return merges_[slot(left, right)]; }
    const Merge &place(uint32_t left, uint32_t right) const { return merges_[slot(left, right)]; }

    // Adds 16-bit numbers, and returns whether all are finite.
    static bool add(const uint16_t *vector, float *row, size_t width) {
        uint32_t largest = 0;
        for (size_t i = 0; i < width; ++i) {
            uint32_t magnitude = vector[i] & 0x7FFFu, sign = (vector[i] & 0x8000u) << 16;
            // The exponent has another bias, which a product of powers of two corrects exactly.
            float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
            row[i] += std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
            largest = std::max(largest, magnitude);
        }
        return largest < 0x7C00;
    }

    // Appends the ids of a word's tokens; false if only the package can tell.
    bool encode(const Text &text, std::vector<uint32_t> &ids) const {
        if (text.width == 1) return encode<uint8_t>(text, ids);
        return text.width == 2 ? encode<uint16_t>(text, ids) : encode<uint32_t>(text, ids);
    }

    template <typename Unit> bool encode(const Text &text, std::vector<uint32_t> &ids) const {
        if (text.length == 0) return true;
        std::array<uint32_t, longest + 8> symbols;
        size_t count = 0;
        const Unit *units = static_cast<const Unit *>(text.data);
        symbols[count++] = space_;
        for (size_t i = 0; i < text.length; ++i) {
            uint32_t c = units[i];
            if (c == ' ' || (c >= 0xD800 && c <= 0xDFFF) || (c < 128 && stops_[c]) || count >= longest) return false;
            std::array<uint8_t, 16> bytes{};
            uint32_t size = 1, symbol;
            if (c < 128) {
                symbol = ascii_[c];
                bytes[0] = static_cast<uint8_t>(c);
            } else {
                size = static_cast<uint32_t>(utf8_size(c));
                pack({&c, 1, 4, false}, bytes.data());
                symbol = vocabulary_.find(Token(bytes.data(), size));
            }
            if (symbol != nothing) symbols[count++] = symbol;
            else
                for (uint32_t j = 0; j < size; ++j) symbols[count++] = bytes_[bytes[j]];
        }
        count = merge(symbols.data(), count);
        for (size_t i = 0; i < count; ++i)
            if (ids_[symbols[i]] != unknown_) ids.push_back(ids_[symbols[i]]);
        return true;
    }

    // Merges the pair that comes first in the list, the leftmost of equal ones, until there is none.
    size_t merge(uint32_t *symbols, size_t count) const {
        std::array<Merge, longest + 8> pairs;  // of each symbol and the next one
        for (size_t i = 0; i + 1 < count; ++i) pairs[i] = place(symbols[i], symbols[i + 1]);
        while (count > 1) {
            size_t best = 0;
            for (size_t i = 1; i + 1 < count; ++i)
                if (pairs[i].rank < pairs[best].rank) best = i;
            if (pairs[best].rank == nothing) break;
            symbols[best] = pairs[best].token;
            std::copy(symbols + best + 2, symbols + count, symbols + best + 1);
            if (best + 2 < count) std::copy(pairs.data() + best + 2, pairs.data() + count - 1, pairs.data() + best + 1);
            --count;
            if (best > 0) pairs[best - 1] = place(symbols[best - 1], symbols[best]);
            if (best + 1 < count) pairs[best] = place(symbols[best], symbols[best + 1]);
        }
        return count;
    }

    std::vector<uint32_t> ids_;
    int64_t unknown_;
    Vectors vectors_;
    Vocabulary vocabulary_;
    std::array<uint32_t, 256> bytes_;
    std::array<uint32_t, 128> ascii_;
    std::array<bool, 128> stops_{};
    uint32_t space_ = nothing;
    std::vector<Merge> merges_;
    unsigned bits_ = 0;
};

}  // namespace

}  // namespace trubleu

void bind_subwords(nanobind::module_ &m) {
    namespace nb = nanobind;
    using namespace trubleu;
    nb::class_<Subwords>(m, "Subwords")
        .def(nb::init<nb::tuple, InArray<uint32_t>, nb::tuple, int64_t, const std::string &, Subwords::Vectors>(), nb::arg("tokens"), nb::arg("ids"), nb::arg("merges"),
             nb::arg("unknown"), nb::arg("stops"), nb::arg("vectors"))
        .def("sums", &Subwords::sums, nb::arg("words"));
}
