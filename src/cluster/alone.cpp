#include "espalier/base/system.hpp"
#include "espalier/cluster/communicator.hpp"

#include <cstdlib>

namespace espalier::cluster {
namespace {

class Alone final : public Communicator {
public:
    [[nodiscard]] base::Rank rank() const override { return base::Rank{0}; }
    [[nodiscard]] int size() const override { return 1; }
    [[nodiscard]] std::vector<std::string> const& hosts() const override { return hosts_; }
    [[nodiscard]] int ranks_sharing_cores() const override { return 1; }
    [[nodiscard]] base::Bytes broadcast(base::Bytes bytes) override { return bytes; }
    void send(base::Rank, base::Bytes) override {} // an Agent delivers messages to itself
    [[nodiscard]] std::optional<Incoming> receive() override { return std::nullopt; }
    void finish(int) override {}
    [[noreturn]] void abort(int exit_code) override { std::_Exit(exit_code); }

private:
    std::vector<std::string> hosts_{base::host_name()};
};

} // namespace

std::unique_ptr<Communicator> make_alone() { return std::make_unique<Alone>(); }

} // namespace espalier::cluster
