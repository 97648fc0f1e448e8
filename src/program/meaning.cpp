#include "espalier/program/meaning.hpp"

#include <algorithm>

namespace espalier::program {
namespace {

using Kind = ScalarNode::Kind;

constexpr std::size_t max_loops = max_rank + 2;

/// For which values of the loops something is not a zero from outside: a range of each.
class Box {
public:
    explicit Box(Nest const& nest) : loops_(nest.loops()) {
        for (std::size_t i = 0; i < loops_; ++i) ranges_[i] = {0, nest.loop_size(i)};
    }
    /// Where a read stays inside. Only the plain ways to read have a range; others count as if they always did.
    Box(Nest const& nest, Read const& read) : Box(nest) {
        if (read.outside == Outside::never) return;
        for (int d = 0; d < read.index.rank(); ++d) {
            auto const& position = read.index[d];
            if (position.digits.size() != 1) continue;
            auto const& digit = position.digits[0];
            auto& [low, high] = ranges_[digit.loop];
            if (digit.stride != 1 || digit.below != 1 || digit.size != high) continue;
            low = std::max(low, -position.offset);
            high = std::min(high, read.shape[d] - position.offset);
        }
    }
    [[nodiscard]] double volume() const {
        double out = 1;
        for (std::size_t i = 0; i < loops_; ++i)
            out *= static_cast<double>(std::max<std::int64_t>(ranges_[i].second - ranges_[i].first, 0));
        return out;
    }
    friend Box meet(Box a, Box const& b) {
        for (std::size_t i = 0; i < a.loops_; ++i)
            a.ranges_[i] = {std::max(a.ranges_[i].first, b.ranges_[i].first),
                            std::min(a.ranges_[i].second, b.ranges_[i].second)};
        return a;
    }
    /// The smallest box around both.
    friend Box join(Box a, Box const& b) {
        for (std::size_t i = 0; i < a.loops_; ++i)
            a.ranges_[i] = {std::min(a.ranges_[i].first, b.ranges_[i].first),
                            std::max(a.ranges_[i].second, b.ranges_[i].second)};
        return a;
    }

private:
    std::array<std::pair<std::int64_t, std::int64_t>, max_loops> ranges_{};
    std::size_t loops_;
};

void apply(OpCode op, double times, OpCount& out) {
    auto const& row = info(op);
    (is_function(row) ? out.functions : out.flops) += is_function(row) ? times : row.flops * times;
}

/// Where the value of an op may be other than zero, and where it has to be computed.
struct Support {
    Box value;
    Box computed;
};
Support support_of(OpCode op, Nest const& nest, Box const& a, Box const& b) {
    auto const both = meet(a, b);
    if (op == OpCode::mul || op == OpCode::square) return {both, both};
    if (op == OpCode::add || op == OpCode::sub) return {join(a, b), both};
    return {Box(nest), Box(nest)};
}

void count(Nest const& nest, OpCount& out) {
    std::vector<Box> boxes;
    for (auto const& node : nest.body) {
        if (node.kind != Kind::apply) {
            boxes.push_back(node.kind == Kind::read ? Box(nest, nest.reads[node.read]) : Box(nest));
            continue;
        }
        auto const support = support_of(node.op, nest, boxes[node.a], boxes[node.b]);
        apply(node.op, support.computed.volume(), out);
        boxes.push_back(support.value);
    }
    if (nest.reducer == Reducer::none) return;
    apply(nest.reducer == Reducer::sum ? OpCode::add : OpCode::maximum, boxes.back().volume(), out);
    auto const& last = nest.body.back();
    if (last.kind == Kind::apply && (last.op == OpCode::mul || last.op == OpCode::square))
        out.fused += boxes.back().volume();
}

/// How many values a position takes, within a dimension of the given size.
std::int64_t extent(Position const& position, std::int64_t size) {
    std::int64_t out = 1;
    for (auto const& digit : position.digits) out *= digit.size;
    return std::min(out, size);
}

} // namespace

std::int64_t Nest::count() const {
    std::int64_t out = 1;
    for (auto const size : reduced) out *= size;
    return out;
}

Meaning meaning_of(OpInfo const& row, RuleInput<std::int64_t> const& in) {
    auto const out = row.shape(in);
    ESP_EXPECT(out && row.meaning);
    return row.meaning(row, in, *out);
}

OpCount count_of(Meaning const& meaning) {
    OpCount out;
    for (auto const& nest : meaning.nests) count(nest, out);
    return out;
}

double elements_read(Meaning const& meaning, std::size_t source) {
    double most = 0;
    for (auto const& nest : meaning.nests)
        for (auto const& read : nest.reads) {
            if (read.source != source) continue;
            double count = 1;
            for (auto const& digit : read.step.digits) count *= static_cast<double>(digit.size);
            for (int d = 0; d < read.index.rank(); ++d)
                count *= static_cast<double>(extent(read.index[d], read.shape[d]));
            most = std::max(most, count);
        }
    return most;
}

} // namespace espalier::program
