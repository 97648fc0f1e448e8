#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// Z3, behind one function. Nobody else includes its header.
namespace espalier::smt {

/// Unknown never prunes and never proves.
enum class Answer : std::uint8_t { sat, unsat, unknown };

struct Options {
    std::uint32_t rlimit = 2'000'000;              ///< Z3's own count of steps, a query: decides the same everywhere
    std::chrono::milliseconds timeout_net{60'000}; ///< a query; only a net, it should never be the one that decides
    std::uint32_t memory_max_mb = 0; ///< of all contexts of the process together, as Z3 counts; 0 = no limit
};

struct Statistics {
    std::uint64_t queries = 0;
    std::uint64_t unknown = 0; ///< of the queries
    std::int64_t cpu_ns = 0;   ///< of the calling threads

    bool operator==(Statistics const&) const = default;
};

/// When one query ran.
struct QuerySpan {
    std::int64_t start_ns = 0; ///< of the steady clock
    std::int64_t duration_ns = 0;
    std::int64_t cpu_ns = 0;
};

/// One Z3 context, for one thread. Making it takes about 2 ms: once a thread. What one query leaves behind does not
/// change how the next is decided.
class Context {
public:
    explicit Context(Options const& options = {});
    ~Context();
    Context(Context const&) = delete;
    Context& operator=(Context const&) = delete;

    /// Whether the assertions of an SMT-LIB 2 text can hold together. Unknown if a limit was reached, Z3 gave up, or
    /// another thread interrupted. Throws SystemError if the text is not SMT-LIB 2.
    [[nodiscard]] Answer check(std::string_view smtlib2);
    /// Whether the last check() would end the same way again: false if the wall clock, an interrupt or the memory ended
    /// it.
    [[nodiscard]] bool is_final() const;
    /// Ends the running query, if there is one, and waits until it has (some ms). The only member for other threads.
    void interrupt();
    [[nodiscard]] Statistics statistics() const;
    /// The queries since the last call.
    [[nodiscard]] std::vector<QuerySpan> take_queries();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// `4.8.12.0`.
[[nodiscard]] std::string version();

} // namespace espalier::smt
