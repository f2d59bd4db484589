// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// A real ohcad with its engine, seen by a client that plays QEMU and driver.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <linux/pci_regs.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <rdma/ohca_hw.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>

#include "base/event_loop.hh"
#include "base/shared_memory.hh"
#include "base/unix_socket.hh"
#include "host/pci_config.hh"
#include "host/tests/vfio_user_client.hh"

namespace ohca::broker {
namespace {

using host::Command;
using nlohmann::json;
using namespace std::chrono_literals;

constexpr uint64_t kMemoryAddress = 0x100000;
constexpr size_t kMemorySize = 1 << 20;
constexpr uint64_t kSqOffset = 0;
constexpr uint64_t kCqOffset = 0x10000;
constexpr uint64_t kRecordOffset = 0x20000;
constexpr uint32_t kBar0 = VFIO_PCI_BAR0_REGION_INDEX;

template <typename Condition> bool eventually(Condition condition, std::chrono::milliseconds limit = 5s)
{
	const auto end = std::chrono::steady_clock::now() + limit;
	while (!condition()) {
		if (std::chrono::steady_clock::now() > end)
			return false;
		std::this_thread::sleep_for(1ms);
	}
	return true;
}

pid_t spawn(std::vector<std::string> arguments, const std::string &output)
{
	std::vector<char *> pointers;
	for (std::string &argument : arguments)
		pointers.push_back(argument.data());
	pointers.push_back(nullptr);
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
	posix_spawn_file_actions_adddup2(&actions, 1, 2);
	pid_t pid = 0;
	EXPECT_EQ(posix_spawn(&pid, pointers[0], &actions, nullptr, pointers.data(), environ), 0);
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

int wait_for(pid_t pid)
{
	int status = 0;
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// User and system time of a process, in clock ticks.
long cpu_ticks(pid_t pid)
{
	std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
	std::string text((std::istreambuf_iterator<char>(file)), {});
	std::istringstream fields(text.substr(text.rfind(')') + 2));
	std::string skip;
	for (int i = 0; i < 11; i++)
		fields >> skip;
	long user = 0;
	long system = 0;
	fields >> user >> system;
	return user + system;
}

struct Ohcad : testing::Test {
	std::filesystem::path dir;
	pid_t pid = 0;

	Ohcad()
	{
		std::string name = (std::filesystem::temp_directory_path() / "ohcad-test-XXXXXX").string();
		dir = mkdtemp(name.data());
	}
	~Ohcad() override
	{
		stop();
		if (HasFailure())
			std::ifstream(dir / "output") >> std::cerr.rdbuf();
		std::filesystem::remove_all(dir);
	}
	std::string path(const std::string &name) const { return (dir / name).string(); }
	void start(std::vector<std::string> extra = {}, int functions = 1)
	{
		std::vector<std::string> arguments = {OHCAD_PATH, "--run-dir", dir.string(), "--log-level", "debug"};
		for (int i = 0; i < functions; i++) {
			arguments.push_back("--function");
			arguments.push_back("socket=" + path("f" + std::to_string(i)));
		}
		arguments.insert(arguments.end(), extra.begin(), extra.end());
		pid = spawn(arguments, path("output"));
		ASSERT_TRUE(eventually([&] { return engine_pid() > 0; })) << "ohcad does not answer";
	}
	int stop()
	{
		if (pid == 0)
			return 0;
		kill(pid, SIGTERM);
		return wait_for(std::exchange(pid, 0));
	}
	json ask(const std::string &command)
	{
		const UniqueFd socket = connect_unix(path("ohcad.sock"));
		if (!socket)
			return {};
		const std::string request = json{{"command", command}}.dump() + "\n";
		EXPECT_GT(send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL), 0);
		std::string response;
		char bytes[4096];
		for (ssize_t n; (n = recv(socket.get(), bytes, sizeof(bytes), 0)) > 0;)
			response.append(bytes, static_cast<size_t>(n));
		return json::parse(response, nullptr, false);
	}
	pid_t engine_pid()
	{
		const json engine = ask("engine");
		return engine.is_object() && engine.value("running", false) ? engine["pid"].get<pid_t>() : 0;
	}
};

// What QEMU and driver are to one function.
struct Guest {
	host::VfioUserClient client;
	SharedMemory memory{"guest", kMemorySize};
	UniqueFd command_interrupt{eventfd(0, EFD_NONBLOCK)};
	UniqueFd bar2;
	ohca_uar *uar = nullptr;
	size_t bar2_size = 0;

	explicit Guest(const std::string &path) : client(connect_unix(path))
	{
		EXPECT_FALSE(client.version().failed());
		const vfio_region_info query{.argsz = 32, .flags = 0, .index = 2, .cap_offset = 0, .size = 0,
					     .offset = 0};
		host::Reply info = client.call(Command::kDeviceGetRegionInfo, query);
		bar2_size = info.as<vfio_region_info>().size;
		bar2 = std::move(info.fd);
		uar = static_cast<ohca_uar *>(
			mmap(nullptr, bar2_size, PROT_READ | PROT_WRITE, MAP_SHARED, bar2.get(), 0));
		EXPECT_EQ(client.map(kMemoryAddress, kMemorySize, 0, memory.fd()), 0u);
		const int fd = command_interrupt.get();
		EXPECT_EQ(client.set_eventfds(OHCA_CMD_VECTOR, std::span(&fd, 1)), 0u);
		set_command(PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	}
	~Guest() { munmap(uar, bar2_size); }

	void set_command(uint16_t command)
	{
		EXPECT_EQ(client.write(VFIO_PCI_CONFIG_REGION_INDEX, PCI_COMMAND,
				       std::as_bytes(std::span(&command, 1))), 0u);
	}
	uint32_t status() { return client.read32(kBar0, OHCA_REGS_STATUS_OFF); }
	bool reset()
	{
		client.write32(kBar0, OHCA_REGS_CONTROL_OFF, OHCA_CONTROL_RESET);
		return eventually([&] { return status() == OHCA_STATUS_READY; });
	}
	// The status after ENABLE.
	uint32_t enable(uint64_t base = kMemoryAddress)
	{
		client.write64(kBar0, OHCA_REGS_DRIVER_FEATURES_OFF, OHCA_FEATURES_ALL);
		client.write64(kBar0, OHCA_REGS_CMDQ_SQ_ADDR_OFF, base + kSqOffset);
		client.write64(kBar0, OHCA_REGS_CMDQ_CQ_ADDR_OFF, base + kCqOffset);
		client.write64(kBar0, OHCA_REGS_CMDQ_RECORD_ADDR_OFF, base + kRecordOffset);
		client.write32(kBar0, OHCA_REGS_CMDQ_LOG_DEPTH_OFF, OHCA_CMDQ_LOG_DEPTH_MIN);
		client.write32(kBar0, OHCA_REGS_CONTROL_OFF, OHCA_CONTROL_ENABLE);
		eventually([&] { return status() != 0; });
		return status();
	}
	bool bring_up()
	{
		set_command(PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
		return reset() && enable() == (OHCA_STATUS_READY | OHCA_STATUS_ENABLED);
	}
	std::atomic_ref<__le32> device_state(size_t page = 0)
	{
		auto *at = reinterpret_cast<std::byte *>(uar) + page * OHCA_UAR_SIZE;
		return std::atomic_ref(reinterpret_cast<ohca_uar *>(at)->device_state);
	}
	uint32_t fail_reason() { return client.read32(kBar0, OHCA_REGS_FAIL_REASON_OFF); }
	uint32_t resets() { return client.read32(kBar0, OHCA_REGS_RESET_COUNT_OFF); }
	bool interrupted()
	{
		uint64_t count;
		return read(command_interrupt.get(), &count, sizeof(count)) == sizeof(count);
	}
};

// OHCA-RST-D1 OHCA-RST-D8
TEST_F(Ohcad, BringsAFunctionUp)
{
	start();
	Guest guest(path("f0"));
	EXPECT_EQ(guest.client.read32(kBar0, OHCA_REGS_MAGIC_OFF), uint32_t{OHCA_MAGIC});
	EXPECT_EQ(guest.bar2_size, size_t{1024} * OHCA_UAR_SIZE);
	EXPECT_TRUE(guest.bring_up());
	EXPECT_EQ(ask("functions")[0]["state"], "enabled");
	EXPECT_TRUE(guest.reset());
	EXPECT_EQ(ask("functions")[0]["state"], "ready");
	EXPECT_EQ(stop(), 0);
	EXPECT_FALSE(std::filesystem::exists(path("f0")));
	EXPECT_FALSE(std::filesystem::exists(path("ohcad.sock")));
	EXPECT_FALSE(std::filesystem::exists(path("ohcad.pid")));
}

// OHCA-RST-D8
TEST_F(Ohcad, RefusesACommandQueueItCannotReach)
{
	start();
	Guest guest(path("f0"));
	ASSERT_TRUE(guest.reset());
	EXPECT_TRUE(guest.enable(0x7000'0000'0000) & OHCA_STATUS_FAILED);
	EXPECT_EQ(guest.fail_reason(), uint32_t{OHCA_FAIL_CMDQ_DMA});
	EXPECT_TRUE(guest.bring_up());
}

// OHCA-PCI-D10
TEST_F(Ohcad, ReachesNoMemoryWithoutBusMaster)
{
	start();
	Guest guest(path("f0"));
	ASSERT_TRUE(guest.bring_up());
	guest.set_command(PCI_COMMAND_MEMORY);
	ASSERT_TRUE(guest.reset());
	EXPECT_TRUE(guest.enable() & OHCA_STATUS_FAILED);
	EXPECT_EQ(guest.fail_reason(), uint32_t{OHCA_FAIL_CMDQ_DMA});
	// Neither a new engine nor a new map changes that.
	kill(engine_pid(), SIGKILL);
	ASSERT_TRUE(eventually([&] { return engine_pid() == 0; }));
	ASSERT_TRUE(guest.reset());
	EXPECT_EQ(guest.client.map(0x40000000, kMemorySize, 0, guest.memory.fd()), 0u);
	EXPECT_TRUE(guest.enable(0x40000000) & OHCA_STATUS_FAILED);
	guest.set_command(PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	for (const uint64_t base : {uint64_t{0x40000000}, kMemoryAddress}) {
		ASSERT_TRUE(guest.reset());
		EXPECT_EQ(guest.enable(base), uint32_t{OHCA_STATUS_READY | OHCA_STATUS_ENABLED});
	}
}

// OHCA-RST-D7 OHCA-RST-D10 OHCA-RST-D11
TEST_F(Ohcad, DeadEngineIsReportedAndResetBringsItBack)
{
	start({}, 2);
	Guest first(path("f0"));
	Guest second(path("f1"));
	ASSERT_TRUE(first.bring_up());
	ASSERT_TRUE(second.bring_up());
	first.interrupted();
	const size_t last_page = first.bar2_size / OHCA_UAR_SIZE - 1;
	for (Guest *guest : {&first, &second}) {
		guest->device_state() = OHCA_UAR_DEVICE_RUNNING;
		guest->device_state(last_page) = OHCA_UAR_DEVICE_RUNNING;
	}
	const pid_t old_engine = engine_pid();
	kill(old_engine, SIGKILL);
	for (Guest *guest : {&first, &second}) {
		EXPECT_TRUE(eventually([&] { return guest->status() & OHCA_STATUS_FAILED; }));
		EXPECT_EQ(guest->fail_reason(), uint32_t{OHCA_FAIL_ENGINE_DIED});
		EXPECT_TRUE(guest->interrupted());
		EXPECT_EQ(guest->device_state(), uint32_t{OHCA_UAR_DEVICE_FAILED});
		EXPECT_EQ(guest->device_state(last_page), uint32_t{OHCA_UAR_DEVICE_FAILED});
	}
	// Maps change while no engine is there, too.
	EXPECT_EQ(first.client.unmap(kMemoryAddress, kMemorySize), 0u);
	EXPECT_EQ(first.client.map(kMemoryAddress, kMemorySize, 0, first.memory.fd()), 0u);

	EXPECT_TRUE(first.bring_up());
	EXPECT_NE(engine_pid(), old_engine);
	first.uar->device_state = OHCA_UAR_DEVICE_RUNNING;
	EXPECT_TRUE(second.status() & OHCA_STATUS_FAILED) << "until it is reset itself";
	EXPECT_EQ(second.device_state(), uint32_t{OHCA_UAR_DEVICE_FAILED});
	EXPECT_TRUE(second.bring_up());
}

TEST_F(Ohcad, SurvivesManyDeadEngines)
{
	start();
	Guest guest(path("f0"));
	for (int i = 0; i < 20; i++) {
		ASSERT_TRUE(guest.bring_up());
		kill(engine_pid(), SIGKILL);
		ASSERT_TRUE(eventually([&] { return guest.status() & OHCA_STATUS_FAILED; }));
	}
	EXPECT_EQ(guest.resets(), 20u);
}

// OHCA-MEM-D11 OHCA-RST-D6
TEST_F(Ohcad, StuckEngineIsKilledWhenAnUnmapIsNotAcknowledged)
{
	start();
	Guest guest(path("f0"));
	ASSERT_TRUE(guest.bring_up());
	kill(engine_pid(), SIGSTOP);
	const uint64_t start_ns = monotonic_ns();
	EXPECT_EQ(guest.client.unmap(kMemoryAddress, kMemorySize), 0u);
	EXPECT_LT(monotonic_ns() - start_ns, 4'000'000'000u) << "QEMU waits 5 s";
	EXPECT_TRUE(guest.status() & OHCA_STATUS_FAILED);
	EXPECT_EQ(guest.fail_reason(), uint32_t{OHCA_FAIL_ENGINE_STUCK});
	EXPECT_EQ(guest.client.map(kMemoryAddress, kMemorySize, 0, guest.memory.fd()), 0u);
	EXPECT_TRUE(guest.bring_up());
}

// OHCA-RST-D7
TEST_F(Ohcad, RegistersAnswerWhileTheEngineIsStuck)
{
	start();
	Guest guest(path("f0"));
	ASSERT_TRUE(guest.bring_up());
	kill(engine_pid(), SIGSTOP);
	const uint64_t start_ns = monotonic_ns();
	guest.client.write32(kBar0, OHCA_REGS_CONTROL_OFF, OHCA_CONTROL_RESET);
	EXPECT_EQ(guest.status(), 0u);
	EXPECT_LT(monotonic_ns() - start_ns, 1'000'000'000u);
	EXPECT_TRUE(eventually([&] { return guest.status() == OHCA_STATUS_READY; }));
	EXPECT_TRUE(guest.bring_up());
}

// OHCA-PCI-D4 OHCA-REG-D9 OHCA-RST-D4
TEST_F(Ohcad, FunctionLevelResetAndDeviceResetAreResets)
{
	start();
	Guest guest(path("f0"));
	ASSERT_TRUE(guest.bring_up());
	const uint32_t resets = guest.resets();
	const uint16_t flr = PCI_EXP_DEVCTL_BCR_FLR;
	EXPECT_EQ(guest.client.write(VFIO_PCI_CONFIG_REGION_INDEX, host::kPciExpressOffset + PCI_EXP_DEVCTL,
				     std::as_bytes(std::span(&flr, 1))), 0u);
	EXPECT_TRUE(eventually([&] { return guest.status() == OHCA_STATUS_READY; }));
	EXPECT_EQ(guest.resets(), resets + 1);

	ASSERT_TRUE(guest.bring_up());
	guest.uar->notify[5] = 1;
	EXPECT_EQ(guest.client.call(Command::kDeviceReset, std::span<const std::byte>()).error(), 0u);
	EXPECT_EQ(guest.status(), uint32_t{OHCA_STATUS_READY}) << "done when the reply is there";
	EXPECT_EQ(guest.uar->notify[5], 0u);
}

TEST_F(Ohcad, AnotherClientAfterTheFirst)
{
	start();
	{
		Guest guest(path("f0"));
		ASSERT_TRUE(guest.bring_up());
		host::VfioUserClient second(connect_unix(path("f0")));
		EXPECT_TRUE(second.closed()) << "one at a time";
		EXPECT_EQ(guest.status(), uint32_t{OHCA_STATUS_READY | OHCA_STATUS_ENABLED});
	}
	ASSERT_TRUE(eventually([&] { return ask("functions")[0]["client_pid"] == 0; }));
	EXPECT_EQ(ask("functions")[0]["dma_ranges"], 0);
	Guest guest(path("f0"));
	EXPECT_FALSE(guest.status() & OHCA_STATUS_ENABLED);
	EXPECT_TRUE(guest.bring_up());
}

// OHCA-GEN-D5
TEST_F(Ohcad, InBandMemoryWorks)
{
	for (const size_t layout : {host::kDmaDataOffsetQemu, host::kDmaDataOffsetSpecified}) {
		start();
		Guest guest(path("f0"));
		guest.client.dma_data_offset = layout;
		constexpr uint64_t kInBand = 0x40000000;
		// Not zero, so that the layout shows.
		guest.client.memory[kInBand] = std::vector<std::byte>(kMemorySize, std::byte{0});
		ASSERT_EQ(guest.client.map(kInBand, kMemorySize, 0, -1), 0u);
		ASSERT_TRUE(guest.reset());
		EXPECT_EQ(guest.enable(kInBand), uint32_t{OHCA_STATUS_READY | OHCA_STATUS_ENABLED});
		EXPECT_GT(guest.client.dma_requests, 0u);
		stop();
	}
}

TEST_F(Ohcad, ClientThatIgnoresDmaRequestsHarmsOnlyItself)
{
	start();
	Guest guest(path("f0"));
	constexpr uint64_t kInBand = 0x40000000;
	ASSERT_EQ(guest.client.map(kInBand, kMemorySize, 0, -1), 0u);
	ASSERT_TRUE(guest.reset());
	guest.client.answer_dma = false;
	EXPECT_TRUE(guest.enable(kInBand) & OHCA_STATUS_FAILED);
	EXPECT_EQ(guest.fail_reason(), uint32_t{OHCA_FAIL_CMDQ_DMA});
	guest.client.answer_dma = true;
	EXPECT_TRUE(guest.bring_up());
}

// OHCA-MEM-D11
TEST_F(Ohcad, UnmapIsAnsweredWhileTheEngineWaitsForInBandData)
{
	start();
	Guest guest(path("f0"));
	constexpr uint64_t kInBand = 0x40000000;
	ASSERT_EQ(guest.client.map(kInBand, kMemorySize, 0, -1), 0u);
	ASSERT_TRUE(guest.reset());
	guest.client.answer_dma = false;
	guest.client.write64(kBar0, OHCA_REGS_DRIVER_FEATURES_OFF, OHCA_FEATURES_ALL);
	guest.client.write64(kBar0, OHCA_REGS_CMDQ_SQ_ADDR_OFF, kInBand + kSqOffset);
	guest.client.write64(kBar0, OHCA_REGS_CMDQ_CQ_ADDR_OFF, kInBand + kCqOffset);
	guest.client.write64(kBar0, OHCA_REGS_CMDQ_RECORD_ADDR_OFF, kInBand + kRecordOffset);
	guest.client.write32(kBar0, OHCA_REGS_CMDQ_LOG_DEPTH_OFF, OHCA_CMDQ_LOG_DEPTH_MIN);
	guest.client.write32(kBar0, OHCA_REGS_CONTROL_OFF, OHCA_CONTROL_ENABLE);
	const uint64_t start_ns = monotonic_ns();
	EXPECT_EQ(guest.client.unmap(kMemoryAddress, 4096), 0u);
	EXPECT_LT(monotonic_ns() - start_ns, 800'000'000u);
	EXPECT_TRUE(eventually([&] { return guest.status() & OHCA_STATUS_FAILED; }));
	EXPECT_NE(guest.fail_reason(), uint32_t{OHCA_FAIL_ENGINE_STUCK});
}

// OHCA-MEM-D8
TEST_F(Ohcad, TruncatedGuestMemoryDoesNotKillTheEngine)
{
	start();
	Guest guest(path("f0"));
	UniqueFd file(memfd_create("shrinking", MFD_CLOEXEC));
	ASSERT_EQ(ftruncate(file.get(), kMemorySize), 0);
	ASSERT_EQ(guest.client.map(0x40000000, kMemorySize, 0, file.get()), 0u);
	const pid_t engine = engine_pid();
	ASSERT_TRUE(guest.reset());
	ASSERT_EQ(ftruncate(file.get(), 0), 0);
	EXPECT_TRUE(guest.enable(0x40000000) & OHCA_STATUS_FAILED);
	EXPECT_EQ(engine_pid(), engine);
	EXPECT_GT(ask("engine")["faults"].get<int>(), 0);
}

TEST_F(Ohcad, ManySmallMaps)
{
	start();
	Guest guest(path("f0"));
	// As behind a vIOMMU: a message per page, in bursts without waiting for replies.
	constexpr int kPages = 2000;
	for (int round = 0; round < 2; round++) {
		for (uint64_t i = 0; i < kPages; i++) {
			const host::DmaMapRequest request{32, 3, (i % 256) * 4096, 0x1000000 + i * 4096, 4096};
			const int fd = guest.memory.fd();
			guest.client.send(Command::kDmaMap, std::as_bytes(std::span(&request, 1)), std::span(&fd, 1));
			const auto reply = guest.client.receive();
			ASSERT_TRUE(reply && !reply->failed());
		}
		EXPECT_EQ(ask("functions")[0]["dma_ranges"], kPages + 1);
		for (uint64_t i = 0; i < kPages; i++) {
			const host::DmaUnmapRequest request{24, 0, 0x1000000 + i * 4096, 4096};
			guest.client.send(Command::kDmaUnmap, std::as_bytes(std::span(&request, 1)));
		}
		for (uint64_t i = 0; i < kPages; i++) {
			const auto reply = guest.client.receive();
			ASSERT_TRUE(reply && !reply->failed());
		}
		EXPECT_EQ(ask("functions")[0]["dma_ranges"], 1);
	}
	EXPECT_TRUE(guest.bring_up());
}

// OHCA-DB-D1 OHCA-DB-D4 OHCA-DB-D9
TEST_F(Ohcad, KickWakesASleepingEngine)
{
	start();
	Guest guest(path("f0"));
	ASSERT_TRUE(guest.bring_up());
	ASSERT_TRUE(eventually([&] { return std::atomic_ref(guest.uar->need_wakeup).load() == 1; }));
	const uint64_t sleeps = ask("engine")["sleeps"].get<uint64_t>();
	guest.client.write32(kBar0, OHCA_KICK_PAGE_OFF + OHCA_KICK_OFF, 1);
	EXPECT_TRUE(eventually([&] { return ask("engine")["sleeps"].get<uint64_t>() > sleeps; }));
}

TEST_F(Ohcad, IdleDeviceUsesNoProcessor)
{
	start({}, 2);
	Guest guest(path("f0"));
	ASSERT_TRUE(guest.bring_up());
	std::this_thread::sleep_for(100ms);
	const pid_t engine = engine_pid();
	const long before = cpu_ticks(engine) + cpu_ticks(pid);
	std::this_thread::sleep_for(2s);
	const long ticks = cpu_ticks(engine) + cpu_ticks(pid) - before;
	EXPECT_LE(static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK)), 0.02) << "1 %";
}

TEST_F(Ohcad, EngineDiesWithTheBroker)
{
	start();
	const pid_t engine = engine_pid();
	kill(pid, SIGKILL);
	wait_for(std::exchange(pid, 0));
	EXPECT_TRUE(eventually([&] { return kill(engine, 0) != 0; }));
	// And what it left in the file system is no obstacle.
	start();
	Guest guest(path("f0"));
	EXPECT_TRUE(guest.bring_up());
}

TEST_F(Ohcad, StartUpErrorsAreOneLineAndAStatus)
{
	start();
	const auto attempt = [&](std::vector<std::string> arguments) {
		std::filesystem::remove(path("error"));
		arguments.insert(arguments.begin(), OHCAD_PATH);
		const int status = wait_for(spawn(arguments, path("error")));
		std::ifstream file(path("error"));
		int lines = 0;
		for (std::string line; std::getline(file, line);)
			lines += line.starts_with("ohcad: ");
		EXPECT_EQ(lines, 1);
		return status;
	};
	EXPECT_EQ(attempt({}), 2);
	EXPECT_EQ(attempt({"--nonsense"}), 2);
	EXPECT_EQ(attempt({"--function", "mac=52:54:00:00:00:01"}), 2);
	EXPECT_EQ(attempt({"--function", "socket=/x,colour=red"}), 2);
	EXPECT_EQ(attempt({"--function", "socket=" + path("new") + ",mac=53:54:00:00:00:01"}), 2);
	EXPECT_EQ(attempt({"--function", "socket=" + path("new"), "--uar-count", "1000"}), 2);
	EXPECT_EQ(attempt({"--function", "socket=" + path("new") + ",mask=rc"}), 2) << "mandatory";
	EXPECT_EQ(attempt({"--function", "socket=" + path("new"), "--mask-features", "uc,xyz"}), 2);
	EXPECT_EQ(attempt({"--function", "socket=" + path("f0"), "--run-dir", path("other")}), 1) << "in use";
	EXPECT_EQ(attempt({"--function", "socket=" + path("new"), "--run-dir", dir.string()}), 1) << "in use";
	EXPECT_EQ(attempt({"--function", "socket=/nowhere/at/all", "--run-dir", path("other")}), 1);
	EXPECT_EQ(attempt({"--function", "socket=" + path("output"), "--run-dir", path("other")}), 1) << "no socket";
	EXPECT_GT(engine_pid(), 0) << "the first one goes on";
}

// OHCA-REG-D11
TEST_F(Ohcad, MasksFeatures)
{
	start({"--mask-features", "atomic", "--function", "socket=" + path("masked") + ",mask=uc+srq"});
	const auto offered = [&](const std::string &name) {
		Guest guest(path(name));
		return guest.client.read32(kBar0, OHCA_REGS_DEVICE_FEATURES_OFF);
	};
	constexpr uint64_t kForAll = OHCA_FEATURE_ATOMIC | OHCA_FEATURE_MASKED_ATOMIC;
	EXPECT_EQ(offered("f0"), OHCA_FEATURES_ALL & ~kForAll);
	EXPECT_EQ(offered("masked"),
		  OHCA_FEATURES_ALL & ~(kForAll | OHCA_FEATURE_UC | OHCA_FEATURE_SRQ | OHCA_FEATURE_XRC));
	const json functions = ask("features");
	for (const json &feature : functions.at(0).at("features")) {
		const bool masked = feature["feature"] == "atomic" || feature["feature"] == "masked-atomic";
		EXPECT_EQ(feature["offered"], !masked) << feature;
		EXPECT_EQ(feature["negotiated"], false) << feature;
	}
}

TEST_F(Ohcad, OhcactlShowsIt)
{
	start({}, 2);
	Guest guest(path("f0"));
	ASSERT_TRUE(guest.bring_up());
	const auto run = [&](std::vector<std::string> arguments, const char *expect) {
		std::filesystem::remove(path("out"));
		arguments.insert(arguments.begin(), {OHCACTL_PATH, "--run-dir", dir.string()});
		const int status = wait_for(spawn(arguments, path("out")));
		std::ifstream file(path("out"));
		const std::string text((std::istreambuf_iterator<char>(file)), {});
		EXPECT_NE(text.find(expect), std::string::npos) << text;
		return status;
	};
	EXPECT_EQ(run({"functions"}, "enabled"), 0);
	EXPECT_EQ(run({"functions", "--json"}, "\"state\": \"enabled\""), 0);
	EXPECT_EQ(run({"features", "ohca0"}, "zero-based"), 0);
	EXPECT_EQ(run({"queues", "ohca0"}, "0 queue pairs"), 0);
	EXPECT_EQ(run({"counters", "ohca1"}, "tx_bytes"), 0);
	EXPECT_EQ(run({"keys"}, "ohca1: 0 keys"), 0);
	EXPECT_EQ(run({"engine"}, "running"), 0);
	EXPECT_EQ(run({"memcpy-bench", "--size", "4096"}, "memcpy of 4096 bytes"), 0);
	EXPECT_EQ(run({"memcpy-bench", "--size", "0"}, "size must be"), 1);
	EXPECT_EQ(run({"queues", "ohca7"}, "no function"), 1);
	EXPECT_EQ(run({"--socket", "/nowhere", "engine"}, "no ohcad answers"), 1);
	EXPECT_EQ(run({"frobnicate"}, "ohcactl:"), 2);
}

} // namespace
} // namespace ohca::broker
