#include "backend.hpp"

#include "espalier/base/scratch_folder.hpp"
#include "espalier/base/system.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <fstream>
#include <thread>

namespace espalier::problems::rewrite {
namespace {

using How = BackendFailure::How;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr double long_enough = 120;

Tensors inputs() { return {{"x", {model::Element::u8, {2}, {std::byte{1}, std::byte{2}}, {}}}}; }

/// A command that is a shell script, in a folder of its own.
class Script {
public:
    explicit Script(std::string const& text) { std::ofstream(path()) << text; }
    [[nodiscard]] std::string command() const { return "sh " + path().string(); }
    [[nodiscard]] std::filesystem::path path() const { return folder_ / "script"; }
    [[nodiscard]] std::filesystem::path beside(std::string const& name) const { return folder_ / name; }

private:
    base::ScratchFolder folder_;
};

BackendOutcome run(std::string const& command, std::string const& model = "m.onnx", double seconds = long_enough) {
    return Backend(command, 1).run(model, inputs(), seconds, {});
}

BackendFailure failure(std::string const& script, double seconds = long_enough) {
    Script const command(script);
    auto const outcome = run(command.command(), "m.onnx", seconds);
    auto const* const out = std::get_if<BackendFailure>(&outcome);
    return out != nullptr ? *out : BackendFailure{How::crashed, "it did not fail"};
}

TEST(Backend, tells_times_and_outputs) {
    Script const command(R"(cp "$2" "$2.out"; echo "{\"ms\": [3, 1.5, 2], \"outputs\": \"$2.out\", \"more\": {}}")");

    auto const outcome = run(command.command());

    auto const& told = std::get<BackendRun>(outcome);
    EXPECT_THAT(told.ms, ElementsAre(3, 1.5, 2));
    EXPECT_EQ(told.median_ms(), 2);
    EXPECT_EQ(told.outputs, inputs());
    EXPECT_EQ(told.backend, "");
}

TEST(Backend, tells_what_it_is_and_what_it_measured) {
    Script const command(R"(echo "{\"ms\": [1, 2], \"outputs\": \"$2\", \"backend\": \"toy 1\", \"clock\": \"cpu\"}")");

    auto const outcome = run(command.command());

    auto const& told = std::get<BackendRun>(outcome);
    EXPECT_EQ(told.backend, "toy 1");
    EXPECT_EQ(told.clock, "cpu");
    EXPECT_EQ(told.median_ms(), 1.5);
}

TEST(Backend, gets_model_inputs_and_threads_as_they_are) {
    Script const command(R"(printf '%s|' "$1" "$3" "$#" > "$0.told"; echo "{\"ms\": [1], \"outputs\": \"$2\"}")");
    std::string const model = "a 'model' of \"$HOME\"\nand $(false) `false` *.onnx";

    auto const outcome = Backend(command.command(), 7).run(model, inputs(), long_enough, {});

    EXPECT_TRUE(std::holds_alternative<BackendRun>(outcome));
    std::ifstream in(command.path().string() + ".told");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), model + "|7|3|");
}

TEST(Backend, its_command_is_split_as_a_shell_splits_it) {
    Script const command(R"(printf '%s|' "$1" "$2" > "$0.told"; echo "{\"ms\": [1], \"outputs\": \"$4\"}")");

    auto const outcome = run(command.command() + R"( 'two words' "and"\ more)");

    EXPECT_TRUE(std::holds_alternative<BackendRun>(outcome));
    std::ifstream in(command.path().string() + ".told");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "two words|and more|");
}

TEST(Backend, that_fails_is_quoted) {
    auto const told = failure("echo first >&2; echo 'no such thing: buy one' >&2; exit 3");

    EXPECT_EQ(told.how, How::crashed);
    EXPECT_EQ(told.reason, "it ended with exit code 3: no such thing: buy one");
}

TEST(Backend, that_crashes_is_named_with_its_signal) {
    auto const told = failure("kill -SEGV $$");

    EXPECT_EQ(told.how, How::crashed);
    EXPECT_THAT(told.reason, HasSubstr("signal 11 ended it"));
}

TEST(Backend, that_does_not_exist_is_a_failure) {
    auto const outcome = run("/no/such/command");

    EXPECT_THAT(std::get<BackendFailure>(outcome).reason, HasSubstr("exit code 127"));
}

TEST(Backend, that_hangs_is_ended_with_what_it_started) {
    base::ScratchFolder const folder;
    auto const pid_file = folder / "pid";
    auto const start = base::steady_ns();

    auto const told = failure("sleep 600 & echo $! > " + pid_file.string() + "; sleep 600", 0.5);

    EXPECT_EQ(told.how, How::timed_out);
    EXPECT_EQ(told.reason, "it did not end within 0.5 s");
    EXPECT_LT(base::steady_ns() - start, 60'000'000'000);
    int other = 0;
    std::ifstream(pid_file) >> other;
    ASSERT_GT(other, 0);
    while (kill(other, 0) == 0 && base::steady_ns() - start < 60'000'000'000)
        std::this_thread::sleep_for(std::chrono::milliseconds(5)); // until its new parent has noticed
    EXPECT_NE(kill(other, 0), 0);
}

TEST(Backend, ends_when_the_run_stops) {
    std::atomic<bool> stops = false;
    base::ScratchFolder const folder;
    auto const mark = folder / "started";
    auto const start = base::steady_ns();
    std::thread other([&] {
        while (!std::filesystem::exists(mark)) std::this_thread::yield();
        stops = true;
    });
    Script const command("touch " + mark.string() + "; sleep 600");

    EXPECT_THROW(static_cast<void>(Backend(command.command(), 1).run("m", inputs(), 600, base::StopToken(stops))),
                 base::Stopped);

    other.join();
    EXPECT_LT(base::steady_ns() - start, 300'000'000'000);
}

TEST(Backend, that_prints_nonsense_is_refused) {
    for (auto const* const printed :
         {"", "hello", "[1, 2]", "{}", R"({"ms": [], "outputs": "f"})", R"({"ms": [-1], "outputs": "f"})",
          R"({"ms": ["1"], "outputs": "f"})", R"({"ms": 1, "outputs": "f"})", R"({"ms": [1]})",
          R"({"ms": [1], "outputs": 3})", R"({"ms": [1e999], "outputs": "f"})", R"({"ms": [1], "outputs": "f"} x)"}) {
        auto const told = failure(std::string("cat <<'END'\n") + printed + "\nEND\n");

        EXPECT_EQ(told.how, How::nonsense) << printed << ": " << told.reason;
    }
    EXPECT_EQ(failure("echo hello").reason, "it did not print one JSON object: hello ");
}

TEST(Backend, without_readable_outputs_is_refused) {
    auto const missing = failure(R"(echo '{"ms": [1], "outputs": "/no/such.npz"}')");
    auto const damaged = failure(R"(echo text > "$2.out"; echo "{\"ms\": [1], \"outputs\": \"$2.out\"}")");

    EXPECT_EQ(missing.how, How::no_outputs);
    EXPECT_THAT(missing.reason, HasSubstr("/no/such.npz: no such file"));
    EXPECT_EQ(damaged.how, How::no_outputs);
    EXPECT_THAT(damaged.reason, HasSubstr("is not a whole .npz file"));
}

TEST(Backend, leaves_no_files_behind) {
    Script const command(R"(echo "$2" > "$0.told"; cp "$2" "$2.out"; echo "{\"ms\": [1], \"outputs\": \"$2.out\"}")");

    static_cast<void>(run(command.command()));

    std::ifstream in(command.path().string() + ".told");
    std::string file;
    std::getline(in, file);
    ASSERT_NE(file, "");
    EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(file).parent_path()));
}

TEST(Backend, needs_a_command_and_a_thread) {
    EXPECT_THAT([] { Backend(" ", 1); }, ThrowsMessage<base::InputError>(HasSubstr("the command is empty")));
    EXPECT_THAT([] { Backend("true", 0); }, ThrowsMessage<base::InputError>(HasSubstr("0 is not a number")));
}

} // namespace
} // namespace espalier::problems::rewrite
