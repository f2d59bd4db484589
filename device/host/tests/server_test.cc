// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The protocol against a recording device: what is passed on, and that nothing
// a client sends is worse than an error reply.
#include "host/server.hh"

#include <cerrno>
#include <gtest/gtest.h>
#include <random>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "host/tests/vfio_user_client.hh"

namespace ohca::host {
namespace {

constexpr DmaUnmapRequest kUnmap{sizeof(DmaUnmapRequest), 0, 0x1000, 0x1000};

class FakeDevice final : public DeviceHandler {
public:
	void client_connected() override { connected = true; }
	void client_disconnected() override { connected = false; }
	RegionDescription region(uint32_t index) override
	{
		if (index != 2)
			return {};
		return {memory.size(), VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE, fd.get()};
	}
	int read_region(uint32_t, uint64_t offset, std::span<std::byte> to) override
	{
		memcpy(to.data(), memory.data() + offset, to.size());
		return 0;
	}
	int write_region(uint32_t, uint64_t offset, std::span<const std::byte> from) override
	{
		memcpy(memory.data() + offset, from.data(), from.size());
		return 0;
	}
	uint32_t irq_count(uint32_t index) override { return index == VFIO_PCI_MSIX_IRQ_INDEX ? 32 : 0; }
	int set_irqs(const IrqRequest &request) override
	{
		irq_requests++;
		irq_fds = request.fds.size();
		return 0;
	}
	int map_dma(const DmaMapRequest &request, UniqueFd with) override
	{
		maps++;
		map_had_fd = static_cast<bool>(with);
		return request.address == 0xbad000 ? EEXIST : 0;
	}
	void unmap_dma(const DmaUnmapRequest &, ReplyToken token) override { tokens.push_back(token); }
	void reset_device(ReplyToken token) override { tokens.push_back(token); }
	void dma_done(bool ok, std::span<const std::byte> data) override
	{
		dma_answers++;
		dma_ok = ok;
		dma_data.assign(data.begin(), data.end());
	}

	bool connected = false;
	std::vector<std::byte> memory = std::vector<std::byte>(8192);
	UniqueFd fd{memfd_create("bar", MFD_CLOEXEC)};
	int irq_requests = 0;
	size_t irq_fds = 0;
	int maps = 0;
	bool map_had_fd = false;
	std::vector<ReplyToken> tokens;
	int dma_answers = 0;
	bool dma_ok = false;
	std::vector<std::byte> dma_data;
};

struct ServerTest : testing::Test {
	EventLoop loop;
	FakeDevice device;
	Server server{loop, device, "test"};
	VfioUserClient client{connect(), [this] { pump(); }};

	ServerTest() { spdlog::set_level(spdlog::level::off); }

	UniqueFd connect()
	{
		int fds[2];
		EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
		server.serve(UniqueFd(fds[0]));
		return UniqueFd(fds[1]);
	}
	void pump()
	{
		for (int i = 0; i < 3; i++)
			loop.run_once(0);
	}
	// Everything still works.
	void expect_alive()
	{
		EXPECT_TRUE(server.connected());
		const uint32_t info[4] = {16, 0, 0, 0};
		EXPECT_EQ(client.call(Command::kDeviceGetInfo, info).as<uint32_t>(8), uint32_t{VFIO_PCI_NUM_REGIONS});
	}
};

TEST_F(ServerTest, AgreesOnAVersion)
{
	const Reply reply = client.version();
	EXPECT_FALSE(reply.failed());
	EXPECT_EQ(reply.as<uint16_t>(0), 0);
	const std::string json(reinterpret_cast<const char *>(reply.payload.data()) + 4);
	EXPECT_NE(json.find("\"max_msg_fds\":16"), std::string::npos);
	EXPECT_EQ(server.max_dma_transfer(), 1u << 20);
	EXPECT_EQ(client.version().error(), uint32_t{EINVAL}) << "only once";
}

TEST_F(ServerTest, VersionReplyIsNeverLongerThanTheRequest)
{
	const std::byte bare[4] = {};
	const Reply reply = client.call(Command::kVersion, bare);
	EXPECT_FALSE(reply.failed());
	EXPECT_EQ(reply.payload.size(), 4u);
	expect_alive();
}

TEST_F(ServerTest, RefusesVersionsItCannotRead)
{
	const std::byte other_major[4] = {std::byte{1}};
	EXPECT_EQ(client.call(Command::kVersion, other_major).error(), uint32_t{EINVAL});
	EXPECT_EQ(client.call(Command::kVersion, std::span(other_major, 3)).error(), uint32_t{EINVAL});
	for (const char *json : {"{", "[]", "7", R"({"capabilities":3})",
				 R"({"capabilities":{"max_data_xfer_size":"x"}})",
				 R"({"capabilities":{"max_data_xfer_size":-1}})"})
		EXPECT_EQ(client.version(json).error(), uint32_t{EINVAL}) << json;
	EXPECT_FALSE(client.version().failed()) << "a refusal is not the end";
}

TEST_F(ServerTest, NothingWorksBeforeVersion)
{
	const uint32_t info[4] = {16, 0, 0, 0};
	EXPECT_EQ(client.call(Command::kDeviceGetInfo, info).error(), uint32_t{EINVAL});
	EXPECT_EQ(client.map(0, 4096, 0, -1), uint32_t{EINVAL});
	EXPECT_EQ(device.maps, 0);
}

struct Agreed : ServerTest {
	Agreed() { client.version(); }
};

TEST_F(Agreed, ShortPayloadsAreRefusedForEveryCommand)
{
	const std::vector<std::byte> zeros(64);
	const struct {
		Command command;
		size_t complete;
	} commands[] = {
		{Command::kDmaMap, 32},           {Command::kDmaUnmap, 24},      {Command::kDeviceGetInfo, 16},
		{Command::kDeviceGetRegionInfo, 32}, {Command::kDeviceGetRegionIoFds, 16},
		{Command::kDeviceGetIrqInfo, 16}, {Command::kDeviceSetIrqs, 20}, {Command::kRegionRead, 16},
		{Command::kRegionWrite, 16},
	};
	for (const auto &[command, complete] : commands) {
		for (size_t size = 0; size < complete; size++)
			EXPECT_EQ(client.call(command, std::span(zeros).first(size)).error(), uint32_t{EINVAL})
				<< static_cast<int>(command) << " with " << size << " bytes";
	}
	EXPECT_EQ(device.maps + device.irq_requests, 0);
	EXPECT_TRUE(device.tokens.empty());
	expect_alive();
}

TEST_F(Agreed, TooSmallArgszIsRefused)
{
	uint32_t words[8] = {15, 0, 0, 0, 0x1000, 0, 0x1000, 0};
	EXPECT_EQ(client.call(Command::kDeviceGetInfo, words).error(), uint32_t{EINVAL});
	EXPECT_EQ(client.call(Command::kDeviceGetIrqInfo, words).error(), uint32_t{EINVAL});
	EXPECT_EQ(client.call(Command::kDeviceGetRegionIoFds, words).error(), uint32_t{EINVAL});
	words[0] = 19;
	words[1] = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER;
	words[2] = VFIO_PCI_MSIX_IRQ_INDEX;
	EXPECT_EQ(client.call(Command::kDeviceSetIrqs, words).error(), uint32_t{EINVAL});
	words[0] = 31;
	words[1] = 0;
	EXPECT_EQ(client.call(Command::kDeviceGetRegionInfo, words).error(), uint32_t{EINVAL});
	EXPECT_EQ(client.call(Command::kDmaMap, words).error(), uint32_t{EINVAL});
	words[0] = 23;
	EXPECT_EQ(client.call(Command::kDmaUnmap, words).error(), uint32_t{EINVAL});
	EXPECT_EQ(device.maps, 0);
}

TEST_F(Agreed, WrongIndicesAreRefused)
{
	for (const uint32_t index : {uint32_t{VFIO_PCI_NUM_REGIONS}, 100u, UINT32_MAX}) {
		const vfio_region_info info{.argsz = 32, .flags = 0, .index = index, .cap_offset = 0, .size = 0,
					    .offset = 0};
		EXPECT_EQ(client.call(Command::kDeviceGetRegionInfo, info).error(), uint32_t{EINVAL});
		EXPECT_EQ(client.read(index, 0, 4).error(), uint32_t{EINVAL});
		const RegionIoFds fds{16, 0, index, 0};
		EXPECT_EQ(client.call(Command::kDeviceGetRegionIoFds, fds).error(), uint32_t{EINVAL});
		const uint32_t irq[4] = {16, 0, index, 0};
		EXPECT_EQ(client.call(Command::kDeviceGetIrqInfo, irq).error(), uint32_t{EINVAL});
		const uint32_t set[5] = {20, VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER, index, 0, 0};
		EXPECT_EQ(client.call(Command::kDeviceSetIrqs, set).error(), uint32_t{EINVAL});
	}
}

TEST_F(Agreed, DescribesRegionsAndInterrupts)
{
	vfio_region_info info{.argsz = 32, .flags = 0, .index = 2, .cap_offset = 0, .size = 0, .offset = 0};
	const Reply region = client.call(Command::kDeviceGetRegionInfo, info);
	EXPECT_EQ(region.as<vfio_region_info>().size, 8192u);
	EXPECT_EQ(region.as<vfio_region_info>().argsz, 32u);
	EXPECT_TRUE(region.fd);
	info.index = 5;
	EXPECT_EQ(client.call(Command::kDeviceGetRegionInfo, info).as<vfio_region_info>().size, 0u);
	const uint32_t irq[4] = {16, 0, VFIO_PCI_MSIX_IRQ_INDEX, 0};
	const auto irq_info = client.call(Command::kDeviceGetIrqInfo, irq).as<vfio_irq_info>();
	EXPECT_EQ(irq_info.count, 32u);
	EXPECT_FALSE(irq_info.flags & VFIO_IRQ_INFO_NORESIZE);
	const Reply io_fds = client.call(Command::kDeviceGetRegionIoFds, RegionIoFds{16, 0, 0, 5});
	EXPECT_EQ(io_fds.as<RegionIoFds>().count, 0u);
}

TEST_F(Agreed, RegionAccessesStayInside)
{
	const uint32_t value = 0x12345678;
	EXPECT_EQ(client.write(2, 8188, std::as_bytes(std::span(&value, 1))), 0u);
	EXPECT_EQ(client.read32(2, 8188), value);
	EXPECT_EQ(client.read(2, 8189, 4).error(), uint32_t{EINVAL});
	EXPECT_EQ(client.read(2, UINT64_MAX, 4).error(), uint32_t{EINVAL});
	EXPECT_EQ(client.read(2, 0, UINT32_MAX).error(), uint32_t{EINVAL});
	EXPECT_EQ(client.read(3, 0, 4).error(), uint32_t{EINVAL});
	EXPECT_EQ(client.write(2, 8190, std::as_bytes(std::span(&value, 1))), uint32_t{EINVAL});
	// Says more, or less, than it brings.
	for (const uint32_t count : {0u, 3u, 5u, UINT32_MAX}) {
		const struct {
			RegionAccess access;
			uint32_t data;
		} message{{0, 2, count}, 7};
		const auto bytes = std::as_bytes(std::span(&message, 1)).first(20);
		EXPECT_EQ(client.call(Command::kRegionWrite, bytes).error(), uint32_t{EINVAL}) << count;
	}
	expect_alive();
}

TEST_F(Agreed, DmaMapIsChecked)
{
	const int fd = device.fd.get();
	EXPECT_EQ(client.map(0x1000, 0x1000, 0, fd), 0u);
	EXPECT_TRUE(device.map_had_fd);
	EXPECT_EQ(client.map(0x2000, 0x1000, 0, -1), 0u);
	EXPECT_FALSE(device.map_had_fd);
	EXPECT_EQ(device.maps, 2);
	EXPECT_EQ(client.map(0x3000, 0, 0, fd), uint32_t{EINVAL});
	EXPECT_EQ(client.map(0xfffffffffffff000, 0x1001, 0, fd), uint32_t{EINVAL});
	EXPECT_EQ(client.map(0x3000, 0x1000, 0xfffffffffffff001, fd), uint32_t{EINVAL});
	EXPECT_EQ(client.map(0xfffffffffffff000, 0x1000, 0, fd), 0u) << "up to the last byte";
	const DmaMapRequest flags{32, 4, 0, 0x5000, 0x1000};
	EXPECT_EQ(client.call(Command::kDmaMap, flags).error(), uint32_t{EINVAL});
	const int two[2] = {fd, fd};
	const DmaMapRequest request{32, 3, 0, 0x5000, 0x1000};
	EXPECT_EQ(client.call(Command::kDmaMap, request, two).error(), uint32_t{EINVAL});
	EXPECT_EQ(device.maps, 3);
	EXPECT_EQ(client.map(0xbad000, 0x1000, 0, fd), uint32_t{EEXIST}) << "the device's own errors";
}

TEST_F(Agreed, DmaUnmapIsAnsweredWhenTheDeviceSaysSo)
{
	const uint16_t id = client.send(Command::kDmaUnmap, std::as_bytes(std::span(&kUnmap, 1)));
	pump();
	ASSERT_EQ(device.tokens.size(), 1u);
	expect_alive(); // and the rest goes on meanwhile
	server.complete(device.tokens[0], 0);
	const auto reply = client.receive();
	ASSERT_TRUE(reply);
	EXPECT_EQ(reply->header.id, id);
	EXPECT_EQ(reply->as<DmaUnmapRequest>().size, 0x1000u);
	server.complete(device.tokens[0], 0); // twice is once
	expect_alive();
}

TEST_F(Agreed, DmaUnmapIsChecked)
{
	for (const DmaUnmapRequest &request :
	     {DmaUnmapRequest{24, 0, 0x1000, 0}, DmaUnmapRequest{24, 0, UINT64_MAX, 2},
	      DmaUnmapRequest{24, kDmaUnmapDirtyBitmap, 0x1000, 0x1000}, DmaUnmapRequest{24, 8, 0x1000, 0x1000},
	      DmaUnmapRequest{24, kDmaUnmapAll, 0x1000, 0x1000}})
		EXPECT_EQ(client.call(Command::kDmaUnmap, request).error(), uint32_t{EINVAL});
	EXPECT_TRUE(device.tokens.empty());
}

TEST_F(Agreed, SetIrqsIsChecked)
{
	std::vector<int> fds(20, device.fd.get());
	EXPECT_EQ(client.set_eventfds(0, std::span(fds).first(16)), 0u);
	EXPECT_EQ(device.irq_fds, 16u);
	EXPECT_EQ(client.set_eventfds(0, std::span(fds).first(17)), uint32_t{EINVAL}) << "more than announced";
	EXPECT_EQ(client.set_eventfds(31, std::span(fds).first(1)), 0u);
	EXPECT_EQ(client.set_eventfds(32, std::span(fds).first(1)), uint32_t{EINVAL});
	EXPECT_EQ(client.set_eventfds(31, std::span(fds).first(2)), uint32_t{EINVAL});

	const auto set = [&](uint32_t flags, uint32_t start, uint32_t count, size_t extra = 0,
			     std::span<const int> with = {}) {
		const uint32_t words[5] = {20, flags, VFIO_PCI_MSIX_IRQ_INDEX, start, count};
		std::vector<std::byte> bytes(20 + extra);
		memcpy(bytes.data(), words, 20);
		return client.call(Command::kDeviceSetIrqs, bytes, with).error();
	};
	constexpr uint32_t kTrigger = VFIO_IRQ_SET_ACTION_TRIGGER;
	const auto one = std::span<const int>(fds).first(1);
	EXPECT_EQ(set(VFIO_IRQ_SET_DATA_EVENTFD | kTrigger, 0, 4), 0u) << "none: removes";
	EXPECT_EQ(set(VFIO_IRQ_SET_DATA_EVENTFD | kTrigger, 0, 4, 0, one), uint32_t{EINVAL});
	EXPECT_EQ(set(VFIO_IRQ_SET_DATA_NONE | kTrigger, 0, 4, 0, one), uint32_t{EINVAL});
	EXPECT_EQ(set(VFIO_IRQ_SET_DATA_NONE | kTrigger, UINT32_MAX, UINT32_MAX), uint32_t{EINVAL});
	EXPECT_EQ(set(VFIO_IRQ_SET_DATA_NONE | kTrigger, 1, UINT32_MAX), uint32_t{EINVAL});
	EXPECT_EQ(set(0, 0, 1), uint32_t{EINVAL});
	EXPECT_EQ(set(VFIO_IRQ_SET_DATA_NONE, 0, 1), uint32_t{EINVAL});
	EXPECT_EQ(set(kTrigger, 0, 1), uint32_t{EINVAL});
	EXPECT_EQ(set(VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_DATA_BOOL | kTrigger, 0, 1), uint32_t{EINVAL});
	EXPECT_EQ(set(VFIO_IRQ_SET_DATA_NONE | kTrigger | 0x100, 0, 1), uint32_t{EINVAL});
	EXPECT_EQ(set(VFIO_IRQ_SET_DATA_BOOL | kTrigger, 0, 4, 3), uint32_t{EINVAL}) << "bytes are missing";
	EXPECT_EQ(set(VFIO_IRQ_SET_DATA_BOOL | kTrigger, 0, 4, 4), 0u);
	EXPECT_EQ(set(VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_MASK, 0, 1, 0, one), uint32_t{ENOTSUP});
	expect_alive();
}

TEST_F(Agreed, DescriptorsAreRefusedWhereNoneBelong)
{
	const uint32_t info[4] = {16, 0, 0, 0};
	const int fd = device.fd.get();
	EXPECT_EQ(client.call(Command::kDeviceGetInfo, info, std::span(&fd, 1)).error(), uint32_t{EINVAL});
	std::vector<int> many(200, fd);
	EXPECT_EQ(client.call(Command::kDeviceReset, std::span<const std::byte>(), many).error(), uint32_t{EINVAL});
	expect_alive();
}

TEST_F(Agreed, UnknownAndOptionalCommands)
{
	for (const Command command : {Command::kDirtyPages, Command::kRegionWriteMulti, Command::kDeviceFeature})
		EXPECT_EQ(client.call(command, std::span<const std::byte>()).error(), uint32_t{ENOTSUP});
	for (const Command command : {Command::kDmaRead, Command::kDmaWrite})
		EXPECT_EQ(client.call(command, std::span<const std::byte>()).error(), uint32_t{EINVAL});
	for (const int command : {0, 17, 0xffff})
		EXPECT_EQ(client.call(static_cast<Command>(command), std::span<const std::byte>()).error(), uint32_t{ENOSYS});
}

TEST_F(Agreed, NoReplyMeansNoReply)
{
	client.send(Command::kRegionRead, {}, {}, kFlagNoReply); // refused, silently
	const struct {
		RegionAccess access{16, 2, 4};
		uint32_t data = 99;
	} message;
	client.send(Command::kRegionWrite, std::as_bytes(std::span(&message, 1)).first(20), {}, kFlagNoReply);
	expect_alive(); // its reply is the next one
	EXPECT_EQ(client.read32(2, 16), 99u);
}

TEST_F(Agreed, RepliesToNothingAreIgnored)
{
	client.send(Command::kDmaRead, {}, {}, kFlagReply);
	client.send(Command::kVersion, {}, {}, kFlagReply | kFlagError);
	expect_alive();
	EXPECT_EQ(device.dma_answers, 0);
}

TEST_F(Agreed, LostFramingEndsTheConnectionAfterAReply)
{
	const MessageHeader header{77, 4, 3, 0, 0};
	client.send_bytes(std::as_bytes(std::span(&header, 1)));
	const auto reply = client.receive();
	ASSERT_TRUE(reply);
	EXPECT_EQ(reply->header.id, 77);
	EXPECT_EQ(reply->error(), uint32_t{EINVAL});
	EXPECT_TRUE(client.closed());
	EXPECT_FALSE(device.connected);
}

TEST_F(Agreed, ANewClientStartsAnew)
{
	client.send(Command::kDmaUnmap, std::as_bytes(std::span(&kUnmap, 1)));
	pump();
	client = VfioUserClient(UniqueFd(), {});
	pump();
	EXPECT_FALSE(device.connected);
	VfioUserClient second(connect(), [this] { pump(); });
	EXPECT_TRUE(device.connected);
	ASSERT_EQ(device.tokens.size(), 1u);
	server.complete(device.tokens[0], 0); // is nobody's any more
	EXPECT_FALSE(second.version().failed());
}

TEST_F(Agreed, DmaRequestsInBothLayouts)
{
	for (const size_t layout : {kDmaDataOffsetSpecified, kDmaDataOffsetQemu}) {
		client.dma_data_offset = layout;
		client.memory[0x1000] = std::vector<std::byte>(64, std::byte{0x77});
		ASSERT_TRUE(server.request_dma(0x1010, {}, 16));
		EXPECT_FALSE(server.request_dma(0x1010, {}, 16)) << "one at a time";
		expect_alive();
		pump();
		EXPECT_TRUE(device.dma_ok);
		EXPECT_EQ(device.dma_data, std::vector<std::byte>(16, std::byte{0x77}));
		// Reading has taught the layout.
		const std::vector<std::byte> data(8, std::byte{0x33});
		ASSERT_TRUE(server.request_dma(0x1000, data, 0));
		expect_alive();
		pump();
		EXPECT_TRUE(device.dma_ok);
		EXPECT_EQ(std::vector(client.memory[0x1000].begin(), client.memory[0x1000].begin() + 8), data);
		EXPECT_EQ(client.memory[0x1000][8], std::byte{0x77});
	}
}

TEST_F(Agreed, DmaRequestsFailWithTheClient)
{
	ASSERT_TRUE(server.request_dma(0x9000, {}, 16));
	expect_alive();
	pump();
	EXPECT_EQ(device.dma_answers, 1);
	EXPECT_FALSE(device.dma_ok);
	ASSERT_TRUE(server.request_dma(0x9000, {}, 16));
	client = VfioUserClient(UniqueFd(), {});
	pump();
	EXPECT_EQ(device.dma_answers, 2);
	EXPECT_FALSE(server.request_dma(0x9000, {}, 16));
}

TEST_F(Agreed, RandomMessagesDoNoHarm)
{
	std::mt19937 random(4711);
	std::vector<std::byte> payload(64);
	for (int i = 0; i < 20'000; i++) {
		for (std::byte &byte : payload) {
			// Small numbers are the ones that get far.
			byte = static_cast<std::byte>(random() % 4 ? random() % 3 : random());
		}
		const auto command = static_cast<Command>(random() % 18);
		const int fd = device.fd.get();
		const size_t size = random() % payload.size();
		const uint32_t flags = random() % 8 == 0 ? kFlagNoReply : 0;
		client.send(command, std::span(payload).first(size),
			    random() % 8 == 0 ? std::span(&fd, 1) : std::span<const int>(), flags);
		if (flags == 0) {
			pump();
			while (!device.tokens.empty()) {
				server.complete(device.tokens.back(), 0);
				device.tokens.pop_back();
			}
			ASSERT_TRUE(client.receive()) << "message " << i;
		}
		device.tokens.clear();
	}
	pump();
	expect_alive();
}

} // namespace
} // namespace ohca::host
