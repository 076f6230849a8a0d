#include "tercom.hpp"

#include "text.hpp"

namespace trubleu::tercom {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_point(char c) { return c == '.' || c == ','; }

// What always stands alone, the space among it.
bool is_single(char c) {
    return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
}

bool is_mark(char c) { return std::string_view(".,?:;!\"()").find(c) != std::string_view::npos; }

// Chinese characters, and others that are split like them.
bool is_ideograph(uint32_t c) {
    return (c >= 0x2E80 && c <= 0x2EFF) || (c >= 0x31C0 && c <= 0x31EF) || (c >= 0x3200 && c <= 0x4DBF) || (c >= 0x4E00 && c <= 0x9FFF) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFE30 && c <= 0xFE4F);
}

bool is_asian_mark(uint32_t c) {
    switch (c) {
        case 0x3001: case 0x3002: case 0x30FB: case 0xFF01: case 0xFF02: case 0xFF08: case 0xFF09: case 0xFF0C: case 0xFF0E: case 0xFF1A:
        case 0xFF1B: case 0xFF1F: return true;
        default: return (c >= 0x3008 && c <= 0x3011) || (c >= 0x3014 && c <= 0x301F) || (c >= 0xFF61 && c <= 0xFF65);
    }
}

// Like re.sub of two neighbouring characters that `fits`: from left to right, and what was taken is not looked at again.
template <typename Fits> std::string apart(const std::string &line, const char *before, const char *between, const char *behind, Fits fits) {
    std::string result;
    size_t i = 0;
    for (; i + 1 < line.size(); ++i) {
        if (!fits(line[i], line[i + 1])) {
            result += line[i];
            continue;
        }
        result.append(before).append(1, line[i]).append(between).append(1, line[i + 1]).append(behind);
        ++i;
    }
    return result.append(line, i, std::string::npos);
}

std::string western(std::string line) {
    if (line.find('\n') != std::string::npos) line = replaced(replaced(line, "\n-", ""), "\n", " ");
    if (line.find('&') != std::string::npos) {
        line = replaced(replaced(line, "&quot;", "\""), "&amp;", "&");
        line = replaced(replaced(line, "&lt;", "<"), "&gt;", ">");
    }
    line += ' ';
    std::string spaced = " ";
    for (size_t i = 0; i < line.size(); ++i) {
        if (is_single(line[i])) {
            spaced.append(1, ' ').append(1, line[i]).append(1, ' ');
            continue;
        }
        // A possessive, if something follows that has got spaces.
        if (line[i] == '\'' && line[i + 1] == 's' && is_single(line[i + 2])) spaced += ' ';
        spaced += line[i];
    }
    spaced = apart(spaced, "", " ", " ", [](char a, char b) { return !is_digit(a) && is_point(b); });
    spaced = apart(spaced, " ", " ", "", [](char a, char b) { return is_point(a) && !is_digit(b); });
    return apart(spaced, "", " ", " ", [](char a, char b) { return is_digit(a) && b == '-'; });
}

// All of these characters take three bytes. Rules for hiragana and katakana exist in sacreBLEU that no normalised line fits:
// they begin at its start, where there is a space.
std::string eastern(const std::string &line, bool split, bool drop) {
    std::string result;
    for (size_t i = 0; i < line.size(); ++i) {
        uint32_t lead = static_cast<uint8_t>(line[i]);
        if (lead < 0xE2 || lead > 0xEF) {
            result += line[i];
            continue;
        }
        auto tail = [&](size_t at) { return static_cast<uint32_t>(static_cast<uint8_t>(line[at]) & 0x3F); };
        uint32_t c = (lead & 0x0F) << 12 | tail(i + 1) << 6 | tail(i + 2);
        bool mark = is_asian_mark(c), alone = split && (mark || is_ideograph(c));
        if (alone) result += ' ';
        if (!(mark && drop)) result.append(line, i, 3);
        if (alone) result += ' ';
        i += 2;
    }
    return result;
}

std::string words_joined(const std::string &line) {
    std::string result;
    for (char c : line) {
        bool space = is_ascii_space(static_cast<uint8_t>(c));
        if (!space) result += c;
        else if (!result.empty() && result.back() != ' ') result += ' ';
    }
    if (!result.empty() && result.back() == ' ') result.pop_back();
    return result;
}

}  // namespace

std::string changed(std::string_view line, uint8_t options) {
    while (!line.empty() && is_ascii_space(static_cast<uint8_t>(line.back()))) line.remove_suffix(1);
    std::string result(line);
    if (options & normalized) result = western(std::move(result));
    if (options & no_punct) std::erase_if(result, is_mark);
    if (options & asian) result = eastern(result, options & normalized, options & no_punct);
    return options & twice ? changed(words_joined(result), options & ~twice) : result;
}

}  // namespace trubleu::tercom
