#pragma once

#include "espalier/codegen/program_text.hpp"
#include "espalier/program/rounding.hpp"

#include "support/doubles.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

/// Programs that were compiled and can be called.
namespace espalier::compiled {

/// A folder that is gone when the test is.
class Folder {
public:
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "espalier-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
        path_ = name;
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(Folder const&) = delete;
    Folder& operator=(Folder const&) = delete;
    [[nodiscard]] std::filesystem::path const& path() const { return path_; }

    void write(std::string const& name, std::string const& text) const { std::ofstream(path_ / name) << text; }
    /// The exit code of a command, which runs in the folder; its output goes to the file `log`.
    [[nodiscard]] int run(std::string const& command) const {
        auto const status = std::system(("cd " + path_.string() + " && (" + command + ") >log 2>&1").c_str());
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    [[nodiscard]] std::string read(std::string const& name) const {
        std::ifstream in(path_ / name);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    [[nodiscard]] std::string log() const { return read("log"); }

private:
    std::filesystem::path path_;
};

/// A number of 16 bits, from and to the double next to it.
template <program::DType dtype>
class Half {
public:
    explicit Half(double value)
        : bits_(static_cast<unsigned short>(bits_of(value) | (std::signbit(value) ? 0x8000u : 0u))) {}
    explicit operator double() const {
        auto const magnitude = bits_ & 0x7fffu, exponent = magnitude >> digits;
        auto const sign = bits_ > 0x7fffu ? -1.0 : 1.0;
        if (magnitude >= infinite)
            return magnitude > infinite ? std::numeric_limits<double>::quiet_NaN() : sign * INFINITY;
        auto const leading = exponent > 0 ? 1u << digits : 0u;
        auto const places = static_cast<int>(std::max(exponent, 1u)) - 1 + format.min_exponent - digits;
        return sign * std::ldexp((magnitude & ((1u << digits) - 1)) + leading, places);
    }

private:
    static unsigned bits_of(double value) {
        auto const rounded = std::fabs(program::round_to(format, value));
        if (!(rounded < INFINITY)) return infinite | (rounded != rounded ? 1u : 0u);
        auto const exponent = rounded == 0 ? format.min_exponent : std::max(std::ilogb(rounded), format.min_exponent);
        return static_cast<unsigned>(std::ldexp(rounded, digits - exponent)) +
               (static_cast<unsigned>(exponent - format.min_exponent) << digits);
    }

    static constexpr auto format = program::info(dtype).format;
    static constexpr int digits = format.precision - 1;
    static constexpr unsigned infinite = static_cast<unsigned>(format.max_exponent * 2 + 1) << digits;
    unsigned short bits_ = 0;
};

/// A shared library of several programs, of whatever dtype they have. It is never unloaded: threads of OpenMP live on.
class Library {
public:
    /// The text of a program as the function of a name, with C linkage.
    using Source = std::function<std::string(program::Graph const&, std::string const&)>;

    explicit Library(std::vector<program::Graph> const& graphs, std::string const& flags = "-std=c++17 -O1 -fopenmp",
                     codegen::CpuShape const& cpu = {.lanes = 0})
        : Library(graphs, flags, "", [&](program::Graph const& graph, std::string const& name) {
              return codegen::cpu_source(codegen::make_plan(graph, cpu), name);
          }) {}
    /// `preamble` comes once, before all programs.
    Library(std::vector<program::Graph> const& graphs, std::string const& flags, std::string const& preamble,
            Source const& source) {
        auto text = preamble;
        for (std::size_t i = 0; i < graphs.size(); ++i)
            text += "namespace p" + std::to_string(i) + " {\n" + source(graphs[i], "run_" + std::to_string(i)) +
                    "}\n#undef DOUBLE\n";
        for (std::size_t i = 0; i < graphs.size(); ++i) graphs_.push_back(graphs[i]);
        folder_.write("all.cpp", text);
        if (folder_.run("c++ " + flags + " -shared -fPIC -o all.so all.cpp -lm") != 0)
            throw std::runtime_error("what was emitted does not compile: " + folder_.log());
        handle_ = dlopen((folder_.path() / "all.so").c_str(), RTLD_NOW);
        if (handle_ == nullptr) throw std::runtime_error(dlerror());
    }

    [[nodiscard]] std::vector<std::vector<double>> run(std::size_t i, doubles::Tensors const& inputs) const {
        switch (graphs_[i].dtype) {
        case program::DType::f16:
            return run_as<Half<program::DType::f16>>(i, inputs);
        case program::DType::bf16:
            return run_as<Half<program::DType::bf16>>(i, inputs);
        case program::DType::f32:
            return run_as<float>(i, inputs);
        case program::DType::f64:
            break;
        }
        return run_as<double>(i, inputs);
    }

private:
    template <class T>
    [[nodiscard]] std::vector<std::vector<double>> run_as(std::size_t i, doubles::Tensors const& inputs) const {
        T const nothing(std::numeric_limits<double>::quiet_NaN());
        auto const name = "run_" + std::to_string(i);
        auto const bytes = reinterpret_cast<unsigned long (*)()>(dlsym(handle_, (name + "_workspace_bytes").c_str()))();
        std::vector<double> workspace(bytes / 8 + 16, std::numeric_limits<double>::quiet_NaN());
        std::vector<std::vector<T>> values, outputs;
        for (auto const& input : inputs)
            for (values.emplace_back(); auto const value : input.values) values.back().push_back(T(value));
        for (std::size_t n = 0; n < values.size(); ++n) pack(name, static_cast<int>(n), values[n]);
        auto const infos = program::infer(graphs_[i]);
        for (auto const id : graphs_[i].outputs)
            outputs.emplace_back(static_cast<std::size_t>(program::element_count(infos[id].shape)), nothing);
        std::vector<void const*> in;
        std::vector<void*> out;
        for (auto const& input : values) in.push_back(input.data());
        for (auto& output : outputs) out.push_back(output.data());
        auto const start = (reinterpret_cast<std::uintptr_t>(workspace.data()) + 63) / 64 * 64;
        using Program = int(void const* const*, void* const*, void*);
        if (reinterpret_cast<Program*>(dlsym(handle_, name.c_str()))(in.data(), out.data(),
                                                                     reinterpret_cast<void*>(start)) != 0)
            throw std::runtime_error("the program refused to run");
        std::vector<std::vector<double>> found;
        for (auto const& output : outputs)
            for (found.emplace_back(); auto const value : output) found.back().push_back(double(value));
        return found;
    }

    /// As the program takes it.
    template <class T>
    void pack(std::string const& name, int input, std::vector<T>& values) const {
        auto* const bytes = reinterpret_cast<unsigned long (*)(int)>(dlsym(handle_, (name + "_packed_bytes").c_str()));
        if (bytes == nullptr || bytes(input) == 0) return;
        std::vector<T> packed(bytes(input) / sizeof(T), T(0));
        reinterpret_cast<void (*)(int, void const*, void*)>(dlsym(handle_, (name + "_pack").c_str()))(
            input, values.data(), packed.data());
        values = packed;
    }

    Folder folder_;
    std::vector<program::Graph> graphs_;
    void* handle_ = nullptr; // of the process
};

} // namespace espalier::compiled
