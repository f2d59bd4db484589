// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "broker/broker.hh"

#include <cerrno>
#include <cstring>
#include <new>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <system_error>

#include "run/engine_process.hh"

namespace ohca::broker {

Broker::Broker(const BrokerOptions &options)
	: options_(options), shared_memory_("ohca-shared", sizeof(EngineShared)),
	  shared_(new (shared_memory_.bytes().data()) EngineShared),
	  kick_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))
{
	if (!kick_)
		throw std::system_error(errno, std::generic_category(), "eventfd");
	const EngineLink::Callbacks callbacks{
		[this](Channel channel) { run_child(std::move(channel)); },
		[this](const ChannelMessage &message) { handle_engine_message(message); },
		[this](uint32_t reason) { handle_engine_gone(reason); },
	};
	engine_ = std::make_unique<EngineLink>(loop_, *shared_, callbacks, options_.engine_deadline);
	FunctionSurroundings &surroundings = *this;
	for (uint32_t i = 0; i < options_.functions.size(); i++)
		functions_.push_back(std::make_unique<Function>(i, options_.functions[i], surroundings));
}

Broker::~Broker()
{
	engine_->stop();
}

void Broker::start()
{
	for (const auto &function : functions_)
		function->listen();
	ensure_engine();
	if (!engine_->running())
		throw std::runtime_error("cannot start the engine process");
}

void Broker::run()
{
	while (!stop_)
		loop_.run_once();
}

void Broker::ensure_engine()
{
	if (engine_->running())
		return;
	for (const auto &function : functions_)
		function->prepare_engine_start();
	if (!engine_->start())
		spdlog::error("cannot start the engine process: {}", strerror(errno));
}

void Broker::run_child(Channel channel)
{
	run::EngineStart start;
	for (const auto &function : functions_) {
		start.functions.push_back({.context_memory = function->context().bytes(),
					   .uar_pages = function->uars().bytes(),
					   .interrupts = &function->interrupts(),
					   .dma_map = function->bus_master() ? &function->dma_map() : nullptr,
					   .mac = function->options().mac,
					   .features = function->options().features,
					   .vector_count = function->options().vector_count});
	}
	start.files = &files_;
	start.shared = shared_;
	start.kick_fd = kick_.get();
	start.policy = options_.policy;
	start.close_log = options_.close_engine_log;
	start.open_log = options_.open_engine_log;
	run::run_engine(start, std::move(channel));
}

void Broker::kick()
{
	const uint64_t one = 1;
	// EAGAIN: the engine has more than enough kicks to wake up for.
	[[maybe_unused]] const ssize_t written = write(kick_.get(), &one, sizeof(one));
}

void Broker::collect_files(size_t keep)
{
	for (const host::FileId id : files_.collect(keep))
		engine_->send({.type = ChannelType::kDropFile, .file = id});
}

void Broker::handle_engine_message(const ChannelMessage &message)
{
	if (message.function >= functions_.size())
		return;
	Function &function = *functions_[message.function];
	if (message.type == ChannelType::kFailed)
		function.handle_failed(message.value);
	else if (message.type == ChannelType::kDmaRequest)
		function.handle_dma_request(message);
}

void Broker::handle_engine_gone(uint32_t reason)
{
	for (const auto &function : functions_)
		function->handle_engine_gone(reason);
}

} // namespace ohca::broker
