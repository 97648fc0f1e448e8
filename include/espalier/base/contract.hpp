#pragma once

/// Contracts: a violated one is a bug in Espalier, never bad input. Checked in debug, sanitizer and CI builds
/// (ESPALIER_CONTRACTS); they never communicate with other ranks.
namespace espalier::base {
[[noreturn]] void contract_violated(char const* kind, char const* condition, char const* file, int line);
} // namespace espalier::base

#ifdef ESPALIER_CONTRACTS
#define ESP_CONTRACT(kind, condition)                                                                                  \
    ((condition) ? void(0) : ::espalier::base::contract_violated(kind, #condition, __FILE__, __LINE__))
#else
#define ESP_CONTRACT(kind, condition) (false ? void(condition) : void(0))
#endif

#define ESP_EXPECT(condition) ESP_CONTRACT("precondition", condition)
#define ESP_ASSERT(condition) ESP_CONTRACT("assertion", condition)
#define ESP_ENSURE(condition) ESP_CONTRACT("postcondition", condition)
