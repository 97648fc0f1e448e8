#include "world.hpp"

#include <algorithm>
#include <optional>
#include <span>

namespace espalier::cluster::collectives {
namespace {

/// MPICH's control variables: they decide at every call, so writing them while MPI runs forces an algorithm. (Its own
/// names; another MPI library has none of them, and nothing is forced then. `sched_auto` is left out: MPICH 4.0.2 ends
/// the process.)
struct Algorithms {
    Request request;
    char const* variable;
    std::vector<char const*> names;
    char const* nonblocking; ///< variable of `nb`, which does it by the nonblocking collective
    std::vector<char const*> nonblocking_names;
};
std::vector<Algorithms> const& rows() {
    static std::vector<Algorithms> const rows{
        {Request::all_reduce,
         "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM",
         {"smp", "recursive_doubling", "reduce_scatter_allgather"},
         "MPIR_CVAR_IALLREDUCE_INTRA_ALGORITHM",
         {"sched_naive", "sched_smp", "sched_recursive_doubling", "sched_reduce_scatter_allgather",
          "tsp_recexch_single_buffer", "tsp_recexch_multiple_buffer", "tsp_tree", "tsp_ring",
          "tsp_recexch_reduce_scatter_recexch_allgatherv"}},
        {Request::reduce_scatter,
         "MPIR_CVAR_REDUCE_SCATTER_BLOCK_INTRA_ALGORITHM",
         {"recursive_doubling", "pairwise", "recursive_halving"},
         "MPIR_CVAR_IREDUCE_SCATTER_BLOCK_INTRA_ALGORITHM",
         {"sched_recursive_doubling", "sched_pairwise", "sched_recursive_halving", "tsp_recexch"}},
        {Request::all_gather,
         "MPIR_CVAR_ALLGATHER_INTRA_ALGORITHM",
         {"brucks", "recursive_doubling", "ring"},
         "MPIR_CVAR_IALLGATHER_INTRA_ALGORITHM",
         {"sched_ring", "sched_brucks", "sched_recursive_doubling", "tsp_ring", "tsp_brucks", "tsp_recexch_doubling",
          "tsp_recexch_halving"}}};
    return rows;
}
constexpr auto device_variable = "MPIR_CVAR_DEVICE_COLLECTIVES"; ///< `none`: the network does not decide itself

/// One control variable of this process, an integer.
class Variable {
public:
    explicit Variable(std::string const& name) {
        int count = 0;
        if (MPI_T_cvar_get_index(name.c_str(), &index_) != MPI_SUCCESS) return;
        is_there_ = MPI_T_cvar_handle_alloc(index_, nullptr, &handle_, &count) == MPI_SUCCESS && count == 1;
    }
    ~Variable() {
        if (is_there_) MPI_T_cvar_handle_free(&handle_);
    }
    Variable(Variable const&) = delete;
    Variable& operator=(Variable const&) = delete;

    [[nodiscard]] bool is_there() const { return is_there_; }
    [[nodiscard]] int read() const {
        int value = 0;
        MPI_T_cvar_read(handle_, &value);
        return value;
    }
    [[nodiscard]] bool write(int value) const {
        return MPI_T_cvar_write(handle_, &value) == MPI_SUCCESS && read() == value;
    }
    /// The number of a choice: its place in the description, which lists each as `name - what it is`.
    [[nodiscard]] std::optional<int> number_of(std::string const& choice) const {
        std::string text(20'000, '\0'), name(300, '\0');
        int name_size = 300, size = 20'000, verbosity = 0, bind = 0, scope = 0;
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_T_enum names = MPI_T_ENUM_NULL;
        if (MPI_T_cvar_get_info(index_, name.data(), &name_size, &verbosity, &type, &names, text.data(), &size, &bind,
                                &scope) != MPI_SUCCESS ||
            type != MPI_INT)
            return std::nullopt;
        text.resize(static_cast<std::size_t>(std::clamp(size, 0, 20'000)));
        return place_in(text, choice);
    }

private:
    static std::optional<int> place_in(std::string const& text, std::string const& choice) {
        int number = 0;
        for (auto dash = text.find(" - "); dash != std::string::npos; dash = text.find(" - ", dash + 3), ++number) {
            auto const end = text.find_last_not_of(' ', dash);
            // lines may be glued together: the name ends here, and what stands before it is not part of a longer one
            if (end != std::string::npos && end + 1 >= choice.size() &&
                text.compare(end + 1 - choice.size(), choice.size(), choice) == 0)
                if (end + 1 == choice.size() || text[end - choice.size()] != '_') return number;
        }
        return std::nullopt;
    }

    int index_ = 0;
    bool is_there_ = false;
    MPI_T_cvar_handle handle_ = MPI_T_CVAR_HANDLE_NULL;
};

/// Nothing if the variable or the choice is not there or cannot be written now.
std::optional<Forced::Setting> setting(char const* variable, std::string const& choice) {
    Variable const found(variable);
    if (!found.is_there()) return std::nullopt;
    auto const value = found.number_of(choice);
    if (!value) return std::nullopt;
    auto const before = found.read();
    bool const is_writable = found.write(*value);
    return found.write(before) && is_writable ? std::optional(Forced::Setting{variable, *value}) : std::nullopt;
}

void add_nonblocking(Algorithms const& row, std::vector<Forced::Setting> const& common, std::vector<Forced>& list) {
    auto const through = setting(row.variable, "nb");
    if (!through) return;
    for (auto const* name : row.nonblocking_names)
        if (auto const found = setting(row.nonblocking, name)) {
            auto settings = common;
            settings.push_back(*through);
            settings.push_back(*found);
            list.push_back({std::string("nb ") + name, settings});
        }
}

} // namespace

std::vector<Forced> forced_algorithms(Request request) {
    std::vector<Forced> list{{}};
    std::vector<Forced::Setting> common;
    if (auto const none = setting(device_variable, "none")) common.push_back(*none);
    for (auto const& row : rows()) {
        if (row.request != request) continue;
        for (auto const* name : row.names)
            if (auto const found = setting(row.variable, name)) {
                list.push_back({name, common});
                list.back().settings.push_back(*found);
            }
        add_nonblocking(row, common, list);
    }
    return list;
}

Forcing::Forcing(Forced const& forced) {
    for (auto const& [name, value] : forced.settings) {
        Variable const variable(name);
        before_.push_back({name, variable.read()});
        (void)variable.write(value);
    }
}

Forcing::~Forcing() {
    for (auto const& [name, value] : before_) (void)Variable(name).write(value);
}

} // namespace espalier::cluster::collectives
