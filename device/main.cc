// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// ohcad: puts broker, engine and status socket together.
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>

#include "broker/broker.hh"
#include "obs/status_socket.hh"
#include "options.hh"

namespace {

using namespace ohca;

constexpr int kExitRuntime = 1;
constexpr int kExitUsage = 2;

void open_log(const Options &options)
{
	std::shared_ptr<spdlog::logger> logger;
	if (options.log_file.empty())
		logger = std::make_shared<spdlog::logger>("ohcad", std::make_shared<spdlog::sinks::stderr_sink_st>());
	else
		logger = std::make_shared<spdlog::logger>(
			"ohcad", std::make_shared<spdlog::sinks::basic_file_sink_st>(options.log_file));
	logger->set_level(spdlog::level::from_str(options.log_level));
	logger->set_pattern("%Y-%m-%d %H:%M:%S.%e ohcad[%P] %l: %v");
	logger->flush_on(spdlog::level::trace); // few lines, and each may be the last
	spdlog::set_default_logger(logger);
}

// The pid file is locked as long as the process lives, so a stale one is no obstacle.
class PidFile {
public:
	explicit PidFile(const std::string &path) : path_(path), fd_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644))
	{
		if (!fd_)
			throw std::runtime_error("cannot write " + path + ": " + strerror(errno));
		if (flock(fd_.get(), LOCK_EX | LOCK_NB) != 0)
			throw std::runtime_error("another ohcad uses this run directory: " + path + " is locked");
		const std::string text = std::to_string(getpid()) + "\n";
		if (ftruncate(fd_.get(), 0) != 0 || ::write(fd_.get(), text.data(), text.size()) < 0)
			throw std::runtime_error("cannot write " + path + ": " + strerror(errno));
	}
	~PidFile() { unlink(path_.c_str()); }
	PidFile(const PidFile &) = delete;
	PidFile &operator=(const PidFile &) = delete;

private:
	std::string path_;
	UniqueFd fd_;
};

UniqueFd block_signals()
{
	signal(SIGPIPE, SIG_IGN);
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, nullptr);
	return UniqueFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

void serve(const Options &options)
{
	std::error_code error;
	std::filesystem::create_directories(options.run_dir, error);
	if (error)
		throw std::runtime_error("cannot create " + options.run_dir + ": " + error.message());
	const PidFile pid_file(options.run_dir + "/ohcad.pid");
	const UniqueFd signals = block_signals();

	broker::Broker broker(options.broker);
	obs::StatusSocket status(broker, options.run_dir + "/ohcad.sock");
	broker.loop().add(signals.get(), EPOLLIN, [&](uint32_t) {
		signalfd_siginfo info;
		if (read(signals.get(), &info, sizeof(info)) == sizeof(info)) {
			spdlog::info("stopping: signal {}", info.ssi_signo);
			broker.stop();
		}
	});
	broker.start();
	for (const auto &function : options.broker.functions)
		spdlog::info("{}: listening on {}", function.name, function.socket);
	broker.run();
}

} // namespace

int main(int argc, char **argv)
{
	Options options;
	try {
		if (!parse_options(argc, argv, options))
			return 0;
	} catch (const UsageError &error) {
		fprintf(stderr, "ohcad: %s (try --help)\n", error.what());
		return kExitUsage;
	}
	try {
		open_log(options);
		options.broker.close_engine_log = [] { spdlog::shutdown(); };
		options.broker.open_engine_log = [&options] { open_log(options); };
		serve(options);
		spdlog::info("stopped");
	} catch (const std::exception &error) {
		fprintf(stderr, "ohcad: %s\n", error.what());
		return kExitRuntime;
	}
	return 0;
}
