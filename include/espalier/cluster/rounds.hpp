#pragma once

#include "espalier/cluster/communicator.hpp"

#include <cstdlib>
#include <deque>

namespace espalier::cluster {

/// Several searches on one communicator, one after the other. Ranks go from one to the next when they are done, without
/// waiting for each other: late messages of an earlier round are dropped, those of a later one wait.
class Rounds final : public Communicator {
public:
    /// It outlives this object, and nobody else uses it meanwhile.
    explicit Rounds(Communicator& comm) : comm_(comm) {}
    void next() { ++round_; }

    [[nodiscard]] base::Rank rank() const override { return comm_.rank(); }
    [[nodiscard]] int size() const override { return comm_.size(); }
    [[nodiscard]] std::vector<std::string> const& hosts() const override { return comm_.hosts(); }
    [[nodiscard]] int ranks_sharing_cores() const override { return comm_.ranks_sharing_cores(); }
    [[nodiscard]] base::Bytes broadcast(base::Bytes bytes) override { return comm_.broadcast(std::move(bytes)); }
    void send(base::Rank to, base::Bytes bytes) override;
    [[nodiscard]] std::optional<Incoming> receive() override;
    void finish(int exit_code) override { comm_.finish(exit_code); }
    [[noreturn]] void abort(int exit_code) override {
        comm_.abort(exit_code);
        std::_Exit(exit_code); // not reached; the compiler does not believe a virtual function
    }

private:
    struct Early {
        std::uint8_t round = 0;
        Incoming incoming;
    };
    [[nodiscard]] std::optional<Incoming> take_early();

    Communicator& comm_;
    std::uint8_t round_ = 0; ///< the last byte of each message
    std::deque<Early> early_;
};

} // namespace espalier::cluster
