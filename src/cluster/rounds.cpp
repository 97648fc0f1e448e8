#include "espalier/cluster/rounds.hpp"

#include <algorithm>

namespace espalier::cluster {

void Rounds::send(base::Rank to, base::Bytes bytes) {
    bytes.push_back(std::byte{round_});
    comm_.send(to, std::move(bytes));
}

std::optional<Incoming> Rounds::take_early() {
    auto const found = std::ranges::find(early_, round_, &Early::round);
    if (found == early_.end()) return std::nullopt;
    auto incoming = std::move(found->incoming);
    early_.erase(found);
    return incoming;
}

std::optional<Incoming> Rounds::receive() {
    if (auto early = take_early()) return early;
    while (auto incoming = comm_.receive()) {
        if (incoming->bytes.empty()) continue;
        auto const round = static_cast<std::uint8_t>(incoming->bytes.back());
        incoming->bytes.pop_back();
        if (round == round_) return incoming;
        if (round > round_) early_.push_back({round, std::move(*incoming)});
    }
    return std::nullopt;
}

} // namespace espalier::cluster
