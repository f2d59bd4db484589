// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "host/message.hh"

#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

namespace ohca::host {
namespace {

struct Framing : testing::Test {
	UniqueFd ours;
	UniqueFd theirs;
	MessageReader reader;
	MessageWriter writer;
	Message message;

	Framing()
	{
		int fds[2];
		EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
		ours.reset(fds[0]);
		theirs.reset(fds[1]);
	}
	static std::vector<std::byte> bytes_of(const MessageHeader &header, size_t payload)
	{
		std::vector<std::byte> bytes(sizeof(header) + payload, std::byte{0x5a});
		memcpy(bytes.data(), &header, sizeof(header));
		return bytes;
	}
};

TEST_F(Framing, PutsTogetherWhatComesInBytes)
{
	const auto bytes = bytes_of({7, 9, 16 + 5, 0, 0}, 5);
	for (size_t i = 0; i < bytes.size(); i++) {
		EXPECT_EQ(reader.read(ours.get(), message), MessageReader::Result::kAgain);
		ASSERT_EQ(write(theirs.get(), &bytes[i], 1), 1);
	}
	ASSERT_EQ(reader.read(ours.get(), message), MessageReader::Result::kMessage);
	EXPECT_EQ(message.header.id, 7);
	EXPECT_EQ(message.payload, std::vector<std::byte>(5, std::byte{0x5a}));
	EXPECT_EQ(reader.read(ours.get(), message), MessageReader::Result::kAgain);
}

TEST_F(Framing, TakesApartWhatComesAtOnce)
{
	auto bytes = bytes_of({1, 9, 16, 0, 0}, 0);
	const auto second = bytes_of({2, 9, 16 + 3, 0, 0}, 3);
	bytes.insert(bytes.end(), second.begin(), second.end());
	ASSERT_EQ(write(theirs.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
	ASSERT_EQ(reader.read(ours.get(), message), MessageReader::Result::kMessage);
	EXPECT_EQ(message.header.id, 1);
	ASSERT_EQ(reader.read(ours.get(), message), MessageReader::Result::kMessage);
	EXPECT_EQ(message.header.id, 2);
	EXPECT_EQ(message.payload.size(), 3u);
}

TEST_F(Framing, RefusesImpossibleLengths)
{
	for (const uint32_t size : {0u, 15u, static_cast<uint32_t>(kMaxMessage + 1), UINT32_MAX}) {
		reader = MessageReader();
		const auto bytes = bytes_of({3, 9, size, 0, 0}, 0);
		ASSERT_EQ(write(theirs.get(), bytes.data(), bytes.size()), 16);
		EXPECT_EQ(reader.read(ours.get(), message), MessageReader::Result::kMalformed);
		EXPECT_EQ(reader.header().id, 3);
	}
}

TEST_F(Framing, NoticesTheEnd)
{
	const auto bytes = bytes_of({3, 9, 16 + 100, 0, 0}, 10);
	ASSERT_EQ(write(theirs.get(), bytes.data(), bytes.size()), 26);
	theirs.reset();
	EXPECT_EQ(reader.read(ours.get(), message), MessageReader::Result::kClosed);
}

TEST_F(Framing, DescriptorsStayWithTheirMessage)
{
	const UniqueFd event(eventfd(0, EFD_CLOEXEC));
	ASSERT_TRUE(writer.send(theirs.get(), {1, 9, 16, 0, 0}, {}));
	ASSERT_TRUE(writer.send(theirs.get(), {2, 9, 16, 0, 0}, {}, event.get()));
	ASSERT_TRUE(writer.send(theirs.get(), {3, 9, 16, 0, 0}, {}));
	for (uint16_t id = 1; id <= 3; id++) {
		ASSERT_EQ(reader.read(ours.get(), message), MessageReader::Result::kMessage);
		EXPECT_EQ(message.header.id, id);
		EXPECT_EQ(message.fds.size(), id == 2 ? 1u : 0u);
	}
}

TEST_F(Framing, WhatTheSocketDoesNotTakeWaits)
{
	const std::vector<std::byte> payload(100'000, std::byte{0x11});
	const MessageHeader header{4, 9, static_cast<uint32_t>(16 + payload.size()), 0, 0};
	for (int i = 0; i < 20; i++)
		ASSERT_TRUE(writer.send(theirs.get(), header, payload));
	EXPECT_TRUE(writer.pending());
	int received = 0;
	for (int round = 0; round < 1000 && received < 20; round++) {
		while (reader.read(ours.get(), message) == MessageReader::Result::kMessage)
			received += message.payload == payload;
		ASSERT_TRUE(writer.flush(theirs.get()));
	}
	EXPECT_EQ(received, 20);
	EXPECT_FALSE(writer.pending());
}

TEST_F(Framing, APeerThatNeverReadsIsGivenUp)
{
	const std::vector<std::byte> payload(1 << 20);
	const MessageHeader header{4, 9, static_cast<uint32_t>(16 + payload.size()), 0, 0};
	bool usable = true;
	for (int i = 0; i < 20 && usable; i++)
		usable = writer.send(theirs.get(), header, payload);
	EXPECT_FALSE(usable);
}

} // namespace
} // namespace ohca::host
