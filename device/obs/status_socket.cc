// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "obs/status_socket.hh"

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unix_socket.hh"
#include "obs/memcpy_bench.hh"
#include "obs/status.hh"

namespace ohca::obs {

namespace {

constexpr size_t kRequestMax = 4096;
constexpr size_t kClientsMax = 16;

} // namespace

StatusSocket::StatusSocket(broker::Broker &broker, const std::string &path)
	: broker_(broker), path_(path), listener_(listen_unix(path))
{
	broker_.loop().add(listener_.get(), EPOLLIN, [this](uint32_t) { accept_client(); });
}

StatusSocket::~StatusSocket()
{
	while (!clients_.empty())
		close_client(clients_.begin()->first);
	broker_.loop().remove(listener_.get());
	unlink(path_.c_str());
}

void StatusSocket::accept_client()
{
	UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
	if (!fd || clients_.size() >= kClientsMax)
		return;
	const int number = fd.get();
	clients_[number] = std::make_unique<Client>(Client{std::move(fd), {}, {}, 0});
	broker_.loop().add(number, EPOLLIN, [this, number](uint32_t events) { handle(number, events); });
}

void StatusSocket::close_client(int fd)
{
	broker_.loop().remove(fd);
	clients_.erase(fd);
}

void StatusSocket::handle(int fd, uint32_t)
{
	Client &client = *clients_.at(fd);
	const bool more = client.response.empty() ? read_request(client) : write_response(client);
	if (!more)
		close_client(fd);
}

bool StatusSocket::read_request(Client &client)
{
	char bytes[512];
	const ssize_t received = recv(client.fd.get(), bytes, sizeof(bytes), 0);
	if (received < 0)
		return errno == EAGAIN || errno == EINTR;
	if (received == 0)
		return false;
	client.request.append(bytes, static_cast<size_t>(received));
	if (client.request.size() > kRequestMax)
		return false;
	if (client.request.find('\n') == std::string::npos)
		return true;
	respond(client);
	return !client.response.empty() && write_response(client);
}

void StatusSocket::respond(Client &client)
{
	const nlohmann::json request = nlohmann::json::parse(client.request, nullptr, false);
	const std::string command = request.is_object() && request.contains("command") && request["command"].is_string()
					    ? request["command"].get<std::string>()
					    : "";
	if (command == "memcpy-bench") {
		// Takes a second, so it is another process that also answers.
		uint64_t size = 1 << 20;
		if (request.contains("size") && request["size"].is_number_unsigned())
			size = request["size"].get<uint64_t>();
		start_memcpy_bench(size, client.fd.get());
		return;
	}
	client.response = status(broker_, command, request).dump() + "\n";
}

bool StatusSocket::write_response(Client &client)
{
	while (client.sent < client.response.size()) {
		const ssize_t sent = send(client.fd.get(), client.response.data() + client.sent,
					  client.response.size() - client.sent, MSG_NOSIGNAL);
		if (sent < 0) {
			if (errno != EAGAIN)
				return false;
			broker_.loop().modify(client.fd.get(), EPOLLOUT);
			return true;
		}
		client.sent += static_cast<size_t>(sent);
	}
	return false;
}

} // namespace ohca::obs
