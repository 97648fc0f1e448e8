#pragma once

namespace espalier::base {

/// True if somebody sees stderr on a terminal: it is one, or it is a pipe that mpiexec reads and passes on to one.
/// False wherever that is not certain, so that no escape sequence gets into a file: with a shell or another program in
/// between, under other launchers, on hosts other than mpiexec's.
[[nodiscard]] bool is_stderr_seen();

} // namespace espalier::base
