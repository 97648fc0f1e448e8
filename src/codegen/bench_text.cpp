#include "bench_text.hpp"

#include "espalier/codegen/program_text.hpp"
#include "preludes.hpp"

#include <fmt/format.h>

namespace espalier::codegen {
namespace {

std::string elements_of(std::vector<program::Shape> const& shapes) {
    std::string out;
    for (auto const& shape : shapes) out += fmt::format("{}{}", out.empty() ? "" : ", ", program::element_count(shape));
    return out;
}

/// What the harness must know of the program at hand.
std::string facts(Plan const& input, std::string const& name, std::string_view target, BenchOf where) {
    auto const& dtype = program::info(input.dtype);
    std::vector<program::Shape> shapes;
    for (auto const& one : input.inputs) shapes.push_back(one.shape);
    return fmt::format(R"c(#define TARGET "{10}"
#define IS_ON_DEVICE {11}
#define CANDIDATE {0}
#define CANDIDATE_WORKSPACE {0}_workspace_bytes
#define INPUT_PROGRAM {0}_input
#define CANDIDATE_PACKED {0}_packed_bytes
#define CANDIDATE_PACK {0}_pack
#define INPUT_PROGRAM_PACKED {0}_input_packed_bytes
#define INPUT_PROGRAM_PACK {0}_input_pack
#define INPUT_PROGRAM_WORKSPACE {0}_input_workspace_bytes
#define DEVICE_(name, what) name##_##what
#define DEVICE(name, what) DEVICE_(name, what)
#define ROUNDING {1} /* of the arithmetic */
#define DIGITS {2} /* of what is stored */
#define IS_{3}
typedef {4} Stored;
enum {{ INPUTS = {5}, OUTPUTS = {6}, KEEPS_INTEGERS = {7} }};
static long const input_elements[] = {{{8}}}, output_elements[] = {{{9}}};
extern "C" unsigned long CANDIDATE_WORKSPACE(void), INPUT_PROGRAM_WORKSPACE(void);
extern "C" unsigned long CANDIDATE_PACKED(int), INPUT_PROGRAM_PACKED(int);
extern "C" void CANDIDATE_PACK(int, void const*, void*), INPUT_PROGRAM_PACK(int, void const*, void*);
extern "C" int CANDIDATE(void const* const*, void* const*, void*), INPUT_PROGRAM(void const* const*, void* const*, void*);
)c",
                       name, input.arithmetic == program::DType::f64 ? "0x1p-53" : "0x1p-24", dtype.format.precision,
                       dtype.name,
                       dtype.size_bytes == 2   ? "unsigned short"
                       : dtype.size_bytes == 4 ? "float"
                                               : "double",
                       input.inputs.size(), input.outputs.size(), input.keeps_integers ? 1 : 0, elements_of(shapes),
                       elements_of(input.outputs), target, where == BenchOf::device ? 1 : 0);
}

constexpr std::string_view memory_text = R"c(
#ifdef _OPENMP
#include <omp.h>
static long thread_number() { return omp_get_thread_num(); }
static long thread_count() { return omp_get_max_threads(); }
static void use_threads(int count) { omp_set_num_threads(count); }
#else
static long thread_number() { return 0; }
static long thread_count() { return 1; }
static void use_threads(int) {}
#endif

[[noreturn]] static void fail(char const* what) {
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}
/// In huge pages, where the system has them.
static void* allocate(unsigned long bytes) {
    unsigned long const page = bytes >= 1ul << 21 ? 1ul << 21 : 64, whole = (bytes + page) / page * page;
    void* const memory = aligned_alloc(page, whole);
    if (memory == nullptr) fail("no memory (the program does not fit into this machine): search a smaller one");
    if (page > 64) madvise(memory, whole, MADV_HUGEPAGE);
    memset(memory, 0xff, whole); // not a number, in every format
    return memory;
}
static void release(void* memory) { free(memory); }
)c";

constexpr std::string_view harness_text = R"c(
#if defined IS_f16
static double decoded(Stored x) { return f16_to_f32(x); }
static Stored encoded(double x) { return f32_to_f16((float)x); }
static double const largest = 65504;
#elif defined IS_bf16
static double decoded(Stored x) { return bf16_to_f32(x); }
static Stored encoded(double x) { return f32_to_bf16((float)x); }
static double const largest = 0x1.fep127;
#elif defined IS_f32
static double decoded(Stored x) { return x; }
static Stored encoded(double x) { return (float)x; }
static double const largest = 0x1.fffffep127;
#else
static double decoded(Stored x) { return x; }
static Stored encoded(double x) { return x; }
static double const largest = 0x1.fffffffffffffp1023;
#endif

/// A program, and its inputs as it takes them.
struct Program {
    int (*run)(void const* const*, void* const*, void*);
    unsigned long (*packed_bytes)(int);
    void (*pack)(int, void const*, void*);
    void* packed[INPUTS]; ///< null: as it is
};
static unsigned long long random_state;
static double uniform() { // in [0, 1)
    random_state += 0x9E3779B97F4A7C15ull;
    unsigned long long x = random_state;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}
static double both_signs() { return uniform() - 0.5; }
static double positive() { return 0.25 + 0.75 * uniform(); }
static double small_integer() {
    double const x = uniform();
    return x < 0.0625 ? -1 : x < 0.125 ? 1 : x < 0.13 ? 2 : 0;
}

struct Tensors {
    Stored* inputs[INPUTS];
    double* wide[INPUTS];
    Stored* outputs[OUTPUTS];
    Stored* again[OUTPUTS];
    Real* expected[OUTPUTS];
    void* workspace;
    unsigned long workspace_bytes;
};
static void fill(Tensors* t, double (*draw)()) {
    for (int i = 0; i < INPUTS; ++i)
        for (long n = 0; n < input_elements[i]; ++n) t->wide[i][n] = decoded(t->inputs[i][n] = encoded(draw()));
}
static void pack(Program* program, Tensors* t) {
    for (int i = 0; i < INPUTS; ++i) {
        unsigned long const bytes = program->packed_bytes(i);
        if (bytes > 0 && program->packed[i] == nullptr) program->packed[i] = allocate(bytes);
        if (bytes > 0) program->pack(i, t->inputs[i], program->packed[i]);
    }
}
static void const* input_of(Program* program, Tensors* t, int i) {
    return program->packed[i] != nullptr ? program->packed[i] : t->inputs[i];
}
static void run(Program* program, Tensors* t, Stored** outputs, int threads) {
    use_threads(threads);
    void const* inputs[INPUTS];
    for (int i = 0; i < INPUTS; ++i) inputs[i] = input_of(program, t, i);
    for (int i = 0; i < OUTPUTS; ++i) memset(outputs[i], 0xff, (unsigned long)output_elements[i] * sizeof(Stored));
    memset(t->workspace, 0xff, t->workspace_bytes);
    if (program->run(inputs, (void* const*)outputs, t->workspace) != 0) fail("the program refused to run");
}

struct Check {
    double error = 0, tolerance = 0; ///< where the error is the largest part of what is tolerated
    double share = -1;
    long compared = 0;
    int is_right = 1;
    int is_exact = 0;
};
static void wrong(Check* check, char const* who, char const* why, int output, long at, double found, double expected) {
    if (check->is_right)
        fprintf(stderr, "%s: output %d, element %ld: %s (%.9g instead of %.9g)\n", who, output, at, why, found, expected);
    check->is_right = 0;
}
static void compare(Check* check, Tensors* t, char const* who) {
    for (int i = 0; i < OUTPUTS; ++i)
        for (long n = 0; n < output_elements[i]; ++n) {
            Real const expected = t->expected[i][n];
            double const tolerance = 2 * expected.error, found = decoded(t->outputs[i][n]);
            if (!(fabs(expected.value) + tolerance < largest)) continue; // not defined, or nothing is known
            double const error = fabs(found - expected.value), share = error == 0 ? 0 : error / tolerance;
            ++check->compared;
            if (share > check->share) check->share = share, check->error = error, check->tolerance = tolerance;
            if (!(share <= 1)) wrong(check, who, "outside the tolerance", i, n, found, expected.value);
        }
}
static void compare_integers(Check* check, Tensors* t, char const* who) {
    check->is_exact = 1;
    for (int i = 0; i < OUTPUTS; ++i)
        for (long n = 0; n < output_elements[i]; ++n) {
            double const expected = t->expected[i][n].value, found = decoded(t->outputs[i][n]);
            if (found != expected) wrong(check, who, "not the exact value of integers", i, n, found, expected);
        }
}
static void compare_threads(Check* check, Program* program, Tensors* t, char const* who) {
    int const counts[] = {1, 2, 7};
    for (int k = 0; k < 3; ++k) {
        run(program, t, t->again, counts[k]);
        for (int i = 0; i < OUTPUTS; ++i)
            for (long n = 0; n < output_elements[i]; ++n)
                if (memcmp(&t->again[i][n], &t->outputs[i][n], sizeof(Stored)) != 0)
                    wrong(check, who, "another value with another number of threads", i, n, decoded(t->again[i][n]),
                          decoded(t->outputs[i][n]));
    }
}

static int is_cpu_time = 0;
static double now() {
    struct timespec t;
    clock_gettime(is_cpu_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}
/// Inputs in so many copies that a cache has forgotten one when it comes again.
struct Copies {
    long count = 1, next = 0;
    void const** inputs = nullptr;
};
static Copies copies_of(Program* program, Tensors* t) {
    unsigned long bytes = 0;
    for (int i = 0; i < INPUTS; ++i) bytes += (unsigned long)input_elements[i] * sizeof(Stored);
    Copies out;
    while (out.count < 64 && (unsigned long)out.count * bytes < 256ul << 20) ++out.count;
    out.inputs = (void const**)malloc((unsigned long)out.count * INPUTS * sizeof(void*));
    for (long c = 0; c < out.count; ++c)
        for (int i = 0; i < INPUTS; ++i) {
            unsigned long const size = (unsigned long)input_elements[i] * sizeof(Stored);
            void const* const from = input_of(program, t, i);
            out.inputs[c * INPUTS + i] = c == 0 ? from : memcpy(allocate(size), from, size);
        }
    return out;
}
struct Times {
    double ms[4096];
    long count = 0, calls = 1;
    double median = 0, low = 0, high = 0;
};
)c";

constexpr std::string_view sample_text =
    R"c(static double sample(Program* program, Tensors* t, Copies* copies, long calls) {
    double const start = now();
    for (long k = 0; k < calls; ++k) {
        void const** const inputs = copies->inputs + copies->next * INPUTS;
        copies->next = (copies->next + 1) % copies->count;
        program->run(inputs, (void* const*)t->outputs, t->workspace);
    }
    return (now() - start) / (double)calls;
}
)c";

/// Every copy of the inputs is uploaded before the first sample.
constexpr std::string_view device_sample_text = R"c(
extern "C" {
void *DEVICE(CANDIDATE, upload)(void const* const*), *DEVICE(INPUT_PROGRAM, upload)(void const* const*);
int DEVICE(CANDIDATE, launch)(void*), DEVICE(INPUT_PROGRAM, launch)(void*);
int DEVICE(CANDIDATE, wait)(void), DEVICE(INPUT_PROGRAM, wait)(void);
}
static double sample(Program* program, Tensors*, Copies* copies, long calls) {
    static void* resident[2][64];
    int const who = program->run == CANDIDATE ? 0 : 1;
    for (long c = 0; c < copies->count; ++c) {
        void const* const* const inputs = (void const* const*)(copies->inputs + c * INPUTS);
        if (resident[who][c] == nullptr)
            resident[who][c] = who == 0 ? DEVICE(CANDIDATE, upload)(inputs) : DEVICE(INPUT_PROGRAM, upload)(inputs);
        if (resident[who][c] == nullptr) fail("no memory on the device: search a smaller program");
    }
    double const start = now();
    int status = 0;
    for (long k = 0; k < calls; ++k) {
        void* const tensors = resident[who][copies->next];
        copies->next = (copies->next + 1) % copies->count;
        status |= who == 0 ? DEVICE(CANDIDATE, launch)(tensors) : DEVICE(INPUT_PROGRAM, launch)(tensors);
    }
    status |= who == 0 ? DEVICE(CANDIDATE, wait)() : DEVICE(INPUT_PROGRAM, wait)();
    if (status != 0) fail("the program refused to run");
    return (now() - start) / (double)calls;
}
)c";

constexpr std::string_view main_text = R"c(static int by_value(void const* a, void const* b) {
    double const x = *(double const*)a, y = *(double const*)b;
    return (x > y) - (x < y);
}
/// The median, and between which samples it is with a probability of 95 %.
static void conclude(Times* times) {
    qsort(times->ms, (unsigned long)times->count, sizeof(double), by_value);
    double const n = (double)times->count, half = 0.98 * sqrt(n);
    long const low = (long)floor(n / 2 - half), high = (long)ceil(n / 2 + half);
    times->median = times->ms[times->count / 2];
    times->low = times->ms[low < 0 ? 0 : low];
    times->high = times->ms[high >= times->count ? times->count - 1 : high];
}
static void measure(Program* programs, Times* times, Tensors* t, double seconds) {
    Copies copies[2];
    for (int p = 0; p < 2; ++p) {
        copies[p] = copies_of(&programs[p], t);
        sample(&programs[p], t, &copies[p], 1);
        double const once = sample(&programs[p], t, &copies[p], 1);
        times[p].calls = once > 0.2 ? 1 : 1 + (long)(0.2 / (once + 1e-4));
    }
    double const start = now();
    while (times[0].count < 4096 && (times[0].count < 7 || now() - start < 1e3 * seconds))
        for (int p = 0; p < 2; ++p) times[p].ms[times[p].count++] = sample(&programs[p], t, &copies[p], times[p].calls);
    for (int p = 0; p < 2; ++p) conclude(&times[p]);
}

static void check_all(Program* programs, Check* checks, Tensors* t, int threads) {
    char const* const names[] = {"program", "input program"};
    double (*const draws[])() = {both_signs, positive, small_integer};
    for (int d = 0; d < (KEEPS_INTEGERS ? 3 : 2); ++d) {
        fill(t, draws[d]);
        is_large = 0;
        use_threads(threads);
        reference(t->wide, t->expected);
        for (int p = 0; p < 2; ++p) {
            pack(&programs[p], t);
            run(&programs[p], t, t->outputs, threads);
            if (d < 2) compare(&checks[p], t, names[p]);
            else if (!is_large) compare_integers(&checks[p], t, names[p]);
            if (d == 0) compare_threads(&checks[p], &programs[p], t, names[p]);
        }
    }
    for (int p = 0; p < 2; ++p)
        if (checks[p].compared == 0) {
            fprintf(stderr, "%s: no element could be compared\n", names[p]);
            checks[p].is_right = 0;
        }
    use_threads(threads);
}

static void print_check(Check const* check, int threads) {
    printf("{\"target\": \"" TARGET "\", \"checked\": %s, \"exact\": %s, \"compared\": %ld, \"max_error\": %.6g, "
           "\"tolerance\": %.6g, \"threads\": %d",
           check->is_right ? "true" : "false", check->is_exact ? "true" : "false", check->compared, check->error,
           check->tolerance, threads);
}
static void print_times(Times const* times) {
    printf(", \"ms\": %.6g, \"ci_ms\": [%.6g, %.6g], \"samples\": %ld, \"input_ms\": %.6g, \"input_ci_ms\": [%.6g, %.6g], "
           "\"speedup\": %.4g",
           times[0].median, times[0].low, times[0].high, times[0].count, times[1].median, times[1].low, times[1].high,
           times[1].median / times[0].median);
}
static void print_for_people(Check const* check, Times const* times, int threads) {
    printf("right: largest error %.3g, tolerance there %.3g, %ld elements%s\n", check->error, check->tolerance,
           check->compared, check->is_exact ? "; exact on integers" : "");
    if (times[0].count == 0) return;
    printf("%.4g ms (95 %%: %.4g to %.4g), %d thread%s; the input program %.4g ms (%.4g to %.4g), %.3g times\n",
           times[0].median, times[0].low, times[0].high, threads, threads == 1 ? "" : "s", times[1].median, times[1].low,
           times[1].high, times[1].median / times[0].median);
}

/// Threads that wander among cores, or wait for one another on the same one, measure nothing.
static void bind_threads(char** argv) {
    if (IS_ON_DEVICE || getenv("OMP_PROC_BIND") != nullptr) return;
    setenv("OMP_PROC_BIND", "true", 1);
    execv("/proc/self/exe", argv); // if that fails, they are not bound
}

int main(int argc, char** argv) {
    bind_threads(argv);
    int threads = (int)thread_count(), is_json = 0, is_check_only = 0;
    double seconds = 2;
    for (int i = 1; i < argc; ++i) {
        int const has_value = i + 1 < argc;
        if (strcmp(argv[i], "--json") == 0) is_json = 1;
        else if (strcmp(argv[i], "--check") == 0) is_check_only = 1;
        else if (strcmp(argv[i], "--cpu-time") == 0) is_cpu_time = 1;
        else if (strcmp(argv[i], "--threads") == 0 && has_value) threads = atoi(argv[++i]);
        else if (strcmp(argv[i], "--seconds") == 0 && has_value) seconds = atof(argv[++i]);
        else {
            fprintf(stderr, "usage: bench [--threads N] [--seconds S] [--cpu-time] [--check] [--json]\n");
            return 2;
        }
    }
    if (threads < 1 || threads > 4096) fail("--threads: not a number of threads: use 1 to 4096");
    static Tensors t;
    for (int i = 0; i < INPUTS; ++i) {
        t.inputs[i] = (Stored*)allocate((unsigned long)input_elements[i] * sizeof(Stored));
        t.wide[i] = (double*)allocate((unsigned long)input_elements[i] * sizeof(double));
    }
    for (int i = 0; i < OUTPUTS; ++i) {
        t.outputs[i] = (Stored*)allocate((unsigned long)output_elements[i] * sizeof(Stored));
        t.again[i] = (Stored*)allocate((unsigned long)output_elements[i] * sizeof(Stored));
        t.expected[i] = (Real*)allocate((unsigned long)output_elements[i] * sizeof(Real));
    }
    use_threads(threads < 7 ? 7 : threads);
    unsigned long const own = CANDIDATE_WORKSPACE(), other = INPUT_PROGRAM_WORKSPACE();
    t.workspace_bytes = own > other ? own : other;
    t.workspace = allocate(t.workspace_bytes);

    static Program programs[] = {{CANDIDATE, CANDIDATE_PACKED, CANDIDATE_PACK, {}},
                                 {INPUT_PROGRAM, INPUT_PROGRAM_PACKED, INPUT_PROGRAM_PACK, {}}};
    static Check checks[2];
    static Times times[2];
    check_all(programs, checks, &t, threads);
    int const is_right = checks[0].is_right && checks[1].is_right;
    if (is_right && !is_check_only) {
        fill(&t, both_signs);
        for (int p = 0; p < 2; ++p) pack(&programs[p], &t);
        measure(programs, times, &t, seconds);
    }
    if (is_json) {
        print_check(&checks[0], threads);
        if (times[0].count > 0) print_times(times);
        printf("}\n");
    } else if (is_right) {
        print_for_people(&checks[0], times, threads);
    }
    return is_right ? 0 : 4;
}
)c";

} // namespace

std::string bench_source(Plan const& input, std::string const& name, std::string_view target, BenchOf where) {
    return std::string("// Checks a program against float64, and then measures it: see ./build\n"
                       "#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
                       "#include <sys/mman.h>\n#include <time.h>\n#include <unistd.h>\n\n") +
           facts(input, name, target, where) + std::string(memory_text) + "\n" + std::string(conversions_text()) +
           reference_source(input) + std::string(harness_text) +
           std::string(where == BenchOf::device ? device_sample_text : sample_text) + std::string(main_text);
}

} // namespace espalier::codegen
