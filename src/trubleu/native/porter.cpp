#include "porter.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace trubleu {

namespace {

class Word {
  public:
    Word(uint8_t *letters, size_t size) : letters_(letters), size_(size) {}

    size_t size() const { return size_; }
    uint8_t last() const { return letters_[size_ - 1]; }
    std::string_view text() const { return {reinterpret_cast<const char *>(letters_), size_}; }
    bool ends(std::string_view suffix) const { return text().ends_with(suffix); }
    void replace(size_t removed, std::string_view added) {
        size_ -= removed;
        for (char letter : added) letters_[size_++] = static_cast<uint8_t>(letter);
    }

    // How often a consonant follows a vowel in the first letters.
    int measure(size_t size) const {
        bool consonant = true, before = true;
        int count = 0;
        for (size_t i = 0; i < size; ++i, before = consonant) {
            consonant = next(consonant, i);
            count += consonant && !before;
        }
        return count;
    }
    bool has_vowel(size_t size) const {
        bool consonant = true;
        for (size_t i = 0; i < size; ++i)
            if (!(consonant = next(consonant, i))) return true;
        return false;
    }
    bool is_consonant(size_t place) const {
        bool consonant = true;
        for (size_t i = first_of_run(place); i <= place; ++i) consonant = next(consonant, i);
        return consonant;
    }
    bool ends_double_consonant() const { return size_ >= 2 && last() == letters_[size_ - 2] && is_consonant(size_ - 1); }
    // Consonant, vowel, consonant at the end of the first letters; in words of two letters vowel and consonant.
    bool ends_short(size_t size) const {
        if (size == 2) return !is_consonant(0) && is_consonant(1);
        if (size < 3 || !is_consonant(size - 3) || is_consonant(size - 2) || !is_consonant(size - 1)) return false;
        uint8_t end = letters_[size - 1];
        return end != 'w' && end != 'x' && end != 'y';
    }

  private:
    // y is a consonant at the beginning and behind a vowel.
    bool next(bool before, size_t i) const {
        switch (letters_[i]) {
            case 'a': case 'e': case 'i': case 'o': case 'u': return false;
            case 'y': return i == 0 || !before;
            default: return true;
        }
    }
    size_t first_of_run(size_t place) const {
        while (place > 0 && letters_[place] == 'y') --place;
        return place;
    }

    uint8_t *letters_;
    size_t size_;
};

struct Rule {
    std::string_view suffix, replacement;
};

// Applies the first rule whose suffix the word has, if what stays has at least this measure.
template <size_t N> bool apply(Word &word, const Rule (&rules)[N], int measure) {
    for (const Rule &rule : rules) {
        if (!word.ends(rule.suffix)) continue;
        if (word.measure(word.size() - rule.suffix.size()) < measure) return false;
        word.replace(rule.suffix.size(), rule.replacement);
        return true;
    }
    return false;
}

// Plurals.
void step_1a(Word &word) {
    if (word.last() != 's') return;
    if (word.ends("ies")) word.replace(word.size() == 4 ? 1 : 2, "");
    else if (word.ends("sses")) word.replace(2, "");
    else if (!word.ends("ss")) word.replace(1, "");
}

// -ed and -ing.
void step_1b(Word &word) {
    if (word.ends("ied")) return word.replace(word.size() == 4 ? 1 : 2, "");
    if (word.ends("eed")) {
        if (word.measure(word.size() - 3) > 0) word.replace(1, "");
        return;
    }
    size_t suffix = word.ends("ed") ? 2 : word.ends("ing") ? 3 : 0;
    if (suffix == 0 || !word.has_vowel(word.size() - suffix)) return;
    word.replace(suffix, "");
    if (word.ends("at") || word.ends("bl") || word.ends("iz")) return word.replace(0, "e");
    if (word.ends_double_consonant()) {
        uint8_t last = word.last();
        if (last != 'l' && last != 's' && last != 'z') word.replace(1, "");
    } else if (word.measure(word.size()) == 1 && word.ends_short(word.size())) {
        word.replace(0, "e");
    }
}

void step_1c(Word &word) {
    if (word.ends("y") && word.size() > 2 && word.is_consonant(word.size() - 2)) word.replace(1, "i");
}

constexpr Rule rules_2[] = {
    {"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"},  {"anci", "ance"},   {"izer", "ize"},    {"bli", "ble"},     {"alli", "al"},
    {"entli", "ent"},   {"eli", "e"},       {"ousli", "ous"},  {"ization", "ize"}, {"ation", "ate"},   {"ator", "ate"},    {"alism", "al"},
    {"iveness", "ive"}, {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"},   {"iviti", "ive"},   {"biliti", "ble"},  {"fulli", "ful"}};

void step_2(Word &word) {
    while (word.ends("alli") && word.measure(word.size() - 4) > 0) word.replace(2, "");
    if (word.ends("logi")) {
        // The l belongs to the stem, so that geo- and theo- are long enough.
        if (word.measure(word.size() - 3) > 0) word.replace(1, "");
        return;
    }
    apply(word, rules_2, 1);
}

constexpr Rule rules_3[] = {{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""}};

constexpr Rule rules_4[] = {{"al", ""},    {"ance", ""}, {"ence", ""}, {"er", ""}, {"ic", ""},  {"able", ""}, {"ible", ""}, {"ant", ""}, {"ement", ""}, {"ment", ""},
                            {"ent", ""},   {"ou", ""},   {"ism", ""},  {"ate", ""}, {"iti", ""}, {"ous", ""},  {"ive", ""},  {"ize", ""}};

void step_4(Word &word) {
    if (!word.ends("ion")) {
        apply(word, rules_4, 2);
        return;
    }
    size_t size = word.size() - 3;
    if (word.measure(size) > 1 && (word.text()[size - 1] == 's' || word.text()[size - 1] == 't')) word.replace(3, "");
}

void step_5(Word &word) {
    if (word.ends("e")) {
        int measure = word.measure(word.size() - 1);
        if (measure > 1 || (measure == 1 && !word.ends_short(word.size() - 1))) word.replace(1, "");
    }
    if (word.ends("ll") && word.measure(word.size() - 1) > 1) word.replace(1, "");
}

constexpr Rule irregular[] = {{"sky", "sky"},         {"skies", "sky"},     {"dying", "die"},       {"lying", "lie"},         {"tying", "tie"},
                              {"news", "news"},       {"innings", "inning"}, {"inning", "inning"},  {"outings", "outing"},    {"outing", "outing"},
                              {"cannings", "canning"}, {"canning", "canning"}, {"howe", "howe"},    {"proceed", "proceed"},   {"exceed", "exceed"},
                              {"succeed", "succeed"}};

}  // namespace

size_t porter_stem(uint8_t *letters, size_t size) {
    if (size <= 2) return size;
    Word word(letters, size);
    if (size <= 8)
        for (const Rule &rule : irregular)
            if (word.text() == rule.suffix) {
                word.replace(size, rule.replacement);
                return word.size();
            }
    step_1a(word);
    step_1b(word);
    step_1c(word);
    step_2(word);
    apply(word, rules_3, 1);
    step_4(word);
    step_5(word);
    return word.size();
}

}  // namespace trubleu
