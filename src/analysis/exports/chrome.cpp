#include "espalier/analysis/exports/timeline.hpp"
#include "espalier/analysis/exports/writers.hpp"
#include "espalier/base/json.hpp"

#include "output_file.hpp"

namespace espalier::analysis::exports {
namespace {

/// Microseconds with all digits.
std::string micros(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

std::string quoted(std::string const& text) {
    return base::Json(text).dump(-1, ' ', false, base::Json::error_handler_t::replace);
}

/// The Trace Event Format. Spans are B and E events, not X: readers cut times to whole nanoseconds, which keeps their
/// order but not the sum of a start and a duration.
class ChromeFile {
public:
    ChromeFile(std::filesystem::path const& file, Messages& messages) : out_(file), messages_(messages) {
        out_.append("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    }

    void declare(store::ShardInfo const& info) {
        declare(info.rank, 0, "process", process_name(info), info.rank);
        for (int thread = 0; thread <= info.threads; ++thread)
            declare(info.rank, thread, "thread", thread_name(thread), thread);
    }

    void step(int rank, Step const& step) {
        auto const& event = *step.event;
        auto const place = fmt::format(R"("pid":{},"tid":{},"ts":{})", rank, event.thread, micros(step.time_ns));
        if (step.type == Step::Type::end) return line(R"({{"ph":"E",{}}})", place);
        line(R"({{"ph":"B","name":"{0}","cat":"{0}",{1},"args":{{{2}}}}})", label(event.kind), place, arguments(event));
        if (auto const arrow = messages_.arrow(rank, event))
            line(R"({{"ph":"{}","name":"message","cat":"message","id":"{:#x}",{}}})",
                 event.kind == trace::Kind::send ? "s" : R"(f","bp":"e)", *arrow, place);
    }

    void complete() {
        out_.append("\n]}\n");
        out_.complete();
    }

private:
    void declare(int rank, int thread, std::string_view what, std::string const& name, int place) {
        line(R"({{"ph":"M","name":"{}_name","pid":{},"tid":{},"args":{{"name":{}}}}})", what, rank, thread,
             quoted(name));
        line(R"({{"ph":"M","name":"{}_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", what, rank, thread,
             place);
    }

    static std::string arguments(trace::Event const& event) {
        std::string text;
        auto const values = details(event);
        for (std::size_t i = 0; i < values.size(); ++i)
            if (values[i]) text += fmt::format(R"({}"{}":{})", text.empty() ? "" : ",", detail_names[i], *values[i]);
        return text;
    }

    template <class... Args>
    void line(fmt::format_string<Args...> format, Args&&... args) {
        out_.append(is_first_ ? "\n" : ",\n");
        is_first_ = false;
        out_.print(format, std::forward<Args>(args)...);
    }

    OutputFile out_;
    Messages& messages_;
    bool is_first_ = true;
};

} // namespace

Written write_chrome(TraceSource& source, Window const& window, std::filesystem::path const& file) {
    Messages messages(source, window);
    ChromeFile out(file, messages);
    for (auto const& shard : source.shards) out.declare(shard.info);
    auto const events =
        visit_steps(source, window, [&](auto const& info, Step const& step) { out.step(info.rank, step); });
    out.complete();
    return {.events = events, .messages = messages.drawn(), .open = file};
}

} // namespace espalier::analysis::exports
