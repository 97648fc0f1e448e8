#pragma once

#include "espalier/base/rng.hpp"
#include "espalier/problems/substitution/library.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// Rules of `space: affine` in plain floating-point numbers, written without a look at how the search evaluates them.
namespace espalier::tests {

/// Channels by columns; a number is one value, weights are outputs by inputs by taps, of `groups` groups.
struct Doubles {
    std::vector<double> values;
    int groups = 0;
};

class DoubleSide {
public:
    using Rule = problems::substitution::library::Rule;
    using Graph = problems::substitution::library::Graph;
    using Class = problems::substitution::library::InputClass;
    static constexpr int channels = 4, taps = 3, width = 5, most_groups = 2;

    DoubleSide(Rule const& rule, std::uint64_t seed) {
        base::Rng rng{base::Seed{seed}};
        for (auto const& input : rule.inputs) {
            auto sign = 0;
            for (auto const& one : rule.parameters)
                if (one.of == input.name) sign = one.is == problems::substitution::library::Sign::positive ? 1 : -1;
            auto const is_weights = input.kind == Class::weights;
            auto const size = input.kind == Class::data      ? channels * width
                              : input.kind == Class::channel ? channels
                                                             : 1;
            Doubles made{{}, is_weights ? most_groups : 0};
            for (int i = 0; i < (is_weights ? channels * channels / most_groups * taps : size); ++i) {
                auto const value = std::exp2(8 * rng.uniform() - 4);
                made.values.push_back(sign == 0 && rng.below(2) == 0 ? -value : sign < 0 ? -value : value);
            }
            tensors_[input.name] = made;
        }
    }
    /// Nothing where an operator has no meaning.
    [[nodiscard]] std::optional<std::vector<double>> output(Graph const& graph) {
        auto now = tensors_;
        for (auto const& op : graph.operators) {
            std::vector<Doubles> in;
            for (auto const& name : op.inputs) {
                auto const number = problems::substitution::library::number_of(name);
                in.push_back(number ? Doubles{{*number}} : now.at(name));
            }
            auto const made = compute(op.op, in);
            if (!made) return std::nullopt;
            now[op.outputs.front()] = *made;
        }
        return now.at(graph.outputs.front()).values;
    }

private:
    static double along(Doubles const& of, std::size_t i, std::size_t size) {
        return of.values[i * of.values.size() / size];
    }

    static std::optional<Doubles> compute(std::string const& op, std::vector<Doubles> in) {
        if (op == "conv") return conv(in);
        if (op == "merge_groups") return merged(in[0]);
        if (in[0].groups > 0) return scaled(op, in);
        std::size_t size = 0;
        for (auto const& one : in) size = std::max(size, one.values.size());
        Doubles out{std::vector<double>(size)};
        for (std::size_t i = 0; i < size; ++i) {
            std::vector<double> v;
            for (auto const& one : in) v.push_back(along(one, i, size));
            if (op == "clip" && v[1] > v[2]) return std::nullopt;
            if (op == "div" && v[1] == 0) return std::nullopt;
            out.values[i] = number(op, v);
        }
        return out;
    }
    static double number(std::string const& op, std::vector<double> const& v) {
        auto const gate = [](double x) { return std::min(1.0, std::max(0.0, x)); };
        if (op == "add") return v[0] + v[1];
        if (op == "mul") return v[0] * v[1];
        if (op == "div") return v[0] / v[1];
        if (op == "clip") return std::min(v[2], std::max(v[1], v[0]));
        if (op == "relu") return std::max(0.0, v[0]);
        if (op == "hard_sigmoid") return gate(v[0] * v[1] + v[2]);
        if (op == "hard_swish") return v[0] * gate(v[0] / 6 + 0.5);
        return std::nan("");
    }
    static Doubles conv(std::vector<Doubles> const& in) {
        Doubles out{std::vector<double>(static_cast<std::size_t>(channels * width))};
        auto const per_group = channels / in[1].groups;
        for (int o = 0; o < channels; ++o)
            for (int at = 0; at < width; ++at) {
                auto sum = in.size() > 2 ? along(in[2], static_cast<std::size_t>(o), channels) : 0.0;
                for (int i = 0; i < per_group; ++i)
                    for (int tap = 0; tap < taps; ++tap) {
                        auto const from = at + tap - 1;
                        if (from < 0 || from >= width) continue;
                        auto const weight = in[1].values[static_cast<std::size_t>((o * per_group + i) * taps + tap)];
                        sum += weight *
                               in[0].values[static_cast<std::size_t>((o / per_group * per_group + i) * width + from)];
                    }
                out.values[static_cast<std::size_t>(o * width + at)] = sum;
            }
        return out;
    }
    static Doubles scaled(std::string const& op, std::vector<Doubles> const& in) {
        auto out = in[0];
        auto const per_group = channels / out.groups;
        for (std::size_t i = 0; i < out.values.size(); ++i) {
            auto const o = static_cast<int>(i) / (per_group * taps), local = static_cast<int>(i) / taps % per_group;
            auto const c = op == "scale_inputs" ? o / per_group * per_group + local : o;
            out.values[i] *= along(in[1], static_cast<std::size_t>(c), channels);
        }
        return out;
    }
    static std::optional<Doubles> merged(Doubles const& from) {
        if (from.groups % 2 != 0) return std::nullopt;
        auto const old = channels / from.groups, wide = 2 * old;
        Doubles out{std::vector<double>(static_cast<std::size_t>(channels * wide * taps)), from.groups / 2};
        for (int o = 0; o < channels; ++o)
            for (int i = 0; i < wide; ++i)
                for (int tap = 0; tap < taps; ++tap) {
                    auto const channel = o / wide * wide + i;
                    if (channel / old != o / old) continue;
                    out.values[static_cast<std::size_t>((o * wide + i) * taps + tap)] =
                        from.values[static_cast<std::size_t>((o * old + channel % old) * taps + tap)];
                }
        return out;
    }

    std::map<std::string, Doubles> tensors_;
};

/// False: some values tell the sides apart, or one of them has no meaning where the other has.
inline bool agrees_in_doubles(problems::substitution::library::Rule const& rule, std::uint64_t seed, int tries) {
    for (int i = 0; i < tries; ++i) {
        DoubleSide side(rule, seed + static_cast<std::uint64_t>(i));
        auto const left = side.output(rule.left), right = side.output(rule.right);
        if (left.has_value() != right.has_value()) return false;
        if (!left) continue;
        for (std::size_t k = 0; k < std::max(left->size(), right->size()); ++k) {
            auto const a = (*left)[k * left->size() / std::max(left->size(), right->size())];
            auto const b = (*right)[k * right->size() / std::max(left->size(), right->size())];
            if (std::abs(a - b) > 1e-6 * (1 + std::abs(a) + std::abs(b))) return false;
        }
    }
    return true;
}

} // namespace espalier::tests
