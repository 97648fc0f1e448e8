// Preloaded where more ranks run than there are cores: MPICH's ranks poll without ever giving up their core, so that
// every message waits for the end of somebody's time slice. This makes them step aside whenever UCX has nothing to do.

#include <dlfcn.h>
#include <sched.h>

extern "C" unsigned ucp_worker_progress(void* worker) {
    using Progress = unsigned(void*);
    static auto* const own = reinterpret_cast<Progress*>(dlsym(RTLD_NEXT, "ucp_worker_progress"));
    auto const done = own(worker);
    if (done == 0) sched_yield();
    return done;
}
