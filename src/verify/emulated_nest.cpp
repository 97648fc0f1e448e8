#include "emulated_nest.hpp"

#include <algorithm>

namespace espalier::verify::emulated {
namespace {

using program::LoopDigit;
using program::Meaning;
using program::Nest;
using program::Position;
using program::Read;
using program::ScalarNode;

/// So far below 0 that no sum of places gets back above it.
constexpr std::int64_t outside = std::numeric_limits<std::int64_t>::min() / 64;

std::int64_t place_of(std::int64_t index, Indices const& indices) {
    auto const found = std::ranges::lower_bound(indices, index);
    return found != indices.end() && *found == index ? found - indices.begin() : outside;
}

/// The contribution of one loop to a position.
std::int64_t part(Position const& position, std::size_t loop, std::int64_t value) {
    std::int64_t out = 0;
    for (auto const& digit : position.digits)
        if (digit.loop == loop) out += digit.stride * (value / digit.below % digit.size);
    return out;
}
std::vector<std::size_t> loops_of(Position const& position) {
    std::vector<std::size_t> out;
    for (auto const& digit : position.digits)
        if (std::ranges::count(out, digit.loop) == 0) out.push_back(digit.loop);
    return out;
}

void make_rising(Indices& indices) {
    if (!std::ranges::is_sorted(indices)) std::ranges::sort(indices);
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
}

/// Every index that a position takes within its dimension.
Indices taken(Position const& position, std::vector<Indices> const& loops, std::int64_t size) {
    Indices out{position.offset};
    for (auto const loop : loops_of(position)) {
        Indices next;
        next.reserve(out.size() * loops[loop].size());
        for (auto const start : out)
            for (auto const value : loops[loop]) next.push_back(start + part(position, loop, value));
        make_rising(next);
        out = std::move(next);
    }
    std::erase_if(out, [&](std::int64_t index) { return index < 0 || index >= size; });
    return out;
}

void unite(Box& box, Read const& read, std::vector<Indices> const& loops) {
    box.resize(static_cast<std::size_t>(read.index.rank()));
    for (int d = 0; d < read.index.rank(); ++d) {
        auto& indices = box[static_cast<std::size_t>(d)];
        auto const more = taken(read.index[d], loops, read.shape[d]);
        indices.insert(indices.end(), more.begin(), more.end());
        make_rising(indices);
    }
}

/// Of an accumulator: the loop over the steps.
bool counts_steps(Nest const& nest, std::size_t loop) {
    return std::ranges::any_of(nest.reads, [&](Read const& read) {
        return std::ranges::any_of(read.step.digits, [&](LoopDigit const& digit) { return digit.loop == loop; });
    });
}

/// The values of all loops: those of the box that is kept, and all that are reduced; of steps one at a time.
std::vector<Indices> loop_values(Nest const& nest, Box const& kept) {
    auto out = kept;
    for (auto loop = kept.size(); loop < nest.loops(); ++loop)
        out.push_back(counts_steps(nest, loop) ? Indices{0} : all_indices(nest.loop_size(loop)));
    return out;
}

} // namespace

std::size_t size_of(Box const& box) {
    std::size_t out = 1;
    for (auto const& indices : box) out *= indices.size();
    return out;
}
double volume(Box const& box) {
    double out = 1;
    for (auto const& indices : box) out *= static_cast<double>(indices.size());
    return out;
}

std::vector<Box> needed(Meaning const& meaning, std::size_t operands, Box const& out) {
    std::vector<Box> boxes(operands + meaning.nests.size());
    boxes.back() = out;
    for (auto i = meaning.nests.size(); i-- > 0;) {
        auto const& nest = meaning.nests[i];
        auto const loops = loop_values(nest, boxes[operands + i]);
        for (auto const& read : nest.reads) unite(boxes[read.source], read, loops);
    }
    return boxes;
}

bool is_in_steps(Nest const& nest) {
    return std::ranges::any_of(nest.reads, [](Read const& read) { return !read.step.digits.empty(); });
}

// --- reads ---

ReadPlaces::ReadPlaces(Read const& read, std::vector<Indices> const& loops, Box const& source)
    : read_(read), loops_(loops), source_(source), by_loop_(loops.size()) {
    std::int64_t stride = 1;
    for (auto dim = read.index.rank(); dim-- > 0;) {
        add(dim, stride);
        stride *= static_cast<std::int64_t>(source[static_cast<std::size_t>(dim)].size());
    }
}

void ReadPlaces::add(int dim, std::int64_t stride) {
    auto const& position = read_.index[dim];
    auto const& indices = source_[static_cast<std::size_t>(dim)];
    auto const loops = loops_of(position);
    auto const place = [&](std::int64_t index) {
        auto const found = place_of(index, indices);
        return found < 0 ? outside : found * stride;
    };
    if (loops.empty()) constant_ += place(position.offset);
    if (loops.size() > 1) crossings_.push_back({dim, stride});
    if (loops.size() != 1) return;
    auto const loop = loops.front();
    by_loop_[loop].resize(loops_[loop].size());
    std::size_t next = 0; // mostly the place after the one before
    for (std::size_t i = 0; i < loops_[loop].size(); ++i, ++next) {
        auto const index = position.offset + part(position, loop, loops_[loop][i]);
        if (next >= indices.size() || indices[next] != index)
            next = static_cast<std::size_t>(std::ranges::lower_bound(indices, index) - indices.begin());
        auto const is_there = next < indices.size() && indices[next] == index;
        by_loop_[loop][i] += is_there ? static_cast<std::int64_t>(next) * stride : outside;
    }
}

std::int64_t ReadPlaces::across(std::vector<std::size_t> const& places) const {
    std::int64_t out = 0;
    for (auto const& [dim, stride] : crossings_) {
        auto const& position = read_.index[dim];
        auto index = position.offset;
        for (auto const& digit : position.digits)
            index += digit.stride * (loops_[digit.loop][places[digit.loop]] / digit.below % digit.size);
        auto const found = place_of(index, source_[static_cast<std::size_t>(dim)]);
        out += found < 0 ? outside : found * stride;
    }
    return out;
}

// --- nests ---

Formula::Formula(program::ScalarExpression const& expression) : values_(expression.size()) {
    for (auto const& node : expression) {
        if (node.kind == ScalarNode::Kind::number) values_[nodes_.size()] = Arithmetic::constant(node.number);
        nodes_.push_back({node, node.kind == ScalarNode::Kind::apply ? program::info(node.op).real : nullptr});
    }
}

NestRun::NestRun(Nest const& nest, program::Attributes const& attributes, Box const& kept,
                 std::vector<Box> const& sources)
    : nest_(nest), attributes_(attributes), loops_(loop_values(nest, kept)), body_(nest.body), epilogue_(nest.epilogue),
      sums_(size_of(kept)), places_(nest.loops()), starts_(nest.reads.size()), offsets_(nest.reads.size()) {
    for (auto const& one : nest.reads) reads_.emplace_back(one, loops_, sources[one.source]);
    for (auto loop = kept_loops(); loop < loops_.size(); ++loop) points_ *= loops_[loop].size();
    number_points();
}

/// The next values of the loops [from, to), the last one fastest; after the last ones the first again.
void NestRun::advance(std::size_t from, std::size_t to) {
    for (auto loop = to; loop-- > from; places_[loop] = 0)
        if (++places_[loop] < loops_[loop].size()) return;
}

void NestRun::add(std::vector<Numbers const*> const& sources) {
    for (auto& sum : sums_) {
        for (std::size_t i = 0; i < reads_.size(); ++i) starts_[i] = reads_[i].along(places_, 0, kept_loops());
        auto const more = partial(sources);
        if (more) sum = sum ? reduce(*sum, *more) : *more;
        advance(0, kept_loops());
    }
}

std::optional<Number> NestRun::partial(std::vector<Numbers const*> const& sources) {
    std::optional<Number> out;
    for (std::size_t n = 0; n < points_; ++n) {
        auto const* const value = body_(attributes_, [&](ScalarNode const& node) {
            return read(node.read, n, *sources[nest_.reads[node.read].source]);
        });
        if (value != nullptr) out = out ? reduce(*out, *value) : *value;
        if (has_crossings_) advance(kept_loops(), loops_.size());
    }
    return out;
}

Number const* NestRun::read(std::size_t number, std::size_t point, Numbers const& source) const {
    static constexpr Number zero{};
    auto const& offsets = offsets_[number];
    auto const at = starts_[number] + (offsets.empty() ? reduced_part(number) : offsets[point]);
    if (at >= 0) return &source[static_cast<std::size_t>(at)];
    auto const outside_is = nest_.reads[number].outside;
    ESP_EXPECT(outside_is != program::Outside::never);
    return outside_is == program::Outside::zero ? &zero : nullptr;
}

std::int64_t NestRun::reduced_part(std::size_t number) const {
    return reads_[number].along(places_, kept_loops(), loops_.size()) + reads_[number].rest(places_);
}

void NestRun::number_points() {
    for (std::size_t i = 0; i < reads_.size(); ++i) {
        has_crossings_ = has_crossings_ || reads_[i].has_crossings();
        if (reads_[i].has_crossings()) continue;
        offsets_[i].reserve(points_);
        for (std::size_t n = 0; n < points_; ++n, advance(kept_loops(), loops_.size()))
            offsets_[i].push_back(reduced_part(i));
    }
}

Numbers NestRun::finish(std::int64_t values) {
    Numbers out;
    out.reserve(sums_.size());
    auto const count = Arithmetic::whole(values);
    for (auto const& sum : sums_) {
        auto const reduced = sum.value_or(Number{});
        auto const leaf = [&](ScalarNode const& node) {
            return node.kind == ScalarNode::Kind::reduced ? &reduced : &count;
        };
        out.push_back(epilogue_.empty() ? reduced : *epilogue_(attributes_, leaf));
    }
    return out;
}

} // namespace espalier::verify::emulated
