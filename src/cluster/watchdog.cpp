#include "espalier/cluster/watchdog.hpp"

#include "espalier/base/log.hpp"
#include "espalier/base/system.hpp"
#include "espalier/base/units.hpp"

#include <fmt/core.h>

#include <condition_variable>
#include <cstdlib>
#include <mutex>

namespace espalier::cluster {

std::string start_message(std::chrono::nanoseconds patience) {
    auto const* const rank = std::getenv("PMI_RANK");
    return fmt::format("espalier: error: rank {} on {}: the ranks had not found each other after {} (cluster.start, or "
                       "ESPALIER_START in the environment; one of them may have been killed, or came late): this rank "
                       "ends; start the same command again\n",
                       rank != nullptr ? rank : "0", base::host_name(), base::format_duration(patience));
}

Watchdog::Watchdog(Options options)
    : thread_([options = std::move(options)](std::stop_token const& is_well) {
          std::mutex mutex;
          std::condition_variable_any news;
          std::unique_lock lock(mutex);
          if (news.wait_for(lock, is_well, options.patience, [&] { return is_well.stop_requested(); })) return;
          base::log::raw(options.message);
          std::_Exit(options.exit_code); // nothing is flushed or joined: that could wait for the one that hangs
      }) {}

} // namespace espalier::cluster
