// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// ACK extended transport header: the syndrome byte (IBTA 9.7.5.1, 9.7.5.2).
#pragma once

#include <cstdint>

namespace ohca::core {

constexpr uint8_t kAethClassMask = 0x60;
constexpr uint8_t kAethClassAck = 0x00;
constexpr uint8_t kAethClassRnr = 0x20; // low 5 bits: timer code
constexpr uint8_t kAethClassNak = 0x60; // low 5 bits: NAK code
constexpr uint8_t kAethValueMask = 0x1f;

// ACK without end-to-end credits: the requester is not limited by them (IBTA 9.7.7.2).
constexpr uint8_t kAethAck = kAethClassAck | 0x1f;
constexpr uint8_t kAethNakSequence = kAethClassNak | 0;
constexpr uint8_t kAethNakInvalidRequest = kAethClassNak | 1;
constexpr uint8_t kAethNakRemoteAccess = kAethClassNak | 2;
constexpr uint8_t kAethNakRemoteOperation = kAethClassNak | 3;

constexpr bool aeth_is_ack(uint8_t syndrome) { return (syndrome & kAethClassMask) == kAethClassAck; }
constexpr bool aeth_is_rnr(uint8_t syndrome) { return (syndrome & kAethClassMask) == kAethClassRnr; }
constexpr bool aeth_is_nak(uint8_t syndrome) { return (syndrome & kAethClassMask) == kAethClassNak; }
// A NAK after which the connection is over.
constexpr bool aeth_is_fatal(uint8_t syndrome) { return aeth_is_nak(syndrome) && syndrome != kAethNakSequence; }

} // namespace ohca::core
