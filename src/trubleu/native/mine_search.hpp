// The best rows of a shard for a query: exact, and mostly without looking at the rows that cannot be among them.
//
// A row scores s = m * (alpha * r + c), where m and r are BM25 scores of its message and its response. A pass over the
// shard adds up, window by window, upper bounds of m and r from the lists of some of the query's words; what the other
// words could add is known, too. Only rows whose bound reaches the worst score kept so far are scored, from their own
// words and in the order of the query's words: so it does not matter to a score which lists were read, and rows may be
// scored in any order and more than once. Which lists are left out is a matter of speed alone.
//
// Bounds are whole numbers of steps, always rounded up. A word that comes once is worth weight * once(length): the sums
// are of weights, and a row's length is put in at the end. So a word adds the same number wherever it comes once, and for
// words of very many rows, which make up most of all lists, bits say where that is (see Terrain).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mine.hpp"

namespace trubleu::mining {

// What holds for all queries.
struct Scoring {
    double k1 = 0, b = 0, scale = 1;
    double mean[2] = {0, 0};
    double alpha = 0, rest = 0;  // rest: c = (1 - alpha) * epsilon
    size_t top = 0;

    double norm(int field, double length) const { return k1 * ((1.0 - b) + b * length / mean[field]); }
    double worth(int field, double count, double length) const { return scale * count / (count + norm(field, length)); }
};

struct Hit {
    double score, message, response;
    uint64_t row;   // of the whole index
    uint64_t hash;  // of the folded response
    std::string text;
    bool held;  // whether text is the response; else it lies in the shard that is being searched

    bool better_than(double other_score, uint64_t other_row) const {
        return score > other_score || (score == other_score && row < other_row);
    }
};

struct Query {
    struct Word {
        uint32_t word;  // its place among the words of all queries
        double weight;  // how often the query has it, times idf
    };
    std::vector<Word> words[2];
    bool excludes = false;  // whether responses equal to `text` are left out
    uint64_t hash = 0;
    std::string text;
    double floor = 0;       // rows that score less are not wanted, whatever was kept
    std::vector<Hit> kept;  // best first
};

class Terrain;  // what is known of a shard's rows

// One thread's memory, and the search itself.
class Searcher {
  public:
    explicit Searcher(const Scoring &scoring);
    ~Searcher();

    // Puts the best rows of a shard, which begins at a row of the index, among those that a query has kept.
    void search(Query &query, const Shard &shard, const Terrain &terrain, std::span<const uint32_t> numbers,
                uint64_t first_row);

  private:
    struct Work;
    std::unique_ptr<Work> work_;
};

// Whether texts are the same once case and white space are folded.
bool same_folded(std::string_view a, std::string_view b);

}  // namespace trubleu::mining
