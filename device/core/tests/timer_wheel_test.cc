// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/timer_wheel.hh"

#include <map>
#include <random>

#include "core/tests/command_test.hh"

namespace ohca::core::test {
namespace {

struct TimerWheelTest : testing::Test {
	TimerWheelTest() : memory(ContextMemory::size()), context(memory.bytes()), wheel(context) { context.format(); }
	QpContext &make()
	{
		uint32_t qpn = context.allocate_qp();
		QpContext &qp = *context.qp(qpn);
		qp.qpn = qpn;
		return qp;
	}

	FakeMemory memory;
	ContextMemory context;
	TimerWheel wheel;
};

TEST_F(TimerWheelTest, EmptyHasNothing)
{
	EXPECT_EQ(wheel.next(), kNever);
	EXPECT_EQ(wheel.take_due(1'000'000'000), nullptr);
	EXPECT_EQ(wheel.next(), kNever);
}

TEST_F(TimerWheelTest, FiresNotEarlyAndAtMostATickLate)
{
	for (uint64_t delay : {1ull, 4095ull, 4096ull, 4097ull, 10'000ull, 262'144ull, 300'000ull, 16'777'216ull,
			       67'108'864ull, 1'000'000'000ull, 8'796'093'022'208ull}) {
		QpContext &qp = make();
		TimerWheel fresh(context);
		TimeNs start = 123'456'789'012;
		EXPECT_EQ(fresh.take_due(start), nullptr);
		fresh.schedule(qp, start + delay);
		EXPECT_EQ(fresh.take_due(start + delay - 1), nullptr) << delay;
		EXPECT_EQ(fresh.take_due(start + delay + 4096), &qp) << delay;
	}
}

TEST_F(TimerWheelTest, LaterIsLazyEarlierIsNot)
{
	QpContext &qp = make();
	wheel.schedule(qp, 1'000'000);
	wheel.schedule(qp, 9'000'000); // stays where it is
	EXPECT_EQ(wheel.take_due(1'010'000), &qp);
	EXPECT_EQ(qp.timer_bucket, 0u);
	wheel.schedule(qp, 9'000'000);
	wheel.schedule(qp, 2'000'000);
	EXPECT_EQ(wheel.take_due(2'010'000), &qp);
	EXPECT_EQ(wheel.next(), kNever);
	wheel.schedule(qp, kNever);
	EXPECT_EQ(wheel.next(), kNever);
}

TEST_F(TimerWheelTest, APastTimeIsDueInTheNextPass)
{
	QpContext &qp = make();
	EXPECT_EQ(wheel.take_due(5'000'000), nullptr);
	wheel.schedule(qp, 1);
	EXPECT_EQ(wheel.take_due(5'000'000), nullptr); // not again in the same one: no endless loop
	EXPECT_EQ(wheel.take_due(5'010'000), &qp);
}

TEST_F(TimerWheelTest, RemoveFromAnyPlace)
{
	QpContext &a = make(), &b = make(), &c = make();
	for (QpContext *qp : {&a, &b, &c})
		wheel.schedule(*qp, 1'000'000);
	wheel.remove(b);
	wheel.remove(b); // twice is fine
	wheel.remove(c);
	EXPECT_EQ(wheel.take_due(2'000'000), &a);
	EXPECT_EQ(wheel.take_due(2'000'000), nullptr);
}

TEST_F(TimerWheelTest, AgreesWithASimpleModel)
{
	std::mt19937_64 random(4);
	std::vector<QpContext *> qps;
	for (int i = 0; i < 200; i++)
		qps.push_back(&make());
	std::map<QpContext *, TimeNs> model;
	TimeNs now = 77'777'777'777;
	while (wheel.take_due(now))
		;
	for (int step = 0; step < 50'000; step++) {
		QpContext *qp = qps[random() % qps.size()];
		switch (random() % 4) {
		case 0:
		case 1: {
			TimeNs at = now + 1 + random() % (uint64_t{1} << (random() % 36));
			wheel.schedule(*qp, at);
			auto [it, fresh] = model.emplace(qp, at);
			it->second = std::min(it->second, at);
			break;
		}
		case 2:
			wheel.remove(*qp);
			model.erase(qp);
			break;
		default: {
			TimeNs next = wheel.next();
			TimeNs earliest = kNever;
			for (auto &[unused, at] : model)
				earliest = std::min(earliest, at);
			// Never later than a tick after the earliest.
			ASSERT_EQ(next == kNever, model.empty());
			if (next != kNever) {
				ASSERT_LE(next, earliest + 4096);
			}
			now += random() % (uint64_t{1} << (random() % 34));
			while (QpContext *due = wheel.take_due(now)) {
				auto it = model.find(due);
				ASSERT_NE(it, model.end());
				ASSERT_LE(it->second, now);
				model.erase(it);
			}
			for (auto &[unused, at] : model)
				ASSERT_GT(at + 8192, now);
		}
		}
	}
}

} // namespace
} // namespace ohca::core::test
