#pragma once

#include "espalier/base/hash.hpp"
#include "espalier/base/rng.hpp"
#include "espalier/search/problem.hpp"

#include <algorithm>
#include <array>

namespace espalier::toys {

/// Shortest round trips from city 0, by branch and bound. Distances are 1, 2 or 3 and symmetric, so that many trips
/// tie.
class Tsp {
public:
    struct Node {
        std::array<std::uint8_t, 12> path{}; ///< starts at city 0
        std::uint16_t cities = 1;
        std::uint16_t length = 0; ///< of a full path: of the round trip

        bool operator==(Node const&) const = default;
    };
    using Result = Node;
    struct Workspace {};
    struct Answer {
        int length = 0;
        std::uint64_t trips = 0; ///< of that length; both directions count
    };

    /// n cities, 2 .. 12.
    explicit Tsp(int n, base::Seed seed = base::Seed{1}) : n_(n) {
        base::Rng rng(seed);
        for (int a = 0; a < n; ++a)
            for (int b = 0; b < a; ++b)
                distance_[a][b] = distance_[b][a] = static_cast<std::uint16_t>(1 + rng.below(3));
    }

    search::ProblemInfo info() const { return {.kind = "tsp", .reasons = {}, .counters = {}, .has_bound = true}; }
    std::vector<Node> roots() const { return {Node{}}; }
    Workspace make_workspace(search::Notes&) const { return {}; }

    search::Assessment assess(Node const& node, Workspace&) const {
        return node.cities == n_ ? search::is_candidate() : search::expand_it();
    }
    void expand(Node const& node, Workspace&, search::Children<Node>& children) const {
        auto const end = node.path.begin() + node.cities;
        for (std::uint8_t city = 1; city < n_; ++city)
            if (std::find(node.path.begin(), end, city) == end) children.push(extended(node, city));
    }
    std::vector<search::VerifyOutcome<Result>> verify(std::span<Node const> nodes, Workspace&) const {
        std::vector<search::VerifyOutcome<Result>> outcomes(nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) outcomes[i].result = nodes[i];
        return outcomes;
    }
    search::ResultRecord record(Result const& result) const {
        search::ResultRecord record;
        record.cost = result.length;
        record.verification = search::Verification::proved;
        for (int i = 0; i < result.cities; ++i) record.text += (i > 0 ? " " : "") + std::to_string(result.path[i]);
        pack(result, record.payload);
        record.key = base::hash_bytes(record.payload);
        return record;
    }

    /// Every city still to come costs at least 1, and so does the way back.
    double bound(Node const& node) const {
        return node.cities == n_ ? node.length : node.length + n_ - node.cities + 1;
    }
    std::int32_t depth(Node const& node) const { return node.cities; }
    void pack(Node const& node, base::Bytes& out) const {
        base::ByteWriter writer(out);
        writer.put(node.length);
        writer.put_list<std::uint8_t>({node.path.data(), node.cities});
    }
    Node unpack(std::span<std::byte const> bytes) const {
        base::ByteReader reader(bytes);
        Node node{.length = reader.get<std::uint16_t>()};
        auto const path = reader.get_list<std::uint8_t>();
        node.cities = static_cast<std::uint16_t>(path.size());
        std::ranges::copy(path, node.path.begin());
        return node;
    }

    /// Every permutation.
    Answer brute_force() const {
        std::vector<std::uint8_t> order;
        for (int city = 1; city < n_; ++city) order.push_back(static_cast<std::uint8_t>(city));
        Answer best{.length = 1 << 30};
        do {
            Node trip;
            for (auto const city : order) trip = extended(trip, city);
            if (trip.length < best.length) best = {trip.length, 0};
            if (trip.length == best.length) ++best.trips;
        } while (std::ranges::next_permutation(order).found);
        return best;
    }

private:
    Node extended(Node node, std::uint8_t city) const {
        node.length = static_cast<std::uint16_t>(node.length + distance_[node.path[node.cities - 1]][city]);
        node.path[node.cities++] = city;
        if (node.cities == n_) node.length = static_cast<std::uint16_t>(node.length + distance_[city][0]);
        return node;
    }

    int n_;
    std::array<std::array<std::uint16_t, 12>, 12> distance_{};
};
static_assert(search::SearchProblem<Tsp> && search::Verifies<Tsp> && search::Bounded<Tsp>);

} // namespace espalier::toys
