// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The status socket: a client sends one line of JSON, {"command": NAME, ...},
// and gets one document of JSON; then the connection ends.  Read-only.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/unique_fd.hh"
#include "broker/broker.hh"

namespace ohca::obs {

class StatusSocket {
public:
	// Throws std::runtime_error.
	StatusSocket(broker::Broker &broker, const std::string &path);
	~StatusSocket();
	StatusSocket(const StatusSocket &) = delete;
	StatusSocket &operator=(const StatusSocket &) = delete;

private:
	struct Client {
		UniqueFd fd;
		std::string request;
		std::string response;
		size_t sent = 0;
	};
	void accept_client();
	void handle(int fd, uint32_t events);
	// False: the connection is over.
	bool read_request(Client &client);
	bool write_response(Client &client);
	void respond(Client &client);
	void close_client(int fd);

	broker::Broker &broker_;
	std::string path_;
	UniqueFd listener_;
	std::map<int, std::unique_ptr<Client>> clients_;
};

} // namespace ohca::obs
