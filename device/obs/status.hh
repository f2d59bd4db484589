// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// What the status socket tells, as JSON. Reads what the engine writes without
// stopping it: numbers are a moment old, and a queue may change while it is read.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "broker/broker.hh"

namespace ohca::obs {

// Commands: functions, engine, queues, counters, keys; the last three take {"function": NAME}
// for one function only. Otherwise {"error": TEXT}.
nlohmann::json status(const broker::Broker &broker, const std::string &command, const nlohmann::json &request);

} // namespace ohca::obs
