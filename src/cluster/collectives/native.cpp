#include "world.hpp"

#include "espalier/base/rng.hpp"

#include <algorithm>
#include <cstring>

namespace espalier::cluster::collectives {
namespace {

std::vector<int> const& own_group(Plan const& plan, int rank) {
    return *std::ranges::find_if(plan.groups,
                                 [rank](auto const& group) { return std::ranges::count(group, rank) > 0; });
}

template <class T>
void fill_as(std::byte* data, std::size_t elements, base::Rng& rng) {
    for (std::size_t i = 0; i < elements; ++i) {
        auto const bits = rng();
        T const number =
            std::is_integral_v<T> ? static_cast<T>(bits) : static_cast<T>(static_cast<int>(bits % 2001) - 1000);
        std::memcpy(data + i * sizeof(T), &number, sizeof(T));
    }
}

/// What every device of the group should have: the sums, or of an AllGather what the devices brought.
std::vector<std::byte> expected_values(World& world, Plan const& plan, std::vector<std::byte> data,
                                       std::size_t elements, Element element) {
    world.make_communicators(plan.groups);
    auto const& group = own_group(plan, world.rank());
    auto const comm = world.data().of(group);
    auto const type = datatype_of(element);
    if (plan.request == Request::all_gather)
        MPI_Allgather(MPI_IN_PLACE, 0, type, data.data(),
                      static_cast<int>(data.size() / size_of(element) / group.size()), type, comm);
    else
        MPI_Allreduce(MPI_IN_PLACE, data.data(), static_cast<int>(elements), type, MPI_SUM, comm);
    return data;
}

/// Elements of one piece of memory that differ; padding does not count.
std::uint64_t count_different(std::vector<std::byte> const& found, std::vector<std::byte> const& wanted,
                              std::size_t begin, std::size_t end, std::size_t size) {
    std::uint64_t different = 0;
    for (auto i = begin; i < end; ++i)
        different += std::memcmp(found.data() + i * size, wanted.data() + i * size, size) != 0 ? 1 : 0;
    return different;
}

std::uint64_t seed_of(World const& world, std::uint64_t seed) {
    return base::Rng::mix(seed + static_cast<std::uint64_t>(world.rank()) + 1);
}

/// An AllGather starts with one chunk: the others are made wrong, so that a program that sends them is found out.
void keep_own_share(Schedule const& schedule, Request request, std::vector<std::byte>& data) {
    if (!reduction::info(request).starts_in_parts) return;
    auto const share = data.size() / static_cast<std::size_t>(schedule.chunks);
    auto const begin = share * static_cast<std::size_t>(schedule.place);
    for (std::size_t i = 0; i < data.size(); ++i)
        if (i < begin || i >= begin + share) data[i] = ~data[i];
}

} // namespace

Native::Native(World& world, Plan const& plan, std::size_t elements, Element element)
    : world_(world), element_(element), request_(plan.request), elements_(elements),
      members_(own_group(plan, world.rank())) {
    length_ = (elements + members_.size() - 1) / members_.size();
    world.make_communicators(plan.groups);
}

void Native::run(std::byte* data, std::byte* scratch) const {
    auto const comm = world_.data().of(members_);
    auto const type = datatype_of(element_);
    auto const length = static_cast<int>(length_);
    if (request_ == Request::all_reduce)
        MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(elements_), type, MPI_SUM, comm);
    else if (request_ == Request::all_gather)
        MPI_Allgather(MPI_IN_PLACE, length, type, data, length, type, comm);
    else
        MPI_Reduce_scatter_block(data, scratch, length, type, MPI_SUM, comm);
}

void fill(std::byte* data, std::size_t elements, Element element, std::uint64_t seed) {
    base::Rng rng{base::Seed{seed}};
    if (element == Element::f32) return fill_as<float>(data, elements, rng);
    if (element == Element::f64) return fill_as<double>(data, elements, rng);
    fill_as<std::uint32_t>(data, elements, rng);
}

std::uint64_t count_wrong(World& world, Plan const& plan, std::size_t elements, Element element, std::uint64_t seed) {
    Execution const execution(world, plan, elements, element);
    auto const& layout = execution.layout();
    std::vector<std::byte> data(execution.data_bytes()), scratch(execution.scratch_bytes());
    fill(data.data(), elements, element, seed_of(world, seed));
    auto const wanted = expected_values(world, plan, data, elements, element);
    keep_own_share(execution.schedule(), plan.request, data);
    execution.run(data.data(), scratch.data());
    std::uint64_t wrong = is_complete(plan) ? 0 : 1;
    for (auto const chunk : execution.schedule().held)
        for (int segment = 0; segment < layout.segments; ++segment) {
            auto const begin = std::min(layout.offset(chunk, segment), elements);
            wrong += count_different(data, wanted, begin, std::min(begin + layout.length, elements), size_of(element));
        }
    return world.sum(wrong);
}

std::uint64_t count_wrong(World& world, Plan const& plan, std::size_t elements, Element element, std::uint64_t seed,
                          Forced const& forced) {
    Native const native(world, plan, elements, element);
    std::vector<std::byte> data(native.data_bytes()), scratch(native.scratch_bytes());
    fill(data.data(), elements, element, seed_of(world, seed));
    auto const wanted = expected_values(world, plan, data, elements, element);
    {
        Forcing const forcing(forced);
        native.run(data.data(), scratch.data());
    }
    std::size_t begin = 0, end = elements;
    if (reduction::info(plan.request).ends_in_parts) {
        auto const& group = own_group(plan, world.rank());
        auto const length = scratch.size() / size_of(element);
        begin = static_cast<std::size_t>(std::ranges::find(group, world.rank()) - group.begin()) * length;
        std::ranges::copy(scratch, data.begin() + static_cast<std::ptrdiff_t>(begin * size_of(element)));
        end = std::min(begin + length, elements);
    }
    return world.sum(count_different(data, wanted, std::min(begin, elements), end, size_of(element)));
}

} // namespace espalier::cluster::collectives
