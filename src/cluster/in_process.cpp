#include "espalier/base/system.hpp"
#include "espalier/cluster/communicator.hpp"

#include <barrier>
#include <cstdlib>
#include <deque>
#include <mutex>

namespace espalier::cluster {
namespace {

/// What the ranks of one process share: an inbox each, and a blackboard for start-up.
struct Network {
    explicit Network(int ranks)
        : inboxes(static_cast<std::size_t>(ranks)), hosts(inboxes.size(), base::host_name()), together(ranks) {}

    std::mutex mutex;
    std::vector<std::deque<Incoming>> inboxes;
    std::vector<std::string> hosts;
    base::Bytes blackboard;
    std::barrier<> together;
};

class InProcess final : public Communicator {
public:
    InProcess(std::shared_ptr<Network> network, base::Rank rank) : network_(std::move(network)), rank_(rank) {}

    [[nodiscard]] base::Rank rank() const override { return rank_; }
    [[nodiscard]] int size() const override { return static_cast<int>(network_->inboxes.size()); }
    [[nodiscard]] std::vector<std::string> const& hosts() const override { return network_->hosts; }
    [[nodiscard]] int ranks_sharing_cores() const override { return size(); }
    [[nodiscard]] base::Bytes broadcast(base::Bytes bytes) override {
        if (rank_.value == 0) network_->blackboard = std::move(bytes);
        network_->together.arrive_and_wait();
        auto copy = network_->blackboard;
        network_->together.arrive_and_wait(); // nobody writes the next one before everybody has read this one
        return copy;
    }
    void send(base::Rank to, base::Bytes bytes) override {
        std::lock_guard const lock(network_->mutex);
        network_->inboxes[static_cast<std::size_t>(to.value)].push_back({rank_, std::move(bytes)});
    }
    [[nodiscard]] std::optional<Incoming> receive() override {
        std::lock_guard const lock(network_->mutex);
        auto& inbox = network_->inboxes[static_cast<std::size_t>(rank_.value)];
        if (inbox.empty()) return std::nullopt;
        auto incoming = std::move(inbox.front());
        inbox.pop_front();
        return incoming;
    }
    void finish(int) override {}
    [[noreturn]] void abort(int exit_code) override { std::_Exit(exit_code); }

private:
    std::shared_ptr<Network> network_; // shared by all ranks; the last one ends it
    base::Rank rank_;
};

} // namespace

std::vector<std::unique_ptr<Communicator>> make_in_process(int ranks) {
    auto const network = std::make_shared<Network>(ranks);
    std::vector<std::unique_ptr<Communicator>> communicators;
    for (int r = 0; r < ranks; ++r) communicators.push_back(std::make_unique<InProcess>(network, base::Rank{r}));
    return communicators;
}

} // namespace espalier::cluster
