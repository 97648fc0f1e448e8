#pragma once

#include "espalier/base/stop.hpp"
#include "espalier/search/problem.hpp"

#include <memory>
#include <vector>

namespace espalier::problems {

/// Measures results, one at a time on a host. Any number of threads may use it.
class Measurer {
public:
    virtual ~Measurer() = default;
    /// Throws InputError if nothing can be measured here.
    virtual void check() const {}
    /// The part that may run beside the work of others, such as compiling. Throws Stopped.
    virtual void prepare(search::ResultRecord const&, base::StopToken const&) const {}
    /// The record as it is stored from now on. Asks the token at least every 10 ms. Throws Stopped.
    [[nodiscard]] virtual search::ResultRecord measure(search::ResultRecord const& record,
                                                       base::StopToken const& stop) const = 0;
};

/// Results that are measured by all ranks of a search: a tree of leaves. Only rank 0 knows them.
class Measuring {
public:
    using Node = search::ResultRecord;
    using Result = search::ResultRecord;
    struct Workspace {
        base::StopToken stop;
    };

    /// The measurer may be shared with whoever made it.
    Measuring(std::shared_ptr<Measurer const> measurer, std::vector<search::ResultRecord> results)
        : measurer_(std::move(measurer)), results_(std::move(results)) {}

    [[nodiscard]] search::ProblemInfo info() const;
    [[nodiscard]] std::vector<Node> roots() const { return results_; }
    [[nodiscard]] Workspace make_workspace(search::Notes& notes) const { return {notes.stop()}; }
    [[nodiscard]] search::Assessment assess(Node const&, Workspace&) const { return search::is_candidate(); }
    void expand(Node const&, Workspace&, search::Children<Node>&) const {}
    [[nodiscard]] std::int32_t depth(Node const&) const { return 0; }
    void pack(Node const& node, base::Bytes& out) const;
    [[nodiscard]] Node unpack(std::span<std::byte const> bytes) const;
    [[nodiscard]] std::vector<search::VerifyOutcome<Result>> verify(std::span<Node const> nodes,
                                                                    Workspace& workspace) const;
    [[nodiscard]] search::ResultRecord record(Result const& result) const { return result; }
    [[nodiscard]] search::ResultRecord measure(search::ResultRecord const& record, Workspace& workspace) const {
        return measurer_->measure(record, workspace.stop);
    }

private:
    std::shared_ptr<Measurer const> measurer_; ///< shared by the copies of this value
    std::vector<search::ResultRecord> results_;
};

} // namespace espalier::problems
