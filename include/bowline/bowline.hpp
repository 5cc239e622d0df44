#pragma once

/// Bowline: reliable, ordered, exactly-once messages between nodes, at the speed of the device. See README.md.
#include "bowline/config.hpp"  // IWYU pragma: export
#include "bowline/engine.hpp"  // IWYU pragma: export
#include "bowline/result.hpp"  // IWYU pragma: export
