#include "backend.hpp"

#include "espalier/base/json.hpp"
#include "espalier/base/scratch_folder.hpp"
#include "espalier/base/system.hpp"
#include "espalier/base/text.hpp"
#include "espalier/codegen/child.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

namespace espalier::problems::rewrite {
namespace {

using base::Json;
using How = BackendFailure::How;

constexpr std::size_t longest_quote = 200;

/// For a message in one line.
std::string quote(std::string_view text) {
    auto out = base::printable(text.substr(0, longest_quote));
    std::ranges::replace(out, '\n', ' ');
    return out;
}

/// Where programs and interpreters say what was wrong.
std::string last_line(std::string_view text) {
    auto const end = text.find_last_not_of(" \t\r\n");
    if (end == text.npos) return {};
    text = text.substr(0, end + 1);
    auto const before = text.rfind('\n');
    return quote(before == text.npos ? text : text.substr(before + 1));
}

/// As much as there is, and what libraries and threads reserve and never touch.
std::uint64_t most_addresses(int threads) {
    return base::available_memory_bytes() + (std::uint64_t{8} << 30) +
           static_cast<std::uint64_t>(threads) * (std::uint64_t{256} << 20);
}

std::optional<BackendFailure> failure_of(codegen::ChildEnd const& end, double limit_seconds) {
    if (end.is_good()) return {};
    if (end.how == codegen::ChildEnd::How::timed_out)
        return BackendFailure{How::timed_out, fmt::format("it did not end within {:g} s", limit_seconds)};
    auto reason = end.how == codegen::ChildEnd::How::exited
                      ? fmt::format("it ended with exit code {}", end.code)
                      : fmt::format("signal {} ended it ({})", end.code, strsignal(end.code));
    if (auto const said = last_line(end.errors); !said.empty()) reason += ": " + said;
    return BackendFailure{How::crashed, reason};
}

BackendFailure nonsense(std::string_view problem, std::string const& printed) {
    return {How::nonsense, fmt::format("{}: {}", problem, printed.empty() ? "it printed nothing" : quote(printed))};
}

/// Empty unless it is a list of times.
std::vector<double> times_in(Json const& told) {
    auto const found = told.find("ms");
    if (found == told.end() || !found->is_array()) return {};
    std::vector<double> out;
    for (auto const& one : *found) {
        if (!one.is_number() || !std::isfinite(one.get<double>()) || one.get<double>() < 0) return {};
        out.push_back(one.get<double>());
    }
    return out;
}

std::string text_in(Json const& told, char const* key) {
    auto const found = told.find(key);
    return found != told.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

BackendOutcome read_answer(std::string const& printed) {
    auto const told = Json::parse(printed, nullptr, /*allow_exceptions=*/false);
    if (!told.is_object()) return nonsense("it did not print one JSON object", printed);
    BackendRun out{times_in(told), {}, text_in(told, "backend"), text_in(told, "clock")};
    if (out.ms.empty()) return nonsense(R"(its "ms" is not a list of times)", printed);
    auto const file = text_in(told, "outputs");
    if (file.empty()) return nonsense(R"(its "outputs" is not the name of a file)", printed);
    try {
        out.outputs = read_npz(file);
    } catch (base::InputError const& error) {
        return BackendFailure{How::no_outputs, fmt::format("its outputs: {}", error.what())};
    }
    return out;
}

} // namespace

double BackendRun::median_ms() const {
    auto sorted = ms;
    std::ranges::sort(sorted);
    auto const middle = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

Backend::Backend(std::string command, int threads) : command_(std::move(command)), threads_(threads) {
    if (command_.find_first_not_of(" \t\n") == std::string::npos)
        throw base::InputError("backend: the command is empty: name one, for instance run/backend-onnxruntime");
    if (threads_ < 1) throw base::InputError("threads: {} is not a number of threads: use 1 or more", threads_);
}

BackendOutcome Backend::run(std::string const& model_path, Tensors const& inputs, double limit_seconds,
                            base::StopToken const& stop) const {
    base::ScratchFolder const folder;
    auto const inputs_path = (folder / "inputs.npz").string();
    write_npz(inputs_path, inputs);
    // The shell reads the command alone; what follows the script reaches it as arguments, whatever they contain.
    auto const script = "exec " + command_ + R"( "$@")";
    auto const end =
        codegen::run_child({"/bin/sh", "-c", script, "backend", model_path, inputs_path, std::to_string(threads_)},
                           {.seconds = limit_seconds, .memory_bytes = most_addresses(threads_), .stop = stop});
    if (auto failure = failure_of(end, limit_seconds)) return *failure;
    return read_answer(end.out);
}

} // namespace espalier::problems::rewrite
