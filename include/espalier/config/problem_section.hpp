#pragma once

#include "espalier/base/contract.hpp"
#include "espalier/config/section.hpp"
#include "espalier/config/shared_key.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <typeindex>
#include <utility>
#include <vector>

namespace espalier::config {

class ProblemSection;

/// What an experiment says under `problem`: a value that only its kind can read.
class ProblemConfig {
public:
    ProblemConfig() = default; ///< of no kind

    [[nodiscard]] bool has_value() const { return section_ != nullptr; }
    [[nodiscard]] ProblemSection const& section() const {
        ESP_EXPECT(section_ != nullptr);
        return *section_;
    }
    /// `T` is the type of the kind's own config.
    template <class T>
    [[nodiscard]] T const& as() const;

    bool operator==(ProblemConfig const& other) const;

private:
    template <class T>
    friend class ProblemSectionOf;
    ProblemConfig(ProblemSection const& section, std::shared_ptr<void const> value)
        : section_(&section), value_(std::move(value)) {}

    ProblemSection const* section_ = nullptr; ///< lives as long as the program
    std::shared_ptr<void const> value_;
};

/// What everybody may know about a kind of problem.
struct ProblemTexts {
    std::string name;             ///< `kind` in an experiment
    std::string example;          ///< of the section: `{kind: ..., ...}`
    std::string file;             ///< an experiment that comes with the program, e.g. config/....yaml
    std::vector<SharedKey> reads; ///< of the keys outside `problem`
};

/// How a kind of problem is described in an experiment: its name, its keys, and which shared keys it reads.
class ProblemSection {
public:
    virtual ~ProblemSection() = default;

    [[nodiscard]] std::string const& name() const { return texts_.name; }
    [[nodiscard]] ProblemTexts const& texts() const { return texts_; }

    [[nodiscard]] virtual std::type_index type() const = 0;
    [[nodiscard]] virtual std::optional<ProblemConfig> read(Value const& map, Context const& at) const = 0;
    [[nodiscard]] virtual Value write(ProblemConfig const& problem) const = 0;
    [[nodiscard]] virtual base::Json schema() const = 0;
    /// Equal problems become equal values.
    [[nodiscard]] virtual ProblemConfig canonical(ProblemConfig const& problem) const = 0;
    [[nodiscard]] virtual bool are_equal(ProblemConfig const& a, ProblemConfig const& b) const = 0;

protected:
    explicit ProblemSection(ProblemTexts texts) : texts_(std::move(texts)) {}

private:
    ProblemTexts texts_;
};

/// The key that selects a kind, with one as the example.
[[nodiscard]] KeyInfo kind_key(std::string const& example);

/// Of a kind whose config is the struct `T`. One object per kind, which lives as long as the program.
template <class T>
class ProblemSectionOf final : public ProblemSection {
public:
    using Canonical = std::function<T(T)>;

    ProblemSectionOf(ProblemTexts texts, Section<T> section, Canonical canonical = std::identity{})
        : ProblemSection(std::move(texts)), section_(std::move(section.tag(kind_key(name()), name()))),
          canonical_(std::move(canonical)) {}

    [[nodiscard]] ProblemConfig hold(T value) const { return {*this, std::make_shared<T const>(std::move(value))}; }

    [[nodiscard]] std::type_index type() const override { return typeid(T); }
    [[nodiscard]] std::optional<ProblemConfig> read(Value const& map, Context const& at) const override {
        auto value = section_.read(map, at);
        return value ? std::optional(hold(std::move(*value))) : std::nullopt;
    }
    [[nodiscard]] Value write(ProblemConfig const& problem) const override { return section_.write(problem.as<T>()); }
    [[nodiscard]] base::Json schema() const override { return section_.schema(); }
    [[nodiscard]] ProblemConfig canonical(ProblemConfig const& problem) const override {
        return hold(canonical_(problem.as<T>()));
    }
    [[nodiscard]] bool are_equal(ProblemConfig const& a, ProblemConfig const& b) const override {
        return a.as<T>() == b.as<T>();
    }

private:
    Section<T> section_;
    Canonical canonical_;
};

template <class T>
T const& ProblemConfig::as() const {
    ESP_EXPECT(section().type() == typeid(T));
    return *static_cast<T const*>(value_.get());
}

inline bool ProblemConfig::operator==(ProblemConfig const& other) const {
    return section_ == other.section_ && (section_ == nullptr || section_->are_equal(*this, other));
}

/// The kinds that an experiment may name, each once.
using ProblemSections = std::vector<ProblemSection const*>;

} // namespace espalier::config
