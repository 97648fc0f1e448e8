#include "yaml_reader.hpp"

#include "espalier/base/text.hpp"

#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace espalier::config {
namespace {

constexpr int max_depth = 32;      // an alias may name the list it is in
constexpr int max_values = 20'000; // aliases of aliases grow exponentially; far above any experiment

std::string too_large_text() {
    return fmt::format("too deep or too large (more than {} levels or {} values); do not nest aliases", max_depth,
                       max_values);
}

/// Turns the library's nodes into values; throws nothing and reports what is wrong where it stands.
class Converter {
public:
    explicit Converter(int source) : source_(source) {}

    Value convert(YAML::Node const& node, Context const& at, int depth = 0) {
        Value value;
        value.place = place_of(node.Mark());
        if (depth > max_depth || ++values_ > max_values) return refuse_size(value, at);
        if (node.IsScalar()) fill_scalar(value, node);
        if (node.IsSequence()) fill_list(value, node, at, depth);
        if (node.IsMap()) fill_map(value, node, at, depth);
        return value;
    }
    [[nodiscard]] Place place_of(YAML::Mark const& mark) const {
        return mark.is_null() ? Place{source_, 0, 0} : Place{source_, mark.line, mark.column};
    }

private:
    using Places = std::unordered_map<std::string, Place>; ///< of the keys of one map

    Value refuse_size(Value value, Context const& at) {
        if (!is_too_large_) at.error(value.place, too_large_text());
        is_too_large_ = true;
        return value;
    }
    static void fill_scalar(Value& value, YAML::Node const& node) {
        value.kind = Value::Kind::scalar;
        value.text = node.Scalar();
        value.is_quoted = node.Tag() == "!";
    }
    void fill_list(Value& value, YAML::Node const& node, Context const& at, int depth) {
        value.kind = Value::Kind::list;
        for (auto const& item : node) {
            if (is_too_large_) return;
            value.items.push_back(convert(item, at.item(value.items.size()), depth + 1));
        }
    }
    void fill_map(Value& value, YAML::Node const& node, Context const& at, int depth) {
        value.kind = Value::Kind::map;
        Places seen;
        for (auto const& pair : node) {
            if (is_too_large_) return;
            if (is_new_key(pair.first, seen, at)) add_entry(value, pair.first, pair.second, at, depth);
        }
    }
    void add_entry(Value& map, YAML::Node const& key, YAML::Node const& node, Context const& at, int depth) {
        auto const place = place_of(key.Mark());
        auto value = convert(node, at.in(key.Scalar()), depth + 1);
        // The library puts an absent value at the next token, lines away.
        if (value.kind == Value::Kind::null) value.place = place;
        map.entries.push_back({key.Scalar(), place, std::move(value)});
    }
    bool is_new_key(YAML::Node const& key, Places& seen, Context const& at) const {
        auto const place = place_of(key.Mark());
        if (!key.IsScalar()) {
            at.error(place, fmt::format("a key must be a word{}", at.inside()));
            return false;
        }
        auto const [first, is_new] = seen.emplace(key.Scalar(), place);
        if (!is_new)
            at.error(place, fmt::format("duplicate key '{}'{}; the first is at {}", key.Scalar(), at.inside(),
                                        at.name_of(first->second)));
        return is_new;
    }

    int source_;
    int values_ = 0;
    bool is_too_large_ = false;
};

bool is_control(char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7f;
}

/// The library takes some control characters for the end of the file and lets broken UTF-8 through.
std::optional<Place> find_non_text(std::string_view text, int source) {
    Place place{source, 0, 0};
    while (!text.empty()) {
        auto const length = base::utf8_length(text);
        if (length == 0 || is_control(text.front())) return place;
        place = text.front() == '\n' ? Place{source, place.line + 1, 0}
                                     : Place{source, place.line, place.column + static_cast<int>(length)};
        text.remove_prefix(length);
    }
    return std::nullopt;
}

struct TooLarge {
    YAML::Mark mark;
};

/// Hears where documents start, and ends the reading of what is too large before anything is kept of it: the library
/// needs quadratic time for a map of a million keys.
class DocumentListener : public YAML::EventHandler {
public:
    void OnDocumentStart(YAML::Mark const& mark) override { starts_.push_back(mark); }
    void OnDocumentEnd() override {}
    void OnNull(YAML::Mark const& mark, YAML::anchor_t) override { count(mark); }
    void OnAlias(YAML::Mark const& mark, YAML::anchor_t) override { count(mark); }
    void OnScalar(YAML::Mark const& mark, std::string const&, YAML::anchor_t, std::string const&) override {
        count(mark);
    }
    void OnSequenceStart(YAML::Mark const& mark, std::string const&, YAML::anchor_t,
                         YAML::EmitterStyle::value) override {
        enter(mark);
    }
    void OnSequenceEnd() override { --depth_; }
    void OnMapStart(YAML::Mark const& mark, std::string const&, YAML::anchor_t, YAML::EmitterStyle::value) override {
        enter(mark);
    }
    void OnMapEnd() override { --depth_; }
    [[nodiscard]] std::vector<YAML::Mark> const& starts() const { return starts_; }

private:
    void count(YAML::Mark const& mark) {
        if (++events_ > 2 * max_values) throw TooLarge{mark}; // a key is an event too
    }
    void enter(YAML::Mark const& mark) {
        count(mark);
        if (++depth_ > max_depth + 1) throw TooLarge{mark};
    }

    std::vector<YAML::Mark> starts_;
    int events_ = 0;
    int depth_ = 0;
};

/// At most two: after some errors, such as a stray comma, the library finds one document after another forever.
std::vector<YAML::Mark> document_starts(std::string const& text) {
    std::istringstream in(text);
    YAML::Parser parser(in);
    DocumentListener listener;
    for (int i = 0; i < 2; ++i)
        if (!parser.HandleNextDocument(listener)) break;
    return listener.starts();
}

std::string second_document_text(std::string_view text, YAML::Mark const& mark) {
    auto const rest = text.substr(std::min(text.size(), static_cast<std::size_t>(mark.pos)));
    return rest.starts_with("---") ? "a second document; an experiment is a single one: remove the '---'"
                                   : "not valid YAML: the experiment ends before this";
}

/// The only document; null if there is none.
std::optional<Value> read_document(std::string const& text, Converter& converter, Context const& at) {
    auto const starts = document_starts(text);
    if (starts.size() < 2) return converter.convert(YAML::Load(text), at);
    at.error(converter.place_of(starts[1]), second_document_text(text, starts[1]));
    return std::nullopt;
}

} // namespace

std::optional<Value> read_yaml(std::string_view text, int source, Context const& at) {
    if (auto const place = find_non_text(text, source)) {
        at.error(*place, "not text; use UTF-8 without control characters");
        return std::nullopt;
    }
    Converter converter(source);
    try {
        return read_document(std::string(text), converter, at);
    } catch (TooLarge const& found) {
        at.error(converter.place_of(found.mark), too_large_text());
        return std::nullopt;
    } catch (YAML::Exception const& error) {
        at.error(converter.place_of(error.mark), fmt::format("not valid YAML: {}", error.msg));
        return std::nullopt;
    }
}

} // namespace espalier::config
