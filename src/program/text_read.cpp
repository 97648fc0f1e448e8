#include "espalier/base/error.hpp"
#include "espalier/program/text.hpp"
#include "limits.hpp"
#include "suggest.hpp"
#include "text_syntax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace espalier::program {
namespace {

using text::Argument;
using text::Diagnostics;
using text::Setting;
using text::Statement;

/// What the statements of a level that are not ops are called.
struct Verbs {
    std::string_view in;
    std::string_view out;
    std::string_view graph; ///< of the level below
};
constexpr std::array<Verbs, 3> verbs_of_level{
    {{"input", "output", "kernel"}, {"tile", "store", "thread"}, {"load", "store", ""}}};

bool is_whole(double value, double low) {
    return value == std::floor(value) && value >= low && value <= static_cast<double>(max_dim);
}

/// One level of the program, while it is read. Says what is wrong, and continues; a tensor with something wrong is
/// known by name only, and gives no further messages.
class Reader {
public:
    Reader(Level level, DType dtype, Diagnostics& diagnostics, Reader const* outside)
        : diagnostics_(diagnostics), outside_(outside) {
        graph_.level = level;
        graph_.dtype = dtype;
    }
    void read(std::vector<Statement> const& statements) {
        for (auto const& statement : statements) read(statement);
    }
    /// Checks the whole, once all is read; `at` is where to say it.
    Graph finish(text::Position at) {
        if (graph_.outputs.empty() && !has_failed_) fail(at, "there is no output: add a line `{} ...`", verbs().out);
        if (!has_failed_) guard(at, [&] { tensors_ = infer_within_limits(graph_); });
        return std::move(graph_);
    }
    void set_schedule(Schedule schedule) { graph_.schedule = std::move(schedule); }
    void set_dtype(DType dtype) { graph_.dtype = dtype; }
    [[nodiscard]] bool has_failed() const { return has_failed_; }
    /// The tensors of the graph around that the body reads.
    [[nodiscard]] TensorIds const& operands() const { return operands_; }

private:
    static constexpr TensorId unknown{-1};

    template <class... Args>
    void fail(text::Position at, fmt::format_string<Args...> format, Args&&... args) {
        has_failed_ = true;
        diagnostics_.add(at, fmt::format(format, std::forward<Args>(args)...));
    }
    /// Whether the work was done without an InputError.
    template <class Work>
    bool guard(text::Position at, Work work) {
        try {
            work();
            return true;
        } catch (base::InputError const& error) {
            fail(at, "{}", error.what());
            return false;
        }
    }
    [[nodiscard]] Verbs const& verbs() const { return verbs_of_level[static_cast<std::size_t>(graph_.level)]; }

    // --- names

    void define(Argument const& target, TensorId id) {
        if (!ids_.emplace(target.text, id).second)
            fail(target.at, "tensor {} is defined twice: give one of them another name", target.text);
    }
    void define_all(Statement const& s, TensorId first) {
        for (std::size_t i = 0; i < s.targets.size(); ++i)
            define(s.targets[i], first == unknown ? unknown : TensorId{first.value + static_cast<int>(i)});
        if (first == unknown) has_failed_ = true;
    }
    /// The id of a tensor, `unknown` if it is defined wrongly, or nothing if it is not defined.
    [[nodiscard]] std::optional<TensorId> find(Argument const& argument) const {
        auto const found = ids_.find(argument.text);
        if (argument.kind != Argument::Kind::word || found == ids_.end()) return std::nullopt;
        return found->second;
    }
    /// The same in `scope`, and says if it is not defined.
    TensorId resolve(Reader const& scope, Argument const& argument) {
        if (argument.kind != Argument::Kind::word)
            fail(argument.at, "expected the name of a tensor: settings are written in ( )");
        else if (auto const id = scope.find(argument))
            return *id;
        else
            fail(argument.at, "there is no tensor '{}' before this line: {}", argument.text,
                 did_you_mean(argument.text, scope.names()));
        return unknown;
    }
    [[nodiscard]] std::vector<std::string> names() const {
        std::vector<std::string> out;
        for (auto const& [name, id] : ids_) out.push_back(name);
        return out;
    }

    // --- statements

    void read(Statement const& s) {
        if (s.is_broken) return define_all(s, unknown);
        auto const is_graph = !verbs().graph.empty() && s.verb == verbs().graph;
        if (s.has_block && !is_graph) fail(s.verb_at, "{} has no block here: remove the braces", s.verb);
        if (is_graph)
            read_graph(s);
        else if (s.verb == verbs().out)
            read_output(s);
        else if (s.verb == verbs().in)
            read_input(s);
        else
            read_op(s);
    }
    bool has_targets(Statement const& s, int wanted) {
        if (static_cast<int>(s.targets.size()) == wanted) return true;
        fail(s.at, "{} defines {}, not {}: write `{} = {} ...`", s.verb,
             wanted == 1 ? "one tensor" : fmt::format("{} tensors", wanted), s.targets.size(),
             wanted == 1 ? "name" : "name, name", s.verb);
        return false;
    }
    void read_input(Statement const& s) {
        auto const before = diagnostics_.count();
        if (!has_targets(s, 1)) return define_all(s, unknown);
        if (!graph_.ops.empty()) fail(s.at, "{} after an op: put all of them first", s.verb);
        auto const input = graph_.level == Level::kernel ? whole_input(s) : part_of_operand(s);
        if (!input || diagnostics_.count() != before) return define_all(s, unknown);
        graph_.inputs.push_back(*input);
        define_all(s, tensors_.push_back({input->shape}));
    }
    /// `X = input [2, 4096] named "X 1"`.
    std::optional<Input> whole_input(Statement const& s) {
        auto const& arguments = s.arguments;
        auto const has_name =
            arguments.size() == 3 && arguments[1].text == "named" && arguments[2].kind == Argument::Kind::quoted;
        if (arguments.empty() || arguments[0].kind != Argument::Kind::list || (arguments.size() > 1 && !has_name)) {
            fail(s.verb_at, "an input is its shape: write `{} = input [2, 4096]`", s.targets[0].text);
            return std::nullopt;
        }
        auto const& sizes = arguments[0].values;
        if (sizes.empty() || sizes.size() > static_cast<std::size_t>(max_rank) ||
            !std::ranges::all_of(sizes, [](double size) { return is_whole(size, 1); })) {
            fail(arguments[0].at, "this is not a shape: give 1 to {} whole numbers from 1 on", max_rank);
            return std::nullopt;
        }
        Input out{has_name ? arguments[2].text : own_name(s.targets[0].text), {}};
        for (auto const size : sizes) out.shape.push(static_cast<std::int64_t>(size));
        return out;
    }
    /// t0 is not a name, only a number.
    static std::string own_name(std::string const& name) {
        auto const is_number =
            name.size() > 1 && name[0] == 't' && name.find_first_not_of("0123456789", 1) == std::string::npos;
        return is_number ? "" : name;
    }
    /// `x = tile X (grid x: 0, loop: 1)` or `x = load t3`.
    std::optional<Input> part_of_operand(Statement const& s) {
        if (s.arguments.size() != 1) {
            fail(s.verb_at, "{} takes one tensor of the surrounding graph: name it", s.verb);
            return std::nullopt;
        }
        auto const operand = resolve(*outside_, s.arguments[0]);
        auto const partition = read_partition(s);
        if (operand == unknown) {
            has_failed_ = true;
            return std::nullopt;
        }
        Input out{"", outside_->tensors_[operand].shape};
        if (graph_.level == Level::block) {
            graph_.schedule.inputs.push_back(partition);
            if (!guard(s.verb_at, [&] { out.shape = tile_shape(out.shape, partition, graph_.schedule); }))
                return std::nullopt;
        }
        operands_.push_back(operand);
        return out;
    }
    Partition read_partition(Statement const& s) {
        Partition out;
        for (auto const& setting : s.settings)
            if (graph_.level == Level::block && setting.key == "loop")
                out.loop = read_dim(setting);
            else if (graph_.level == Level::block && setting.key == "last")
                read_last(setting, out);
            else
                read_axis(setting, out.grid);
        return out;
    }
    void read_axis(Setting const& setting, std::array<int, 3>& grid) {
        constexpr std::array<std::string_view, 3> axes{"grid x", "grid y", "grid z"};
        auto const axis = std::ranges::find(axes, setting.key);
        if (graph_.level != Level::block || axis == axes.end())
            fail(setting.at, "there is no setting `{}` here: {}", setting.key,
                 graph_.level == Level::block ? "known are grid x, grid y, grid z and, of a tile, loop and last"
                                              : "remove it");
        else
            grid[static_cast<std::size_t>(axis - axes.begin())] = read_dim(setting);
    }
    /// Whether it is the right size is asked of the whole tensor.
    void read_last(Setting const& setting, Partition& out) {
        auto const& values = setting.values;
        if (values.size() == 2 && is_whole(values[0], 0) && values[0] < max_rank && is_whole(values[1], 1))
            out.last[static_cast<std::size_t>(values[0])] = static_cast<std::int64_t>(values[1]);
        else
            fail(setting.at, "`last` is a dimension and how many its last tile has: give it like [0, 3]");
    }
    int read_dim(Setting const& setting) {
        if (setting.values.size() == 1 && is_whole(setting.values[0], 0) && setting.values[0] < max_rank)
            return static_cast<int>(setting.values[0]);
        fail(setting.at, "`{}` is a dimension: give a number from 0 to {}", setting.key, max_rank - 1);
        return -1;
    }
    void read_output(Statement const& s) {
        if (!s.targets.empty()) fail(s.at, "{} defines no tensor: remove what is before it", s.verb);
        if (s.arguments.empty()) fail(s.verb_at, "{} what? name a tensor", s.verb);
        auto joined = std::array{-1, -1, -1};
        for (auto const& setting : s.settings) read_axis(setting, joined);
        if (!graph_.outputs.empty() && joined != graph_.schedule.output)
            fail(s.at, "all outputs of a kernel are joined in the same way: make the settings equal");
        graph_.schedule.output = joined;
        for (auto const& argument : s.arguments)
            if (auto const id = resolve(*this, argument); id != unknown)
                graph_.outputs.push_back(id);
            else
                has_failed_ = true;
    }
    void read_op(Statement const& s) {
        auto const before = diagnostics_.count();
        Op op;
        auto const code = find_op(s.verb);
        bool is_known = has_targets(s, code ? info(*code).outputs : 1);
        if (code)
            op.code = *code;
        else
            fail(s.verb_at, "there is no op '{}': {}", s.verb, did_you_mean(s.verb, known_verbs()));
        for (auto const& argument : s.arguments) {
            op.inputs.push_back(resolve(*this, argument));
            is_known = is_known && op.inputs.back() != unknown;
        }
        for (auto const& setting : s.settings) read_attribute(op, setting, s.verb);
        define_all(s, is_known && diagnostics_.count() == before ? append(s.verb_at, std::move(op)) : unknown);
    }
    [[nodiscard]] std::vector<std::string> known_verbs() const {
        auto out = op_names(graph_.level);
        for (auto const verb : {verbs().in, verbs().out, verbs().graph})
            if (!verb.empty()) out.emplace_back(verb);
        return out;
    }
    void read_attribute(Op& op, Setting const& setting, std::string const& verb) {
        if (!find_op(verb)) return;
        auto const name = find_attribute(setting.key);
        auto const problem = name ? problem_of(info(op.code), {*name, setting.values})
                                  : fmt::format("{} has no attribute `{}`: remove it", verb, setting.key);
        if (problem) return fail(setting.at, "{}", *problem);
        op.attributes = op.attributes.with(*name, setting.values);
    }
    /// Adds an op if it fits; the id of its first output, or `unknown`.
    TensorId append(text::Position at, Op op) {
        auto const first = tensors_.next();
        graph_.ops.push_back(std::move(op));
        auto const outputs = std::exchange(graph_.outputs, {});
        auto const fits = guard(at, [&] { tensors_ = infer_within_limits(graph_); });
        graph_.outputs = outputs;
        if (!fits) graph_.ops.pop_back();
        return fits ? first : unknown;
    }

    // --- graph ops

    void read_graph(Statement const& s) {
        if (!s.has_block) fail(s.verb_at, "{} has a block: write {{ at the end of the line", s.verb);
        Reader inside(static_cast<Level>(static_cast<int>(graph_.level) + 1), graph_.dtype, diagnostics_, this);
        read_header(s, inside);
        inside.read(s.block);
        auto body = inside.finish(s.verb_at);
        if (!inside.has_failed() && body.outputs.size() != s.targets.size())
            fail(s.at, "{} outputs {} tensors, but {} are named: name one for each store", s.verb, body.outputs.size(),
                 s.targets.size());
        else if (!inside.has_failed() && s.has_block) {
            graph_.bodies.push_back(std::move(body));
            Op op{OpCode::graph, {}, inside.operands(), static_cast<int>(graph_.bodies.size()) - 1};
            return define_all(s, append(s.verb_at, std::move(op)));
        }
        define_all(s, unknown);
    }
    /// `f16 grid [96] loop 64 threads 128`, each of them if it is there.
    void read_header(Statement const& s, Reader& inside) {
        Schedule schedule;
        for (auto const& setting : s.settings) fail(setting.at, "{} has no settings: remove them", s.verb);
        for (std::size_t i = 0; i < s.arguments.size(); ++i) {
            auto const& key = s.arguments[i];
            auto const dtype = find_dtype(key.text);
            if (dtype && key.kind == Argument::Kind::word)
                inside.set_dtype(*dtype);
            else if (graph_.level == Level::kernel && i + 1 < s.arguments.size())
                read_size(key, s.arguments[++i], schedule);
            else
                fail(key.at, "this does not belong here: {}",
                     graph_.level == Level::kernel ? header_help : "remove it");
        }
        inside.set_schedule(std::move(schedule));
    }
    void read_size(Argument const& key, Argument const& value, Schedule& schedule) {
        auto const is_grid = key.text == "grid" && value.values.size() <= 3;
        auto const is_one = (key.text == "loop" || key.text == "threads") && value.values.size() == 1;
        if (key.kind != Argument::Kind::word || value.values.empty() || (!is_grid && !is_one) ||
            !std::ranges::all_of(value.values, [](double size) { return is_whole(size, 1); }))
            return fail(key.at, "this is not part of a schedule: {}", header_help);
        if (is_grid)
            std::ranges::transform(value.values, schedule.grid.begin(),
                                   [](double size) { return static_cast<std::int64_t>(size); });
        else
            (key.text == "loop" ? schedule.loop : schedule.threads) = static_cast<std::int64_t>(value.values[0]);
    }

    static constexpr std::string_view header_help = "write grid [96], loop 64 or threads 128";

    Diagnostics& diagnostics_;
    Reader const* outside_; ///< the graph around; none at kernel level
    Graph graph_;
    TensorInfos tensors_;
    std::map<std::string, TensorId> ids_;
    TensorIds operands_;
    bool has_failed_ = false;
};

/// `program f16`, the first line.
DType read_title(std::vector<Statement> const& statements, Diagnostics& diagnostics) {
    auto const is_title = !statements.empty() && statements[0].verb == "program" && statements[0].targets.empty();
    auto const at = statements.empty() ? text::Position{} : statements[0].at;
    auto const& arguments = is_title ? statements[0].arguments : std::vector<Argument>{};
    auto const dtype = arguments.size() == 1 ? find_dtype(arguments[0].text) : std::nullopt;
    if (!dtype) diagnostics.add(at, "a program begins with its type: write `program f16` (or bf16, f32, f64) first");
    return dtype.value_or(DType::f16);
}

} // namespace

Graph parse_text(std::string_view text, std::string_view name) {
    Diagnostics diagnostics(text, name);
    auto statements = text::read_statements(text, diagnostics);
    auto const dtype = read_title(statements, diagnostics);
    if (!statements.empty() && statements[0].verb == "program") statements.erase(statements.begin());
    Reader reader(Level::kernel, dtype, diagnostics, nullptr);
    reader.read(statements);
    auto graph = reader.finish(statements.empty() ? text::Position{} : statements.back().at);
    diagnostics.throw_if_any();
    return graph;
}

} // namespace espalier::program
