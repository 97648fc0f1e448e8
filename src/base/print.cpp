#include "espalier/base/print.hpp"

#include "espalier/base/text.hpp"

#include <cstdio>
#include <string>
#include <unistd.h>

namespace espalier::base {
namespace {

void write(std::FILE* file, std::string_view text) { std::fwrite(text.data(), 1, text.size(), file); }

} // namespace

void say(std::string_view text) { write(stdout, printable(text)); }

void put(std::string_view data) {
    if (isatty(STDOUT_FILENO) != 0) return say(data);
    write(stdout, data);
}

void put_json(Json const& json) { put(json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n'); }

void complain(std::string_view text) { write(stderr, "espalier: " + printable(text) + '\n'); }

void complain_as_is(std::string_view text) {
    if (text.empty()) return;
    write(stderr, printable(text) + (text.ends_with('\n') ? "" : "\n"));
}

} // namespace espalier::base
