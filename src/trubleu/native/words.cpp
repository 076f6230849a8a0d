#include "words.hpp"

#include <stdexcept>

namespace trubleu {

void WordTexts::add(const Text &text, Tokenizer tokenizer, bool lowercase) {
    line_.load(text, tokenizer, lowercase);
    for (size_t i = 0; i < line_.size(); ++i) {
        Span span = line_.begin()[i];
        Token token(line_.bytes() + span.begin, span.size());
        uint32_t number = others_ ? others_->own_.find(token) : nothing;
        if (number == nothing) number = own_.number(token) + static_cast<uint32_t>(word_count() - own_.size());
        ids_.push_back(number);
    }
    if (word_count() >= nothing) throw std::length_error("the texts have 2^32 words or more");
    begins_.push_back(ids_.size());
}

void WordTexts::append(const WordTexts &part) {
    size_t shared = others_ ? others_->word_count() : 0, before = ids_.size();
    std::vector<uint32_t> numbers;
    for (size_t i = 0; i < part.own_.size(); ++i) numbers.push_back(own_.number(part.own_, i) + static_cast<uint32_t>(shared));
    if (word_count() >= nothing) throw std::length_error("the texts have 2^32 words or more");
    for (uint32_t id : part.ids_) ids_.push_back(id < shared ? id : numbers[id - shared]);
    for (size_t i = 1; i < part.begins_.size(); ++i) begins_.push_back(before + part.begins_[i]);
}

}  // namespace trubleu
