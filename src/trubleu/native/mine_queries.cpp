// The Python face of the search.
#include <atomic>
#include <memory>
#include <stdexcept>

#include "mine_python.hpp"
#include "mine_search.hpp"
#include "mine_terrain.hpp"
#include "utf8.hpp"

namespace trubleu::mining {

namespace {

// All queries and what each has kept so far, shard after shard.
class Search {
  public:
    Search(nb::tuple responses, InArray<double> scoring, size_t top) : queries_(responses.size()) {
        if (scoring.shape(0) != 7) throw nb::value_error("seven numbers say how to score");
        if (top == 0) throw nb::value_error("at least one row must be kept");
        const double *numbers = scoring.data();
        scoring_ = Scoring{numbers[0], numbers[1], numbers[2], {numbers[3], numbers[4]}, numbers[5], numbers[6], top};
        Line line;
        std::string joined;
        for (size_t i = 0; i < queries_.size(); ++i) {
            nb::object response = responses[i];
            if (response.is_none()) continue;
            if (!PyUnicode_Check(response.ptr())) throw nb::type_error("responses must be strings or None");
            Texts texts(nb::make_tuple(response, response.attr("casefold")()));
            Text text = texts[0];
            queries_[i].excludes = true;
            queries_[i].text.resize(packed_size(text));
            pack(text, reinterpret_cast<uint8_t *>(queries_[i].text.data()));
            queries_[i].hash = text_hash(fold(line, texts[1], joined));
        }
    }

    // The words of a field, query after query; a word is a place among all words of all queries.
    void set_words(int field, InArray<uint64_t> begins, InArray<uint32_t> words, InArray<double> weights) {
        if (field != 0 && field != 1) throw nb::value_error("fields are 0 and 1");
        size_t count = words.shape(0);
        bool fits = begins.shape(0) == queries_.size() + 1 && weights.shape(0) == count && begins.data()[0] == 0 &&
                    begins.data()[queries_.size()] == count;
        for (size_t i = 0; fits && i < queries_.size(); ++i) fits = begins.data()[i] <= begins.data()[i + 1];
        if (!fits) throw nb::value_error("words do not fit the queries");
        for (size_t i = 0; i < queries_.size(); ++i) {
            queries_[i].words[field].clear();
            for (size_t j = begins.data()[i]; j < begins.data()[i + 1]; ++j) {
                queries_[i].words[field].push_back({words.data()[j], weights.data()[j]});
                words_ = std::max(words_, size_t{words.data()[j]} + 1);
            }
        }
    }

    // What rows must score at least, by query.
    void set_floors(InArray<double> floors) {
        if (floors.shape(0) != queries_.size()) throw nb::value_error("every query needs a floor");
        for (size_t i = 0; i < queries_.size(); ++i) queries_[i].floor = floors.data()[i];
    }

    void run(const ShardHandle &shard, InArray<uint32_t> numbers, uint64_t first_row, size_t first, size_t last, int threads) {
        if (first > last || last > queries_.size()) throw nb::value_error("there are no such queries");
        if (numbers.shape(0) < words_) throw nb::value_error("every word needs a number");
        std::span<const uint32_t> all(numbers.data(), numbers.shape(0));
        nb::gil_scoped_release release;
        if (shard.serial() != known_) {
            terrain_ = std::make_unique<Terrain>(*shard.ground(), scoring_, all);
            known_ = shard.serial();
        }
        parallel_blocks(
            last - first, 1, threads, [&] { return Searcher(scoring_); },
            [&](Searcher &searcher, size_t begin, size_t end) {
                for (size_t i = begin; i < end; ++i)
                    searcher.search(queries_[first + i], shard.shard(), *terrain_, all, first_row);
            });
    }

    nb::tuple hits() const {
        std::vector<int64_t> query, row;
        std::vector<double> score, message, response;
        for (size_t i = 0; i < queries_.size(); ++i)
            for (const Hit &hit : queries_[i].kept) {
                query.push_back(static_cast<int64_t>(i));
                row.push_back(static_cast<int64_t>(hit.row));
                score.push_back(hit.score);
                message.push_back(hit.message);
                response.push_back(hit.response);
            }
        return nb::make_tuple(to_numpy(std::move(query)), to_numpy(std::move(row)), to_numpy(std::move(score)),
                              to_numpy(std::move(message)), to_numpy(std::move(response)));
    }

  private:
    std::vector<Query> queries_;
    Scoring scoring_;
    size_t words_ = 0;
    std::unique_ptr<Terrain> terrain_;
    uint64_t known_ = 0;  // the shard that it is of
};

}  // namespace

}  // namespace trubleu::mining

void bind_mine_search(nanobind::module_ &m) {
    using namespace trubleu;
    using namespace trubleu::mining;
    nb::class_<Search>(m, "MineSearch")
        .def(nb::init<nb::tuple, InArray<double>, size_t>(), nb::arg("responses"), nb::arg("scoring"), nb::arg("top"),
             "Scoring: k1, b, scale, the mean lengths of messages and responses, alpha and (1 - alpha) * epsilon.")
        .def("set_words", &Search::set_words, nb::arg("field"), nb::arg("begins"), nb::arg("words"), nb::arg("weights"))
        .def("set_floors", &Search::set_floors, nb::arg("floors"), "Rows that score less are passed over.")
        .def("run", &Search::run, nb::arg("shard"), nb::arg("numbers"), nb::arg("first_row"), nb::arg("first"),
             nb::arg("last"), nb::arg("threads"))
        .def("hits", &Search::hits, "Query, row, score, and the scores of message and response, best first.");
}
