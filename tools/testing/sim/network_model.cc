// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "network_model.hh"

#include <cstdio>
#include <cstdlib>

namespace ohca::sim {

core::TimeNs NetworkModel::arrival(core::TimeNs now, bool mercy)
{
	core::TimeNs at = now + options_.latency_ns;

	if (faulty_ && !mercy && prng_.chance(options_.delay))
		at += prng_.below(options_.extra_delay_ns);
	return at;
}

void NetworkModel::send(core::TimeNs now, uint32_t to_host, const core::Segment &segment, bool mercy)
{
	if (drops(mercy))
		return;
	Packet packet;
	packet.to_host = to_host;
	packet.segment = segment;
	if (segment.datagram)
		packet.datagram = *segment.datagram;
	if (segment.payload_length > 0) {
		packet.payload = std::make_shared<std::vector<std::byte>>(segment.payload_length);
		core::SgRange bytes = {nullptr, nullptr, 0, packet.payload->data(), segment.payload_length};
		core::SgCursor to = {&bytes, 1, 0, 0};
		core::SgCursor from = segment.payload;

		if (core::copy(to, from, segment.payload_length) != core::CopyResult::kOk) {
			std::fprintf(stderr, "payload of a segment is not readable\n");
			std::abort();
		}
	}
	packet.segment.payload = {};
	const int copies = duplicates(mercy) ? 2 : 1;
	for (int i = 0; i < copies; i++) {
		packet.at = arrival(now, mercy);
		packet.order = order_++;
		packets_.push(packet);
	}
}

Packet NetworkModel::take()
{
	Packet packet = packets_.top();

	packets_.pop();
	return packet;
}

} // namespace ohca::sim
