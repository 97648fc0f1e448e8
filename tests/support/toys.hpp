#pragma once

/// Small problems with known answers, one a feature of the engine. Each packs its nodes by itself.
#include "support/toys/best_first.hpp"
#include "support/toys/bundles.hpp"
#include "support/toys/chain.hpp"
#include "support/toys/failing.hpp"
#include "support/toys/joined.hpp"
#include "support/toys/orders.hpp"
#include "support/toys/queens.hpp"
#include "support/toys/slow.hpp"
#include "support/toys/spread.hpp"
#include "support/toys/timed.hpp"
#include "support/toys/tsp.hpp"
#include "support/toys/two_stage.hpp"
